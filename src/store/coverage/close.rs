//! Closing a segment: it is done, and its finding is kept, in one transaction.

use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use rusqlite::{OptionalExtension, Transaction, params};

use super::claim::held;
use super::claims::{forget_lapse, lost};
use super::confirm::waiting;
use super::segments::{Stand, finish, stand};
use super::{Coverage, counters, findings_path, in_force};
use crate::counted::{agree, count};
use crate::error::{Error, Result};
use crate::record::{SegmentId, SegmentKind, SegmentStatus};
use crate::store::db::{Durability, Work};
use crate::visible::quote_path;

impl Coverage {
    /// Closes a segment for `reader`, with its finding if there is one, and appends that to
    /// `findings.md`. The same again changes nothing.
    ///
    /// # Errors
    /// `unknown-segment`; `not-read` until every chunk is complete, and for the synthesis until
    /// every read segment is done; `held` when another reader has it; `lost-lease` when the reader's
    /// own lease ran out and the segment is not to be had any more; `closed` when it is done
    /// with another finding. When only `findings.md` cannot be written, its error: the segment is
    /// closed, and the next command appends the finding.
    pub fn close(
        &mut self,
        id: &SegmentId,
        reader: &str,
        summary: Option<&str>,
        at: &str,
    ) -> Result<()> {
        self.close_while(&|| Ok(()), id, reader, summary, at)
    }

    /// The same, unless something speaks against it once no other process can write any more.
    ///
    /// # Errors
    /// What `holds` says, too: nothing has changed then.
    pub fn close_while(
        &mut self,
        holds: &dyn Fn() -> Result<()>,
        id: &SegmentId,
        reader: &str,
        summary: Option<&str>,
        at: &str,
    ) -> Result<()> {
        let findings = findings_path(&self.dir);
        self.db.write(Durability::Power, |tx| {
            holds()?;
            if let Some(lost) = lost(tx, id, reader)? {
                return Err(lost.into());
            }
            let it = stand(tx, id)?;
            if it.status == SegmentStatus::Done && !adds(tx, id, summary, &findings)? {
                return Ok(());
            }
            if it.status != SegmentStatus::Done {
                allow(tx, &it, reader)?;
                finish(tx, &it, at)?;
                forget_lapse(tx, id, reader)?;
            }
            keep_finding(tx, id, reader, summary, at)
        })?;
        self.append_findings()
    }
}

/// Whether `summary` adds to a segment that is done; an error when it contradicts its finding.
fn adds(
    tx: &Transaction<'_>,
    id: &SegmentId,
    summary: Option<&str>,
    findings: &Path,
) -> Work<bool> {
    let Some(summary) = summary else { return Ok(false) };
    let sql = "SELECT text FROM findings WHERE segment = ?
        AND generation = (SELECT generation FROM counters) ORDER BY id DESC LIMIT 1";
    match tx.query_row(sql, [&id.0], |row| row.get::<_, String>(0)).optional()? {
        None => Ok(true),
        Some(text) if text == summary => Ok(false),
        Some(_) => Err(another(id, findings).into()),
    }
}

fn allow(tx: &Transaction<'_>, it: &Stand, reader: &str) -> Work<()> {
    if let Some(holder) = it.reader.as_deref().filter(|holder| *holder != reader) {
        return Err(held(&it.id, holder).into());
    }
    let left = counters::load(tx)?.read_segments_left;
    if it.kind == SegmentKind::Synthesis && left > 0 {
        return Err(too_early(&it.id, left).into());
    }
    let sql = "SELECT unread FROM segment_progress WHERE seq = ?";
    match tx.query_row(sql, [it.seq], |row| row.get(0))? {
        0 => Ok(()),
        unread => {
            let error = not_read(&it.id, i64::cast_unsigned(unread));
            Err(match waiting(tx, reader, &it.id)? {
                0 => error,
                _ => error.hint_instead(format!(
                    "give back the marks of what was printed: `auwai done --segment {} --marks 'MARKS'`",
                    it.id
                )),
            }
            .into())
        }
    }
}

fn keep_finding(
    tx: &Transaction<'_>,
    id: &SegmentId,
    reader: &str,
    summary: Option<&str>,
    at: &str,
) -> Work<()> {
    let Some(summary) = summary else { return Ok(()) };
    let now = in_force(tx)?;
    tx.execute(
        "INSERT INTO findings (generation, plan, segment, reader, at, text)
            VALUES (?, ?, ?, ?, ?, ?)",
        params![now.generation.cast_signed(), now.plan.id, id.0, reader, at, summary],
    )?;
    Ok(())
}

fn another(id: &SegmentId, findings: &Path) -> Error {
    let findings = quote_path(findings.as_os_str().as_bytes()).into_owned();
    Error::no("closed", format!("segment '{id}' is done already, with another summary"))
        .hint(format!("read it: `less {findings}`"))
}

fn too_early(id: &SegmentId, left: u64) -> Error {
    let (read, are) = (count(left, "read segment"), agree(left, "is", "are"));
    let message = format!("'{id}' comes last: {read} {are} not done");
    Error::no("not-read", message).hint("read on: `auwai next`")
}

fn not_read(id: &SegmentId, unread: u64) -> Error {
    let (chunks, are) = (count(unread, "chunk"), agree(unread, "is", "are"));
    Error::no("not-read", format!("{chunks} {are} unread in segment '{id}'"))
        .hint(format!("`auwai read --segment {id} --unread`"))
}
