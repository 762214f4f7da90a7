//! A database that cannot be written is read from a copy of its own.
//!
//! SQLite must write beside a database with a write-ahead log even to read it, and what it can do
//! without (`immutable`) is safe only where nobody writes. A copy is safe everywhere: it is taken,
//! with its log, between two equal looks at both.

use std::fs::File;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use rustix::fs::{Access, AtFlags, CWD, accessat};
use rustix::io::Errno;
use tempfile::TempDir;

use super::file::beside;
use crate::error::plain;
use crate::regular::{self, Links};

/// How often a database that changes while it is copied is copied again.
const TRIES: usize = 5;

/// A copy; gone with the value.
pub(super) struct Copy {
    #[allow(dead_code, reason = "its end takes the copy away")]
    folder: TempDir,
    path: PathBuf,
    cause: Errno,
}

impl Copy {
    /// The copied database.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Why the file itself cannot be written.
    pub fn cause(&self) -> String {
        plain(&self.cause.into())
    }
}

/// A copy of a database that this process may not write, or whose folder it may not; `None` for any
/// other.
///
/// # Errors
/// When the file cannot be read, there is no room for the copy, or others write it all the time.
pub(super) fn of_unwritable(path: &Path) -> io::Result<Option<Copy>> {
    let folder = path.parent().unwrap_or(path);
    match refusal(folder).or_else(|| refusal(path)) {
        Some(cause) => take(path, cause).map(Some),
        None => Ok(None),
    }
}

/// Whether this process may not write a database, or its folder.
pub(super) fn is_unwritable(path: &Path) -> bool {
    refusal(path.parent().unwrap_or(path)).or_else(|| refusal(path)).is_some()
}

fn refusal(path: &Path) -> Option<Errno> {
    let asked = accessat(CWD, path, Access::WRITE_OK, AtFlags::EACCESS);
    asked.err().filter(|e| matches!(*e, Errno::ACCESS | Errno::ROFS | Errno::PERM))
}

fn take(path: &Path, cause: Errno) -> io::Result<Copy> {
    for _ in 0..TRIES {
        if let Some((folder, path)) = take_once(path, looks(path)?)? {
            return Ok(Copy { folder, path, cause });
        }
    }
    Err(io::Error::new(io::ErrorKind::ResourceBusy, "another process writes it all the time"))
}

/// A copy of what looked like `before`; `None` when that has changed.
fn take_once(path: &Path, before: Looks) -> io::Result<Option<(TempDir, PathBuf)>> {
    let folder = tempfile::tempdir()?;
    let copy = folder.path().join("copy.sqlite");
    put(path, &copy)?;
    if before[1].is_some() {
        match put(&beside(path, "-wal"), &beside(&copy, "-wal")) {
            // Its last writer has moved it into the database.
            Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(None),
            done => done?,
        }
    }
    Ok((looks(path)? == before).then_some((folder, copy)))
}

fn put(from: &Path, to: &Path) -> io::Result<()> {
    io::copy(&mut regular::open(from, Links::Refuse)?, &mut File::create_new(to)?).map(|_| ())
}

/// The looks of a database, and of its log if there is one.
type Looks = [Option<[i64; 5]>; 2];

/// What would be otherwise after a change: of the database, and of its log if there is one.
fn looks(path: &Path) -> io::Result<Looks> {
    let database = look(path)?;
    match look(&beside(path, "-wal")) {
        Ok(log) => Ok([Some(database), Some(log)]),
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok([Some(database), None]),
        Err(e) => Err(e),
    }
}

fn look(path: &Path) -> io::Result<[i64; 5]> {
    let meta = std::fs::symlink_metadata(path)?;
    let ino = meta.ino().cast_signed();
    let size = meta.size().cast_signed();
    Ok([ino, size, meta.mtime(), meta.mtime_nsec(), meta.ctime_nsec()])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_log_that_goes_while_it_is_copied_is_a_change() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("l.sqlite");
        std::fs::write(&path, "database").unwrap();
        let now = looks(&path).unwrap();
        assert!(take_once(&path, now).unwrap().is_some());
        assert!(take_once(&path, [now[0], Some([0; 5])]).unwrap().is_none());
    }
}
