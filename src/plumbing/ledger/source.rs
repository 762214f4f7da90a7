//! The repositories that a verb reads: named on the command line, or the members of a workspace.

use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use crate::admit::{Policy, Surroundings};
use crate::beneath::Root;
use crate::cli::World;
use crate::cli::parse::{NamedRepo, is_name};
use crate::error::{Error, Result};
use crate::record::{Repo, RepoPath};
use crate::store::ledger::Ledger;
use crate::visible::quote_path;
use crate::workspace::StateDir;

/// A repository: its name, its root, the subtrees it is bounded to, and its state.
#[derive(Debug, Clone)]
pub struct Source {
    /// The name.
    pub name: String,
    /// The root, absolute and without links.
    pub root: PathBuf,
    /// The subtrees; none: all.
    pub only: Vec<RepoPath>,
    /// The state folder.
    pub state: StateDir,
}

impl Source {
    /// The repository that `--repo` names.
    ///
    /// # Errors
    /// `not-found` when the folder is not there; usage when it cannot give a name.
    pub fn named(repo: &NamedRepo, state_dir: Option<&Path>, world: &World) -> Result<Source> {
        let typed = quote_path(repo.path.as_os_str().as_bytes()).into_owned();
        let root = std::fs::canonicalize(world.absolute(&repo.path))
            .map_err(|e| Error::io("open", &typed, &e))?;
        if !root.is_dir() {
            return Err(Error::failed("not-a-folder", format!("'{typed}' is not a folder"))
                .hint("name the repository's root folder"));
        }
        let name = match &repo.name {
            Some(name) => name.clone(),
            None => default_name(&root),
        };
        let state = StateDir::of(&root, state_dir);
        Ok(Source { name, root, only: Vec::new(), state })
    }

    /// Opens the ledger of a repository that has been scanned to its end at least once.
    pub fn ledger(&self) -> Result<Ledger> {
        let ledger = Ledger::open(&self.state.ledger(), &self.root)?;
        match ledger.meta("scanned")? {
            Some(_) => Ok(ledger),
            None => Err(Ledger::not_indexed(&self.root)),
        }
    }

    /// The rules of admission.
    pub fn policy(&self, world: &World) -> Result<Policy> {
        Policy::open(&self.root, &surroundings(world), &self.only)
    }

    /// The root, held open for reading bodies.
    pub fn open_root(&self) -> Result<Root> {
        Root::open(&self.root).map_err(|e| Error::io("open", self.shown_root(), &e))
    }

    /// The root as shown in messages.
    pub fn shown_root(&self) -> String {
        quote_path(self.root.as_os_str().as_bytes()).into_owned()
    }

    /// The record that opens its part of a stream.
    pub fn record(&self) -> Repo {
        use base64::Engine;
        let bytes = self.root.as_os_str().as_bytes();
        let raw = std::str::from_utf8(bytes).is_err();
        Repo {
            name: self.name.clone(),
            path: String::from_utf8_lossy(bytes).into_owned(),
            path_b64: raw.then(|| base64::engine::general_purpose::STANDARD.encode(bytes)),
            head: crate::admit::head(&self.root),
            dirty: None,
        }
    }
}

/// The folder's name with what a name cannot hold as `-`; `root` where nothing is left.
fn default_name(root: &Path) -> String {
    let folder = root.file_name().map(|name| name.to_string_lossy()).unwrap_or_default();
    let plain = |c: char| if c.is_ascii_alphanumeric() || "._-".contains(c) { c } else { '-' };
    let name: String = folder.chars().map(plain).take(100).collect();
    if is_name(&name) { name } else { "root".to_string() }
}

/// What the environment says about git's configuration.
pub fn surroundings(world: &World) -> Surroundings {
    Surroundings::from_vars(world.vars())
}
