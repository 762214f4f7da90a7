//! `workspaces.json`: the names of this user's workspaces, and their roots.
//!
//! It only saves typing: paths work without it, so a place that cannot be written is a warning.

use std::fmt::Display;
use std::fs;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::config::{misunderstood, read_json, write_json};
use super::member::plain_root;
use super::quote;
use crate::error::{Error, Result};
use crate::record::{path_from_wire, path_to_wire};
use crate::regular::{self, Links};
use crate::store::db::lock;

/// The file of names, where there is one.
#[derive(Debug, Clone)]
pub struct Registry {
    path: Option<PathBuf>,
}

#[derive(Default, Serialize, Deserialize)]
struct Stored {
    v: u8,
    workspaces: Vec<Entry>,
}

#[derive(Serialize, Deserialize)]
struct Entry {
    name: String,
    root: String,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    root_b64: Option<String>,
}

impl Registry {
    /// The registry below a user's state folder (`$XDG_STATE_HOME`); an empty one without it.
    pub fn below(state_home: Option<&Path>) -> Registry {
        Registry { path: state_home.map(|home| home.join("auwai/workspaces.json")) }
    }

    /// Every name and its root, by name.
    ///
    /// # Errors
    /// `damaged` when the file cannot be understood.
    pub fn list(&self) -> Result<Vec<(String, PathBuf)>> {
        let Some(path) = self.path.as_deref().filter(|path| regular::is_there(path)) else {
            return Ok(Vec::new());
        };
        let stored: Stored = read_json(path, Links::Follow)?;
        stored.workspaces.into_iter().map(|entry| entry.parse(path)).collect()
    }

    /// The root of a name.
    pub fn root_of(&self, name: &str) -> Result<Option<PathBuf>> {
        Ok(self.list()?.into_iter().find(|(known, _)| known == name).map(|(_, root)| root))
    }

    /// Whether `name` can be given to the workspace at `root`.
    ///
    /// # Errors
    /// `name-taken` when another workspace has it, and is still there.
    pub fn check(&self, name: &str, root: &Path) -> Result<()> {
        let known = self.list().unwrap_or_default();
        let other = known.iter().find(|(known, at)| known == name && at != root);
        match other.filter(|(_, at)| at.join(".auwai/workspace/workspace.json").is_file()) {
            Some((_, other)) => Err(taken(name, other)),
            None => Ok(()),
        }
    }

    /// Gives `name` to the workspace at `root`. The name of one that is not there any more is free.
    ///
    /// # Errors
    /// `name-taken` when another workspace has it; what keeps the file from being written, which
    /// is worth a warning and no more.
    pub fn record(&self, name: &str, root: &Path) -> Result<()> {
        let nowhere = || not_kept(name, root, &"neither XDG_STATE_HOME nor HOME is set");
        let path = self.path.as_deref().ok_or_else(nowhere)?;
        let folder = path.parent().unwrap_or(path);
        let not_kept = |cause: &dyn Display| not_kept(name, root, cause);
        fs::create_dir_all(folder).map_err(|e| not_kept(&crate::error::plain(&e)))?;
        let _lock = lock(&path.with_extension("lock")).map_err(|e| not_kept(&e))?;
        let mut all = self.list().map_err(|e| not_kept(&e))?;
        self.check(name, root)?;
        all.retain(|(known, at)| known != name && at != root);
        all.push((name.to_string(), root.to_owned()));
        all.sort();
        let stored = Stored { v: 1, workspaces: all.iter().map(Entry::of).collect() };
        write_json(path, &stored).map_err(|e| not_kept(&e))
    }
}

impl Entry {
    fn of((name, root): &(String, PathBuf)) -> Entry {
        let (text, root_b64) = path_to_wire(root);
        Entry { name: name.clone(), root: text, root_b64 }
    }

    fn parse(self, file: &Path) -> Result<(String, PathBuf)> {
        let root = path_from_wire(&self.root, self.root_b64.as_deref());
        let root = root.and_then(|root| plain_root(&self.name, root));
        Ok((self.name, root.map_err(|e| misunderstood(file, &e))?))
    }
}

fn not_kept(name: &str, root: &Path, cause: &dyn Display) -> Error {
    Error::failed("not-writable", format!("the name '{name}' is not kept"))
        .because(cause)
        .hint(format!("name the workspace by its path: `auwai plan -W {}`", quote(root)))
}

fn taken(name: &str, other: &Path) -> Error {
    let message = format!("the name '{name}' is taken by the workspace at '{}'", quote(other));
    Error::failed("name-taken", message)
        .hint("choose another: `auwai workspace init NAME`")
        .hint(format!("or use that one: `auwai status --workspace {name}`"))
}
