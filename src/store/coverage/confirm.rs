//! Marks that are given back: what was delivered under a plan with marks is read when they come.
//!
//! Until then it waits in `unconfirmed`, with what its delivery said of it. A ledger can be read by whoever
//! has it, so it does not hold the marks but their hashes; whoever can write it can cheat.

use std::collections::HashSet;

use rusqlite::{Connection, Transaction, params};

use super::marks::{Marker, Marking};
use super::{Coverage, from_json, to_json};
use crate::error::{Error, Result};
use crate::record::{How, Read, SegmentId};
use crate::store::db::{Durability, Work};

/// What came of marks that were given back.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Confirmed {
    /// The chunks of which all marks have come.
    pub reads: Vec<Read>,
    /// How many chunks were delivered and still wait for marks.
    pub waiting: u64,
}

/// A delivery, and the hashes of the marks that prove it.
struct Delivered {
    read: Read,
    marks: Vec<String>,
    confirmed: bool,
}

impl Coverage {
    /// Takes the marks that a reader has found in what was last delivered to it of a segment. A chunk is
    /// complete when all that prove it have come; twice is once.
    ///
    /// # Errors
    /// `wrong-mark` for one that stands in nothing that was delivered so; nothing has changed then.
    pub fn confirm(
        &mut self,
        reader: &str,
        segment: &SegmentId,
        marks: &[String],
        at: &str,
    ) -> Result<Confirmed> {
        self.db.write(Durability::Process, |tx| {
            let all = deliveries(tx, reader, segment)?;
            let known: HashSet<&str> =
                all.iter().flat_map(|it| &it.marks).map(String::as_str).collect();
            let given: Vec<String> = marks.iter().map(|mark| hash(mark)).collect();
            let wrong = given.iter().position(|hash| !known.contains(hash.as_str()));
            if let Some(wrong) = wrong {
                return Err(wrong_mark(&marks[wrong], reader, segment).into());
            }
            let given: HashSet<String> = given.into_iter().collect();
            let is_proven = |it: &Delivered| it.marks.iter().all(|mark| given.contains(mark));
            let proven = all.into_iter().filter(|it| !it.confirmed && is_proven(it));
            let reads: Vec<Read> = proven.map(|it| it.read).collect();
            complete(tx, reader, segment, &reads, at)?;
            Ok(Confirmed { reads, waiting: waiting(tx, reader, segment)? })
        })
    }
}

fn complete(
    tx: &Transaction<'_>,
    reader: &str,
    segment: &SegmentId,
    reads: &[Read],
    at: &str,
) -> Work<()> {
    let marking = Marking { reader: reader.to_string(), how: How::Confirmed };
    let mut marker = Marker::new(tx, &marking, at)?;
    for read in reads {
        // What a replan has taken out of the plan is read by nobody's measure.
        marker.mark(read)?;
        let sql = "UPDATE unconfirmed SET confirmed = 1
            WHERE reader = ? AND segment = ? AND repo = ? AND chunk_id = ?";
        tx.prepare_cached(sql)?.execute([reader, &segment.0, &read.repo, &read.id.to_string()])?;
    }
    marker.settle()?;
    Ok(())
}

/// Keeps a delivery until it is confirmed. The marks of an earlier one prove nothing any more.
pub(super) fn wait(tx: &Transaction<'_>, reader: &str, segment: &str, read: &Read) -> Work<()> {
    let marks: Vec<String> = read.marks.iter().map(|mark| hash(mark)).collect();
    let bare = Read { marks: Vec::new(), ..read.clone() };
    tx.prepare_cached(
        "INSERT OR REPLACE INTO unconfirmed
            (reader, segment, repo, chunk_id, evidence, marks, confirmed)
            VALUES (?1, ?2, ?3, ?4, ?5, ?6,
                (SELECT complete FROM chunks WHERE repo = ?3 AND chunk_id = ?4))",
    )?
    .execute(params![
        reader,
        segment,
        read.repo,
        read.id.to_string(),
        to_json(&bare)?,
        to_json(&marks)?
    ])?;
    Ok(())
}

/// How many chunks were delivered to a reader of a segment and wait for their marks.
pub(super) fn waiting(c: &Connection, reader: &str, segment: &SegmentId) -> Work<u64> {
    let sql = "SELECT count(*) FROM unconfirmed JOIN chunks USING (repo, chunk_id)
        WHERE reader = ? AND segment = ? AND complete = 0";
    let count = c.prepare_cached(sql)?.query_row([reader, &segment.0], |row| row.get(0));
    Ok(i64::cast_unsigned(count?))
}

fn deliveries(c: &Connection, reader: &str, segment: &SegmentId) -> Work<Vec<Delivered>> {
    let sql = "SELECT evidence, marks, confirmed FROM unconfirmed
        WHERE reader = ? AND segment = ?";
    let mut query = c.prepare_cached(sql)?;
    let rows = query.query_map([reader, &segment.0], |row| {
        Ok((row.get::<_, String>(0)?, row.get::<_, String>(1)?, row.get::<_, bool>(2)?))
    })?;
    let mut all = Vec::new();
    for row in rows {
        let (read, marks, confirmed) = row?;
        all.push(Delivered { read: from_json(&read)?, marks: from_json(&marks)?, confirmed });
    }
    Ok(all)
}

fn hash(mark: &str) -> String {
    blake3::hash(mark.as_bytes()).to_hex().to_string()
}

fn wrong_mark(mark: &str, reader: &str, segment: &SegmentId) -> Error {
    let (mark, id) = (crate::visible::one_line(mark), crate::visible::one_line(&segment.0));
    let message =
        format!("'{mark}' is no mark of what was delivered last to reader '{reader}' of '{id}'");
    Error::no("wrong-mark", message)
        .hint(format!("nothing is confirmed; print it again: `auwai read --segment {id}`"))
}
