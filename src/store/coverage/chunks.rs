//! Planned chunks one by one, in the order of the plan: what `coverage` lists.

use rusqlite::{Connection, OptionalExtension, params};

use super::segments::{after, placed};
use super::{Coverage, Placed, unknown_segment};
use crate::error::{Error, Result};
use crate::record::{QualifiedId, Segment, SegmentFile, SegmentId, Tokens};
use crate::store::db::Work;

/// A chunk of the plan, and whether it has been read.
#[derive(Debug, Clone, PartialEq)]
pub struct PlannedChunk<'a> {
    /// The chunk.
    pub id: &'a QualifiedId,
    /// The run of its file that it stands in.
    pub file: &'a SegmentFile,
    /// Its tokens as shown, where the plan says them.
    pub tokens: Option<Tokens>,
    /// Whether it is complete.
    pub complete: bool,
}

/// A segment and what is read of it, both at one moment: a plan that is revised in between would
/// have the one without the other.
#[derive(Debug, Clone, PartialEq)]
pub struct Progress {
    /// The segment.
    pub placed: Placed,
    /// For each of its chunks whether it is complete.
    complete: Vec<bool>,
}

impl Progress {
    fn of(c: &Connection, placed: Placed) -> Work<Self> {
        Ok(Progress { complete: complete(c, &placed)?, placed })
    }

    /// The chunks, in reading order.
    ///
    /// # Errors
    /// `bad-segment` where the segment contradicts itself.
    pub fn chunks(&self) -> Result<Vec<PlannedChunk<'_>>> {
        let segment = &self.placed.segment;
        let planned = with_files(segment)?.zip(&self.complete).enumerate();
        let chunk = |(at, ((id, file), complete)): (usize, ((_, _), &bool))| PlannedChunk {
            id,
            file,
            tokens: segment.chunk_tokens.get(at).copied(),
            complete: *complete,
        };
        Ok(planned.map(chunk).collect())
    }
}

impl Coverage {
    /// A segment and what is read of it.
    ///
    /// # Errors
    /// `unknown-segment`.
    pub fn progress(&self, id: &SegmentId) -> Result<Progress> {
        self.db.moment(|c| {
            let placed = placed(c, id)?.ok_or_else(|| unknown_segment(id))?;
            Progress::of(c, placed)
        })
    }

    /// At most `limit` segments in order, those after place `seq`, as [`Coverage::segments_after`]
    /// lists them, with what is read of each.
    pub fn progress_after(&self, seq: u64, limit: u32) -> Result<Vec<Progress>> {
        self.db.moment(|c| {
            after(c, seq, limit)?.into_iter().map(|placed| Progress::of(c, placed)).collect()
        })
    }
}

/// Which chunks of a segment are complete. Of most segments all are, or none: no need to ask.
fn complete(c: &Connection, placed: &Placed) -> Work<Vec<bool>> {
    let ids = &placed.segment.chunks;
    let mut query = c.prepare_cached("SELECT unread FROM segment_progress WHERE seq = ?")?;
    let unread = query.query_row([placed.seq.cast_signed()], |row| row.get::<_, i64>(0));
    let unread = unread.optional()?.ok_or_else(lost)?;
    if unread == 0 || unread.cast_unsigned() == ids.len() as u64 {
        return Ok(vec![unread == 0; ids.len()]);
    }
    one_by_one(c, ids)
}

fn one_by_one(c: &Connection, ids: &[QualifiedId]) -> Work<Vec<bool>> {
    let sql = "SELECT complete <> 0 FROM chunks WHERE repo = ? AND chunk_id = ?";
    let mut query = c.prepare_cached(sql)?;
    let mut one = |id: &QualifiedId| {
        let key = params![id.repo, id.id.to_string()];
        Ok(query.query_row(key, |row| row.get(0)).optional()?.ok_or_else(lost)?)
    };
    ids.iter().map(&mut one).collect()
}

fn lost() -> Error {
    Error::failed(
        "damaged",
        "the coverage ledger has a segment of which it does not know what is read",
    )
    .hint("make the plan again: `auwai plan --force` (what was read stays in the ledger)")
}

/// Each chunk of a segment with its run of a file.
///
/// # Errors
/// `bad-segment` when the runs do not add up to the chunks, or are of other repositories.
pub(super) fn with_files(
    segment: &Segment,
) -> Result<impl Iterator<Item = (&QualifiedId, &SegmentFile)>> {
    let sum = segment.files.iter().try_fold(0u64, |sum, file| sum.checked_add(file.chunks));
    if sum != Some(segment.chunks.len() as u64) {
        return Err(bad(segment, "its files do not add up to its chunks"));
    }
    let files = segment.files.iter().flat_map(|file| (0..file.chunks).map(move |_| file));
    let pairs = segment.chunks.iter().zip(files);
    match pairs.clone().find(|(id, file)| id.repo != file.repo) {
        Some((id, _)) => Err(bad(segment, &format!("'{id}' is listed under another repository"))),
        None => Ok(pairs),
    }
}

fn bad(segment: &Segment, what: &str) -> Error {
    let id = crate::visible::one_line(&segment.id.0);
    Error::failed("bad-segment", format!("segment '{id}': {what}"))
}

#[cfg(test)]
mod tests {
    use super::super::testing::plan;
    use super::*;

    const AT: &str = "1970-01-01T00:00:00Z";

    #[test]
    fn a_segment_and_what_is_read_of_it_are_of_one_plan() {
        let dir = tempfile::tempdir().unwrap();
        let adopt = |segments: u64| {
            Coverage::adopt(dir.path(), &mut &plan(segments, 4, 65_536)[..], true, AT).unwrap().0
        };
        let coverage = adopt(3);
        let last = SegmentId("read-3".into());
        std::thread::scope(|scope| {
            let writer = scope.spawn(|| (0..120).for_each(|n| drop(adopt(1 + 2 * (n % 2)))));
            while !writer.is_finished() {
                match coverage.progress(&last) {
                    Ok(progress) => assert_eq!(progress.chunks().unwrap().len(), 4),
                    Err(error) => assert_eq!(error.code(), "unknown-segment", "{error}"),
                }
                let all = coverage.progress_after(0, 64).unwrap();
                assert!([2, 4].contains(&all.len()), "{all:?}");
            }
        });
    }
}
