//! What a database says of itself, taken from its file alone: no log is played into it, nothing is
//! written beside it. So a file that is none of ours, or is not trusted, stays as it is.

use std::ffi::OsString;
use std::fmt::Write;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags};

use super::db::Kind;
use super::stamp::Stamp;
use super::words;
use crate::error::Result;

/// What was seen. All of it is in the file from the moment that the file has its name; what came
/// later may still be in the log, and is not seen.
pub(super) struct Look {
    pub application_id: i32,
    pub version: i32,
    pub stamp: Option<Stamp>,
}

impl Look {
    /// Looks into `file`; errors speak of `path`, which it may be a copy of.
    ///
    /// # Errors
    /// `damaged` and what else keeps it from being read.
    pub fn at(file: &Path, path: &Path, kind: &Kind) -> Result<Look> {
        look(file).map_err(|e| words::explain(path, kind, &e))
    }

    /// Refuses what this version of auwai has not written.
    ///
    /// # Errors
    /// `foreign`, `newer-schema`.
    pub fn check(&self, path: &Path, kind: &Kind) -> Result<()> {
        if self.application_id != kind.application_id {
            return Err(words::foreign(path, kind));
        }
        match usize::try_from(self.version) {
            Ok(version) if version > kind.migrations.len() => {
                Err(words::newer(path, kind, version))
            }
            _ => Ok(()),
        }
    }
}

fn look(file: &Path) -> rusqlite::Result<Look> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY
        | OpenFlags::SQLITE_OPEN_URI
        | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let c = Connection::open_with_flags(as_it_is(file), flags)?;
    // While a log is moved into the file, the file's first page is ahead of its size: without this
    // that would be damage.
    c.set_db_config(DbConfig::SQLITE_DBCONFIG_WRITABLE_SCHEMA, true)?;
    Ok(Look {
        application_id: c.query_row("PRAGMA application_id", [], |row| row.get(0))?,
        version: c.query_row("PRAGMA user_version", [], |row| row.get(0))?,
        stamp: Stamp::read(&c)?,
    })
}

/// The name by which SQLite opens a file as if nobody could write it.
fn as_it_is(file: &Path) -> OsString {
    let mut name = String::from(if file.is_absolute() { "file://" } else { "file:" });
    for byte in file.as_os_str().as_bytes() {
        // Writing to a String cannot fail.
        let _ = match byte {
            b'/' | b'.' | b'-' | b'_' => write!(name, "{}", char::from(*byte)),
            byte if byte.is_ascii_alphanumeric() => write!(name, "{}", char::from(*byte)),
            byte => write!(name, "%{byte:02x}"),
        };
    }
    name.push_str("?immutable=1");
    name.into()
}

#[cfg(test)]
mod tests {
    use super::super::db::{Db, Durability};
    use super::super::stamp;
    use super::*;

    static KIND: Kind = Kind {
        name: "ledger",
        application_id: 7,
        migrations: &[stamp::TABLE, "CREATE TABLE t (x BLOB) STRICT;"],
    };

    #[test]
    fn nothing_is_written_beside_a_file_that_is_looked_at_whatever_its_name() {
        use std::ffi::OsStr;
        let dir = tempfile::tempdir().unwrap();
        let folder = dir.path().join(OsStr::from_bytes(b"a b?c#d%41\xff"));
        std::fs::create_dir(&folder).unwrap();
        let path = folder.join("l.sqlite");
        drop(Db::open_or_create(&path, &KIND).unwrap());
        std::fs::remove_file(folder.join("l.lock")).unwrap();
        let before = std::fs::read(&path).unwrap();
        let look = Look::at(&path, &path, &KIND).unwrap();
        assert_eq!((look.application_id, look.version), (7, 2));
        assert_eq!(look.stamp, Some(Stamp::of(&folder).unwrap()));
        assert_eq!(std::fs::read(&path).unwrap(), before);
        assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 1);
    }

    /// A log that is moved into the file is there page by page, the first page first.
    #[test]
    fn a_file_that_is_written_meanwhile_is_no_damage() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("l.sqlite");
        let mut db = Db::open_or_create(&path, &KIND).unwrap();
        let stamp = Stamp::of(dir.path()).unwrap();
        let done = std::sync::atomic::AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                for _ in 0..200 {
                    db.write(Durability::Process, |tx| {
                        Ok(tx.execute("INSERT INTO t VALUES (zeroblob(300000))", []).map(drop)?)
                    })
                    .unwrap();
                    db.checkpoint();
                }
                done.store(true, std::sync::atomic::Ordering::SeqCst);
            });
            while !done.load(std::sync::atomic::Ordering::SeqCst) {
                assert_eq!(Look::at(&path, &path, &KIND).unwrap().stamp, Some(stamp.clone()));
            }
        });
    }

    /// The half-way state itself: the first page says more pages than there are.
    #[test]
    fn a_first_page_ahead_of_the_files_size_is_no_damage() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("l.sqlite");
        drop(Db::open_or_create(&path, &KIND).unwrap());
        let mut bytes = std::fs::read(&path).unwrap();
        bytes[28..32].copy_from_slice(&1000_u32.to_be_bytes());
        std::fs::write(&path, bytes).unwrap();
        assert!(Look::at(&path, &path, &KIND).unwrap().stamp.is_some());
    }
}
