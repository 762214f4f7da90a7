//! Replacing a small file whole, so that no reader and no crash ever sees half of it.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use crate::error::{Error, Result};
use crate::regular;

/// Writes `path` anew: into `path` with `.new` added, to the disk, and then renamed.
///
/// The caller holds a lock ([`super::db::lock`]) that every writer of this file takes. What an
/// earlier writer left unfinished is thrown away; a link in its place is not followed.
///
/// # Errors
/// `disk-full` and `not-writable` with their hints, and whatever `write` says; `path` is then as
/// it was.
pub fn replace(path: &Path, write: impl FnOnce(&mut dyn Write) -> Result<()>) -> Result<()> {
    put(path, |fresh| fill(fresh, write)?.sync_all().map_err(|e| cannot_write(fresh, &e)), rename)
}

/// The same for what need not survive a power cut: nothing waits for the disk.
///
/// # Errors
/// As [`replace`].
pub fn publish(path: &Path, write: impl FnOnce(&mut dyn Write) -> Result<()>) -> Result<()> {
    let rename = |from: &Path, to: &Path| fs::rename(from, to).map_err(|e| cannot_write(to, &e));
    put(path, |fresh| fill(fresh, write).map(drop), rename)
}

fn put(
    path: &Path,
    fill: impl FnOnce(&Path) -> Result<()>,
    rename: impl FnOnce(&Path, &Path) -> Result<()>,
) -> Result<()> {
    let fresh = beside(path, ".new");
    let _ = fs::remove_file(&fresh);
    let done = fill(&fresh).and_then(|()| rename(&fresh, path));
    if done.is_err() {
        let _ = fs::remove_file(&fresh);
    }
    done
}

/// The path with something added to its name.
pub(super) fn beside(path: &Path, more: &str) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(more);
    PathBuf::from(name)
}

fn fill(path: &Path, write: impl FnOnce(&mut dyn Write) -> Result<()>) -> Result<File> {
    let file = File::options().write(true).create_new(true).open(path);
    let mut out = BufWriter::with_capacity(1 << 16, file.map_err(|e| cannot_write(path, &e))?);
    write(&mut out)?;
    out.into_inner().map_err(|e| cannot_write(path, e.error()))
}

/// Puts a whole file in its place, also in the eyes of a power cut.
pub(super) fn rename(from: &Path, to: &Path) -> Result<()> {
    fs::rename(from, to).map_err(|e| cannot_write(to, &e))?;
    // The rename itself survives a power cut once its folder is on the disk.
    let folder = to.parent().map(File::open);
    let synced = folder.map_or(Ok(()), |folder| folder.and_then(|folder| folder.sync_all()));
    synced.map_err(|e| cannot_write(to, &e))
}

/// The error for a state file that cannot be written, with the way out.
pub fn cannot_write(path: &Path, cause: &std::io::Error) -> Error {
    let error = regular::cannot("write", path, cause);
    match error.code() {
        "not-regular" => error,
        "disk-full" => error.hint("make room and run the command again; what was committed stands"),
        _ => error.hint("keep the state elsewhere with `--state-dir DIR` (or AUWAI_STATE_DIR)"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(words: &'static str) -> impl FnOnce(&mut dyn Write) -> Result<()> {
        |out| out.write_all(words.as_bytes()).map_err(|e| Error::io("write", "x", &e))
    }

    #[test]
    fn a_failed_write_leaves_the_old_file() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("x.json");
        replace(&path, text("old")).unwrap();
        replace(&path, |_| Err(Error::no("no", "no"))).unwrap_err();
        assert_eq!(fs::read(&path).unwrap(), b"old");
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
    }

    #[test]
    fn what_a_killed_writer_left_is_no_hindrance_and_no_trap() {
        let dir = tempfile::tempdir().unwrap();
        let (path, outside) = (dir.path().join("x.json"), dir.path().join("outside"));
        fs::write(&outside, "mine").unwrap();
        std::os::unix::fs::symlink(&outside, dir.path().join("x.json.new")).unwrap();
        replace(&path, text("new")).unwrap();
        assert_eq!(fs::read(&outside).unwrap(), b"mine");
        assert_eq!(fs::read(&path).unwrap(), b"new");
    }
}
