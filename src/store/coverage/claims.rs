//! Claims: who has which segment and for how long, and what comes back when a lease has run out.
//!
//! There is no daemon. Whoever opens the ledger to act on it, or to tell what is there, first gives
//! back what has run out; and whoever hands out does it in the same transaction. The claim of a reader
//! that was not heard of stays in `lapses`: while nobody else has the segment it is still that
//! reader's, and when somebody has, it can be told so.

use std::time::Duration;

use rusqlite::{Connection, OptionalExtension, Row, Transaction, params};

use super::lease::{Lease, Moment, Term};
use super::segments::{IN_ORDER, Stand, activate, active_of, free, stand};
use super::{Coverage, unknown_segment};
use crate::error::{Error, Result};
use crate::record::{Holder, SegmentId, SegmentStatus};
use crate::store::db::{Durability, Work};

/// A reader's claim on a segment.
struct Claim {
    segment: SegmentId,
    reader: String,
    since: String,
    lease: Option<Lease>,
}

impl Coverage {
    /// Gives back every segment whose lease has run out; whether there was one. A ledger that cannot
    /// be written gives them back for this process alone.
    pub fn give_back(&mut self, now: &Moment) -> Result<bool> {
        if !self.db.read(|c| any_due(c, now))? {
            return Ok(false);
        }
        self.db.write_or_scratch(Durability::Process, |tx| give_back(tx, now))
    }

    /// Renews the lease of a reader, on `segment` or on the one that it has, for its length from now
    /// on. A lease that has run out begins anew while nobody else has the segment.
    ///
    /// # Errors
    /// `no-active` when it has none; `lost-lease` when its lease ran out and the segment is not to be
    /// had any more; `unknown-segment`; `not-held` when it never had the one that is named.
    pub fn renew(
        &mut self,
        reader: &str,
        segment: Option<&SegmentId>,
        now: &Moment,
    ) -> Result<Holder> {
        self.db.write_or_scratch(Durability::Process, |tx| {
            give_back(tx, now)?;
            let id = match segment {
                Some(id) => id.clone(),
                None => match own(tx, reader)? {
                    Some(id) => id,
                    None => return Err(no_active(tx, reader)?.into()),
                },
            };
            renew(tx, &id, reader, now)?;
            let all = claims(tx)?.into_iter().find(|claim| claim.segment == id);
            Ok(all.map(|claim| claim.holder(now)).ok_or_else(|| unknown_segment(&id))?)
        })
    }

    /// Who has which segment, in order of the plan, and until when.
    pub fn holders(&self, now: &Moment) -> Result<Vec<Holder>> {
        self.db.read(|c| holders(c, now))
    }

    /// Whether a lease has run out that has not been given back.
    pub fn is_due(&self, now: &Moment) -> Result<bool> {
        self.db.read(|c| any_due(c, now))
    }

    /// A number that differs when another process has written in between.
    pub fn version(&self) -> Result<u64> {
        let version = |c: &Connection| c.query_row("PRAGMA data_version", [], |row| row.get(0));
        self.db.read(|c| Ok(i64::cast_unsigned(version(c)?)))
    }
}

impl Claim {
    fn holder(self, now: &Moment) -> Holder {
        let until = self.lease.map(|lease| now.after(lease.left(now)));
        Holder { reader: self.reader, segment: self.segment, since: self.since, until }
    }

    fn is_due(&self, now: &Moment) -> bool {
        let due = |lease: &Lease| lease.left(now).is_zero() || lease.cut_short(now).is_some();
        self.lease.as_ref().is_some_and(due)
    }
}

const COLUMNS: &str = "segment_id, reader, since, length, until, boot, boot_until";

fn claim(row: &Row<'_>) -> rusqlite::Result<Claim> {
    let lease = match (row.get(3)?, row.get(4)?) {
        (Some(length), Some(until)) => {
            let boot = row.get::<_, Option<_>>(5)?.zip(row.get::<_, Option<_>>(6)?);
            Some(Lease { length, until, boot })
        }
        _ => None,
    };
    Ok(Claim { segment: SegmentId(row.get(0)?), reader: row.get(1)?, since: row.get(2)?, lease })
}

fn claims(c: &Connection) -> Work<Vec<Claim>> {
    let mut query = c.prepare_cached(&format!("SELECT {COLUMNS} FROM claims c {IN_ORDER}"))?;
    let rows = query.query_map([], claim)?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

pub(super) fn holders(c: &Connection, now: &Moment) -> Work<Vec<Holder>> {
    Ok(claims(c)?.into_iter().map(|claim| claim.holder(now)).collect())
}

/// Whether there is a claim that time has done something to.
pub(super) fn any_due(c: &Connection, now: &Moment) -> Work<bool> {
    Ok(claims(c)?.iter().any(|claim| claim.is_due(now)))
}

/// Gives back what has run out; whether there was any.
pub(super) fn give_back(tx: &Transaction<'_>, now: &Moment) -> Work<bool> {
    let mut any = false;
    for claim in claims(tx)? {
        let Some(lease) = &claim.lease else { continue };
        if let Some(lease) = lease.cut_short(now) {
            keep(tx, &claim.segment, Some(&lease))?;
        } else if lease.left(now).is_zero() {
            lapse(tx, &claim, lease, now)?;
            any = true;
        }
    }
    Ok(any)
}

/// The segment goes back, and it is remembered whose it was.
fn lapse(tx: &Transaction<'_>, claim: &Claim, lease: &Lease, now: &Moment) -> Work<()> {
    free(tx, &stand(tx, &claim.segment)?)?;
    tx.prepare_cached(
        "INSERT OR REPLACE INTO lapses (segment_id, reader, since, length, at, passed)
            VALUES (?, ?, ?, ?, ?, 0)",
    )?
    .execute(params![
        claim.segment.0,
        claim.reader,
        claim.since,
        lease.length,
        now.timestamp()
    ])?;
    Ok(())
}

/// Hands a pending segment to a reader for a term. What ran out of that reader's before is past.
pub(super) fn hand(
    tx: &Transaction<'_>,
    it: &Stand,
    reader: &str,
    term: Term,
    now: &Moment,
) -> Work<()> {
    activate(tx, it, reader, &now.timestamp())?;
    keep(tx, &it.id, term.map(|length| Lease::begin(length, now)).as_ref())?;
    forget_lapse(tx, &it.id, reader)?;
    tx.execute("UPDATE lapses SET passed = 1 WHERE reader = ?", [reader])?;
    Ok(())
}

/// Writes the lease of a claim.
pub(super) fn keep(tx: &Transaction<'_>, id: &SegmentId, lease: Option<&Lease>) -> Work<()> {
    let boot = lease.and_then(|lease| lease.boot.as_ref());
    let sql = "UPDATE claims SET length = ?, until = ?, boot = ?, boot_until = ?
        WHERE segment_id = ?";
    tx.prepare_cached(sql)?.execute(params![
        lease.map(|lease| lease.length),
        lease.map(|lease| lease.until),
        boot.map(|(boot, _)| boot),
        boot.map(|(_, until)| until),
        id.0,
    ])?;
    Ok(())
}

/// The segment of a reader: its active one, else one whose lease ran out and that nobody has.
pub(super) fn own(c: &Connection, reader: &str) -> Work<Option<SegmentId>> {
    if let Some(id) = active_of(c, reader)? {
        return Ok(Some(id));
    }
    let sql = "SELECT segment_id FROM lapses JOIN segments USING (segment_id)
        JOIN segment_records r USING (segment_id)
        WHERE reader = ? AND passed = 0 AND status = 'pending'
        AND (kind = 'read' OR (SELECT read_segments_left FROM counters) = 0)
        ORDER BY r.seq LIMIT 1";
    let id = c.prepare_cached(sql)?.query_row([reader], |row| row.get(0)).optional()?;
    Ok(id.map(SegmentId))
}

fn renew(tx: &Transaction<'_>, id: &SegmentId, reader: &str, now: &Moment) -> Work<()> {
    let it = match stand(tx, id) {
        Ok(it) => it,
        Err(fault) => return Err(lost(tx, id, reader)?.map_or(fault, Into::into)),
    };
    if it.reader.as_deref() == Some(reader) {
        let length = length_of(tx, "claims", id, reader)?;
        return keep(tx, id, length.map(|length| Lease::begin(length, now)).as_ref());
    }
    let lapsed = length_of(tx, "lapses", id, reader)?;
    match (it.status, lapsed) {
        (SegmentStatus::Pending, Some(length)) if own(tx, reader)?.as_ref() == Some(id) => {
            hand(tx, &it, reader, Some(length), now)
        }
        (_, Some(_)) => match lost(tx, id, reader)? {
            Some(error) => Err(error.into()),
            None => Err(not_held(id, reader).into()),
        },
        _ => Err(not_held(id, reader).into()),
    }
}

fn length_of(c: &Connection, table: &str, id: &SegmentId, reader: &str) -> Work<Option<Duration>> {
    let sql = format!("SELECT length FROM {table} WHERE segment_id = ? AND reader = ?");
    let row = c.query_row(&sql, [&id.0, reader], |row| row.get::<_, Option<i64>>(0)).optional()?;
    Ok(row.flatten().map(|length| Duration::from_millis(length.max(0).cast_unsigned())))
}

/// A reader has no say any more in a segment that it has closed.
pub(super) fn forget_lapse(tx: &Transaction<'_>, id: &SegmentId, reader: &str) -> Work<()> {
    let sql = "DELETE FROM lapses WHERE segment_id = ? AND reader = ?";
    tx.prepare_cached(sql)?.execute([&id.0, reader])?;
    Ok(())
}

/// The error for a reader whose lease on a segment ran out, when somebody else has it, or it is done
/// or out of the plan. `None` when no lease of its ran out, or the segment can still be had.
pub(super) fn lost(c: &Connection, id: &SegmentId, reader: &str) -> Work<Option<Error>> {
    let sql = "SELECT l.at, s.status, s.done_at, c.reader, c.since FROM lapses l
        LEFT JOIN segments s USING (segment_id) LEFT JOIN claims c USING (segment_id)
        WHERE l.segment_id = ? AND l.reader = ?";
    let row = c.prepare_cached(sql)?.query_row([&id.0, reader], |row| {
        let text = |at| row.get::<_, Option<String>>(at);
        Ok((row.get::<_, String>(0)?, text(1)?, text(2)?, text(3)?.zip(text(4)?)))
    });
    let Some((at, status, done_at, holder)) = row.optional()? else { return Ok(None) };
    let now = match (status.as_deref(), holder) {
        (Some("pending"), _) => return Ok(None),
        (None, _) => "the plan has changed since".to_string(),
        (_, Some((holder, since))) => format!("reader '{holder}' has it since {since}"),
        _ => format!("another reader has closed it, at {}", done_at.unwrap_or_default()),
    };
    let id = crate::visible::one_line(&id.0);
    Ok(Some(
        Error::no("lost-lease", format!("the lease of '{id}' ran out ({at}): {now}"))
            .hint("what was delivered stays read; take another segment: `auwai next`")
            .hint("ask for more time than before: `auwai next --lease 2h`"),
    ))
}

/// The error for a reader that has nothing: its last lease ran out, or it has none.
fn no_active(c: &Connection, reader: &str) -> Work<Error> {
    let sql = "SELECT segment_id FROM lapses WHERE reader = ? AND passed = 0
        ORDER BY at DESC LIMIT 1";
    let last = c.query_row(sql, [reader], |row| Ok(SegmentId(row.get(0)?))).optional()?;
    let lost = last.map(|id| lost(c, &id, reader)).transpose()?.flatten();
    Ok(lost.unwrap_or_else(|| {
        Error::no("no-active", format!("reader '{reader}' has no active segment"))
            .hint("begin with `auwai next`")
    }))
}

fn not_held(id: &SegmentId, reader: &str) -> Error {
    let id = crate::visible::one_line(&id.0);
    Error::no("not-held", format!("reader '{reader}' does not have '{id}'"))
        .hint("see who has what: `auwai status`")
}
