//! Marks: chunks that were delivered, and the evidence for it.

use std::collections::HashMap;

use rusqlite::types::{ToSqlOutput, ValueRef};
use rusqlite::{CachedStatement, OptionalExtension, Transaction, params};

use super::{Coverage, InForce, confirm, counters, in_force};
use crate::error::Result;
use crate::record::{How, Read, RepoPath};
use crate::store::db::{Durability, Work};

/// What all marks of one call have in common.
#[derive(Debug, Clone)]
pub struct Marking {
    /// Who read.
    pub reader: String,
    /// How.
    pub how: How,
}

/// What came of a group of marks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Marked {
    /// Chunks that became complete.
    pub completed: u64,
    /// The first of the group that is not planned; none that is not is marked.
    pub unknown: Option<usize>,
}

impl Coverage {
    /// Marks chunks as read at `at`, in one transaction. Twice is once. The segment that is kept with
    /// a read is the one that holds the chunk: the plan may be another than when the text went out.
    /// A chunk that is not planned is no error, see [`Marked`]. Under a plan with marks what is shown is
    /// not read until it is confirmed.
    pub fn mark(&mut self, reads: &[Read], marking: &Marking, at: &str) -> Result<Marked> {
        self.db.write(Durability::Process, |tx| {
            let mut marker = Marker::new(tx, marking, at)?;
            let mut unknown = None;
            for (at, read) in reads.iter().enumerate() {
                if !marker.mark(read)? {
                    unknown = unknown.or(Some(at));
                }
            }
            Ok(Marked { completed: marker.settle()?, unknown })
        })
    }
}

/// One group of marks in its transaction.
pub(super) struct Marker<'tx> {
    tx: &'tx Transaction<'tx>,
    marking: &'tx Marking,
    at: &'tx str,
    plan: InForce,
    find: CachedStatement<'tx>,
    complete: CachedStatement<'tx>,
    remember: CachedStatement<'tx>,
    revision: i64,
    /// Chunks completed by the place of their segment.
    segments: HashMap<i64, u64>,
    tokens: i64,
}

/// What the plan says about a chunk.
pub(super) struct Planned {
    seq: i64,
    tokens: i64,
    pub segment: String,
    pub repo_no: i64,
}

const FIND: &str = "SELECT p.seq, p.tokens, r.segment_id, p.repo_no FROM places p
    JOIN segment_records r USING (seq)
    WHERE p.repo_no = (SELECT repo_no FROM repos WHERE name = ?) AND p.chunk = ?";

const COMPLETE: &str = "UPDATE chunks SET complete = 1, read_at = ?
    WHERE repo = ? AND chunk_id = ? AND complete = 0";

const REMEMBER: &str = "INSERT OR REPLACE INTO marks (repo_no, chunk, body, file, since)
    VALUES (?, ?, ?, ?, ?)";

const KEEP: &str = "INSERT INTO reads (repo, chunk_id, body, file, path, from_byte, to_byte,
        reader, how, generation, plan, segment, at, head, clean, origin)
    SELECT ?1, ?2, ?3, ?4,
        coalesce(?5, (SELECT path FROM chunks WHERE repo = ?1 AND chunk_id = ?2)),
        ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?17
    WHERE ?16 OR NOT EXISTS (SELECT 1 FROM reads WHERE repo = ?1 AND chunk_id = ?2
        AND generation = ?10 AND reader = ?8 AND how = ?9)";

impl<'tx> Marker<'tx> {
    pub(super) fn new(
        tx: &'tx Transaction<'tx>,
        marking: &'tx Marking,
        at: &'tx str,
    ) -> Work<Self> {
        Ok(Marker {
            tx,
            marking,
            at,
            plan: in_force(tx)?,
            find: tx.prepare_cached(FIND)?,
            complete: tx.prepare_cached(COMPLETE)?,
            remember: tx.prepare_cached(REMEMBER)?,
            revision: counters::load(tx)?.revision.cast_signed(),
            segments: HashMap::new(),
            tokens: 0,
        })
    }

    /// What the plan says about a chunk; `None` when it is not planned.
    pub(super) fn planned(&mut self, read: &Read) -> Work<Option<Planned>> {
        let planned = self.find.query_row(params![read.repo, read.id.0.cast_signed()], |row| {
            let (seq, tokens) = (row.get(0)?, row.get(1)?);
            Ok(Planned { seq, tokens, segment: row.get(2)?, repo_no: row.get(3)? })
        });
        Ok(planned.optional()?)
    }

    /// Completes a planned chunk that was read at `at`; `false` when it was complete before.
    pub(super) fn complete(&mut self, read: &Read, planned: &Planned, at: &str) -> Work<bool> {
        let id = read.id.to_string();
        let completes = self.complete.execute([at, &read.repo, &id])? == 1;
        if completes {
            *self.segments.entry(planned.seq).or_default() += 1;
            self.tokens += planned.tokens;
            self.remember(read, planned)?;
        }
        Ok(completes)
    }

    /// Marks one chunk; `false` when it is not planned.
    pub(super) fn mark(&mut self, read: &Read) -> Work<bool> {
        let Some(planned) = self.planned(read)? else { return Ok(false) };
        let waits = self.plan.policy.marks && self.marking.how == How::Shown;
        if waits && !read.marks.is_empty() {
            confirm::wait(self.tx, &self.marking.reader, &planned.segment, read)?;
        }
        let completes = !waits && self.complete(read, &planned, self.at)?;
        let kept = Kept {
            reader: &self.marking.reader,
            how: self.marking.how,
            origin: None,
            generation: self.plan.generation,
            plan: &self.plan.plan.id,
            segment: &planned.segment,
            at: self.at,
        };
        keep_read(self.tx, read, &kept, completes)?;
        Ok(true)
    }

    /// Keeps what was read, so that the read can move with it. Who does not say it has read what
    /// cannot move.
    fn remember(&mut self, read: &Read, planned: &Planned) -> Work<()> {
        let hash = |hex: &Option<String>| blake3::Hash::from_hex(hex.as_deref()?).ok();
        let Some(body) = hash(&read.body) else { return Ok(()) };
        let file = hash(&read.file).map(|file| *file.as_bytes());
        let chunk = read.id.0.cast_signed();
        self.remember.execute(params![
            planned.repo_no,
            chunk,
            *body.as_bytes(),
            file,
            self.revision
        ])?;
        Ok(())
    }

    /// Brings the totals up to date; the chunks that became complete.
    pub(super) fn settle(self) -> Work<u64> {
        let completed = self.segments.values().sum();
        let sql = "UPDATE segment_progress SET unread = unread - ? WHERE seq = ?";
        for (seq, chunks) in &self.segments {
            self.tx.execute(sql, [chunks.cast_signed(), *seq])?;
        }
        if completed > 0 {
            counters::add_complete(self.tx, completed, self.tokens.cast_unsigned())?;
        }
        Ok(completed)
    }
}

/// What is known of a read beside what it says itself.
pub(super) struct Kept<'a> {
    pub reader: &'a str,
    pub how: How,
    /// How the read was made that it stands for.
    pub origin: Option<How>,
    pub generation: u64,
    pub plan: &'a str,
    pub segment: &'a str,
    pub at: &'a str,
}

/// Keeps a read for good: one row for each reader and way; and one more whenever the chunk became
/// complete by it, since it may have been unread again in between.
pub(super) fn keep_read(
    tx: &Transaction<'_>,
    read: &Read,
    kept: &Kept<'_>,
    completes: bool,
) -> Work<()> {
    let shown = read.path.as_deref().map(|path| (path, read.path_b64.as_deref()));
    let path = shown.and_then(|(path, b64)| RepoPath::from_wire(path, b64).ok());
    tx.prepare_cached(KEEP)?.execute(params![
        read.repo,
        read.id.to_string(),
        read.body,
        read.file,
        path.as_ref().map(path_value),
        read.bytes.map(|bytes| bytes.from.cast_signed()),
        read.bytes.map(|bytes| bytes.to.cast_signed()),
        kept.reader,
        kept.how.as_str(),
        kept.generation.cast_signed(),
        kept.plan,
        kept.segment,
        kept.at,
        read.head,
        read.clean,
        completes,
        kept.origin.map(How::as_str),
    ])?;
    Ok(())
}

/// A path as a value: text where it is UTF-8, else a blob.
pub(super) fn path_value(path: &RepoPath) -> ToSqlOutput<'_> {
    let bytes = path.as_bytes();
    ToSqlOutput::Borrowed(match std::str::from_utf8(bytes) {
        Ok(_) => ValueRef::Text(bytes),
        Err(_) => ValueRef::Blob(bytes),
    })
}
