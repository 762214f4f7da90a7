//! `fullread.json`: the plan, its policy and the state of its segments, for people and scripts.
//!
//! It is an export: never read back, and the same bytes for the same state. A small one is written
//! at every change; a large one, which takes longer than the change itself, less often.

use std::io::Write;
use std::path::Path;
use std::time::{Duration, SystemTime};

use rusqlite::{Connection, Row};
use serde::Serialize;

use super::{Coverage, InForce, files_lock, fullread_path, in_force, to_json};
use crate::error::{Error, Result};
use crate::record::{PlanRepo, Policy, path_to_wire};
use crate::store::db::{Fault, Work};
use crate::store::file;

/// Up to this size the export is written at every change.
const SMALL: u64 = 1 << 20;

/// How old a large export may become before a command that may take its time writes it anew.
const STALE: Duration = Duration::from_secs(10);

/// Whose plan it is.
#[derive(Debug, Clone, Copy)]
pub struct Owner<'a> {
    /// The workspace's name.
    pub name: &'a str,
    /// Its root.
    pub root: &'a Path,
}

#[derive(Serialize)]
struct Head<'a> {
    v: u8,
    workspace: &'a str,
    root: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    root_b64: Option<String>,
    generation: u64,
    plan: &'a str,
    policy: &'a Policy,
    repositories: &'a [PlanRepo],
}

impl Coverage {
    /// Writes the export after a change, if it is small or the change was the last. One that cannot
    /// be written has not changed either.
    pub fn export_if_small(&self, owner: Owner<'_>) -> Result<()> {
        if self.db.is_copy() {
            return Ok(());
        }
        let counters = self.counters()?;
        match counters.export_bytes < SMALL || counters.finished() {
            true => self.export(owner),
            false => Ok(()),
        }
    }

    /// Writes the export, a large one only when it is missing or ten seconds old at `now`.
    pub fn export_if_stale(&self, owner: Owner<'_>, now: SystemTime) -> Result<()> {
        if self.db.is_copy() {
            return Ok(());
        }
        let written = std::fs::metadata(fullread_path(&self.dir)).and_then(|m| m.modified());
        let fresh = written.is_ok_and(|at| now.duration_since(at).is_ok_and(|age| age < STALE));
        match fresh && self.counters()?.export_bytes >= SMALL {
            true => Ok(()),
            false => self.export(owner),
        }
    }

    /// Writes the export.
    pub fn export(&self, owner: Owner<'_>) -> Result<()> {
        // The lock comes before the look, so that no older state replaces a newer one.
        let _lock = files_lock(&self.dir)?;
        let path = fullread_path(&self.dir);
        file::replace(&path, |out| self.write_export(owner, out))
    }

    fn write_export(&self, owner: Owner<'_>, out: &mut dyn Write) -> Result<()> {
        let failed = |e| file::cannot_write(&fullread_path(&self.dir), &e);
        // One statement inside one transaction: the head and the segments are of one moment.
        self.db.read(|c| {
            let snapshot = c.unchecked_transaction()?;
            let head = head(&in_force(&snapshot)?, owner)?;
            let put = |out: &mut dyn Write, text: &str| {
                out.write_all(text.as_bytes()).map_err(|e| Fault::from(failed(e)))
            };
            put(out, &head)?;
            each_segment(&snapshot, |line| put(out, line))?;
            put(out, "\n]}\n")
        })
    }
}

/// Everything before the segments, its object left open.
fn head(now: &InForce, owner: Owner<'_>) -> Result<String> {
    let (root, root_b64) = path_to_wire(owner.root);
    let head = to_json(&Head {
        v: 1,
        workspace: owner.name,
        root,
        root_b64,
        generation: now.generation,
        plan: &now.plan.id,
        policy: &now.policy,
        repositories: &now.plan.repos,
    })?;
    let open = head.strip_suffix('}').ok_or_else(|| Error::failed("bug", "not an object"))?;
    Ok(format!("{open},\"segments\":["))
}

fn each_segment(c: &Connection, mut put: impl FnMut(&str) -> Work<()>) -> Work<()> {
    let sql = "SELECT r.segment_id, r.kind, s.status, s.tokens, c.reader, r.chunks, r.files
        FROM segment_records r JOIN segments s ON s.segment_id = r.segment_id
        LEFT JOIN claims c ON c.segment_id = r.segment_id ORDER BY r.seq";
    let mut query = c.prepare(sql)?;
    let mut rows = query.query([])?;
    let mut comma = "\n";
    while let Some(row) = rows.next()? {
        put(comma)?;
        put(&segment(row)?)?;
        comma = ",\n";
    }
    Ok(())
}

/// A segment's line; its lists are JSON already.
fn segment(row: &Row<'_>) -> Work<String> {
    let text = |at| -> Work<String> { Ok(to_json(row.get_ref(at)?.as_str().unwrap_or_default())?) };
    let list = |at| row.get_ref(at).map(|value| value.as_str().unwrap_or("[]"));
    let (id, kind, status, tokens) = (text(0)?, text(1)?, text(2)?, row.get::<_, i64>(3)?);
    let reader = match row.get::<_, Option<String>>(4)? {
        Some(reader) => format!(",\"reader\":{}", to_json(&reader)?),
        None => String::new(),
    };
    Ok(format!(
        "{{\"id\":{id},\"kind\":{kind},\"status\":{status},\"tokens\":{tokens}{reader},\"chunk_ids\":{},\"files\":{}}}",
        list(5)?,
        list(6)?,
    ))
}
