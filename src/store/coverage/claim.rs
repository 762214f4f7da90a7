//! Handing out segments: nobody gets one that another has.

use rusqlite::{Connection, Transaction};

use super::segments::{activate, active_of, free, holders, placed, stand};
use super::{Coverage, Placed, counters, unknown_segment};
use crate::error::{Error, Result};
use crate::record::{Holder, SegmentId, SegmentStatus};
use crate::store::db::{Durability, Work};

/// What a reader gets.
#[derive(Debug, Clone, PartialEq)]
pub enum Handed {
    /// A segment, active under that reader.
    Segment(Box<Placed>),
    /// Nothing: every segment is done.
    Done,
    /// Nothing: others have the rest.
    Held(Vec<Holder>),
}

impl Coverage {
    /// Hands `reader` its own active segment if it has one, else the first pending read segment,
    /// else, when all of those are done, the synthesis. `at` is the time now.
    /// A segment of `except` is not handed out. Only what is handed out anew is written.
    pub fn claim(&mut self, reader: &str, except: &[SegmentId], at: &str) -> Result<Handed> {
        if let Some(standing) = self.db.moment(|c| standing(c, reader, except))? {
            return Ok(standing);
        }
        self.db.write(Durability::Process, |tx| {
            if let Some(standing) = standing(tx, reader, except)? {
                return Ok(standing);
            }
            let Some(id) = take(tx, reader, except, at)? else { return nothing(tx) };
            let placed = placed(tx, &id)?.ok_or_else(|| unknown_segment(&id))?;
            Ok(Handed::Segment(Box::new(placed)))
        })
    }

    /// Makes an active segment pending again; of another reader than `reader` only when none is
    /// given. A pending one stays as it is.
    ///
    /// # Errors
    /// `unknown-segment`, `held` (with who has it), `closed`.
    pub fn release(&mut self, id: &SegmentId, reader: Option<&str>) -> Result<()> {
        self.db.write(Durability::Process, |tx| {
            let it = stand(tx, id)?;
            match (it.status, &it.reader) {
                (SegmentStatus::Pending, _) => Ok(()),
                (SegmentStatus::Done, _) => Err(closed(id).into()),
                (_, Some(holder)) if reader.is_some_and(|reader| reader != holder) => {
                    Err(held(id, holder).into())
                }
                _ => free(tx, &it),
            }
        })
    }
}

/// The answer that changes nothing, if there is one.
fn standing(c: &Connection, reader: &str, except: &[SegmentId]) -> Work<Option<Handed>> {
    if let Some(own) = active_of(c, reader)?.filter(|own| !except.contains(own)) {
        let placed = placed(c, &own)?.ok_or_else(|| unknown_segment(&own))?;
        return Ok(Some(Handed::Segment(Box::new(placed))));
    }
    match next_pending(c, except)? {
        Some(_) => Ok(None),
        None => nothing(c).map(Some),
    }
}

fn take(
    tx: &Transaction<'_>,
    reader: &str,
    except: &[SegmentId],
    at: &str,
) -> Work<Option<SegmentId>> {
    let Some(id) = next_pending(tx, except)? else { return Ok(None) };
    activate(tx, &stand(tx, &id)?, reader, at)?;
    Ok(Some(id))
}

fn next_pending(tx: &Connection, except: &[SegmentId]) -> Work<Option<SegmentId>> {
    let read = "SELECT r.segment_id FROM queue q JOIN segment_records r USING (seq) ORDER BY q.seq";
    let synthesis = "SELECT r.segment_id FROM segment_records r JOIN segments s USING (segment_id)
        WHERE r.kind = 'synthesis' AND s.status = 'pending' ORDER BY r.seq";
    let sql = if counters::load(tx)?.read_segments_left == 0 { synthesis } else { read };
    let mut query = tx.prepare_cached(sql)?;
    let mut rows = query.query([])?;
    while let Some(row) = rows.next()? {
        let id = SegmentId(row.get(0)?);
        if !except.contains(&id) {
            return Ok(Some(id));
        }
    }
    Ok(None)
}

fn nothing(tx: &Connection) -> Work<Handed> {
    let finished = counters::load(tx)?.finished();
    Ok(if finished { Handed::Done } else { Handed::Held(holders(tx)?) })
}

/// The refusal to touch what another reader has.
pub(super) fn held(id: &SegmentId, holder: &str) -> Error {
    Error::no("held", format!("segment '{id}' is held by reader '{holder}'")).hint(format!(
        "act as that reader with `--reader {holder}`, or take it back: `auwai-ledger release --segment {id}`"
    ))
}

fn closed(id: &SegmentId) -> Error {
    Error::no("closed", format!("segment '{id}' is done and cannot be released"))
        .hint("read any of it again: `auwai read PATH`")
}
