//! A repository's ledger: `ledger.sqlite`, with the index (files and chunks) and the repository's
//! own reads. It keeps what it is told; what a path's fate is, or where a file is cut, is the
//! index's business.

mod apply;
mod cuts;
mod extent;
mod files;
mod fingerprint;
mod known;
mod marks;
#[cfg(test)]
mod model;
mod view;

use std::path::Path;
use std::time::Duration;

use rusqlite::OptionalExtension;

use super::db::{Db, Durability, Kind};
use super::stamp;
use crate::error::{Error, Result};
use crate::record::RepoPath;
use crate::regular;
use crate::visible::quote_path;

pub use cuts::Cut;
pub use extent::Extent;
pub use files::{Batch, Changes, Content, FileRow, NameChunk, Row, Totals};
pub use known::{Known, KnownRows, RowId, StatBytes};
pub use marks::{Evidence, MarkOutcome};
use view::View;
pub use view::covers;

static KIND: Kind = Kind {
    name: "ledger",
    // "auwL"
    application_id: 0x6175_774c,
    migrations: &[
        include_str!("schema.sql"),
        include_str!("freed.sql"),
        include_str!("moves.sql"),
        include_str!("unreadable.sql"),
        stamp::TABLE,
    ],
};

/// The page cache, in KiB: SQLite's own, and that for bulk work. Chunk ids are random keys: 130,000
/// of them dirty nearly every page of a table of 35 MB for a million.
const CACHE_KIB: i64 = 2000;
const BULK_KIB: i64 = 64 << 10;

/// An open ledger, and how much of the repository is looked at.
pub struct Ledger {
    db: Db,
    view: View,
}

/// The right to bring an index up to date, which one process at a time has, from before it learns
/// what is in and what the ledger knows to its last word; given back with the value. Without it,
/// what one has seen before a change could be written after what another has seen since.
#[derive(Debug)]
pub struct Turn(#[allow(dead_code, reason = "its end frees the lock")] Option<std::fs::File>);

impl Ledger {
    /// Opens the ledger of an indexed repository.
    ///
    /// # Errors
    /// `not-indexed` with the command that indexes it; else as [`Db::open`].
    pub fn open(path: &Path, root: &Path) -> Result<Ledger> {
        if !regular::is_there(path) {
            return Err(Self::not_indexed(root));
        }
        Ok(Self::of(Db::open(path, &KIND)?))
    }

    fn of(db: Db) -> Ledger {
        Ledger { db, view: View::default() }
    }

    /// The same ledger with only the rows of these subtrees, and of what stands in the place of one
    /// or above it; all rows where there are none. A scan that is bounded leaves the others as they
    /// were, for those who look at more.
    pub fn bounded(self, only: &[RepoPath]) -> Ledger {
        Ledger { view: View::of(only), ..self }
    }

    /// Whether opening it would take a copy, since this process may not write it.
    pub fn is_unwritable(path: &Path) -> bool {
        super::copy::is_unwritable(path)
    }

    /// Whether the ledger was made where it is now: see [`Db::is_made_here`].
    ///
    /// # Errors
    /// What keeps it from being looked at.
    pub fn is_made_here(path: &Path) -> Result<bool> {
        Db::is_made_here(path, &KIND)
    }

    /// Makes it one that was made here: see [`Db::stamp_anew`].
    ///
    /// # Errors
    /// The ledger's.
    pub fn stamp_anew(path: &Path) -> Result<()> {
        Db::stamp_anew(path, &KIND)
    }

    /// The error for a repository that has no index.
    pub fn not_indexed(root: &Path) -> Error {
        Self::not_known(root, "is not indexed yet")
    }

    /// The ledger, when its index is known as far as it is looked at.
    ///
    /// # Errors
    /// `not-indexed` where no scan has come to its end with all of that.
    pub fn indexed(self, root: &Path) -> Result<Ledger> {
        match self.extent()? {
            Extent::Known => Ok(self),
            Extent::HalfAnew => Err(Self::not_known(root, "is not yet indexed anew to its end")),
            Extent::Unscanned if self.meta("scanned")?.is_some() => {
                Err(Self::not_known(root, "is indexed in another part only"))
            }
            Extent::Unscanned => Err(Self::not_indexed(root)),
        }
    }

    fn not_known(root: &Path, what: &str) -> Error {
        let root = quote_path(std::os::unix::ffi::OsStrExt::as_bytes(root.as_os_str()));
        Error::failed("not-indexed", format!("'{root}' {what}"))
            .hint(format!("index it with `auwai index --repo {root}`"))
    }

    /// Opens the ledger, and makes it first when there is none. The folder must exist.
    pub fn open_or_create(path: &Path) -> Result<Ledger> {
        Ok(Self::of(Db::open_or_create(path, &KIND)?))
    }

    /// The same for a scan: where the ledger cannot be written, it works on a copy that is thrown
    /// away, and [`Ledger::settle`] says whether it matters.
    pub fn open_for_scan(path: &Path) -> Result<Ledger> {
        let mut ledger = Self::open_or_create(path)?;
        ledger.db.allow_scratch();
        Ok(ledger)
    }

    /// The end of a scan. `changed`: something in the tree is not what the ledger said.
    ///
    /// # Errors
    /// `not-writable` when that could not be kept.
    pub fn settle(&self, changed: bool) -> Result<()> {
        match changed && self.db.is_copy() {
            true => Err(self.db.not_writable()),
            false => Ok(()),
        }
    }

    /// A fact about the index as a whole.
    pub fn meta(&self, key: &str) -> Result<Option<String>> {
        self.db.read(|c| {
            let mut query = c.prepare_cached("SELECT value FROM meta WHERE key = ?1")?;
            Ok(query.query_row([key], |row| row.get(0)).optional()?)
        })
    }

    /// Notes facts about the index as a whole.
    pub fn set_meta(&mut self, facts: &[(&str, &str)]) -> Result<()> {
        self.db.write(Durability::Process, |tx| {
            let mut put = tx.prepare_cached("INSERT OR REPLACE INTO meta VALUES (?1, ?2)")?;
            for fact in facts {
                put.execute(*fact)?;
            }
            Ok(())
        })
    }

    /// Waits until no other process brings the index up to date. `waits` is called again and again
    /// with how long that has taken so far.
    ///
    /// # Errors
    /// When the lock's file cannot be made.
    pub fn turn(&self, waits: &mut dyn FnMut(Duration)) -> Result<Turn> {
        if self.db.is_copy() {
            return Ok(Turn(None));
        }
        let lock = super::db::lock_patiently(&self.db.path().with_extension("lock"), waits)?;
        Ok(Turn(Some(lock)))
    }

    /// Makes room in memory for bulk work, until [`Ledger::checkpoint`].
    ///
    /// # Errors
    /// The ledger's.
    pub fn make_room(&self) -> Result<()> {
        self.db.set_cache(BULK_KIB)
    }

    /// Shortens the write-ahead log after bulk work, and gives back the memory.
    ///
    /// # Errors
    /// The ledger's.
    pub fn checkpoint(&self) -> Result<()> {
        self.db.checkpoint();
        self.db.set_cache(CACHE_KIB)
    }
}
