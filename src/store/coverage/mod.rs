//! The coverage ledger: the plan of a full read, its segments, who reads which, and what is read.
//!
//! Everything lives in one folder: `coverage.sqlite` (the truth), `fullread.json` (an export for
//! people and scripts, never read back) and `findings.md`. Each command is one transaction; the
//! totals in `counters` are kept by the transactions and never counted. No row of `reads` or
//! `findings` is ever deleted: `adopt` with force begins a new generation beside them, and `replan`
//! revises the plan of the one in force.

mod adopt;
mod chunks;
mod claim;
mod claims;
mod close;
mod confirm;
mod counters;
mod export;
mod findings;
#[cfg(test)]
mod following;
mod history;
mod import;
mod lease;
#[cfg(test)]
mod leasing;
mod loader;
mod marks;
mod planned;
mod replan;
mod rewrite;
mod schema;
mod segments;
#[cfg(test)]
pub(crate) mod testing;
#[cfg(test)]
mod tests;
mod waivers;

use std::path::{Path, PathBuf};

use rusqlite::Connection;
use rusqlite::config::DbConfig;

pub use adopt::Adopted;
pub use chunks::{PlannedChunk, Progress};
pub use claim::{Ask, Handed};
pub use confirm::Confirmed;
pub use counters::Counters;
pub use export::Owner;
pub use history::{Place, ReadsMade, Wanted};
pub use import::{Imported, Incoming};
pub use lease::{Moment, Term, Uptime};
pub use marks::{Marked, Marking};
pub use planned::{Planned, PlannedChunks, SegmentStand, Standing};
pub use replan::{
    After, Before, FreedRead, NewSegment, OldChunk, OldSegment, Replanned, Reviser, Segments,
    TakenRead,
};
pub use segments::Placed;

use crate::error::{Error, Result, no_plan};
pub use crate::record::How;
use crate::record::{Plan, Policy, SegmentId};
use crate::regular;
use crate::store::db::{Db, Work};

/// An open coverage ledger that holds a plan.
pub struct Coverage {
    db: Db,
    dir: PathBuf,
}

/// The plan in force.
#[derive(Debug, Clone, PartialEq)]
pub struct InForce {
    /// The plan, as its writer summed it.
    pub plan: Plan,
    /// What it was made under.
    pub policy: Policy,
    /// How many plans there were before, plus one.
    pub generation: u64,
}

/// Where the coverage ledger of a full read in `dir` is.
pub fn ledger_path(dir: &Path) -> PathBuf {
    dir.join("coverage.sqlite")
}

/// Where the export of a full read in `dir` is.
pub fn fullread_path(dir: &Path) -> PathBuf {
    dir.join("fullread.json")
}

/// Where the findings of a full read in `dir` are.
pub fn findings_path(dir: &Path) -> PathBuf {
    dir.join("findings.md")
}

/// The lock of the files beside the ledger.
fn files_lock(dir: &Path) -> Result<std::fs::File> {
    crate::store::db::lock(&dir.join("fullread.lock"))
}

impl Coverage {
    /// Opens the ledger of the full read in `dir`.
    ///
    /// # Errors
    /// `no-plan` when there is none; `newer-schema`, `foreign`, `damaged` as found.
    pub fn open(dir: &Path) -> Result<Coverage> {
        Self::find(dir)?.ok_or_else(no_plan)
    }

    /// Whether the ledger in `dir` was made where it is now: see [`Db::is_made_here`].
    ///
    /// # Errors
    /// What keeps it from being looked at.
    pub fn is_made_here(dir: &Path) -> Result<bool> {
        Db::is_made_here(&ledger_path(dir), &schema::KIND)
    }

    /// Makes it one that was made here: see [`Db::stamp_anew`].
    ///
    /// # Errors
    /// The ledger's.
    pub fn stamp_anew(dir: &Path) -> Result<()> {
        Db::stamp_anew(&ledger_path(dir), &schema::KIND)
    }

    /// Opens the ledger, or says that there is no plan.
    pub fn find(dir: &Path) -> Result<Option<Coverage>> {
        match Self::find_history(dir)? {
            Some(coverage) if coverage.is_planned()? => Ok(Some(coverage)),
            _ => Ok(None),
        }
    }

    /// Opens the ledger for what does not need a plan; `None` when there is no ledger.
    pub fn find_history(dir: &Path) -> Result<Option<Coverage>> {
        if !regular::is_there(&ledger_path(dir)) {
            return Ok(None);
        }
        let mut coverage =
            Coverage { db: Db::open(&ledger_path(dir), &schema::KIND)?, dir: dir.to_owned() };
        coverage.leave_the_log()?;
        // A command that cannot append what an earlier one left is no failure of its own: the
        // finding is in the ledger, and `close` reports what keeps it there.
        let _ = coverage.append_findings();
        Ok(Some(coverage))
    }

    /// Lets the write-ahead log stand at the end of the process. A command lives for milliseconds,
    /// and moving the log into the file each time would cost it more syncs than its own commit; a
    /// log of 4 MB is moved anyway.
    fn leave_the_log(&self) -> Result<()> {
        self.db.read(|c| Ok(c.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?))?;
        Ok(())
    }

    /// Opens the ledger, and makes it first when there is none. The folder must exist.
    ///
    /// # Errors
    /// As [`Coverage::open`], but for `no-plan`.
    pub fn open_or_create(dir: &Path) -> Result<Coverage> {
        let db = Db::open_or_create(&ledger_path(dir), &schema::KIND)?;
        Ok(Coverage { db, dir: dir.to_owned() })
    }

    /// The totals.
    pub fn counters(&self) -> Result<Counters> {
        self.db.read(counters::load)
    }

    /// Whether there is a plan.
    pub fn is_planned(&self) -> Result<bool> {
        Ok(self.db.read(counters::find)?.is_some())
    }

    /// The plan in force.
    pub fn in_force(&self) -> Result<InForce> {
        self.db.read(in_force)
    }
}

fn in_force(c: &Connection) -> Work<InForce> {
    let sql = "SELECT generation, policy, plan FROM plans ORDER BY generation DESC LIMIT 1";
    let row = c.query_row(sql, [], |row| {
        Ok((row.get::<_, i64>(0)?, row.get::<_, String>(1)?, row.get::<_, String>(2)?))
    });
    let (generation, policy, plan) = row?;
    Ok(InForce {
        generation: generation.cast_unsigned(),
        policy: from_json(&policy)?,
        plan: from_json(&plan)?,
    })
}

/// JSON that this module wrote into a column.
fn from_json<T: serde::de::DeserializeOwned>(text: &str) -> Result<T> {
    serde_json::from_str(text).map_err(|e| {
        Error::failed("damaged", "the coverage ledger holds a record that cannot be read")
            .because(e)
            .hint("make the plan again: `auwai plan --force` (what was read stays in the ledger)")
    })
}

fn to_json<T: serde::Serialize + ?Sized>(value: &T) -> Result<String> {
    crate::record::to_json(value)
        .map_err(|e| Error::failed("bug", "cannot write a record as JSON").because(e))
}

fn unknown_segment(id: &SegmentId) -> Error {
    let id = crate::visible::one_line(&id.0);
    Error::failed("unknown-segment", format!("the plan has no segment '{id}'"))
        .hint("see those that are not done: `auwai status`")
}
