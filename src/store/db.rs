//! One SQLite file: opening, creating, migrating, and short transactions.
//!
//! Every file is in WAL mode with a long busy timeout, so that any number of processes can work on
//! it; a writer begins `IMMEDIATE`, so that it waits at the start and never half way. A file of a
//! newer version is refused, a damaged one is reported and never rebuilt: it may hold reads.
//!
//! A file is made under another name and renamed when it is whole, so that an empty or short one
//! is never one that was only begun. One that cannot be written is read from a copy.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rusqlite::{Connection, OpenFlags, Transaction, TransactionBehavior};
use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;

use crate::error::{Error, Result};
use crate::regular;
use crate::store::copy::{self, Copy};
use crate::store::file::{self, cannot_write};
use crate::store::look::Look;
use crate::store::stamp::{self, Stamp};
use crate::store::{beside, words};

/// How long a writer waits for another before it gives up. Adopting a plan of 900,000 chunks holds
/// the lock for seconds; minutes mean that something is stuck.
pub(super) const PATIENCE: Duration = Duration::from_secs(120);

/// How long at most nobody looks whether a lock is free.
const LONGEST_PAUSE: Duration = Duration::from_millis(20);

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
    /// What is read instead of a file that cannot be written.
    copy: Option<Copy>,
    /// Whether the copy may be written, though nothing of that is kept.
    scratch: bool,
}

impl Db {
    /// Opens a file that must exist.
    ///
    /// # Errors
    /// `not-found` when it does not; `newer-schema`, `foreign` and `damaged` as found.
    pub fn open(path: &Path, kind: &'static Kind) -> Result<Db> {
        beside::check(path, kind)?;
        let copy = copy::of_unwritable(path).map_err(|e| words::cannot_copy(path, &e))?;
        let file = copy.as_ref().map_or(path, Copy::path);
        // A file that cannot be believed as it is must not become another one by its log.
        Look::at(file, path, kind)?.check(path, kind)?;
        let connection = connect(file, false).map_err(|e| words::explain(path, kind, &e))?;
        let durability = Durability::Process;
        let path = path.to_owned();
        let mut db = Db { path, kind, connection, durability, copy, scratch: false };
        db.bring_up_to_date()?;
        Ok(db)
    }

    /// Whether the file was made in the folder that it is in, on this machine. It is looked at and
    /// left as it is.
    ///
    /// # Errors
    /// What keeps it from being looked at.
    pub fn is_made_here(path: &Path, kind: &'static Kind) -> Result<bool> {
        beside::check(path, kind)?;
        let look = Look::at(path, path, kind)?;
        look.check(path, kind)?;
        Ok(look.stamp == Some(stamp_of(path)?))
    }

    /// Makes the file one that was made here; one that cannot be written stays as it is.
    ///
    /// # Errors
    /// As [`Db::open`]; `busy` when others keep the stamp from coming into the file itself.
    pub fn stamp_anew(path: &Path, kind: &'static Kind) -> Result<()> {
        if copy::is_unwritable(path) {
            return Ok(());
        }
        let mut db = Self::open(path, kind)?;
        let stamp = stamp_of(path)?;
        db.write(Durability::Power, |tx| Ok(stamp.put(tx)?))?;
        db.read(|c| Ok(c.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))?))?;
        match Self::is_made_here(path, kind)? {
            true => Ok(()),
            false => Err(words::busy(path, kind)),
        }
    }

    /// Opens a file, and creates it first when there is none. The folder must exist.
    pub fn open_or_create(path: &Path, kind: &'static Kind) -> Result<Db> {
        if !regular::is_there(path) {
            Self::create(path, kind)?;
        }
        Self::open(path, kind)
    }

    /// Makes the file: whole under another name, then renamed. One process at a time.
    fn create(path: &Path, kind: &'static Kind) -> Result<()> {
        let _lock = lock(&path.with_extension("lock"))?;
        if regular::is_there(path) {
            return Ok(());
        }
        let fresh = file::beside(path, ".new");
        beside::remove_all(&fresh);
        let done = Self::fill(path, &fresh, kind).and_then(|()| {
            beside::set_log_aside(path)?;
            file::rename(&fresh, path)
        });
        if done.is_err() {
            beside::remove_all(&fresh);
        }
        done
    }

    fn fill(path: &Path, fresh: &Path, kind: &'static Kind) -> Result<()> {
        let connection = connect(fresh, true).map_err(|e| words::explain(path, kind, &e))?;
        let (path, durability) = (path.to_owned(), Durability::Process);
        let mut db = Db { path, kind, connection, durability, copy: None, scratch: false };
        // No log before all is in the file: closing moves it there, and says nothing when that fails.
        db.migrate()?;
        db.set_wal()?;
        let Db { path, connection, .. } = db;
        connection.close().map_err(|(_, e)| words::explain(&path, kind, &e))
    }

    /// Whether this is a copy, because the file cannot be written.
    pub fn is_copy(&self) -> bool {
        self.copy.is_some()
    }

    /// Lets a copy be written, for work that is worth its result alone. Nothing of it is kept.
    pub fn allow_scratch(&mut self) {
        self.scratch = true;
    }

    /// The error of a file that cannot be written.
    pub fn not_writable(&self) -> Error {
        let message = format!("cannot write the {} '{}'", self.kind.name, words::quote(&self.path));
        let cause = self.copy.as_ref().map(Copy::cause).unwrap_or_default();
        words::not_writable(message, &cause)
    }

    /// The file's path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Runs queries that read, with errors that name the file.
    pub fn read<T>(&self, queries: impl FnOnce(&Connection) -> Work<T>) -> Result<T> {
        queries(&self.connection).map_err(|e| self.settle(e))
    }

    /// Runs queries that all see the file as it is at one moment.
    pub fn moment<T>(&self, queries: impl FnOnce(&Connection) -> Work<T>) -> Result<T> {
        self.read(|c| queries(&*c.unchecked_transaction()?))
    }

    /// Runs one writing transaction; it is rolled back when `work` fails.
    pub fn write<T>(
        &mut self,
        durability: Durability,
        work: impl FnOnce(&Transaction<'_>) -> Work<T>,
    ) -> Result<T> {
        if self.copy.is_some() && !self.scratch {
            return Err(self.not_writable());
        }
        self.set_durability(durability)?;
        self.transact(work).map_err(|e| self.settle(e))
    }

    /// The same, but a copy is written too: for what is true whether or not it can be kept.
    ///
    /// # Errors
    /// As [`Db::write`], without its refusal.
    pub fn write_or_scratch<T>(
        &mut self,
        durability: Durability,
        work: impl FnOnce(&Transaction<'_>) -> Work<T>,
    ) -> Result<T> {
        let before = std::mem::replace(&mut self.scratch, true);
        let done = self.write(durability, work);
        self.scratch = before;
        done
    }

    fn transact<T>(&mut self, work: impl FnOnce(&Transaction<'_>) -> Work<T>) -> Work<T> {
        let tx = self.connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let done = work(&tx)?;
        tx.commit()?;
        Ok(done)
    }

    /// Keeps so many KiB of pages in memory. A transaction that dirties more writes pages early, and
    /// again each time that it comes back to them.
    pub fn set_cache(&self, kib: i64) -> Result<()> {
        self.read(|c| Ok(c.pragma_update(None, "cache_size", -kib)?))
    }

    /// Moves the write-ahead log into the file and shortens it, after bulk work. Waits for nobody:
    /// what others still read stays, and it holds the lock that every writer waits for.
    pub fn checkpoint(&self) {
        if self.connection.busy_timeout(Duration::ZERO).is_ok() {
            let _ = self.connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()));
        }
        let _ = self.connection.busy_timeout(PATIENCE);
    }

    fn settle(&self, fault: Fault) -> Error {
        match fault {
            Fault::Sql(cause) => words::explain(&self.path, self.kind, &cause),
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

    /// `application_id` and `user_version`.
    fn version(&self) -> Result<(i32, i32)> {
        self.read(|c| {
            let id = c.query_row("PRAGMA application_id", [], |row| row.get(0))?;
            let version = c.query_row("PRAGMA user_version", [], |row| row.get(0))?;
            Ok((id, version))
        })
    }

    fn bring_up_to_date(&mut self) -> Result<()> {
        let (id, version) = self.version()?;
        if id != self.kind.application_id {
            return Err(words::foreign(&self.path, self.kind));
        }
        match usize::try_from(version) {
            Ok(version) if version == self.kind.migrations.len() => Ok(()),
            Ok(version) if version > self.kind.migrations.len() => {
                Err(words::newer(&self.path, self.kind, version))
            }
            Ok(1..) => {
                let scratch = std::mem::replace(&mut self.scratch, true);
                let done = self.migrate();
                self.scratch = scratch;
                done
            }
            _ => {
                let cause = format!("its schema has the number {version}, which none ever had");
                Err(words::damaged(self.kind.name, &words::quote(&self.path), &cause))
            }
        }
    }

    fn migrate(&mut self) -> Result<()> {
        let kind = self.kind;
        let stamp = stamp_of(&self.path)?;
        self.write(Durability::Power, |tx| {
            // Another process may have migrated while this one waited.
            let now: i64 = tx.query_row("PRAGMA user_version", [], |row| row.get(0))?;
            for script in kind.migrations.iter().skip(usize::try_from(now).unwrap_or(usize::MAX)) {
                tx.execute_batch(script)?;
            }
            // Only what is made here gets a stamp; of what is migrated nobody knows where it was made.
            if now == 0 && kind.migrations.contains(&stamp::TABLE) {
                stamp.put(tx)?;
            }
            let known = i64::try_from(kind.migrations.len()).unwrap_or(i64::MAX);
            tx.pragma_update(None, "application_id", kind.application_id)?;
            tx.pragma_update(None, "user_version", known)?;
            Ok(())
        })
    }

    fn set_wal(&self) -> Result<()> {
        self.read(|c| Ok(c.query_row("PRAGMA journal_mode=WAL", [], |_| Ok(()))?))
    }
}

/// The stamp of a file that is made at this path now.
fn stamp_of(path: &Path) -> Result<Stamp> {
    let folder = path.parent().unwrap_or(path);
    Stamp::of(folder).map_err(|e| Error::io("open", words::quote(folder), &e))
}

fn connect(file: &Path, create: bool) -> rusqlite::Result<Connection> {
    let mut flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    flags.set(OpenFlags::SQLITE_OPEN_CREATE, create);
    let connection = Connection::open_with_flags(file, flags)?;
    connection.busy_timeout(PATIENCE)?;
    connection.pragma_update(None, "synchronous", "NORMAL")?;
    connection.pragma_update(None, "foreign_keys", true)?;
    // Of the connection, not of the file.
    connection.query_row(&format!("PRAGMA journal_size_limit={WAL_KEPT}"), [], |_| Ok(()))?;
    Ok(connection)
}

/// Takes an exclusive lock on a file, waiting for its holder; dropped with the value.
pub fn lock(path: &Path) -> Result<std::fs::File> {
    let file = regular::open_own(path).map_err(|e| cannot_write(path, &e))?;
    flock(&file, FlockOperation::LockExclusive)
        .map_err(|e| Error::io("lock", words::quote(path), &e.into()))?;
    Ok(file)
}

/// The same, with a word to `waits` again and again of how long it has taken so far.
pub fn lock_patiently(path: &Path, waits: &mut dyn FnMut(Duration)) -> Result<std::fs::File> {
    let file = regular::open_own(path).map_err(|e| cannot_write(path, &e))?;
    let (began, mut pause) = (Instant::now(), Duration::from_millis(1));
    loop {
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => return Ok(file),
            Err(Errno::WOULDBLOCK) => waits(began.elapsed()),
            Err(Errno::INTR) => {}
            Err(e) => return Err(Error::io("lock", words::quote(path), &e.into())),
        }
        std::thread::sleep(pause);
        pause = (pause * 2).min(LONGEST_PAUSE);
    }
}

#[cfg(test)]
mod tests;
