//! The index's side of a ledger: paths, fates, contents and chunk ids.

use std::collections::HashSet;

use rusqlite::{Connection, OptionalExtension, Transaction, params};

use rustc_hash::{FxBuildHasher, FxHashMap};

use super::cuts::{Cut, pack, unpack};
use super::{Durability, Ledger};
use crate::error::{Error, Result};
use crate::record::{ChunkId, Fate, RepoPath, Tokens};
use crate::store::db::Work;

/// The stat data of a file, as bytes that are compared and nothing else.
pub type StatBytes = [u8; 48];

/// What the ledger knows of a path before a scan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Known {
    /// The row.
    pub id: i64,
    /// The fate.
    pub fate: Fate,
    /// The rule or the errno.
    pub detail: Option<Box<str>>,
    /// The stat data at the last scan.
    pub stat: Option<StatBytes>,
    /// Whether the times were too young to be trusted.
    pub racy: bool,
}

/// What a scan found at a path.
#[derive(Debug, Clone)]
pub struct FileRow {
    /// The path.
    pub path: RepoPath,
    /// The fate.
    pub fate: Fate,
    /// The rule or the errno.
    pub detail: Option<String>,
    /// The stat data.
    pub stat: Option<StatBytes>,
    /// Whether to hash it again next time.
    pub racy: bool,
    /// What is in it, for text and binary files.
    pub content: Option<Content>,
}

/// What is in a file.
#[derive(Debug, Clone, Default)]
pub struct Content {
    /// Bytes.
    pub size: u64,
    /// BLAKE3 of them.
    pub hash: [u8; 32],
    /// The encoding, for text.
    pub encoding: Option<String>,
    /// Whether its last line has no newline, for text.
    pub unterminated: bool,
    /// Lines, for text.
    pub lines: u64,
    /// Tokens as shown, for text.
    pub tokens: u64,
    /// Chunks, for text; they follow each other without gap.
    pub cuts: Vec<Cut>,
}

/// Changes to apply together.
#[derive(Debug, Default)]
pub struct Batch {
    /// Rows of paths that are gone.
    pub gone: Vec<i64>,
    /// Paths that are new, or seem changed.
    pub rows: Vec<FileRow>,
    /// Whether to cut a file anew whose bytes are the same: the rules of cutting have changed.
    pub anew: bool,
}

impl Batch {
    /// Whether there is nothing to do.
    pub fn is_empty(&self) -> bool {
        self.gone.is_empty() && self.rows.is_empty()
    }

    /// Empties it, for the next transaction.
    pub fn clear(&mut self) {
        self.gone.clear();
        self.rows.clear();
    }
}

/// What a batch did.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Changes {
    /// Paths that were new, changed or gone.
    pub files: u64,
    /// Chunk ids that are new.
    pub added: u64,
    /// Chunk ids that are gone.
    pub removed: u64,
}

impl std::ops::AddAssign for Changes {
    fn add_assign(&mut self, more: Changes) {
        self.files += more.files;
        self.added += more.added;
        self.removed += more.removed;
    }
}

/// A path as the ledger has it.
#[derive(Debug, Clone)]
pub struct Row {
    /// The row's id, for [`Ledger::cuts`].
    pub id: i64,
    /// The path.
    pub path: RepoPath,
    /// The fate.
    pub fate: Fate,
    /// The rule or the errno.
    pub detail: Option<String>,
    /// Bytes, for text and binary files.
    pub size: Option<u64>,
    /// BLAKE3 of them.
    pub hash: Option<[u8; 32]>,
    /// The encoding, for text.
    pub encoding: Option<String>,
    /// Whether its last line has no newline, for text.
    pub unterminated: bool,
    /// Lines.
    pub lines: u64,
    /// Tokens as shown.
    pub tokens: Tokens,
    /// How many chunks.
    pub chunks: u64,
}

/// Sums over all paths of one fate.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Totals {
    /// Paths.
    pub files: u64,
    /// Chunks.
    pub chunks: u64,
    /// Tokens as shown.
    pub tokens: u64,
}

/// Names a chunk: path, body hash, occurrence.
pub type NameChunk<'a> = &'a dyn Fn(&RepoPath, &[u8; 32], u32) -> ChunkId;

const ROW: &str = "SELECT id, key, fate, detail, size, hash, encoding, unterminated, lines, tokens,
    chunks FROM files";

impl Ledger {
    /// Every path with its stat data, by [`RepoPath::to_key`].
    pub fn known(&self) -> Result<FxHashMap<Box<[u8]>, Known>> {
        self.db.read(|c| {
            let count: u64 = c.query_row("SELECT count(*) FROM files", [], |row| row.get(0))?;
            let size = usize::try_from(count).unwrap_or_default();
            let mut query = c.prepare("SELECT id, key, fate, detail, stat, racy FROM files")?;
            let mut rows = query.query([])?;
            let mut all = FxHashMap::with_capacity_and_hasher(size, FxBuildHasher);
            while let Some(row) = rows.next()? {
                let key: Box<[u8]> = row.get_ref(1)?.as_blob().unwrap_or_default().into();
                let known = Known {
                    id: row.get(0)?,
                    fate: fate_of(row.get(2)?),
                    detail: row.get::<_, Option<String>>(3)?.map(String::into_boxed_str),
                    stat: row.get(4)?,
                    racy: row.get(5)?,
                };
                all.insert(key, known);
            }
            Ok(all)
        })
    }

    /// Applies a batch in one transaction. `change` numbers the change of the index that it is part
    /// of; `name` names a chunk, for the case that two names clash.
    pub fn apply(&mut self, batch: &Batch, change: i64, name: NameChunk<'_>) -> Result<Changes> {
        self.db.write(Durability::Process, |tx| {
            let mut changes = Changes::default();
            for id in &batch.gone {
                remove(tx, *id, &mut changes)?;
            }
            for row in &batch.rows {
                if batch.anew || !touch(tx, row)? {
                    put(tx, row, change, name, &mut changes)?;
                }
            }
            Ok(changes)
        })
    }

    /// Calls `each` for every path in tree order.
    pub fn each_file(&self, mut each: impl FnMut(Row) -> Result<()>) -> Result<()> {
        self.db.read(|c| {
            let mut query = c.prepare(&format!("{ROW} ORDER BY key"))?;
            let mut rows = query.query([])?;
            while let Some(row) = rows.next()? {
                each(read_row(row)?)?;
            }
            Ok(())
        })
    }

    /// The row of a path.
    pub fn file(&self, path: &RepoPath) -> Result<Option<Row>> {
        self.db.read(|c| {
            let mut query = c.prepare_cached(&format!("{ROW} WHERE key = ?1"))?;
            Ok(query.query_row([path.to_key()], read_row).optional()?)
        })
    }

    /// The chunks of a row, in order.
    pub fn cuts(&self, file: i64) -> Result<Vec<Cut>> {
        self.db.read(|c| Ok(cuts_of(c, file)?))
    }

    /// The chunks whose id begins with `prefix` (1 to 16 hex digits), with their files; at most 16.
    pub fn find(&self, prefix: &str) -> Result<Vec<(ChunkId, Row)>> {
        let Some((low, high)) = id_range(prefix) else { return Ok(Vec::new()) };
        self.db.read(|c| {
            let mut query = c.prepare_cached(&format!(
                "SELECT ids.id, f.* FROM chunk_ids ids JOIN ({ROW}) f ON f.id = ids.file
                 WHERE ids.id BETWEEN ?1 AND ?2 ORDER BY ids.id LIMIT 16"
            ))?;
            let rows = query.query_map([low, high], |row| {
                Ok((ChunkId(row.get::<_, i64>(0)? as u64), read_row_at(row, 1)?))
            })?;
            Ok(rows.collect::<rusqlite::Result<_>>()?)
        })
    }

    /// Sums by fate.
    pub fn totals(&self) -> Result<Vec<(Fate, Totals)>> {
        self.db.read(|c| {
            let mut query = c.prepare(
                "SELECT fate, count(*), sum(chunks), sum(tokens) FROM files GROUP BY fate ORDER BY fate",
            )?;
            let rows = query.query_map([], |row| {
                let totals =
                    Totals { files: row.get(1)?, chunks: row.get(2)?, tokens: row.get(3)? };
                Ok((fate_of(row.get(0)?), totals))
            })?;
            Ok(rows.collect::<rusqlite::Result<_>>()?)
        })
    }
}

/// Reads the cuts of a row; a value that [`pack`] cannot have made gives fewer than `files.chunks`.
pub(super) fn cuts_of(c: &Connection, file: i64) -> rusqlite::Result<Vec<Cut>> {
    let mut query = c.prepare_cached("SELECT packed FROM cuts WHERE file = ?1")?;
    let packed: Option<Vec<u8>> = query.query_row([file], |row| row.get(0)).optional()?;
    Ok(packed.map(|packed| unpack(&packed).collect()).unwrap_or_default())
}

/// The ids with this prefix, as the signed numbers that SQLite keeps. A prefix of one digit or more
/// fixes the sign.
fn id_range(prefix: &str) -> Option<(i64, i64)> {
    let digits = prefix.len();
    if !(1..=16).contains(&digits) || !prefix.bytes().all(|b| b.is_ascii_hexdigit()) {
        return None;
    }
    let value = u64::from_str_radix(prefix, 16).ok()?;
    let free = 64 - 4 * digits as u32;
    let low = value.checked_shl(free).unwrap_or(value);
    let rest = 1u64.checked_shl(free).map_or(u64::MAX, |span| span - 1);
    Some((low as i64, (low | rest) as i64))
}

pub(super) fn fate_of(number: i64) -> Fate {
    usize::try_from(number).ok().and_then(|n| Fate::ALL.get(n)).copied().unwrap_or(Fate::Unreadable)
}

fn fate_number(fate: Fate) -> i64 {
    Fate::ALL.iter().position(|f| *f == fate).unwrap_or_default() as i64
}

fn read_row(row: &rusqlite::Row<'_>) -> rusqlite::Result<Row> {
    read_row_at(row, 0)
}

fn read_row_at(row: &rusqlite::Row<'_>, at: usize) -> rusqlite::Result<Row> {
    let key: Vec<u8> = row.get(at + 1)?;
    let path = RepoPath::from_key(&key).ok_or_else(|| {
        let cause = "a path in the ledger reaches outside the repository";
        rusqlite::Error::FromSqlConversionFailure(at + 1, rusqlite::types::Type::Blob, cause.into())
    })?;
    Ok(Row {
        id: row.get(at)?,
        path,
        fate: fate_of(row.get(at + 2)?),
        detail: row.get(at + 3)?,
        size: row.get(at + 4)?,
        hash: row.get(at + 5)?,
        encoding: row.get(at + 6)?,
        unterminated: row.get(at + 7)?,
        lines: row.get(at + 8)?,
        tokens: Tokens(row.get(at + 9)?),
        chunks: row.get(at + 10)?,
    })
}

/// Notes new stat data of a file that has the bytes it had; `false` when it has not.
fn touch(tx: &Transaction<'_>, row: &FileRow) -> Work<bool> {
    let Some(content) = &row.content else { return Ok(false) };
    let mut touch = tx.prepare_cached(
        "UPDATE files SET stat = ?3, racy = ?4
         WHERE key = ?1 AND hash = ?2 AND fate = ?5 AND encoding IS ?6",
    )?;
    let fate = fate_number(row.fate);
    let done = touch.execute(params![
        row.path.to_key(),
        content.hash,
        row.stat,
        row.racy,
        fate,
        content.encoding
    ])?;
    Ok(done > 0)
}

fn remove(tx: &Transaction<'_>, file: i64, changes: &mut Changes) -> Work<()> {
    changes.files += 1;
    for cut in cuts_of(tx, file)? {
        forget(tx, cut.id, changes)?;
    }
    tx.prepare_cached("DELETE FROM files WHERE id = ?1")?.execute([file])?;
    Ok(())
}

fn forget(tx: &Transaction<'_>, id: ChunkId, changes: &mut Changes) -> Work<()> {
    let mut delete = tx.prepare_cached("DELETE FROM chunk_ids WHERE id = ?1")?;
    changes.removed += delete.execute([id.0 as i64])? as u64;
    Ok(())
}

fn put(
    tx: &Transaction<'_>,
    row: &FileRow,
    change: i64,
    name: NameChunk<'_>,
    changes: &mut Changes,
) -> Work<()> {
    changes.files += 1;
    let file = put_row(tx, row)?;
    let old: HashSet<ChunkId> = cuts_of(tx, file)?.into_iter().map(|cut| cut.id).collect();
    let mut cuts = row.content.as_ref().map(|c| c.cuts.clone()).unwrap_or_default();
    let new: HashSet<ChunkId> = cuts.iter().map(|cut| cut.id).collect();
    for id in old.difference(&new) {
        forget(tx, *id, changes)?;
    }
    for cut in cuts.iter_mut().filter(|cut| !old.contains(&cut.id)) {
        claim_id(tx, &row.path, file, change, cut, name)?;
        changes.added += 1;
    }
    put_cuts(tx, file, &cuts)
}

fn put_row(tx: &Transaction<'_>, row: &FileRow) -> Work<i64> {
    let none = Content::default();
    let content = row.content.as_ref();
    let text = content.unwrap_or(&none);
    let mut put = tx.prepare_cached(
        "INSERT INTO files (key, fate, detail, stat, racy, size, hash, encoding, unterminated, lines,
             tokens, chunks)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)
         ON CONFLICT (key) DO UPDATE SET fate = excluded.fate, detail = excluded.detail,
             stat = excluded.stat, racy = excluded.racy, size = excluded.size,
             hash = excluded.hash, encoding = excluded.encoding,
             unterminated = excluded.unterminated, lines = excluded.lines,
             tokens = excluded.tokens, chunks = excluded.chunks
         RETURNING id",
    )?;
    Ok(put.query_row(
        params![
            row.path.to_key(),
            fate_number(row.fate),
            row.detail,
            row.stat,
            row.racy,
            content.map(|c| c.size),
            content.map(|c| c.hash),
            text.encoding,
            text.unterminated,
            text.lines,
            text.tokens,
            text.cuts.len() as u64,
        ],
        |row| row.get(0),
    )?)
}

/// Enters a new chunk's id. When another chunk has it, the occurrence is bumped until a name is
/// free: two of 2^64 ids meet once in a repository of four billion chunks, and are told apart then.
fn claim_id(
    tx: &Transaction<'_>,
    path: &RepoPath,
    file: i64,
    change: i64,
    cut: &mut Cut,
    name: NameChunk<'_>,
) -> Work<()> {
    let mut claim = tx.prepare_cached("INSERT OR IGNORE INTO chunk_ids VALUES (?1, ?2, ?3, ?4)")?;
    let body = half(&cut.body);
    while claim.execute(params![cut.id.0 as i64, file, body, change])? == 0 {
        let next = cut.occurrence.checked_add(1);
        cut.occurrence = next.ok_or_else(|| Error::failed("bug", "no free chunk id is left"))?;
        cut.id = name(path, &cut.body, cut.occurrence);
    }
    Ok(())
}

fn put_cuts(tx: &Transaction<'_>, file: i64, cuts: &[Cut]) -> Work<()> {
    if cuts.is_empty() {
        tx.prepare_cached("DELETE FROM cuts WHERE file = ?1")?.execute([file])?;
        return Ok(());
    }
    let mut put = tx.prepare_cached("INSERT OR REPLACE INTO cuts VALUES (?1, ?2)")?;
    put.execute(params![file, pack(cuts)])?;
    Ok(())
}

/// The first 8 bytes of a body's hash, as SQLite keeps them.
pub(super) fn half(body: &[u8; 32]) -> i64 {
    let mut first = [0; 8];
    first.copy_from_slice(&body[..8]);
    i64::from_be_bytes(first)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prefix_is_a_range() {
        assert_eq!(id_range("0000000000000001"), Some((1, 1)));
        assert_eq!(id_range("0"), Some((0, 0x0fff_ffff_ffff_ffff)));
        let (low, high) = id_range("ff").unwrap();
        assert_eq!((low as u64, high as u64), (0xff00_0000_0000_0000, u64::MAX));
        assert_eq!(id_range("xyz"), None);
        assert_eq!(id_range(""), None);
    }
}
