//! `workspace.json`: read, and changed under a lock by temporary file and rename.

use std::fs;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::{Member, StateDir, quote};
use crate::error::{Error, Result};
use crate::record::is_name;
use crate::regular::{self, Links};
use crate::store::db::lock;
use crate::store::file::{cannot_write, replace};

/// The folder in a workspace's state folder.
pub(super) const FOLDER: &str = "workspace";

#[derive(Serialize, Deserialize)]
struct Config {
    v: u8,
    name: String,
    repositories: Vec<Member>,
}

fn path(state: &StateDir) -> PathBuf {
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
    match is_name(&config.name) {
        true => Ok((config.name, config.repositories)),
        false => Err(Error::failed("damaged", format!("'{}' cannot be understood", quote(&path)))
            .because("its name is not a name")
            .hint("give it one of the characters A-Z a-z 0-9 . _ - with an editor")),
    }
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
    write_json(&path, &Config { v: 1, name: name.to_string(), repositories: Vec::new() })
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
    serde_json::from_slice(&text).map_err(|e| {
        Error::failed("damaged", format!("'{}' cannot be understood", quote(path))).because(e).hint(
            format!(
                "mend it, or move it away and make it again: `mv {0} {0}.damaged`",
                quote(path)
            ),
        )
    })
}

/// Writes a state file, indented for people; the caller holds its lock.
pub(super) fn write_json<T: Serialize>(path: &Path, value: &T) -> Result<()> {
    let text = serde_json::to_string_pretty(value)
        .map_err(|e| Error::failed("bug", format!("cannot write '{}'", quote(path))).because(e))?;
    replace(path, |out| writeln!(out, "{text}").map_err(|e| cannot_write(path, &e)))
}
