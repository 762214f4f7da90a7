//! `workspace.json`: read, and changed under a lock by temporary file and rename.

use std::fmt::Display;
use std::fs;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::{Member, StateDir, quote};
use crate::error::{Error, Result};
use crate::record::is_name;
use crate::regular::{self, Links};
use crate::store::db::lock;
use crate::store::file::{cannot_write, replace};
use crate::store::stamp::Stamp;

/// The folder in a workspace's state folder.
pub(super) const FOLDER: &str = "workspace";

#[derive(Serialize, Deserialize)]
struct Config {
    v: u8,
    name: String,
    /// Where the file was made; none in one of an older version.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    stamp: Option<Stamp>,
    repositories: Vec<Member>,
}

/// Where the file of a workspace is.
pub(super) fn path(state: &StateDir) -> PathBuf {
    state.join(FOLDER).join("workspace.json")
}

/// Whether there is a workspace in this state folder.
pub(super) fn is_workspace(state: &StateDir) -> bool {
    regular::is_there(&path(state))
}

/// The name and the members.
pub(super) fn read(state: &StateDir) -> Result<(String, Vec<Member>)> {
    let path = path(state);
    let config: Config = read_json(&path, Links::Refuse)?;
    if !is_name(&config.name) {
        let error = misunderstood(&path, &"its name is not a name");
        return Err(
            error.hint_instead("give it one of the characters A-Z a-z 0-9 . _ - with an editor")
        );
    }
    match twice(&config.repositories) {
        Some(name) => Err(misunderstood(&path, &format!("two repositories are called '{name}'"))),
        None => Ok((config.name, config.repositories)),
    }
}

/// A name that two members have.
fn twice(members: &[Member]) -> Option<&str> {
    let mut names: Vec<&str> = members.iter().map(|member| member.name.as_str()).collect();
    names.sort_unstable();
    names.windows(2).find(|pair| pair[0] == pair[1]).map(|pair| pair[0])
}

/// Whether the file was made where it is now.
///
/// # Errors
/// What keeps it from being read.
pub(super) fn is_made_here(state: &StateDir) -> Result<bool> {
    let config: Config = read_json(&path(state), Links::Refuse)?;
    Ok(config.stamp == Some(stamp(state)?))
}

/// Makes it one that was made here; one that cannot be written stays as it is.
///
/// # Errors
/// What keeps it from being read.
pub(super) fn stamp_anew(state: &StateDir) -> Result<()> {
    let path = path(state);
    let written = lock(&path.with_extension("lock")).and_then(|_lock| {
        let config: Config = read_json(&path, Links::Refuse)?;
        write_json(&path, &Config { stamp: Some(stamp(state)?), ..config })
    });
    match written {
        Err(error) if matches!(error.code(), "no-permission" | "read-only") => Ok(()),
        written => written,
    }
}

fn stamp(state: &StateDir) -> Result<Stamp> {
    let folder = state.join(FOLDER);
    Stamp::of(&folder).map_err(|e| Error::io("open", quote(&folder), &e))
}

/// Makes an empty one, unless there is one.
pub(super) fn create(state: &StateDir, name: &str) -> Result<()> {
    let path = path(state);
    let folder = state.join(FOLDER);
    fs::create_dir_all(&folder).map_err(|e| cannot_write(&folder, &e))?;
    let _lock = lock(&path.with_extension("lock"))?;
    if regular::is_there(&path) {
        return Ok(());
    }
    let (name, stamp) = (name.to_string(), Some(stamp(state)?));
    write_json(&path, &Config { v: 1, name, stamp, repositories: Vec::new() })
}

/// Changes the members; nothing is written when `edit` fails.
pub(super) fn change<T>(
    state: &StateDir,
    edit: impl FnOnce(&mut Vec<Member>) -> Result<T>,
) -> Result<(Vec<Member>, T)> {
    let path = path(state);
    let _lock = lock(&path.with_extension("lock"))?;
    let mut config: Config = read_json(&path, Links::Refuse)?;
    let done = edit(&mut config.repositories)?;
    config.repositories.sort_by(|a, b| a.name.cmp(&b.name));
    write_json(&path, &config)?;
    Ok((config.repositories, done))
}

/// Reads a state file.
///
/// # Errors
/// `damaged` when it is not what it should be.
pub(super) fn read_json<T: serde::de::DeserializeOwned>(path: &Path, links: Links) -> Result<T> {
    let text = regular::read(path, links).map_err(|e| regular::cannot("open", path, &e))?;
    serde_json::from_slice(&text).map_err(|e| misunderstood(path, &e))
}

/// The error of a state file that is not what it should be.
pub(super) fn misunderstood(path: &Path, cause: &dyn Display) -> Error {
    let path = quote(path);
    Error::failed("damaged", format!("'{path}' cannot be understood"))
        .because(cause)
        .hint(format!("mend it, or move it away and make it again: `mv {path} {path}.damaged`"))
}

/// Writes a state file, indented for people; the caller holds its lock.
pub(super) fn write_json<T: Serialize>(path: &Path, value: &T) -> Result<()> {
    let text = serde_json::to_string_pretty(value)
        .map_err(|e| Error::failed("bug", format!("cannot write '{}'", quote(path))).because(e))?;
    replace(path, |out| writeln!(out, "{text}").map_err(|e| cannot_write(path, &e)))
}
