//! Handing out segments: nobody gets one that another has.

use rusqlite::{OptionalExtension, Transaction};

use super::segments::{activate, active_of, free, holders, placed, stand};
use super::{Coverage, Placed, counters, to_json, unknown_segment};
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
    pub fn claim(&mut self, reader: &str, at: &str) -> Result<Handed> {
        self.claim_except(reader, &[], at)
    }

    /// The same, with no segment newly handed out that is in `except`.
    pub fn claim_except(&mut self, reader: &str, except: &[String], at: &str) -> Result<Handed> {
        self.db.write(Durability::Process, |tx| {
            let own = active_of(tx, reader)?;
            let taken = own.map_or_else(|| take(tx, reader, except, at), |id| Ok(Some(id)))?;
            let Some(id) = taken else {
                return nothing(tx);
            };
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

fn take(
    tx: &Transaction<'_>,
    reader: &str,
    except: &[String],
    at: &str,
) -> Work<Option<SegmentId>> {
    let Some(id) = next_pending(tx, except)? else { return Ok(None) };
    activate(tx, &stand(tx, &id)?, reader, at)?;
    Ok(Some(id))
}

fn next_pending(tx: &Transaction<'_>, except: &[String]) -> Work<Option<SegmentId>> {
    let first = "SELECT r.segment_id FROM queue q JOIN segment_records r USING (seq)
        WHERE r.segment_id NOT IN (SELECT value FROM json_each(?1)) ORDER BY q.seq LIMIT 1";
    let synthesis = "SELECT r.segment_id FROM segment_records r JOIN segments s USING (segment_id)
        WHERE r.kind = 'synthesis' AND s.status = 'pending'
        AND r.segment_id NOT IN (SELECT value FROM json_each(?1)) ORDER BY r.seq LIMIT 1";
    let sql = if counters::load(tx)?.read_segments_left == 0 { synthesis } else { first };
    Ok(tx.query_row(sql, [to_json(except)?], |row| row.get(0)).optional()?.map(SegmentId))
}

fn nothing(tx: &Transaction<'_>) -> Work<Handed> {
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
