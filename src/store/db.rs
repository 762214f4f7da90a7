//! One SQLite file: opening, creating, migrating, and short transactions.
//!
//! Every file is in WAL mode with a long busy timeout, so that any number of processes can work on
//! it; a writer begins `IMMEDIATE`, so that it waits at the start and never half way. A file of a
//! newer version is refused, a damaged one is reported and never rebuilt: it may hold reads.

use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::{Connection, ErrorCode, OpenFlags, Transaction, TransactionBehavior};
use rustix::fs::{FlockOperation, flock};

use crate::error::{Error, Result};
use crate::store::file::cannot_write;
use crate::visible::quote_path;

/// How long a writer waits for another before it gives up. Adopting a plan of 900,000 chunks holds
/// the lock for seconds; minutes mean that something is stuck.
const PATIENCE: Duration = Duration::from_secs(120);

/// The bytes that the write-ahead log may keep after a checkpoint.
const WAL_KEPT: u64 = 4 << 20;

/// What kind of file: its `application_id` and its migrations, append-only. `user_version` is the
/// number of migrations applied.
pub struct Kind {
    /// What the file is called in messages: `ledger`, `coverage ledger`.
    pub name: &'static str,
    /// SQLite's `application_id`: tells our files from others.
    pub application_id: i32,
    /// SQL scripts; the list is only ever appended to.
    pub migrations: &'static [&'static str],
}

/// Whether a commit survives a power cut, or only a crash of the process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Durability {
    /// Safe against kill -9; a power cut may lose the last commits. For what can be done again.
    Process,
    /// Safe against a power cut. For plans, completion and findings.
    Power,
}

/// What can go wrong inside a transaction: a statement, or what the work itself found.
#[derive(Debug)]
pub enum Fault {
    /// SQLite's word.
    Sql(rusqlite::Error),
    /// Our own.
    Ours(Error),
}

impl From<rusqlite::Error> for Fault {
    fn from(cause: rusqlite::Error) -> Fault {
        Fault::Sql(cause)
    }
}

impl From<Error> for Fault {
    fn from(error: Error) -> Fault {
        Fault::Ours(error)
    }
}

/// The result of work in a transaction: `?` takes both kinds of fault.
pub type Work<T> = std::result::Result<T, Fault>;

/// An open file of one kind.
pub struct Db {
    path: PathBuf,
    kind: &'static Kind,
    connection: Connection,
    durability: Durability,
}

impl Db {
    /// Opens a file that must exist.
    ///
    /// # Errors
    /// `not-found` when it does not; `newer-schema`, `foreign` and `damaged` as found.
    pub fn open(path: &Path, kind: &'static Kind) -> Result<Db> {
        if let Err(e) = std::fs::metadata(path) {
            return Err(Error::io("open", quote(path), &e));
        }
        Self::connect(path, kind, OpenFlags::SQLITE_OPEN_READ_WRITE)
    }

    /// Opens a file, and creates it first when there is none. The folder must exist.
    pub fn open_or_create(path: &Path, kind: &'static Kind) -> Result<Db> {
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE;
        Self::connect(path, kind, flags)
    }

    fn connect(path: &Path, kind: &'static Kind, flags: OpenFlags) -> Result<Db> {
        let flags = flags | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let open = || -> rusqlite::Result<Connection> {
            let connection = Connection::open_with_flags(path, flags)?;
            connection.busy_timeout(PATIENCE)?;
            connection.pragma_update(None, "synchronous", "NORMAL")?;
            connection.pragma_update(None, "foreign_keys", true)?;
            Ok(connection)
        };
        let connection = open().map_err(|e| explain(path, kind, &e))?;
        let mut db =
            Db { path: path.to_owned(), kind, connection, durability: Durability::Process };
        db.migrate()?;
        Ok(db)
    }

    /// The file's path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The connection, for reading.
    pub fn reader(&self) -> &Connection {
        &self.connection
    }

    /// Runs queries that read, with errors that name the file.
    pub fn read<T>(&self, queries: impl FnOnce(&Connection) -> Work<T>) -> Result<T> {
        queries(&self.connection).map_err(|e| self.settle(e))
    }

    /// Runs one writing transaction; it is rolled back when `work` fails.
    pub fn write<T>(
        &mut self,
        durability: Durability,
        work: impl FnOnce(&Transaction<'_>) -> Work<T>,
    ) -> Result<T> {
        self.set_durability(durability)?;
        self.transact(work).map_err(|e| self.settle(e))
    }

    fn transact<T>(&mut self, work: impl FnOnce(&Transaction<'_>) -> Work<T>) -> Work<T> {
        let tx = self.connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let done = work(&tx)?;
        tx.commit()?;
        Ok(done)
    }

    /// Moves the write-ahead log into the file and shortens it, after bulk work. Left alone while
    /// others read.
    pub fn checkpoint(&self) {
        let _ = self.connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()));
    }

    fn settle(&self, fault: Fault) -> Error {
        match fault {
            Fault::Sql(cause) => explain(&self.path, self.kind, &cause),
            Fault::Ours(error) => error,
        }
    }

    fn set_durability(&mut self, wanted: Durability) -> Result<()> {
        if self.durability == wanted {
            return Ok(());
        }
        let mode = if wanted == Durability::Power { "FULL" } else { "NORMAL" };
        self.read(|c| Ok(c.pragma_update(None, "synchronous", mode)?))?;
        self.durability = wanted;
        Ok(())
    }

    fn version(&self) -> Result<(i32, usize)> {
        self.read(|c| {
            let id = c.query_row("PRAGMA application_id", [], |row| row.get(0))?;
            let version = c.query_row("PRAGMA user_version", [], |row| row.get::<_, i64>(0))?;
            Ok((id, usize::try_from(version).unwrap_or(usize::MAX)))
        })
    }

    fn migrate(&mut self) -> Result<()> {
        let (id, version) = self.version()?;
        let known = self.kind.migrations.len();
        if version == known && id == self.kind.application_id {
            return Ok(());
        }
        if id != 0 && id != self.kind.application_id {
            return Err(self.foreign());
        }
        if version > known {
            return Err(self.newer(version));
        }
        // Switching a new file to WAL is not covered by the busy timeout: one process at a time,
        // also those that find the file while another is making it.
        let _lock = lock(&self.path.with_extension("lock"))?;
        self.set_wal()?;
        let kind = self.kind;
        self.write(Durability::Power, |tx| {
            // Another process may have migrated while this one waited.
            let now: i64 = tx.query_row("PRAGMA user_version", [], |row| row.get(0))?;
            for script in kind.migrations.iter().skip(usize::try_from(now).unwrap_or(usize::MAX)) {
                tx.execute_batch(script)?;
            }
            tx.pragma_update(None, "application_id", kind.application_id)?;
            tx.pragma_update(None, "user_version", i64::try_from(known).unwrap_or(i64::MAX))?;
            Ok(())
        })
    }

    fn set_wal(&self) -> Result<()> {
        self.read(|c| {
            c.query_row("PRAGMA journal_mode=WAL", [], |_| Ok(()))?;
            Ok(c.query_row(&format!("PRAGMA journal_size_limit={WAL_KEPT}"), [], |_| Ok(()))?)
        })
    }

    fn foreign(&self) -> Error {
        let message = format!("'{}' is not a {} of auwai", quote(&self.path), self.kind.name);
        Error::failed("foreign", message).hint("move that file away, then run the command again")
    }

    fn newer(&self, version: usize) -> Error {
        let message = format!(
            "the {} '{}' has schema {version}, this auwai knows {}",
            self.kind.name,
            quote(&self.path),
            self.kind.migrations.len()
        );
        Error::failed("newer-schema", message)
            .hint("it was written by a newer auwai: use that one, or `--state-dir` for a state of its own")
    }
}

/// Takes an exclusive lock on a file, waiting for its holder; dropped with the value.
pub fn lock(path: &Path) -> Result<std::fs::File> {
    let file = std::fs::OpenOptions::new().create(true).truncate(false).write(true).open(path);
    let file = file.map_err(|e| cannot_write(path, &e))?;
    flock(&file, FlockOperation::LockExclusive)
        .map_err(|e| Error::io("lock", quote(path), &e.into()))?;
    Ok(file)
}

fn quote(path: &Path) -> std::borrow::Cow<'_, str> {
    quote_path(std::os::unix::ffi::OsStrExt::as_bytes(path.as_os_str()))
}

fn explain(path: &Path, kind: &Kind, cause: &rusqlite::Error) -> Error {
    let subject = quote(path);
    let name = kind.name;
    match cause.sqlite_error_code().map(|code| full_or(cause, code)) {
        Some(ErrorCode::NotADatabase | ErrorCode::DatabaseCorrupt) => {
            damaged(name, &subject, cause)
        }
        Some(ErrorCode::DiskFull) => {
            Error::failed("disk-full", format!("cannot write the {name} '{subject}'"))
                .because("no space left on the device")
                .hint("make room and run the command again; what was committed stands")
        }
        Some(ErrorCode::ReadOnly | ErrorCode::CannotOpen | ErrorCode::PermissionDenied) => {
            Error::failed("not-writable", format!("cannot write the {name} '{subject}'"))
                .because(cause)
                .hint("keep the state elsewhere with `--state-dir DIR` (or AUWAI_STATE_DIR)")
        }
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => {
            Error::failed("busy", format!("another process holds the {name} '{subject}'"))
                .because(format!("waited {} s", PATIENCE.as_secs()))
                .hint("wait for it to end, then run the command again")
        }
        Some(ErrorCode::SystemIoFailure) => {
            Error::failed("io", format!("cannot use the {name} '{subject}'"))
                .because(cause)
                .hint("look for room (`df`) and at the disk, then run the command again")
        }
        _ if is_damage(cause) => damaged(name, &subject, cause),
        _ => Error::failed("ledger", format!("cannot use the {name} '{subject}'")).because(cause),
    }
}

/// The code, where a full disk does not hide behind it: the log's index is a file that grows by
/// itself, and SQLite calls it a failed device when it cannot.
fn full_or(cause: &rusqlite::Error, code: ErrorCode) -> ErrorCode {
    let extended = cause.sqlite_error().map(|error| error.extended_code);
    match extended == Some(rusqlite::ffi::SQLITE_IOERR_SHMSIZE) {
        true => ErrorCode::DiskFull,
        false => code,
    }
}

/// Whether a file holds what no auwai can have written.
fn is_damage(cause: &rusqlite::Error) -> bool {
    use rusqlite::Error as E;
    let torn = matches!(
        cause,
        E::FromSqlConversionFailure(..) | E::InvalidColumnType(..) | E::Utf8Error(..)
    );
    torn || matches!(cause, E::SqlInputError { .. })
}

fn damaged(name: &str, subject: &str, cause: &rusqlite::Error) -> Error {
    Error::failed("damaged", format!("the {name} '{subject}' is damaged")).because(cause).hint(
        format!("it is never rebuilt over reads: restore it from a backup, or move it away (`mv {subject} {subject}.damaged`) and start anew"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    static KIND: Kind = Kind {
        name: "ledger",
        application_id: 7,
        migrations: &["CREATE TABLE t (x INTEGER) STRICT;", "ALTER TABLE t ADD COLUMN y TEXT;"],
    };
    static OLD: Kind = Kind {
        name: "ledger",
        application_id: 7,
        migrations: &["CREATE TABLE t (x INTEGER) STRICT;"],
    };

    fn folder() -> tempfile::TempDir {
        tempfile::tempdir().unwrap()
    }

    #[test]
    fn an_old_file_is_migrated_and_a_newer_one_refused() {
        let dir = folder();
        let path = dir.path().join("l.sqlite");
        drop(Db::open_or_create(&path, &OLD).unwrap());
        let db = Db::open(&path, &KIND).unwrap();
        db.read(|c| Ok(c.execute_batch("SELECT y FROM t")?)).unwrap();
        drop(db);
        let error = Db::open(&path, &OLD).err().unwrap();
        assert_eq!(error.code(), "newer-schema");
    }

    #[test]
    fn a_file_of_something_else_is_refused() {
        let dir = folder();
        let path = dir.path().join("l.sqlite");
        let other = Connection::open(&path).unwrap();
        other.pragma_update(None, "application_id", 99).unwrap();
        other.execute_batch("CREATE TABLE x (y)").unwrap();
        drop(other);
        assert_eq!(Db::open(&path, &KIND).err().unwrap().code(), "foreign");
    }

    #[test]
    fn a_damaged_file_is_reported_and_left_alone() {
        let dir = folder();
        let path = dir.path().join("l.sqlite");
        std::fs::write(&path, b"not a database, whatever its name says ....").unwrap();
        assert_eq!(Db::open(&path, &KIND).err().unwrap().code(), "damaged");
        assert!(std::fs::read(&path).unwrap().starts_with(b"not a database"));
    }

    #[test]
    fn a_file_is_made_by_many_at_once() {
        let dir = folder();
        for round in 0..30 {
            let path = dir.path().join(format!("{round}.sqlite"));
            std::thread::scope(|scope| {
                for _ in 0..6 {
                    scope.spawn(|| drop(Db::open_or_create(&path, &KIND).unwrap()));
                }
            });
        }
    }

    #[test]
    fn failed_work_leaves_nothing() {
        let dir = folder();
        let mut db = Db::open_or_create(&dir.path().join("l.sqlite"), &KIND).unwrap();
        let failed: Result<()> = db.write(Durability::Power, |tx| {
            tx.execute("INSERT INTO t (x) VALUES (1)", [])?;
            Err(Error::no("no", "no").into())
        });
        assert_eq!(failed.unwrap_err().code(), "no");
        let rows: i64 =
            db.read(|c| Ok(c.query_row("SELECT count(*) FROM t", [], |r| r.get(0))?)).unwrap();
        assert_eq!(rows, 0);
    }
}
