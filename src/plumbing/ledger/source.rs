//! The repositories that a verb reads: named on the command line, or the members of a workspace.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::target::{Repos, StateOption};
use crate::admit::{Policy, Verdict};
use crate::beneath::Root;
use crate::cli::World;
use crate::cli::parse::NamedRepo;
use crate::error::{Error, Result};
use crate::record::{Repo, RepoPath};
use crate::store::ledger::Ledger;
use crate::visible::{quote, quote_path};
use crate::workspace::{Member, StateDir, Terms, Trust, below, folder_name, nearest};

/// A repository: its name, its root, the subtrees it is bounded to, and its state.
#[derive(Debug, Clone)]
pub struct Source {
    /// The name.
    pub name: String,
    /// The root, absolute and without links.
    pub root: PathBuf,
    /// The subtrees; none: all.
    pub only: Vec<RepoPath>,
    /// The state folder, which was looked at.
    pub state: StateDir,
    /// Whose state is believed.
    pub trust: Trust,
}

impl Source {
    /// The repository that `--repo` names.
    ///
    /// # Errors
    /// `not-found` when the folder is not there; usage when it cannot give a name; as
    /// [`Source::check_state`].
    pub fn named(repo: &NamedRepo, terms: &Terms, world: &World) -> Result<Source> {
        let typed = quote(&repo.path);
        let root = std::fs::canonicalize(world.absolute(&repo.path))
            .map_err(|e| Error::io("open", &typed, &e).hint(see_folders(&repo.path, world)))?;
        if !root.is_dir() {
            return Err(Error::failed("not-a-folder", format!("'{typed}' is not a folder"))
                .hint("name the repository's root folder"));
        }
        let name = match &repo.name {
            Some(name) => name.clone(),
            None => folder_name(&root),
        };
        let state = StateDir::of(&root, terms.elsewhere.as_deref());
        Source { name, root, only: Vec::new(), state, trust: terms.trust }.checked()
    }

    /// A repository of a workspace.
    ///
    /// # Errors
    /// `gone` when it is not where it was; as [`Source::check_state`].
    pub fn member(member: &Member, trust: Trust) -> Result<Source> {
        let source = Source {
            name: member.name.clone(),
            root: member.root()?.to_owned(),
            only: member.only.clone(),
            state: member.state(),
            trust,
        };
        source.checked()
    }

    fn checked(self) -> Result<Source> {
        self.check_state().map(|()| self)
    }

    /// Looks at the state folder before any of it is opened; again, where it may be another one.
    ///
    /// # Errors
    /// As [`Trust::check`].
    pub fn check_state(&self) -> Result<()> {
        self.trust.check(&self.state, &self.root)
    }

    /// The paths in this repository that a word can mean: `repo:path`, a path from its root, or one
    /// from the current folder.
    pub fn paths(&self, word: &OsStr, world: &World) -> Vec<RepoPath> {
        let bytes = word.as_bytes();
        let named = bytes.strip_prefix(self.name.as_bytes()).and_then(|b| b.strip_prefix(b":"));
        let from_root = RepoPath::new(bytes.strip_prefix(b"./").unwrap_or(bytes));
        let from_here = self.inside(&world.absolute(Path::new(word)));
        let named = named.and_then(RepoPath::new);
        named.into_iter().chain(from_here).chain(from_root).collect()
    }

    /// An absolute path as one of this repository.
    fn inside(&self, path: &Path) -> Option<RepoPath> {
        RepoPath::new(below(&self.root, path)?.as_os_str().as_bytes())
    }

    /// Opens the ledger of a repository that has been scanned to its end at least once, as far as it
    /// is looked at.
    pub fn ledger(&self) -> Result<Ledger> {
        Ledger::open(&self.state.ledger(), &self.root)?.bounded(&self.only).indexed(&self.root)
    }

    /// The same, where it may not have been scanned yet.
    ///
    /// # Errors
    /// What else keeps it from being opened.
    pub fn ledger_if_indexed(&self) -> Result<Option<Ledger>> {
        match self.ledger() {
            Err(error) if error.code() == "not-indexed" => Ok(None),
            ledger => ledger.map(Some),
        }
    }

    /// The same, unless opening it takes a copy of all of it.
    ///
    /// # Errors
    /// What else keeps it from being opened.
    pub fn ledger_if_cheap(&self) -> Result<Option<Ledger>> {
        match Ledger::is_unwritable(&self.state.ledger()) {
            true => Ok(None),
            false => self.ledger_if_indexed(),
        }
    }

    /// The rules of admission.
    pub fn policy(&self, world: &World) -> Result<Policy> {
        Policy::open(&self.root, &world.surroundings(), &self.only)
    }

    /// Makes sure that each subtree is a folder that is read: of one that has another name now, nothing
    /// would be asked any more.
    ///
    /// # Errors
    /// `gone` with the command that says which they are.
    pub fn check_bounds(&self, policy: &Policy) -> Result<()> {
        let is_folder = |path: &RepoPath| {
            path.under(&self.root).symlink_metadata().is_ok_and(|meta| meta.is_dir())
        };
        let is_read = |path: &&RepoPath| {
            is_folder(path)
                && matches!(policy.verdict(path, true), Verdict::Admitted | Verdict::Closed(..))
        };
        let (read, gone): (Vec<_>, Vec<_>) = self.only.iter().partition(is_read);
        let Some(first) = gone.first() else { return Ok(()) };
        let (name, root) = (&self.name, self.shown_root());
        let message = format!(
            "'{root}' is bounded to '{}', which is no folder that is read any more",
            first.display()
        );
        let only: String = read.iter().map(|dir| format!(" --only {}", dir.display())).collect();
        Err(Error::failed("gone", message).hint(format!(
            "say which folders count: `auwai workspace add {root} --as {name}{only} --only DIR`"
        )))
    }

    /// The root, held open for reading bodies.
    pub fn open_root(&self) -> Result<Root> {
        Root::open(&self.root).map_err(|e| Error::io("open", self.shown_root(), &e))
    }

    /// The root as shown in messages.
    pub fn shown_root(&self) -> String {
        quote(&self.root)
    }

    /// The record that opens its part of a stream, with the state of git at the last scan.
    pub fn record(&self, ledger: &Ledger) -> Result<Repo> {
        let told = |value: Option<String>| value.filter(|value| !value.is_empty());
        let known = |key| ledger.meta(key).map(told);
        Ok(Repo {
            head: known("head")?,
            dirty: told(ledger.meta_of_part("dirty")?).map(|dirty| dirty == "true"),
            tokenizer: known("tokenizer")?,
            fingerprint: Some(ledger.fingerprint()?),
            ..Repo::at(&self.name, &self.root)
        })
    }
}

/// Repositories that are named on the command line, and where their state is.
#[derive(Debug, Clone, clap::Args)]
#[group(skip)]
pub struct RepoOptions {
    #[command(flatten)]
    repos: Repos,
    #[command(flatten)]
    state: StateOption,
}

impl RepoOptions {
    /// The repositories, of which there must be one.
    ///
    /// # Errors
    /// Usage when there is none; else as [`Source::named`].
    pub fn sources(&self, world: &World) -> Result<Vec<Source>> {
        let terms = self.state.resolve(world);
        let one = |repo| Source::named(repo, &terms, world);
        self.repos.required()?.iter().map(one).collect()
    }

    /// The repository, for a verb that takes exactly one.
    ///
    /// # Errors
    /// Usage when there is none, or more; else as [`Source::named`].
    pub fn one(&self, world: &World) -> Result<Source> {
        Source::named(self.repos.one()?, &self.state.resolve(world), world)
    }
}

/// The same, where they may be bounded to subtrees.
#[derive(Debug, Clone, clap::Args)]
#[group(skip)]
pub struct BoundedOptions {
    #[command(flatten)]
    of: RepoOptions,
    /// The subtree that the repository is bounded to; may be repeated
    #[arg(long, value_name = "DIR", allow_hyphen_values = true)]
    only: Vec<OsString>,
}

impl BoundedOptions {
    /// As [`RepoOptions::sources`].
    ///
    /// # Errors
    /// Usage for what is no subtree, too.
    pub fn sources(&self, world: &World) -> Result<Vec<Source>> {
        self.of.sources(world)?.into_iter().map(|source| self.bound(source)).collect()
    }

    /// As [`RepoOptions::one`].
    ///
    /// # Errors
    /// Usage for what is no subtree, too.
    pub fn one(&self, world: &World) -> Result<Source> {
        self.bound(self.of.one(world)?)
    }

    fn bound(&self, source: Source) -> Result<Source> {
        let only = self.only.iter().map(|dir| subtree(dir)).collect::<Result<_>>()?;
        Ok(Source { only, ..source })
    }
}

/// A subtree of a repository as typed: relative to the root, a final `/` allowed.
fn subtree(typed: &OsStr) -> Result<RepoPath> {
    let bytes = typed.as_bytes();
    let plain = bytes.strip_prefix(b"./").unwrap_or(bytes);
    let plain = plain.strip_suffix(b"/").unwrap_or(plain);
    RepoPath::new(plain).ok_or_else(|| {
        let shown = quote_path(bytes).into_owned();
        Error::usage(format!("'{shown}' is not a folder inside a repository"))
            .hint("give it relative to the repository's root: `--only src`")
    })
}

/// Where somebody who mistyped a path can look.
fn see_folders(path: &Path, world: &World) -> String {
    let there = nearest(&world.absolute(path)).as_os_str().as_bytes().to_vec();
    format!("see which folders there are: `ls {}`", quote_path(&there))
}
