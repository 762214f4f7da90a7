//! The reads' side of a ledger: which chunks are read, by whom, and what becomes of a read when its
//! chunk vanishes.

use std::collections::{BTreeMap, HashMap, HashSet};

use rusqlite::{OptionalExtension, Transaction, params};

use super::apply::half;
use super::files::cuts_of;
use super::{Cut, Durability, Ledger};
use crate::error::Result;
use crate::moves::{Came, Left, pairs};
use crate::record::{ChunkId, Read, RepoPath};
use crate::store::db::Work;

/// How a read came about.
#[derive(Debug, Clone, Copy)]
pub struct Evidence<'a> {
    /// Who read.
    pub reader: &'a str,
    /// `shown`, `confirmed`, `run`, `moved` or `imported`.
    pub how: &'a str,
    /// When, RFC 3339.
    pub at: &'a str,
}

/// What git had when a chunk was read: the commit of HEAD, and whether the file was clean.
type InGit<'a> = (Option<&'a str>, Option<bool>);

/// What marking one chunk did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MarkOutcome {
    /// It is read now, and was not before.
    New,
    /// It was read before: nothing changed.
    Again,
    /// The index has no such chunk.
    Unknown,
}

impl Ledger {
    /// Every chunk that is read.
    pub fn read_ids(&self) -> Result<HashSet<ChunkId>> {
        self.db.read(|c| {
            let mut query = c.prepare("SELECT id FROM marks WHERE given = 0")?;
            let ids = query.query_map([], |row| Ok(ChunkId(row.get::<_, i64>(0)? as u64)))?;
            Ok(ids.collect::<rusqlite::Result<_>>()?)
        })
    }

    /// Marks chunks as read, in one transaction.
    pub fn mark(&mut self, reads: &[Read], evidence: Evidence<'_>) -> Result<Vec<MarkOutcome>> {
        self.db.write(Durability::Process, |tx| {
            let change = change_of(tx)?;
            reads.iter().map(|read| mark_one(tx, read, change, evidence)).collect()
        })
    }

    /// Moves the reads of vanished chunks to new chunks with the same body, by the rule of
    /// [`crate::moves`], where the changes are those of the index. Nothing is done when the index has not changed since the
    /// last time, by whatever process. Returns how many moved.
    pub fn move_reads(&mut self, at: &str) -> Result<u64> {
        if self.meta("moves")?.is_none() {
            return Ok(0);
        }
        self.db.write(Durability::Process, |tx| {
            let mut groups = BTreeMap::<[u8; 32], Vec<Freed>>::new();
            for read in freed(tx)? {
                groups.entry(read.body).or_default().push(read);
            }
            let mut moved = 0;
            for (body, reads) in &groups {
                moved += move_group(tx, body, reads, at)?;
            }
            tx.execute("DELETE FROM meta WHERE key = 'moves'", [])?;
            Ok(moved)
        })
    }
}

/// The number of the latest change of the index.
pub(super) fn change_of(tx: &Transaction<'_>) -> Work<i64> {
    let mut query = tx.prepare_cached("SELECT value FROM meta WHERE key = 'changes'")?;
    let text: Option<String> = query.query_row([], |row| row.get(0)).optional()?;
    Ok(text.and_then(|text| text.parse().ok()).unwrap_or(0))
}

/// A chunk where the index has it.
struct Place {
    key: Vec<u8>,
    hash: [u8; 32],
    cut: Cut,
}

fn place(tx: &Transaction<'_>, id: ChunkId) -> Work<Option<Place>> {
    let mut query = tx.prepare_cached(
        "SELECT f.id, f.key, f.hash FROM chunk_ids c JOIN files f ON f.id = c.file WHERE c.id = ?1",
    )?;
    let row = query
        .query_row([id.0 as i64], |row| Ok((row.get::<_, i64>(0)?, row.get(1)?, row.get(2)?)))
        .optional()?;
    let Some((file, key, hash)) = row else { return Ok(None) };
    let cut = cuts_of(tx, file)?.into_iter().find(|cut| cut.id == id);
    Ok(cut.map(|cut| Place { key, hash, cut }))
}

fn mark_one(
    tx: &Transaction<'_>,
    read: &Read,
    change: i64,
    evidence: Evidence<'_>,
) -> Work<MarkOutcome> {
    let Some(place) = place(tx, read.id)? else { return Ok(MarkOutcome::Unknown) };
    let mut standing = tx.prepare_cached("SELECT 1 FROM marks WHERE id = ?1 AND given = 0")?;
    if standing.exists([read.id.0 as i64])? {
        return Ok(MarkOutcome::Again);
    }
    note_read(tx, &place, evidence, (read.head.as_deref(), read.clean))?;
    put_mark(tx, &place, change)?;
    Ok(MarkOutcome::New)
}

fn put_mark(tx: &Transaction<'_>, place: &Place, change: i64) -> Work<()> {
    let mut put =
        tx.prepare_cached("INSERT OR REPLACE INTO marks VALUES (?1, ?2, ?3, ?4, ?5, 0)")?;
    let id = place.cut.id.0 as i64;
    put.execute(params![id, place.cut.body, place.hash, place.key, change])?;
    Ok(())
}

fn note_read(
    tx: &Transaction<'_>,
    place: &Place,
    evidence: Evidence<'_>,
    (head, clean): InGit<'_>,
) -> Work<()> {
    let mut note = tx.prepare_cached(
        "INSERT INTO reads
             (chunk_id, body, file, path, byte_from, byte_to, reader, how, at, head, clean)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)",
    )?;
    let path = RepoPath::from_key(&place.key).map(|path| path.as_bytes().to_vec());
    note.execute(params![
        place.cut.id.to_string(),
        hex(&place.cut.body),
        hex(&place.hash),
        path,
        place.cut.bytes.from,
        place.cut.bytes.to,
        evidence.reader,
        evidence.how,
        evidence.at,
        head,
        clean,
    ])?;
    Ok(())
}

fn hex(hash: &[u8; 32]) -> String {
    blake3::Hash::from_bytes(*hash).to_hex().to_string()
}

/// A read whose chunk has vanished and that nobody has taken over.
struct Freed {
    id: i64,
    body: [u8; 32],
    file: [u8; 32],
    since: i64,
}

/// An unread chunk, and the change that brought it.
struct Taker {
    place: Place,
    added: i64,
}

fn freed(tx: &Transaction<'_>) -> Work<Vec<Freed>> {
    let mut settle = tx.prepare_cached(
        "DELETE FROM freed WHERE EXISTS (SELECT 1 FROM chunk_ids c WHERE c.id = freed.id)
         OR NOT EXISTS (SELECT 1 FROM marks m WHERE m.id = freed.id AND m.given = 0)",
    )?;
    settle.execute([])?;
    let mut query = tx.prepare_cached(
        "SELECT m.id, m.body, m.file, m.since FROM freed CROSS JOIN marks m USING (id)
         ORDER BY m.key, m.id",
    )?;
    let rows = query.query_map([], |row| {
        Ok(Freed { id: row.get(0)?, body: row.get(1)?, file: row.get(2)?, since: row.get(3)? })
    })?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

/// The unread chunks that have this body, in tree order. Each file's chunks are unpacked once, since
/// there may be many of one body in it.
fn takers(tx: &Transaction<'_>, body: &[u8; 32]) -> Work<Vec<Taker>> {
    // The first terms are those of the index.
    let mut query = tx.prepare_cached(
        "SELECT c.file, c.id, c.added FROM chunk_ids c WHERE c.body = ?1 AND c.added > 1
         AND NOT EXISTS (SELECT 1 FROM marks m WHERE m.id = c.id AND m.given = 0)",
    )?;
    let rows = query.query_map([half(body)], |row| {
        Ok((row.get::<_, i64>(0)?, (ChunkId(row.get::<_, i64>(1)?.cast_unsigned()), row.get(2)?)))
    })?;
    let mut files = BTreeMap::<i64, HashMap<ChunkId, i64>>::new();
    for row in rows {
        let (file, (id, added)) = row?;
        files.entry(file).or_default().insert(id, added);
    }
    let mut takers = Vec::new();
    for (file, ids) in files {
        takers.extend(takers_in(tx, file, &ids)?);
    }
    takers.retain(|taker| taker.place.cut.body == *body);
    let order = |taker: &Taker| (taker.place.key.clone(), taker.place.cut.bytes.from);
    takers.sort_by_cached_key(order);
    Ok(takers)
}

/// The chunks of one file that have these ids.
fn takers_in(tx: &Transaction<'_>, file: i64, ids: &HashMap<ChunkId, i64>) -> Work<Vec<Taker>> {
    let mut query = tx.prepare_cached("SELECT key, hash FROM files WHERE id = ?1")?;
    let row = query.query_row([file], |row| Ok((row.get(0)?, row.get(1)?))).optional()?;
    let Some((key, hash)): Option<(Vec<u8>, [u8; 32])> = row else { return Ok(Vec::new()) };
    let found = cuts_of(tx, file)?.into_iter().filter_map(|cut| {
        let added = *ids.get(&cut.id)?;
        Some(Taker { place: Place { key: key.clone(), hash, cut }, added })
    });
    Ok(found.collect())
}

/// Moves reads of one body; how many.
fn move_group(tx: &Transaction<'_>, body: &[u8; 32], reads: &[Freed], at: &str) -> Work<u64> {
    let takers = takers(tx, body)?;
    let left = |read: &Freed| Left { file: Some(read.file), since: read.since.cast_unsigned() };
    let came = |taker: &Taker| Came { file: taker.place.hash, added: taker.added.cast_unsigned() };
    let left: Vec<Left> = reads.iter().map(left).collect();
    let came: Vec<Came> = takers.iter().map(came).collect();
    let pairs = pairs(&left, &came);
    for (from, to) in &pairs {
        give(tx, &reads[*from], &takers[*to].place, at)?;
    }
    Ok(pairs.len() as u64)
}

fn give(tx: &Transaction<'_>, read: &Freed, place: &Place, at: &str) -> Work<()> {
    put_mark(tx, place, read.since)?;
    let evidence = Evidence { reader: "auwai", how: "moved", at };
    note_read(tx, place, evidence, (None, None))?;
    tx.prepare_cached("UPDATE marks SET given = 1 WHERE id = ?1")?.execute([read.id])?;
    Ok(())
}
