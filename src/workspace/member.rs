//! A repository in a workspace: what it is called, where it is, how much of it counts.

use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};

use super::scope::subtrees;
use super::{StateDir, bad_name, folder_name, quote};
use crate::admit::{Policy, Surroundings, Verdict};
use crate::error::{Error, Result};
use crate::record::{RepoPath, is_name, path_from_wire, path_to_wire};
use crate::visible::one_line;

/// A repository of a workspace.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "Stored", try_from = "Stored")]
pub struct Member {
    /// Its name, unique in the workspace.
    pub name: String,
    /// Its root: an absolute path, without links when it was added.
    pub path: PathBuf,
    /// The subtrees that count; all of it when empty.
    pub only: Vec<RepoPath>,
    /// `--state-dir`, when its state is kept elsewhere.
    pub state_dir: Option<PathBuf>,
}

/// A member in `workspace.json`: paths are bytes, so one that is not UTF-8 has a second key, which
/// counts.
#[derive(Clone, Default, Serialize, Deserialize)]
struct Stored {
    name: String,
    path: String,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    path_b64: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    only: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    only_b64: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    state_dir: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    state_dir_b64: Option<String>,
}

impl From<Member> for Stored {
    fn from(member: Member) -> Stored {
        let (path, path_b64) = path_to_wire(&member.path);
        let (state_dir, state_dir_b64) = member.state_dir.as_deref().map(path_to_wire).unzip();
        let only = member.only.iter().map(|dir| dir.to_wire().0).collect();
        let plain = member.only.iter().all(|dir| dir.to_wire().1.is_none());
        let encoded = || member.only.iter().map(|dir| STANDARD.encode(dir.as_bytes())).collect();
        Stored {
            name: member.name,
            path,
            path_b64,
            only,
            only_b64: if plain { Vec::new() } else { encoded() },
            state_dir,
            state_dir_b64: state_dir_b64.flatten(),
        }
    }
}

impl TryFrom<Stored> for Member {
    type Error = String;

    fn try_from(stored: Stored) -> std::result::Result<Member, String> {
        let b64 = |at: usize| stored.only_b64.get(at).map(String::as_str);
        let only = stored.only.iter().enumerate();
        let only = only.map(|(at, dir)| RepoPath::from_wire(dir, b64(at)));
        let only = only.collect::<std::result::Result<_, _>>()?;
        let path = path_from_wire(&stored.path, stored.path_b64.as_deref())?;
        let path = plain_root(&stored.name, path)?;
        let b64 = stored.state_dir_b64.as_deref();
        let state_dir = stored
            .state_dir
            .map(|text| path_from_wire(&text, b64).and_then(|path| plain_root(&stored.name, path)));
        Ok(Member { state_dir: state_dir.transpose()?, name: stored.name, path, only })
    }
}

/// A path from a file of ours that belongs to `name`: absolute, and no way around.
pub(super) fn plain_root(name: &str, path: PathBuf) -> std::result::Result<PathBuf, String> {
    if !is_name(name) {
        return Err(format!("'{}' is not a name", one_line(name)));
    }
    let bytes = path.as_os_str().as_bytes();
    let around = bytes.split(|b| *b == b'/').any(|part| part == b"..");
    match path.is_absolute() && !around && !bytes.contains(&0) {
        true => Ok(path),
        false => Err(format!("'{}' of '{name}' is no absolute path without '..'", quote(&path))),
    }
}

impl Member {
    /// Its root, when it is still there.
    ///
    /// # Errors
    /// `gone` with the command that says where it is now.
    pub fn root(&self) -> Result<&Path> {
        let real = std::fs::canonicalize(&self.path).ok().filter(|real| real.is_dir());
        if real.as_ref() == Some(&self.path) {
            return Ok(&self.path);
        }
        let message =
            format!("repository '{}' is not at '{}' any more", self.name, quote(&self.path));
        let error = Error::failed("gone", message);
        let (error, place) = match real {
            Some(real) => (error.because("a link is in its place"), quote(&real)),
            None => (error, "NEWPATH".to_string()),
        };
        Err(error
            .hint(format!("say where it is: `auwai workspace add {place} --as {}`", self.name))
            .hint(format!("or do without it: `auwai workspace remove {}`", self.name)))
    }

    /// The subtrees that it is bounded to, as a policy has them: `name/dir`.
    pub fn scope(&self) -> impl Iterator<Item = String> {
        self.only.iter().map(|dir| format!("{}/{}", self.name, dir.display()))
    }

    /// The folder of its own state.
    pub fn state(&self) -> StateDir {
        StateDir::of(&self.path, self.state_dir.as_deref())
    }

    /// Whether the walk of this repository comes into the folder `inner` below its root: not where it
    /// stops at a repository, at what is ignored, or at the bounds of the subtrees.
    ///
    /// # Errors
    /// Those of the rules.
    fn walks_into(&self, inner: &Path, around: &Surroundings) -> Result<bool> {
        let below = inner.strip_prefix(&self.path).ok();
        let below = below.and_then(|below| RepoPath::new(below.as_os_str().as_bytes()));
        let Some(below) = below.filter(|_| self.path.is_dir()) else { return Ok(false) };
        let policy = Policy::open(&self.path, around, &self.only)?;
        Ok(match policy.verdict(&below, true) {
            Verdict::Nested(_) | Verdict::Beyond(_) | Verdict::Ignored(_) => false,
            Verdict::Admitted | Verdict::Closed(..) => true,
        })
    }
}

/// What was typed of a member that is added.
#[derive(Debug, Clone, Copy)]
pub struct Added<'a> {
    /// Its name; its folder's where none was typed.
    pub name: Option<&'a str>,
    /// The subtrees to bound it to; none: all of it.
    pub only: &'a [PathBuf],
    /// Where its state is kept, if elsewhere.
    pub state_dir: Option<&'a Path>,
    /// What the environment says of git's rules, by which a subtree may be ignored.
    pub around: &'a Surroundings,
}

/// A member from what was typed; `root` is a folder without links.
pub(super) fn new(root: PathBuf, added: &Added<'_>) -> Result<Member> {
    let name = match added.name {
        Some(name) if is_name(name) => name.to_string(),
        Some(name) => {
            return Err(bad_name(name, "choose another: `auwai workspace add PATH --as NAME`"));
        }
        None => folder_name(&root),
    };
    let only = subtrees(&root, added.only, added.around)?;
    Ok(Member { name, path: root, only, state_dir: added.state_dir.map(Path::to_owned) })
}

/// Adds `new`, or moves the member of its name there. `named` says that the name was typed.
pub(super) fn put(
    members: &mut Vec<Member>,
    mut new: Member,
    named: bool,
    around: &Surroundings,
) -> Result<Member> {
    let others = || members.iter().filter(|other| other.name != new.name);
    if let Some(other) = others().find(|other| other.path == new.path) {
        return Err(same(other));
    }
    for other in others() {
        if other.walks_into(&new.path, around)? {
            return Err(nested(&new, other));
        }
        if new.walks_into(&other.path, around)? {
            return Err(nested(other, &new));
        }
    }
    match members.iter().position(|other| other.name == new.name) {
        None => members.push(new.clone()),
        Some(at) if named || members[at].path == new.path || !members[at].path.is_dir() => {
            // Where its state is was said when it was added, and other bounds do not change it.
            let state_dir = new.state_dir.or_else(|| members[at].state_dir.clone());
            new = Member { state_dir, ..new };
            members[at] = new.clone();
        }
        Some(at) => return Err(taken(&members[at])),
    }
    Ok(new)
}

fn same(other: &Member) -> Error {
    let message =
        format!("'{}' is in the workspace already, as '{}'", quote(&other.path), other.name);
    Error::failed("same-repository", message)
        .hint(format!("to call it otherwise: `auwai workspace remove {}`, then add it", other.name))
}

fn nested(inner: &Member, outer: &Member) -> Error {
    let message = format!(
        "'{}' lies inside '{}', whose repository '{}' has its files already",
        quote(&inner.path),
        quote(&outer.path),
        outer.name
    );
    Error::failed("nested", message).hint(format!(
        "bound the outer one to other folders: `auwai workspace add PATH --as {} --only DIR`",
        outer.name
    ))
}

fn taken(other: &Member) -> Error {
    let message = format!("the name '{}' is taken by '{}'", other.name, quote(&other.path));
    Error::failed("name-taken", message)
        .hint("add it under another name: `auwai workspace add PATH --as NAME`")
        .hint(format!("or move that name here: `auwai workspace add PATH --as {}`", other.name))
}
