//! The plan of one repository as a whole: to hold it against the tree.

use std::collections::{HashMap, HashSet};

use super::Coverage;
use crate::error::Result;
use crate::record::{ChunkId, SegmentId, SegmentStatus, Tokens};

/// Where a planned chunk stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Planned {
    /// The place of its segment in the plan.
    pub seq: u64,
    /// Its tokens as shown when it was planned.
    pub tokens: Tokens,
    /// Whether it is read.
    pub complete: bool,
}

/// A segment as far as a chunk's row needs it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SegmentStand {
    /// Its id.
    pub id: SegmentId,
    /// Where it stands.
    pub status: SegmentStatus,
    /// Who has it.
    pub reader: Option<String>,
}

impl Coverage {
    /// The chunks of a repository that are complete.
    pub fn complete_ids(&self, repo: &str) -> Result<HashSet<ChunkId>> {
        let sql = "SELECT chunk_id FROM chunks WHERE repo = ? AND complete <> 0";
        self.db.read(|c| {
            let mut query = c.prepare_cached(sql)?;
            let mut rows = query.query([repo])?;
            let mut ids = HashSet::new();
            while let Some(row) = rows.next()? {
                ids.extend(row.get_ref(0)?.as_str().ok().and_then(|id| id.parse::<ChunkId>().ok()));
            }
            Ok(ids)
        })
    }

    /// The planned chunks of a repository.
    pub fn planned(&self, repo: &str) -> Result<HashMap<ChunkId, Planned>> {
        let complete = self.complete_ids(repo)?;
        let sql = "SELECT p.chunk, p.seq, p.tokens FROM places p
                   JOIN repos r ON r.repo_no = p.repo_no WHERE r.name = ?";
        self.db.read(|c| {
            let mut query = c.prepare_cached(sql)?;
            let rows = query.query_map([repo], |row| {
                let id = ChunkId(row.get::<_, i64>(0)?.cast_unsigned());
                let (seq, tokens) = (row.get(1)?, Tokens(row.get(2)?));
                Ok((id, Planned { seq, tokens, complete: complete.contains(&id) }))
            })?;
            Ok(rows.collect::<rusqlite::Result<_>>()?)
        })
    }

    /// The path that a chunk was planned under, as bytes.
    pub fn planned_path(&self, repo: &str, id: ChunkId) -> Result<Option<Vec<u8>>> {
        use rusqlite::OptionalExtension;
        let sql = "SELECT path FROM chunks WHERE repo = ? AND chunk_id = ?";
        self.db.read(|c| {
            let mut query = c.prepare_cached(sql)?;
            let path = query.query_row([repo, &id.to_string()], |row| {
                Ok(row.get_ref(0)?.as_bytes().map(<[u8]>::to_vec).unwrap_or_default())
            });
            Ok(path.optional()?)
        })
    }

    /// Every segment by its place in the plan.
    pub fn stands(&self) -> Result<HashMap<u64, SegmentStand>> {
        let sql = "SELECT r.seq, r.segment_id, s.status, c.reader FROM segment_records r
                   JOIN segments s ON s.segment_id = r.segment_id
                   LEFT JOIN claims c ON c.segment_id = r.segment_id";
        self.db.read(|c| {
            let mut query = c.prepare_cached(sql)?;
            let rows = query.query_map([], |row| {
                let (seq, id) = (row.get(0)?, SegmentId(row.get(1)?));
                let status = match row.get_ref(2)?.as_str().unwrap_or_default() {
                    "done" => SegmentStatus::Done,
                    "active" => SegmentStatus::Active,
                    _ => SegmentStatus::Pending,
                };
                Ok((seq, SegmentStand { id, status, reader: row.get(3)? }))
            })?;
            Ok(rows.collect::<rusqlite::Result<_>>()?)
        })
    }
}
