//! Reads that were made elsewhere, and what comes with them.
//!
//! A read is kept once, as `imported`, whatever ledger it came through: what tells two apart is who
//! read which text where, when and how. It counts for the chunk that has the same path and the same
//! bytes. Groups are transactions of their own, so that others come in between; the same import
//! again finishes what was stopped.

use rusqlite::{CachedStatement, OptionalExtension, Transaction, params};

use super::adopt::CACHE_KIB;
use super::history::made_by;
use super::marks::{Kept, Marker, Marking, keep_read, path_value};
use super::{Coverage, How, counters, in_force};
use crate::error::Result;
use crate::record::{Finding, Read, RepoPath, Waiver};
use crate::store::db::{Durability, Work};

/// A read from elsewhere.
#[derive(Debug, Clone)]
pub struct Incoming {
    /// It, with its reader, way, time, plan and segment.
    pub read: Read,
    /// The chunk that the tree has at its path with its bytes.
    pub here: Option<Read>,
    /// Whether the history has it already, and only waits for a plan.
    pub waits: bool,
}

/// What came of an import.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Imported {
    /// Rows that the ledger did not have.
    pub new: u64,
    /// Chunks that became complete.
    pub completed: u64,
}

/// The same read: by the way in which it was made, through whatever ledgers it came.
const SAME: &str = "SELECT 1 FROM reads WHERE repo = ?1 AND chunk_id = ?2 AND body IS ?3
    AND path IS ?4 AND reader = ?5 AND at = ?6 AND plan = ?7 AND segment = ?8
    AND CASE WHEN how IN ('moved', 'imported') THEN origin ELSE how END IS ?9";

const KEEP: &str = "INSERT INTO reads (repo, chunk_id, body, file, path, from_byte, to_byte,
        reader, how, origin, generation, plan, segment, at, head, clean)
    VALUES (?1, ?2, ?3, ?10, ?4, ?11, ?12, ?5, 'imported', ?9, ?13, ?7, ?8, ?6, ?14, ?15)";

/// A read of which nothing is known in this plan: no chunk has it, or has given it away.
const GIVEN: &str = "SELECT given FROM marks WHERE chunk = ?2
    AND repo_no = (SELECT repo_no FROM repos WHERE name = ?1)";

/// Who acts where the ledger acts by itself.
const MARKING: fn() -> Marking = || Marking { reader: "auwai".into(), how: How::Imported };

impl Coverage {
    /// Makes room in memory for an import: chunk ids are hashes, so every group dirties pages all over
    /// the indices.
    ///
    /// # Errors
    /// The ledger's.
    pub fn make_room(&self) -> Result<()> {
        self.db.set_cache(2 * CACHE_KIB)
    }

    /// Keeps reads from elsewhere, each once, in one transaction; those whose text is here complete
    /// their chunk, where it is planned.
    ///
    /// # Errors
    /// The ledger's.
    pub fn import_reads(&mut self, group: &[Incoming], at: &str) -> Result<Imported> {
        self.db.write(Durability::Process, |tx| {
            let planned = counters::find(tx)?.is_some();
            let generation = if planned { in_force(tx)?.generation } else { 0 };
            let mut keeper = Keeper::new(tx, generation)?;
            let marking = MARKING();
            let mut marker = if planned { Some(Marker::new(tx, &marking, at)?) } else { None };
            let mut done = Imported::default();
            for incoming in group {
                let is_new = incoming.waits || keeper.keep(&incoming.read)?;
                done.new += u64::from(is_new && !incoming.waits);
                if let (Some(here), Some(marker)) = (&incoming.here, &mut marker) {
                    complete(tx, marker, &incoming.read, here, is_new)?;
                }
            }
            done.completed = marker.map_or(Ok(0), Marker::settle)?;
            Ok(done)
        })
    }

    /// Whether what was imported before there was a plan does not count yet under the first one.
    ///
    /// # Errors
    /// The ledger's.
    pub fn has_waiting_reads(&self) -> Result<bool> {
        let sql = "SELECT EXISTS (SELECT 1 FROM counters WHERE generation = 1)
            AND EXISTS (SELECT 1 FROM reads WHERE generation = 0)
            AND NOT EXISTS (SELECT 1 FROM counted_imports)";
        self.db.read(|c| Ok(c.query_row(sql, [], |row| row.get(0))?))
    }

    /// Notes that it does.
    ///
    /// # Errors
    /// The ledger's.
    pub fn note_waiting_reads(&mut self) -> Result<()> {
        let sql = "INSERT OR IGNORE INTO counted_imports VALUES (1)";
        self.db.write(Durability::Power, |tx| Ok(tx.execute(sql, []).map(drop)?))
    }

    /// Whether the plan knows nothing of a read: it was never here, and no chunk has taken it.
    ///
    /// # Errors
    /// The ledger's.
    pub fn is_unknown(&self, read: &Read) -> Result<bool> {
        self.db.read(|c| {
            let mut query = c.prepare_cached(GIVEN)?;
            Ok(!query.exists(params![read.repo, read.id.0.cast_signed()])?)
        })
    }

    /// Lets chunks take over reads from elsewhere whose own chunk the tree does not have, each one at
    /// most; how many did.
    ///
    /// # Errors
    /// The ledger's.
    pub fn move_imported(&mut self, pairs: &[(Read, Read)], at: &str) -> Result<u64> {
        self.db.write(Durability::Process, |tx| {
            let marking = MARKING();
            let mut marker = Marker::new(tx, &marking, at)?;
            for (from, to) in pairs {
                hand_over(tx, &mut marker, from, to, at)?;
            }
            marker.settle()
        })
    }

    /// Keeps findings and waivers from elsewhere, each once; how many of both were new. When it
    /// returns, all that was imported survives a power cut.
    ///
    /// # Errors
    /// The ledger's, and what keeps findings.md from being written.
    pub fn import_rest(&mut self, findings: &[Finding], waivers: &[Waiver]) -> Result<(u64, u64)> {
        let new = self.db.write(Durability::Power, |tx| {
            let mut new = (0, 0);
            for finding in findings {
                new.0 += keep_finding(tx, finding)?;
            }
            for waiver in waivers {
                new.1 += super::waivers::keep(tx, waiver)?;
            }
            Ok(new)
        })?;
        self.db.checkpoint();
        self.append_findings().map(|()| new)
    }
}

/// Keeps reads that the history does not have.
struct Keeper<'tx> {
    same: CachedStatement<'tx>,
    put: CachedStatement<'tx>,
    generation: i64,
}

impl<'tx> Keeper<'tx> {
    fn new(tx: &'tx Transaction<'tx>, generation: u64) -> Work<Self> {
        let (same, put) = (tx.prepare_cached(SAME)?, tx.prepare_cached(KEEP)?);
        Ok(Keeper { same, put, generation: generation.cast_signed() })
    }

    /// Keeps a read; `false` when it was there.
    fn keep(&mut self, read: &Read) -> Work<bool> {
        let (id, path) = (read.id.to_string(), read.repo_path().ok().flatten());
        let (path, made) = (path.as_ref().map(path_value), read.made().map(How::as_str));
        let segment = read.segment.as_ref().map(|id| id.0.as_str());
        let known = self.same.exists(params![
            read.repo,
            id,
            read.body,
            path,
            read.reader,
            read.at,
            read.plan,
            segment,
            made
        ])?;
        if known {
            return Ok(false);
        }
        let bytes = read.bytes.map(|bytes| (bytes.from.cast_signed(), bytes.to.cast_signed()));
        self.put.execute(params![
            read.repo,
            id,
            read.body,
            path,
            read.reader,
            read.at,
            read.plan,
            segment,
            made,
            read.file,
            bytes.map(|bytes| bytes.0),
            bytes.map(|bytes| bytes.1),
            self.generation,
            read.head,
            read.clean,
        ])?;
        Ok(true)
    }
}

/// Completes the chunk that a read is of. One that the ledger had before, and that another chunk has
/// taken over, is not there a second time.
fn complete(
    tx: &Transaction<'_>,
    marker: &mut Marker<'_>,
    read: &Read,
    here: &Read,
    is_new: bool,
) -> Work<()> {
    let Some(planned) = marker.planned(here)? else { return Ok(()) };
    if !is_new && is_given(tx, here)? {
        return Ok(());
    }
    marker.complete(here, &planned, read.at.as_deref().unwrap_or_default()).map(drop)
}

fn is_given(tx: &Transaction<'_>, read: &Read) -> Work<bool> {
    let mut query = tx.prepare_cached(GIVEN)?;
    let key = params![read.repo, read.id.0.cast_signed()];
    Ok(query.query_row(key, |row| row.get::<_, bool>(0)).optional()?.unwrap_or(false))
}

/// Lets the chunk `to` take over the read `from`, unless it is complete by now or the read is known
/// by now.
fn hand_over(
    tx: &Transaction<'_>,
    marker: &mut Marker<'_>,
    from: &Read,
    to: &Read,
    at: &str,
) -> Work<()> {
    let Some(planned) = marker.planned(to)? else { return Ok(()) };
    let hash = |hex: &Option<String>| blake3::Hash::from_hex(hex.as_deref()?).ok();
    let Some(body) = hash(&from.body) else { return Ok(()) };
    let path: Option<RepoPath> = from.repo_path().ok().flatten();
    let sql = "INSERT OR IGNORE INTO marks (repo_no, chunk, body, file, since, given, path)
        SELECT ?1, ?2, ?3, ?4, 0, 1, ?5
        WHERE EXISTS (SELECT 1 FROM chunks WHERE repo = ?6 AND chunk_id = ?7 AND complete = 0)";
    let taken = tx.prepare_cached(sql)?.execute(params![
        planned.repo_no,
        from.id.0.cast_signed(),
        body.as_bytes(),
        hash(&from.file).map(|file| *file.as_bytes()),
        path.as_ref().map(path_value),
        to.repo,
        to.id.to_string(),
    ])?;
    if taken == 0 || !marker.complete(to, &planned, from.at.as_deref().unwrap_or(at))? {
        return Ok(());
    }
    let force = in_force(tx)?;
    for (reader, origin) in made_by(tx, &from.repo, from.id, body.as_bytes())? {
        let kept = Kept {
            reader: &reader,
            how: How::Moved,
            origin,
            generation: force.generation,
            plan: &force.plan.id,
            segment: &planned.segment,
            at,
        };
        keep_read(tx, to, &kept, true)?;
    }
    Ok(())
}

/// Keeps a finding; how many were new.
fn keep_finding(tx: &Transaction<'_>, finding: &Finding) -> Work<u64> {
    let Finding { plan, segment, reader, at, text } = finding;
    let sql = "INSERT INTO findings (generation, plan, segment, reader, at, text)
        SELECT 0, ?1, ?2, ?3, ?4, ?5 WHERE NOT EXISTS (SELECT 1 FROM findings
            WHERE segment = ?2 AND plan = ?1 AND reader = ?3 AND at = ?4 AND text = ?5)";
    Ok(tx.prepare_cached(sql)?.execute(params![plan, segment.0, reader, at, text])? as u64)
}
