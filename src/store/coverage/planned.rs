//! The plan of one repository as a whole: to hold it against the tree.

use std::collections::{HashMap, HashSet};

use rusqlite::{Connection, OptionalExtension};

use super::segments::status_of;
use super::{Counters, Coverage, InForce, counters, in_force};
use crate::error::Result;
use crate::record::{ChunkId, SegmentId, SegmentStatus, Tokens};
use crate::store::db::Work;

/// Where a planned chunk stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Planned {
    /// The place of its segment in the plan.
    pub seq: u64,
    /// Its tokens as shown when it was planned.
    pub tokens: Tokens,
    /// Whether it is read.
    pub complete: bool,
    /// BLAKE3 of what was read of it, where that is known.
    pub body: Option<[u8; 32]>,
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

/// The planned chunks of one repository.
pub type PlannedChunks = HashMap<ChunkId, Planned>;

/// The plan in force and where it stands, all of it at one moment.
#[derive(Debug, Clone)]
pub struct Standing {
    /// The plan.
    pub force: InForce,
    /// The totals.
    pub counters: Counters,
    /// Every segment by its place in the plan.
    pub segments: HashMap<u64, SegmentStand>,
    /// The planned chunks by the name of their repository.
    pub chunks: HashMap<String, PlannedChunks>,
}

impl Coverage {
    /// The plan in force and where it stands.
    pub fn standing(&self) -> Result<Standing> {
        self.db.moment(|c| {
            let mut query = c.prepare("SELECT name FROM repos")?;
            let names = query.query_map([], |row| row.get::<_, String>(0))?;
            let mut chunks = HashMap::new();
            for name in names {
                let name = name?;
                let planned = planned(c, &name)?;
                chunks.insert(name, planned);
            }
            let (force, counters) = (in_force(c)?, counters::load(c)?);
            Ok(Standing { force, counters, segments: stands(c)?, chunks })
        })
    }

    /// The chunks of a repository that are complete, each with BLAKE3 of what was read of it, where
    /// that is known.
    pub fn complete(&self, repo: &str) -> Result<HashMap<ChunkId, Option<[u8; 32]>>> {
        self.db.moment(|c| {
            let bodies = bodies(c, repo)?;
            let ids = complete_ids(c, repo)?.into_iter();
            Ok(ids.map(|id| (id, bodies.get(&id).copied())).collect())
        })
    }

    /// The planned chunks of a repository.
    pub fn planned(&self, repo: &str) -> Result<PlannedChunks> {
        self.db.moment(|c| planned(c, repo))
    }

    /// The path that a chunk was planned under, as bytes; `None` when the plan does not have the chunk
    /// any more.
    pub fn planned_path(&self, repo: &str, id: ChunkId) -> Result<Option<Vec<u8>>> {
        let sql = "SELECT path FROM chunks WHERE repo = ? AND chunk_id = ?";
        self.db.read(|c| {
            let mut query = c.prepare_cached(sql)?;
            let path = query.query_row([repo, &id.to_string()], |row| {
                Ok(row.get_ref(0)?.as_bytes().map(<[u8]>::to_vec).unwrap_or_default())
            });
            Ok(path.optional()?)
        })
    }
}

pub(super) fn complete_ids(c: &Connection, repo: &str) -> Work<HashSet<ChunkId>> {
    let sql = "SELECT chunk_id FROM chunks WHERE repo = ? AND complete <> 0";
    let mut query = c.prepare_cached(sql)?;
    let mut rows = query.query([repo])?;
    let mut ids = HashSet::new();
    while let Some(row) = rows.next()? {
        ids.extend(row.get_ref(0)?.as_str().ok().and_then(|id| id.parse::<ChunkId>().ok()));
    }
    Ok(ids)
}

/// What was read of the planned chunks of a repository.
fn bodies(c: &Connection, repo: &str) -> Work<HashMap<ChunkId, [u8; 32]>> {
    let sql = "SELECT m.chunk, m.body FROM marks m JOIN repos r USING (repo_no)
               WHERE r.name = ? AND m.given = 0 AND m.path IS NULL";
    let mut query = c.prepare_cached(sql)?;
    let rows = query.query_map([repo], |row| {
        Ok((ChunkId(row.get::<_, i64>(0)?.cast_unsigned()), row.get(1)?))
    })?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

fn planned(c: &Connection, repo: &str) -> Work<PlannedChunks> {
    let complete = complete_ids(c, repo)?;
    let sql = "SELECT p.chunk, p.seq, p.tokens, m.body FROM places p
               JOIN repos r ON r.repo_no = p.repo_no
               LEFT JOIN marks m ON m.repo_no = p.repo_no AND m.chunk = p.chunk
                   AND m.given = 0 AND m.path IS NULL
               WHERE r.name = ?";
    let mut query = c.prepare_cached(sql)?;
    let rows = query.query_map([repo], |row| {
        let id = ChunkId(row.get::<_, i64>(0)?.cast_unsigned());
        let (seq, tokens) = (row.get(1)?, Tokens(row.get(2)?));
        Ok((id, Planned { seq, tokens, complete: complete.contains(&id), body: row.get(3)? }))
    })?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

fn stands(c: &Connection) -> Work<HashMap<u64, SegmentStand>> {
    let sql = "SELECT r.seq, r.segment_id, s.status, c.reader FROM segment_records r
               JOIN segments s ON s.segment_id = r.segment_id
               LEFT JOIN claims c ON c.segment_id = r.segment_id";
    let mut query = c.prepare_cached(sql)?;
    let rows = query.query_map([], |row| {
        let id = SegmentId(row.get(1)?);
        Ok((row.get(0)?, id, row.get::<_, String>(2)?, row.get(3)?))
    })?;
    let stand = |row: rusqlite::Result<(u64, SegmentId, String, Option<String>)>| {
        let (seq, id, status, reader) = row?;
        Ok((seq, SegmentStand { id, status: status_of(&status)?, reader }))
    };
    rows.map(stand).collect()
}

#[cfg(test)]
mod tests {
    use super::super::testing::{plan, reads};
    use super::super::{How, Marking};
    use super::*;
    use crate::store::db::Durability;

    const AT: &str = "1970-01-01T00:00:00Z";

    fn adopt(dir: &std::path::Path) -> Coverage {
        Coverage::adopt(dir, &mut &plan(2, 4, 65_536)[..], true, AT).unwrap().0
    }

    /// Makes the plan anew and reads all of it, again and again.
    fn read_anew(dir: &std::path::Path) {
        let marking = Marking { reader: "x".into(), how: How::Shown };
        for _ in 0..60 {
            let mut coverage = adopt(dir);
            for n in 1..=2 {
                coverage.mark(&reads(n, 4), &marking, AT).unwrap();
            }
        }
    }

    #[test]
    fn where_a_plan_stands_is_told_of_one_moment() {
        let dir = tempfile::tempdir().unwrap();
        let coverage = adopt(dir.path());
        std::thread::scope(|scope| {
            let writer = scope.spawn(|| read_anew(dir.path()));
            while !writer.is_finished() {
                let standing = coverage.standing().unwrap();
                let chunks = || standing.chunks.values().flat_map(HashMap::values);
                let complete = chunks().filter(|chunk| chunk.complete).count() as u64;
                assert_eq!(complete, standing.counters.chunks.complete);
                assert_eq!(chunks().count() as u64, standing.counters.chunks.planned);
                assert_eq!(standing.force.generation, standing.counters.generation);
            }
        });
    }

    #[test]
    fn a_word_that_no_status_is_called_is_damage() {
        let dir = tempfile::tempdir().unwrap();
        let mut coverage = adopt(dir.path());
        let odd = "UPDATE segments SET status = 'odd' WHERE segment_id = 'read-1'";
        coverage.db.write(Durability::Process, |tx| Ok(tx.execute(odd, [])?)).unwrap();
        assert_eq!(coverage.standing().unwrap_err().code(), "damaged");
    }

    #[test]
    fn a_chunk_that_the_plan_has_lost_has_no_path() {
        let dir = tempfile::tempdir().unwrap();
        let coverage = adopt(dir.path());
        let [first, ..] = &reads(1, 4)[..] else { panic!("a segment has chunks") };
        assert!(coverage.planned_path(&first.repo, first.id).unwrap().is_some());
        assert_eq!(coverage.planned_path("other", first.id).unwrap(), None);
    }
}
