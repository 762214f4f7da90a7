//! Handing out segments: nobody gets one that another has.

use rusqlite::{Connection, Transaction};

use super::claims::{any_due, give_back, hand, holders, keep, own};
use super::lease::Lease;
use super::segments::{active_of, free, placed, stand};
use super::{Coverage, Moment, Placed, Term, counters, unknown_segment};
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

/// What a reader asks for.
#[derive(Debug, Clone, Copy)]
pub struct Ask<'a> {
    /// Who asks.
    pub reader: &'a str,
    /// Segments that are not to be handed out.
    pub except: &'a [SegmentId],
    /// For how long.
    pub term: Term,
}

impl Coverage {
    /// Hands a reader its own segment if it has one, with a new lease, else the first pending read
    /// segment, else, when all of those are done, the synthesis. What has run out is pending.
    /// Nothing is written when there is nothing to hand out.
    pub fn claim(&mut self, ask: Ask<'_>, now: &Moment) -> Result<Handed> {
        self.claim_while(&|| Ok(()), ask, now)
    }

    /// The same, unless something speaks against it once no other process can write any more.
    ///
    /// # Errors
    /// What `holds` says, too: nothing has changed then.
    pub fn claim_while(
        &mut self,
        holds: &dyn Fn() -> Result<()>,
        ask: Ask<'_>,
        now: &Moment,
    ) -> Result<Handed> {
        if let Some(standing) = self.db.moment(|c| standing(c, ask, now))? {
            return Ok(standing);
        }
        let work = |tx: &Transaction<'_>| {
            holds()?;
            give_back(tx, now)?;
            match choose(tx, ask)? {
                Some(id) => handed(tx, &id, ask, now),
                None => nothing(tx, now),
            }
        };
        // What the reader has already it has also where that cannot be kept.
        match self.db.read(|c| active_of(c, ask.reader))? {
            Some(_) => self.db.write_or_scratch(Durability::Process, work),
            None => self.db.write(Durability::Process, work),
        }
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
fn standing(c: &Connection, ask: Ask<'_>, now: &Moment) -> Work<Option<Handed>> {
    match any_due(c, now)? || choose(c, ask)?.is_some() {
        true => Ok(None),
        false => nothing(c, now).map(Some),
    }
}

/// What the reader is to have.
fn choose(c: &Connection, ask: Ask<'_>) -> Work<Option<SegmentId>> {
    match own(c, ask.reader)?.filter(|own| !ask.except.contains(own)) {
        Some(own) => Ok(Some(own)),
        None => next_pending(c, ask.except),
    }
}

fn handed(tx: &Transaction<'_>, id: &SegmentId, ask: Ask<'_>, now: &Moment) -> Work<Handed> {
    let it = stand(tx, id)?;
    match it.status {
        SegmentStatus::Active => {
            keep(tx, id, ask.term.map(|length| Lease::begin(length, now)).as_ref())?;
        }
        _ => hand(tx, &it, ask.reader, ask.term, now)?,
    }
    let placed = placed(tx, id)?.ok_or_else(|| unknown_segment(id))?;
    Ok(Handed::Segment(Box::new(placed)))
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

fn nothing(c: &Connection, now: &Moment) -> Work<Handed> {
    let finished = counters::load(c)?.finished();
    Ok(if finished { Handed::Done } else { Handed::Held(holders(c, now)?) })
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
