//! Replanning: the plan in force follows the tree, in one transaction.
//!
//! What the tree is now, and how segments are packed, is not known here: a [`Reviser`] is asked, about
//! the plan as it is inside the transaction, so that no claim, mark or close that comes in between is
//! lost. What does not differ is not written.

use rusqlite::{OptionalExtension, Row, Transaction, params};

use super::adopt::CACHE_KIB;
use super::planned::complete_ids;
use super::rewrite::rewrite;
use super::segments::{kind_of, status_of};
use super::{Coverage, counters, in_force};
use crate::error::{Error, Result};
use crate::record::{
    ChunkId, Plan, Policy, Read, RepoPath, Segment, SegmentId, SegmentKind, SegmentStatus, Tokens,
};
use crate::store::db::{Durability, Work};

/// The plan in force as a reviser needs to know it.
#[derive(Debug)]
pub struct Before {
    /// It.
    pub plan: Plan,
    /// What it was made under.
    pub policy: Policy,
    /// The repositories that it ever had.
    pub repos: Vec<String>,
    /// The segments in order.
    pub segments: Vec<OldSegment>,
    /// The chunks, in no order that means anything.
    pub chunks: Vec<OldChunk>,
    /// The number of the last read segment that there ever was.
    pub last_read: u64,
}

/// A segment of it.
#[derive(Debug)]
pub struct OldSegment {
    /// Its id.
    pub id: SegmentId,
    /// What it is for.
    pub kind: SegmentKind,
    /// Where it stands.
    pub status: SegmentStatus,
    pub(super) seq: i64,
}

/// A chunk of it.
#[derive(Debug, Clone, Copy)]
pub struct OldChunk {
    /// The place of its repository.
    pub repo: u32,
    /// It.
    pub id: ChunkId,
    /// The place of its segment.
    pub segment: u32,
    /// Whether it is read.
    pub complete: bool,
    /// BLAKE3 of what was read of it, where that is known.
    pub body: Option<[u8; 32]>,
    /// The revision in which it came into the plan.
    pub added: u64,
}

/// A read whose chunk has left the plan, now or earlier, and that no other chunk has taken.
#[derive(Debug)]
pub struct FreedRead {
    /// The place of its repository.
    pub repo: u32,
    /// The chunk.
    pub id: ChunkId,
    /// BLAKE3 of what was read.
    pub body: [u8; 32],
    /// BLAKE3 of its file.
    pub file: Option<[u8; 32]>,
    /// The revision in force when it was read.
    pub since: u64,
    /// The path of its file.
    pub path: RepoPath,
    /// The place of the segment that had it, if that is still there.
    pub segment: Option<u32>,
    pub(super) read_at: Option<String>,
}

/// A segment of the revised plan.
#[derive(Debug)]
pub struct NewSegment {
    /// The place of the old segment that it is.
    pub old: Option<usize>,
    /// It; of an old one the status stays.
    pub segment: Segment,
    /// How many of its chunks are read.
    pub complete: u64,
    /// Their tokens.
    pub complete_tokens: Tokens,
}

/// A freed read and the chunk that takes it over, which may be its own that is back.
#[derive(Debug)]
pub struct TakenRead {
    /// The place of the read.
    pub from: usize,
    /// The chunk, with all that is known of it.
    pub to: Read,
}

/// The segments of the revised plan in order, which are asked once each, and then their sum.
pub trait Segments: Iterator<Item = NewSegment> {
    /// The plan that they are.
    fn plan(self: Box<Self>) -> Plan;
}

/// The revised plan.
pub struct After<'a> {
    /// What it is under.
    pub policy: Policy,
    /// Its segments; old ones that do not come are dropped.
    pub segments: Box<dyn Segments + 'a>,
    /// The number of the last read segment that there ever was.
    pub last_read: u64,
    /// The reads that are taken over.
    pub taken: Vec<TakenRead>,
    /// Whether there is something new to sum up, so that the synthesis is to be done again.
    pub reopens: bool,
}

/// What knows the tree.
pub trait Reviser {
    /// The places of the chunks that the tree has no more, or not with the bytes that were read; the
    /// revised plan may have such a one, as new.
    ///
    /// # Errors
    /// Whatever speaks against it; nothing changes then.
    fn vanished(&mut self, before: &Before) -> Result<Vec<usize>>;

    /// The plan for the tree.
    ///
    /// # Errors
    /// Whatever speaks against it; nothing changes then.
    fn revise<'a>(&'a mut self, before: &'a Before, freed: &'a [FreedRead]) -> Result<After<'a>>;
}

/// The plan in force after [`Coverage::replan`].
#[derive(Debug, Clone, PartialEq)]
pub struct Replanned {
    /// It.
    pub plan: Plan,
    /// Whether it is the one that was there, and nothing changed.
    pub existing: bool,
    /// Chunks that came into it.
    pub added: u64,
    /// Chunks that left it.
    pub removed: u64,
    /// Reads that were taken over by chunks that came.
    pub moved: u64,
}

impl Coverage {
    /// Revises the plan in force, in one transaction.
    ///
    /// # Errors
    /// What the reviser says. Nothing has changed then.
    pub fn replan(&mut self, reviser: &mut dyn Reviser, at: &str) -> Result<Replanned> {
        self.db.set_cache(CACHE_KIB)?;
        let done = self.db.write(Durability::Power, |tx| {
            let before = before(tx)?;
            let gone = reviser.vanished(&before)?;
            let freed = freed(tx, &before, &gone)?;
            let after = reviser.revise(&before, &freed)?;
            rewrite(tx, &before, &gone, &freed, after, at)
        })?;
        if !done.existing {
            self.db.checkpoint();
        }
        Ok(done)
    }
}

fn before(tx: &Transaction<'_>) -> Work<Before> {
    let (force, totals) = (in_force(tx)?, counters::load(tx)?);
    let (repos, segments) = (repos(tx)?, segments(tx)?);
    let chunks = chunks(tx, &repos, &segments)?;
    let (plan, policy) = (force.plan, force.policy);
    Ok(Before { plan, policy, repos, segments, chunks, last_read: totals.last_read })
}

fn repos(tx: &Transaction<'_>) -> Work<Vec<String>> {
    let mut query = tx.prepare("SELECT name FROM repos ORDER BY repo_no")?;
    let names = query.query_map([], |row| row.get(0))?;
    Ok(names.collect::<rusqlite::Result<_>>()?)
}

fn segments(tx: &Transaction<'_>) -> Work<Vec<OldSegment>> {
    let sql = "SELECT r.seq, r.segment_id, r.kind, s.status FROM segment_records r
        JOIN segments s USING (segment_id) ORDER BY r.seq";
    let mut query = tx.prepare(sql)?;
    let mut rows = query.query([])?;
    let mut all = Vec::new();
    while let Some(row) = rows.next()? {
        let (kind, status) = (row.get::<_, String>(2)?, row.get::<_, String>(3)?);
        all.push(OldSegment {
            seq: row.get(0)?,
            id: SegmentId(row.get(1)?),
            kind: kind_of(&kind)?,
            status: status_of(&status)?,
        });
    }
    Ok(all)
}

/// The place of the segment that stands at `seq`.
fn segment_at(segments: &[OldSegment], seq: i64) -> Option<u32> {
    let at = segments.binary_search_by_key(&seq, |segment| segment.seq).ok()?;
    u32::try_from(at).ok()
}

fn chunks(tx: &Transaction<'_>, repos: &[String], segments: &[OldSegment]) -> Work<Vec<OldChunk>> {
    let mut query = tx.prepare(
        "SELECT p.chunk, p.seq, p.added, m.body FROM places p
            LEFT JOIN marks m ON m.repo_no = p.repo_no AND m.chunk = p.chunk
                AND m.given = 0 AND m.path IS NULL
            WHERE p.repo_no = ? ORDER BY p.chunk",
    )?;
    let mut all = Vec::new();
    for (repo, name) in (0u32..).zip(repos) {
        let complete = complete_ids(tx, name)?;
        let mut rows = query.query([number(repo)])?;
        while let Some(row) = rows.next()? {
            let id = id_of(row, 0)?;
            let segment = segment_at(segments, row.get(1)?).ok_or_else(lost)?;
            let added = row.get::<_, i64>(2)?.cast_unsigned();
            let (complete, body) = (complete.contains(&id), row.get(3)?);
            all.push(OldChunk { repo, id, segment, complete, body, added });
        }
    }
    Ok(all)
}

fn lost() -> Error {
    Error::failed("damaged", "the coverage ledger has a chunk in a segment that it does not have")
        .hint("make the plan again: `auwai plan --force` (what was read stays in the ledger)")
}

/// The number of the repository at a place.
pub(super) fn number(repo: u32) -> i64 {
    i64::from(repo) + 1
}

fn id_of(row: &Row<'_>, at: usize) -> rusqlite::Result<ChunkId> {
    Ok(ChunkId(row.get::<_, i64>(at)?.cast_unsigned()))
}

/// The reads that are free: those that were before, and those of what is gone now.
fn freed(tx: &Transaction<'_>, before: &Before, gone: &[usize]) -> Work<Vec<FreedRead>> {
    let mut query = tx.prepare(
        "SELECT repo_no, chunk, body, file, since, path, seq, read_at FROM marks
            WHERE path IS NOT NULL AND given = 0",
    )?;
    let mut all = Vec::new();
    let mut rows = query.query([])?;
    while let Some(row) = rows.next()? {
        all.extend(freed_read(row, before)?);
    }
    let mut query = tx.prepare(
        "SELECT m.repo_no, m.chunk, m.body, m.file, m.since, c.path, p.seq, c.read_at
            FROM marks m JOIN places p USING (repo_no, chunk)
            JOIN chunks c ON c.repo = ?3 AND c.chunk_id = ?4
            WHERE m.repo_no = ?1 AND m.chunk = ?2 AND m.given = 0",
    )?;
    for chunk in gone.iter().map(|at| &before.chunks[*at]).filter(|chunk| chunk.complete) {
        let (repo, id) = (&before.repos[chunk.repo as usize], chunk.id);
        let key = params![number(chunk.repo), id.0.cast_signed(), repo, id.to_string()];
        let read = query.query_row(key, |row| freed_read(row, before)).optional()?;
        all.extend(read.flatten());
    }
    Ok(all)
}

/// A freed read; none of a path that no repository can have.
fn freed_read(row: &Row<'_>, before: &Before) -> rusqlite::Result<Option<FreedRead>> {
    let seq: Option<i64> = row.get(6)?;
    let path = RepoPath::new(row.get_ref(5)?.as_bytes().unwrap_or_default());
    let read = FreedRead {
        repo: u32::try_from(row.get::<_, i64>(0)? - 1).unwrap_or(u32::MAX),
        id: id_of(row, 1)?,
        body: row.get(2)?,
        file: row.get(3)?,
        since: row.get::<_, i64>(4)?.cast_unsigned(),
        path: match path {
            Some(path) => path,
            None => return Ok(None),
        },
        segment: seq.and_then(|seq| segment_at(&before.segments, seq)),
        read_at: row.get(7)?,
    };
    Ok(Some(read))
}
