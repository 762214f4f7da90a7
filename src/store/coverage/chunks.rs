//! Planned chunks one by one, in the order of the plan: what `coverage` lists.

use rusqlite::{Connection, params};

use super::{Coverage, Placed};
use crate::error::{Error, Result};
use crate::record::{QualifiedId, Segment, SegmentFile, Tokens};
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

impl Coverage {
    /// The chunks of a segment, in reading order.
    pub fn chunks_of<'a>(&self, placed: &'a Placed) -> Result<Vec<PlannedChunk<'a>>> {
        let complete = self.db.read(|c| complete(c, placed))?;
        let planned = with_files(&placed.segment)?.zip(complete).enumerate();
        let tokens = |at: usize| placed.segment.chunk_tokens.get(at).copied();
        Ok(planned
            .map(|(at, ((id, file), complete))| PlannedChunk {
                id,
                file,
                tokens: tokens(at),
                complete,
            })
            .collect())
    }
}

/// Which chunks of a segment are complete. Of most segments all are, or none: no need to ask.
fn complete(c: &Connection, placed: &Placed) -> Work<Vec<bool>> {
    let ids = &placed.segment.chunks;
    let mut query = c.prepare_cached("SELECT unread FROM segment_progress WHERE seq = ?")?;
    let unread: i64 = query.query_row([placed.seq.cast_signed()], |row| row.get(0))?;
    if unread == 0 || unread.cast_unsigned() == ids.len() as u64 {
        return Ok(vec![unread == 0; ids.len()]);
    }
    one_by_one(c, ids)
}

fn one_by_one(c: &Connection, ids: &[QualifiedId]) -> Work<Vec<bool>> {
    let sql = "SELECT complete <> 0 FROM chunks WHERE repo = ? AND chunk_id = ?";
    let mut query = c.prepare_cached(sql)?;
    let one =
        |id: &QualifiedId| query.query_row(params![id.repo, id.id.to_string()], |row| row.get(0));
    Ok(ids.iter().map(one).collect::<rusqlite::Result<_>>()?)
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
