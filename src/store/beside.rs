//! The files of a database: itself, and what SQLite keeps beside it.

use std::path::Path;

use super::db::Kind;
use super::file::{self, cannot_write};
use super::words;
use crate::counted::count;
use crate::error::Result;
use crate::regular;

/// No database is smaller: the smallest page of SQLite.
const SMALLEST: u64 = 512;

/// What SQLite keeps beside a database.
const BESIDE: [&str; 3] = ["-wal", "-shm", "-journal"];

/// Looks at a database and what lies beside it, without opening them: closing one would drop the
/// locks that SQLite holds on it elsewhere in this process.
pub(super) fn check(path: &Path, kind: &Kind) -> Result<()> {
    let size = regular::size(path).map_err(|e| regular::cannot("open", path, &e))?;
    for part in BESIDE.map(|suffix| file::beside(path, suffix)) {
        match regular::size(&part) {
            Err(e) if regular::is_other(&e) => return Err(regular::cannot("open", &part, &e)),
            _ => {}
        }
    }
    match size {
        0 => Err(words::damaged(kind.name, &words::quote(path), &"the file is empty")),
        1..SMALLEST => Err(words::damaged(
            kind.name,
            &words::quote(path),
            &format!("the file has only {}", count(size, "byte")),
        )),
        _ => Ok(()),
    }
}

/// A log whose database was taken away belongs to that one, and would be played into a new one.
pub(super) fn set_log_aside(path: &Path) -> Result<()> {
    let log = file::beside(path, "-wal");
    match std::fs::rename(&log, file::beside(&log, ".old")) {
        Err(e) if e.kind() != std::io::ErrorKind::NotFound => Err(cannot_write(&log, &e)),
        _ => {
            let _ = std::fs::remove_file(file::beside(path, "-shm"));
            let _ = std::fs::remove_file(file::beside(path, "-journal"));
            Ok(())
        }
    }
}

/// Takes away a database and all that is beside it.
pub(super) fn remove_all(path: &Path) {
    for suffix in ["", "-wal", "-shm", "-journal"] {
        let _ = std::fs::remove_file(file::beside(path, suffix));
    }
}
