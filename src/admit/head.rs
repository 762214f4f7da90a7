//! The commit that HEAD names, from git's files alone.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use super::gitdir::GitDir;
use crate::regular::{self, Links};

/// As deep as git follows references to references.
const DEEPEST: usize = 5;

/// What HEAD says.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Head {
    /// The full name of the reference, when HEAD is not detached: `refs/heads/main`.
    pub name: Option<Vec<u8>>,
    /// The commit in hex; none before the first commit, or where refs are not files (reftable).
    pub commit: Option<String>,
}

impl Head {
    /// Reads it.
    pub fn read(git: &GitDir) -> Self {
        let mut head = Head::default();
        let mut value = read_ref(git, b"HEAD");
        for _ in 0..DEEPEST {
            match value {
                Some(Value::Name(name)) => {
                    value = read_ref(git, &name);
                    head.name.get_or_insert(name);
                }
                Some(Value::Commit(commit)) => {
                    head.commit = Some(commit);
                    return head;
                }
                None => return head,
            }
        }
        head
    }
}

enum Value {
    Name(Vec<u8>),
    Commit(String),
}

fn read_ref(git: &GitDir, name: &[u8]) -> Option<Value> {
    let loose = loose(&git.own, name).or_else(|| loose(&git.common, name));
    loose.or_else(|| packed(&git.common, name))
}

fn loose(dir: &Path, name: &[u8]) -> Option<Value> {
    let path = dir.join(OsStr::from_bytes(name));
    if let Ok(target) = std::fs::read_link(&path) {
        return reference(target.as_os_str().as_bytes());
    }
    let text = regular::read(&path, Links::Follow).ok()?;
    match text.strip_prefix(b"ref:") {
        Some(name) => reference(name.trim_ascii()),
        None => commit(text.split(|b| b.is_ascii_whitespace()).next()?),
    }
}

/// A reference's name, unless it could leave the git directory.
fn reference(name: &[u8]) -> Option<Value> {
    let inside = name.starts_with(b"refs/") && !name.split(|b| *b == b'/').any(|c| c == b"..");
    inside.then(|| Value::Name(name.to_vec()))
}

fn packed(common: &Path, name: &[u8]) -> Option<Value> {
    let text = regular::read(&common.join("packed-refs"), Links::Follow).ok()?;
    let line = text.split(|b| *b == b'\n').find(|line| {
        line.strip_suffix(name).is_some_and(|rest| rest.ends_with(b" ") && rest[0] != b'#')
    })?;
    commit(&line[..line.len() - name.len() - 1])
}

fn commit(hex: &[u8]) -> Option<Value> {
    let is_id = matches!(hex.len(), 40 | 64) && hex.iter().all(u8::is_ascii_hexdigit);
    is_id.then(|| Value::Commit(String::from_utf8_lossy(hex).into_owned()))
}
