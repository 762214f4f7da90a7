//! Segments as records: looked up, in order, and their steps from status to status.

use rusqlite::{Connection, OptionalExtension, Row, Transaction, params};

use super::{Coverage, counters, from_json, unknown_segment};
use crate::error::{Error, Result};
use crate::record::{Segment, SegmentId, SegmentKind, SegmentStatus, Tokens};
use crate::store::db::Work;

/// A segment and its place in the plan.
#[derive(Debug, Clone, PartialEq)]
pub struct Placed {
    /// Its place: a larger one comes later. Places may be missing.
    pub seq: u64,
    /// The segment, with its reader and without a brief.
    pub segment: Segment,
}

/// Where a segment stands.
pub(super) struct Stand {
    pub seq: i64,
    pub id: SegmentId,
    pub kind: SegmentKind,
    pub status: SegmentStatus,
    pub reader: Option<String>,
}

const COLUMNS: &str = "r.seq, r.segment_id, r.kind, s.status, c.reader, s.tokens, r.chunks, \
    r.chunk_tokens, r.files";
const TABLES: &str = "segment_records r JOIN segments s ON s.segment_id = r.segment_id \
    LEFT JOIN claims c ON c.segment_id = r.segment_id";

/// Claims in order of the plan. Joined, SQLite would walk all segments to have them sorted.
pub(super) const IN_ORDER: &str =
    "ORDER BY (SELECT seq FROM segment_records r WHERE r.segment_id = c.segment_id)";

impl Coverage {
    /// One segment.
    ///
    /// # Errors
    /// `unknown-segment`.
    pub fn segment(&self, id: &SegmentId) -> Result<Placed> {
        self.db.read(|c| Ok(placed(c, id)?.ok_or_else(|| unknown_segment(id))?))
    }

    /// Which of all segments in order one is, from 1.
    pub fn rank(&self, placed: &Placed) -> Result<u64> {
        let sql = "SELECT count(*) FROM segment_progress WHERE seq <= ?";
        let rank = |c: &Connection| c.query_row(sql, [placed.seq.cast_signed()], |row| row.get(0));
        self.db.read(|c| Ok(i64::cast_unsigned(rank(c)?)))
    }

    /// At most `limit` segments in order, those after place `seq`; begin with 0. A page is one
    /// short transaction, so that a slow reader of the output holds up nobody.
    pub fn segments_after(&self, seq: u64, limit: u32) -> Result<Vec<Placed>> {
        self.db.read(|c| after(c, seq, limit))
    }

    /// The active segment of a reader, the first if it has several.
    pub fn active_of(&self, reader: &str) -> Result<Option<SegmentId>> {
        self.db.read(|c| active_of(c, reader))
    }

    /// The first segments that nobody has, in order of the plan, at most `limit`; the synthesis, which
    /// comes last, included.
    pub fn pending(&self, limit: u32) -> Result<Vec<SegmentId>> {
        let sql = "SELECT segment_id FROM (
                SELECT r.seq, r.segment_id FROM queue q JOIN segment_records r ON r.seq = q.seq
                UNION ALL
                SELECT r.seq, r.segment_id FROM segments s
                    JOIN segment_records r ON r.segment_id = s.segment_id
                    WHERE s.status = 'pending' AND r.seq = (SELECT max(seq) FROM segment_records)
                        AND r.seq NOT IN (SELECT seq FROM queue)
            ) ORDER BY seq LIMIT ?";
        self.db.read(|c| {
            let mut query = c.prepare_cached(sql)?;
            let rows = query.query_map([limit], |row| Ok(SegmentId(row.get(0)?)))?;
            Ok(rows.collect::<rusqlite::Result<_>>()?)
        })
    }
}

/// One segment, if the plan has it.
pub(super) fn placed(c: &Connection, id: &SegmentId) -> Work<Option<Placed>> {
    let sql = format!("SELECT {COLUMNS} FROM {TABLES} WHERE r.segment_id = ?");
    let row = c.prepare_cached(&sql)?.query_row([&id.0], raw).optional()?;
    Ok(row.map(Raw::parse).transpose()?)
}

/// At most `limit` segments in order, those after place `seq`.
pub(super) fn after(c: &Connection, seq: u64, limit: u32) -> Work<Vec<Placed>> {
    let sql = format!("SELECT {COLUMNS} FROM {TABLES} WHERE r.seq > ? ORDER BY r.seq LIMIT ?");
    let mut query = c.prepare_cached(&sql)?;
    let rows = query.query_map(params![seq.cast_signed(), limit], raw)?;
    rows.map(|row| Ok(row?.parse()?)).collect()
}

pub(super) fn active_of(c: &Connection, reader: &str) -> Work<Option<SegmentId>> {
    let sql = format!("SELECT segment_id FROM claims c WHERE reader = ? {IN_ORDER} LIMIT 1");
    let id = c.query_row(&sql, [reader], |row| row.get(0)).optional()?;
    Ok(id.map(SegmentId))
}

/// Where a segment stands, for a transaction that is about to move it.
pub(super) fn stand(tx: &Transaction<'_>, id: &SegmentId) -> Work<Stand> {
    let sql =
        format!("SELECT r.seq, r.kind, s.status, c.reader FROM {TABLES} WHERE r.segment_id = ?");
    let row = tx.prepare_cached(&sql)?.query_row([&id.0], |row| {
        Ok((row.get(0)?, row.get::<_, String>(1)?, row.get::<_, String>(2)?, row.get(3)?))
    });
    let (seq, kind, status, reader) = row.optional()?.ok_or_else(|| unknown_segment(id))?;
    Ok(Stand { seq, id: id.clone(), kind: kind_of(&kind)?, status: status_of(&status)?, reader })
}

/// Pending to active.
pub(super) fn activate(tx: &Transaction<'_>, it: &Stand, reader: &str, at: &str) -> Work<()> {
    let id = &it.id.0;
    tx.execute(
        "UPDATE segments SET status = 'active', started_at = ? WHERE segment_id = ?",
        [at, id],
    )?;
    tx.execute(
        "INSERT INTO claims (segment_id, reader, since) VALUES (?, ?, ?)",
        [id.as_str(), reader, at],
    )?;
    tx.execute("DELETE FROM queue WHERE seq = ?", [it.seq])?;
    counters::step(tx, SegmentStatus::Pending, SegmentStatus::Active)
}

/// Active to pending.
pub(super) fn free(tx: &Transaction<'_>, it: &Stand) -> Work<()> {
    let id = &it.id.0;
    tx.execute(
        "UPDATE segments SET status = 'pending', started_at = NULL WHERE segment_id = ?",
        [id],
    )?;
    tx.execute("DELETE FROM claims WHERE segment_id = ?", [id])?;
    if it.kind == SegmentKind::Read {
        tx.execute("INSERT INTO queue (seq) VALUES (?)", [it.seq])?;
    }
    counters::step(tx, SegmentStatus::Active, SegmentStatus::Pending)
}

/// Pending or active to done.
pub(super) fn finish(tx: &Transaction<'_>, it: &Stand, at: &str) -> Work<()> {
    let id = &it.id.0;
    tx.execute("UPDATE segments SET status = 'done', done_at = ? WHERE segment_id = ?", [at, id])?;
    tx.execute("DELETE FROM claims WHERE segment_id = ?", [id])?;
    tx.execute("DELETE FROM queue WHERE seq = ?", [it.seq])?;
    if it.kind == SegmentKind::Read {
        counters::one_read_segment_less(tx)?;
    }
    counters::step(tx, it.status, SegmentStatus::Done)
}

/// The words of a row, before they are parsed.
struct Raw {
    seq: i64,
    id: String,
    kind: String,
    status: String,
    reader: Option<String>,
    tokens: i64,
    lists: [String; 3],
}

fn raw(row: &Row<'_>) -> rusqlite::Result<Raw> {
    Ok(Raw {
        seq: row.get(0)?,
        id: row.get(1)?,
        kind: row.get(2)?,
        status: row.get(3)?,
        reader: row.get(4)?,
        tokens: row.get(5)?,
        lists: [row.get(6)?, row.get(7)?, row.get(8)?],
    })
}

impl Raw {
    fn parse(self) -> Result<Placed> {
        let [chunks, chunk_tokens, files] = &self.lists;
        let segment = Segment {
            id: SegmentId(self.id),
            kind: kind_of(&self.kind)?,
            status: status_of(&self.status)?,
            tokens: Tokens(self.tokens.cast_unsigned()),
            chunks: from_json(chunks)?,
            chunk_tokens: from_json(chunk_tokens)?,
            files: from_json(files)?,
            reader: self.reader,
            brief: None,
            outdated: None,
        };
        Ok(Placed { seq: self.seq.cast_unsigned(), segment })
    }
}

pub(super) fn kind_of(word: &str) -> Result<SegmentKind> {
    [SegmentKind::Read, SegmentKind::Synthesis]
        .into_iter()
        .find(|kind| kind.as_str() == word)
        .ok_or_else(|| unknown_word(word))
}

pub(super) fn status_of(word: &str) -> Result<SegmentStatus> {
    [SegmentStatus::Pending, SegmentStatus::Active, SegmentStatus::Done]
        .into_iter()
        .find(|status| status.as_str() == word)
        .ok_or_else(|| unknown_word(word))
}

fn unknown_word(word: &str) -> Error {
    let word = crate::visible::one_line(word);
    Error::failed("damaged", format!("the coverage ledger holds the unknown word '{word}'"))
        .hint("make the plan again: `auwai plan --force` (what was read stays in the ledger)")
}
