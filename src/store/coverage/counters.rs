//! The totals of the plan in force, and the steps of a segment that change them.

use rusqlite::{Connection, OptionalExtension, Transaction, params};

use crate::error::no_plan;
use crate::record::{Done, SegmentCounts, SegmentStatus};
use crate::store::db::Work;

/// The totals of the plan in force.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counters {
    /// How many plans there were before, plus one.
    pub generation: u64,
    /// Segments by status.
    pub segments: SegmentCounts,
    /// Read segments that are not done.
    pub read_segments_left: u64,
    /// Chunks.
    pub chunks: Done,
    /// Their tokens as shown.
    pub tokens: Done,
    /// About how long `fullread.json` is, in bytes.
    pub export_bytes: u64,
    /// How often the plan was revised, plus one.
    pub revision: u64,
    /// The number of the last read segment that there ever was under this plan.
    pub last_read: u64,
}

impl Counters {
    /// Whether every segment is done.
    pub fn finished(&self) -> bool {
        self.segments.done == self.segments.total
    }
}

/// The totals; an error without a plan.
pub(super) fn load(c: &Connection) -> Work<Counters> {
    Ok(find(c)?.ok_or_else(no_plan)?)
}

/// The totals; `None` without a plan.
pub(super) fn find(c: &Connection) -> Work<Option<Counters>> {
    let sql = "SELECT generation, pending, active, done, read_segments_left, chunks_planned,
        chunks_complete, tokens_planned, tokens_complete, export_bytes, revision, last_read
        FROM counters";
    let row = c.query_row(sql, [], |row| {
        let number = |at| row.get::<_, i64>(at).map(i64::cast_unsigned);
        let (pending, active, done) = (number(1)?, number(2)?, number(3)?);
        Ok(Counters {
            generation: number(0)?,
            segments: SegmentCounts { total: pending + active + done, done, active, pending },
            read_segments_left: number(4)?,
            chunks: Done { planned: number(5)?, complete: number(6)? },
            tokens: Done { planned: number(7)?, complete: number(8)? },
            export_bytes: number(9)?,
            revision: number(10)?,
            last_read: number(11)?,
        })
    });
    Ok(row.optional()?)
}

/// Writes the totals of a plan, which is new or revised.
pub(super) fn store(tx: &Transaction<'_>, counters: &Counters) -> Work<()> {
    let c = counters;
    tx.execute(
        "INSERT OR REPLACE INTO counters VALUES (1, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        params![
            c.generation.cast_signed(),
            c.segments.pending.cast_signed(),
            c.segments.active.cast_signed(),
            c.segments.done.cast_signed(),
            c.read_segments_left.cast_signed(),
            c.chunks.planned.cast_signed(),
            c.chunks.complete.cast_signed(),
            c.tokens.planned.cast_signed(),
            c.tokens.complete.cast_signed(),
            c.export_bytes.cast_signed(),
            c.revision.cast_signed(),
            c.last_read.cast_signed(),
        ],
    )?;
    Ok(())
}

/// Adds to what is complete.
pub(super) fn add_complete(tx: &Transaction<'_>, chunks: u64, tokens: u64) -> Work<()> {
    let sql = "UPDATE counters SET chunks_complete = chunks_complete + ?,
        tokens_complete = tokens_complete + ?";
    tx.execute(sql, [chunks.cast_signed(), tokens.cast_signed()])?;
    Ok(())
}

/// Counts one segment as having gone from one status to another.
pub(super) fn step(tx: &Transaction<'_>, from: SegmentStatus, to: SegmentStatus) -> Work<()> {
    let (from, to) = (from.as_str(), to.as_str());
    tx.execute(&format!("UPDATE counters SET {from} = {from} - 1, {to} = {to} + 1"), [])?;
    Ok(())
}

/// Counts one read segment as done.
pub(super) fn one_read_segment_less(tx: &Transaction<'_>) -> Work<()> {
    tx.execute("UPDATE counters SET read_segments_left = read_segments_left - 1", [])?;
    Ok(())
}
