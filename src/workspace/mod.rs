//! Where things are: state folders, workspaces, their repositories and their names.
//!
//! A workspace is a root with a `workspace.json` that lists its members. A repository without one
//! is a workspace of one: itself. Either has a folder for its full read.

mod config;
mod locate;
mod lock;
mod member;
mod registry;
mod scope;
mod state;
mod trust;

use std::fs;
use std::path::{Path, PathBuf};

pub use locate::{below, repository_around, workspace_around};
pub use lock::Lock;
pub use member::{Added, Member};
pub use registry::Registry;
pub use state::StateDir;
pub use trust::{Terms, Trust};

use crate::error::{Error, Result};
use crate::record::is_name;
use crate::visible::quote;

/// The folder of a full read in the state of a repository alone.
const FULLREAD: &str = "fullread";

/// A workspace: a name, a root, members, and where its state is, which was looked at and is believed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Workspace {
    name: String,
    root: PathBuf,
    state: StateDir,
    members: Vec<Member>,
    alone: bool,
    trust: Trust,
    passed_over: Option<String>,
}

impl Workspace {
    /// Makes the folder `root` a workspace called `name`, and the folder if need be. One of the
    /// same name that is there already is opened.
    ///
    /// # Errors
    /// `bad-name`; `exists` when the root is a workspace of another name; `not-writable`; those of
    /// [`Trust::check`].
    pub fn init(root: &Path, name: &str, trust: Trust) -> Result<Workspace> {
        if !is_name(name) {
            return Err(bad_name(name, "choose another: `auwai workspace init NAME`"));
        }
        fs::create_dir_all(root).map_err(|e| Error::io("create", quote(root), &e))?;
        let root = real_folder(root)?;
        let state = StateDir::of(&root, None);
        trust.check(&state, &root)?;
        state.create()?;
        config::create(&state, name)?;
        let workspace = Self::read(root, state, trust)?;
        if workspace.name != name {
            let message =
                format!("'{}' is the workspace '{}'", quote(&workspace.root), workspace.name);
            return Err(Error::failed("exists", message)
                .hint(format!("use it: `auwai workspace add PATH -W {}`", workspace.name))
                .hint("or choose another root: `auwai workspace init NAME --root DIR`"));
        }
        Ok(workspace)
    }

    /// Opens what was typed after `--workspace`: a registered name, else a path: the root of a
    /// workspace, or a repository, which is then a workspace of one.
    ///
    /// # Errors
    /// `unknown-workspace`, `not-a-folder`, and `gone` when a registered root is not there; those of
    /// [`Trust::check`].
    pub fn open(typed: &Path, cwd: &Path, registry: &Registry, terms: &Terms) -> Result<Workspace> {
        let name = typed.to_str().filter(|name| is_name(name));
        if let Some(root) = name.map(|name| registry.root_of(name)).transpose()?.flatten() {
            return Self::registered(typed, &root, terms.trust);
        }
        let path = cwd.join(typed);
        if name.is_some() && !path.exists() {
            return Err(unknown(typed));
        }
        Self::at(&path, terms)
    }

    fn registered(name: &Path, root: &Path, trust: Trust) -> Result<Workspace> {
        if config::is_workspace(&StateDir::of(root, None)) {
            return Self::at(root, &Terms::at_home(trust));
        }
        let message = format!("workspace '{}' is not at '{}' any more", quote(name), quote(root));
        Err(Error::failed("gone", message)
            .hint(format!("say where it is: `auwai workspace init {} --root DIR`", quote(name))))
    }

    /// Opens the workspace with this root, or the repository there as a workspace of one.
    /// `--state-dir` is for the state of repositories; a workspace's own is always at its root. But
    /// one that is not believed is passed over where state is kept elsewhere: who does that can read
    /// any repository, whatever lies in it.
    ///
    /// # Errors
    /// `not-a-folder`; those of [`Trust::check`].
    pub fn at(path: &Path, terms: &Terms) -> Result<Workspace> {
        let root = real_folder(path)?;
        let state = StateDir::of(&root, None);
        if !config::is_workspace(&state) {
            return Self::of_repo(&root, None, terms);
        }
        match terms.trust.check(&state, &root) {
            Ok(()) => Self::read(root, state, terms.trust),
            Err(error) if terms.elsewhere.is_some() => {
                let passed_over = Some(error.to_string());
                Ok(Workspace { passed_over, ..Self::of_repo(&root, None, terms)? })
            }
            Err(error) => Err(error),
        }
    }

    /// The nearest workspace upwards from a folder, else the repository around it as a workspace of
    /// one.
    ///
    /// # Errors
    /// As [`Workspace::at`].
    pub fn around(folder: &Path, terms: &Terms) -> Result<Workspace> {
        let repository = || Self::of_repo(&repository_around(folder), None, terms);
        let Some(root) = workspace_around(folder) else { return repository() };
        let aside = |error: Error| match repository_around(folder) {
            other if other != root => error.hint(format!(
                "or leave that workspace, and act on the repository here: `-W {}`",
                quote(&other)
            )),
            _ => error,
        };
        let workspace = Self::at(&root, terms).map_err(aside)?;
        match workspace.passed_over {
            None => Ok(workspace),
            passed_over => Ok(Workspace { passed_over, ..repository()? }),
        }
    }

    /// The repository at `root` as a workspace of one, called `name` (default: its folder's name).
    ///
    /// # Errors
    /// `bad-name` when the folder's name cannot name a repository; those of [`Trust::check`].
    pub fn of_repo(root: &Path, name: Option<&str>, terms: &Terms) -> Result<Workspace> {
        let root = real_folder(root)?;
        let state = StateDir::of(&root, terms.elsewhere.as_deref());
        terms.trust.check(&state, &root)?;
        let name = name.map_or_else(|| folder_name(&root), str::to_string);
        let member = Member {
            name: name.clone(),
            path: root.clone(),
            only: Vec::new(),
            state_dir: terms.elsewhere.clone(),
        };
        let (members, trust) = (vec![member], terms.trust);
        Ok(Workspace { name, root, state, members, alone: true, trust, passed_over: None })
    }

    fn read(root: PathBuf, state: StateDir, trust: Trust) -> Result<Workspace> {
        let (name, members) = config::read(&state)?;
        Ok(Workspace { name, root, state, members, alone: false, trust, passed_over: None })
    }

    /// The name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The root: an absolute path without links.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Whose state is believed.
    pub fn trust(&self) -> Trust {
        self.trust
    }

    /// Why the workspace that is at the root was passed over.
    pub fn passed_over(&self) -> Option<&str> {
        self.passed_over.as_deref()
    }

    /// The repositories, by name.
    pub fn members(&self) -> &[Member] {
        &self.members
    }

    /// Makes sure that it has repositories.
    ///
    /// # Errors
    /// `no-repositories` for one that is still empty.
    pub fn some_members(&self) -> Result<()> {
        let name = &self.name;
        match self.members.is_empty() {
            true => Err(Error::failed(
                "no-repositories",
                format!("workspace '{name}' has no repositories"),
            )
            .hint(format!("add one: `auwai workspace add PATH -W {name}`"))),
            false => Ok(()),
        }
    }

    /// The repository of this name.
    ///
    /// # Errors
    /// `unknown-repository` with the names that there are.
    pub fn member(&self, name: &str) -> Result<&Member> {
        let found = self.members.iter().find(|member| member.name == name);
        found.ok_or_else(|| self.no_member(name))
    }

    /// Whether this is a repository alone, without a `workspace.json`.
    pub fn is_alone(&self) -> bool {
        self.alone
    }

    /// The folder of the full read: `.auwai/workspace`, or `.auwai/fullread` of a repository alone.
    pub fn fullread_dir(&self) -> PathBuf {
        self.state.join(if self.alone { FULLREAD } else { config::FOLDER })
    }

    /// Makes the folder of the full read.
    ///
    /// # Errors
    /// `not-writable` with the way out.
    pub fn create_fullread_dir(&self) -> Result<PathBuf> {
        self.state.create()?;
        let dir = self.fullread_dir();
        fs::create_dir_all(&dir).map_err(|e| crate::store::file::cannot_write(&dir, &e))?;
        Ok(dir)
    }

    /// Adds the repository at `path`. A member of its name moves to the new path, with the subtrees
    /// that are given now, and keeps its reads. Two of these at once lose nothing.
    ///
    /// # Errors
    /// `not-found`, `not-a-folder`, `bad-name`, `name-taken`, `same-repository`, `nested`,
    /// `alone`, and for subtrees `outside`, `is-link`, `ignored`; each says what to run.
    pub fn add(&mut self, path: &Path, added: &Added<'_>) -> Result<Member> {
        let member = member::new(real_folder(path)?, added)?;
        let named = added.name.is_some();
        self.change(|members| member::put(members, member, named, added.around))
    }

    /// Takes a repository out of the workspace. Its reads and its state stay where they are.
    ///
    /// # Errors
    /// `unknown-repository`, `alone`.
    pub fn remove(&mut self, name: &str) -> Result<Member> {
        let unknown = self.no_member(name);
        self.change(|members| {
            let at = members.iter().position(|member| member.name == name).ok_or(unknown)?;
            Ok(members.remove(at))
        })
    }

    fn change<T>(&mut self, edit: impl FnOnce(&mut Vec<Member>) -> Result<T>) -> Result<T> {
        if self.alone {
            let message = format!("'{}' is a repository alone, not a workspace", quote(&self.root));
            return Err(Error::failed("alone", message)
                .hint("make one: `auwai workspace init NAME --root DIR`"));
        }
        let (members, done) = config::change(&self.state, edit)?;
        self.members = members;
        Ok(done)
    }

    fn no_member(&self, name: &str) -> Error {
        let names: Vec<&str> = self.members.iter().map(|member| member.name.as_str()).collect();
        let message = format!(
            "workspace '{}' has no repository '{}'",
            self.name,
            crate::visible::one_line(name)
        );
        let error = Error::failed("unknown-repository", message);
        match names.is_empty() {
            true => error.hint("it has none: `auwai workspace add PATH`"),
            false => error.hint(format!("it has {}: `auwai workspace list`", names.join(", "))),
        }
    }
}

/// An existing folder, absolute and without links.
fn real_folder(path: &Path) -> Result<PathBuf> {
    let real = fs::canonicalize(path).map_err(|e| {
        Error::io("open", quote(path), &e)
            .hint(format!("see which folders there are: `ls {}`", quote(nearest(path))))
    })?;
    match real.is_dir() {
        true => Ok(real),
        false => Err(Error::failed("not-a-folder", format!("'{}' is not a folder", quote(path)))
            .hint(format!("name the folder that holds it: '{}'", quote(&folder_of(&real))))),
    }
}

/// The part of a path that is there.
pub fn nearest(path: &Path) -> &Path {
    path.ancestors().skip(1).find(|folder| folder.is_dir()).unwrap_or(Path::new("/"))
}

fn folder_of(path: &Path) -> PathBuf {
    path.parent().unwrap_or(path).to_owned()
}

/// The name of a folder as a repository's: what a name cannot hold becomes `-`, except in front,
/// where it would look like an option; where nothing is left it is `root`.
pub fn folder_name(root: &Path) -> String {
    let folder = root.file_name().map(|name| name.to_string_lossy()).unwrap_or_default();
    let plain = |c: char| if c.is_ascii_alphanumeric() || "._-".contains(c) { c } else { '-' };
    let name: String = folder.chars().map(plain).take(100).collect();
    let name = name.trim_start_matches('-');
    if is_name(name) { name.to_string() } else { "root".to_string() }
}

fn bad_name(name: &str, hint: &str) -> Error {
    let name = crate::visible::one_line(name);
    Error::failed("bad-name", format!("'{name}' is not a name"))
        .because("a name is 1 to 100 of the characters A-Z a-z 0-9 . _ -")
        .hint(hint)
}

fn unknown(typed: &Path) -> Error {
    Error::failed("unknown-workspace", format!("there is no workspace '{}'", quote(typed)))
        .hint("see which there are: `auwai workspace list --all`")
        .hint(format!("or make it: `auwai workspace init {} --root DIR`", quote(typed)))
}

#[cfg(test)]
mod tests;
