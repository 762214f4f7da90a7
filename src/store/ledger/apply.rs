//! How changes of the index are written: rows, chunks, and the ids that come and go.

use std::collections::HashSet;

use rusqlite::{Transaction, params};

use super::cuts::{Cut, pack};
use super::files::{Batch, Changes, Content, FileRow, NameChunk, cuts_of};
use super::{Durability, Ledger};
use crate::error::{Error, Result};
use crate::record::{ChunkId, Fate, RepoPath};
use crate::store::db::Work;

impl Ledger {
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
}

fn fate_number(fate: Fate) -> i64 {
    Fate::ALL.iter().position(|f| *f == fate).unwrap_or_default() as i64
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
    let mut free = tx.prepare_cached(
        "INSERT OR IGNORE INTO freed SELECT id FROM marks WHERE id = ?1 AND given = 0",
    )?;
    free.execute([id.0 as i64])?;
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

    fn row(path: &str, id: u64) -> FileRow {
        let body = *blake3::hash(path.as_bytes()).as_bytes();
        let cut = Cut {
            id: ChunkId(id),
            bytes: [0, 1].into(),
            lines: [1, 1].into(),
            tokens: 1,
            occurrence: 0,
            piece: false,
            body,
        };
        FileRow {
            path: RepoPath::new(path).unwrap(),
            fate: Fate::Text,
            detail: None,
            stat: None,
            racy: false,
            content: Some(Content { size: 1, hash: body, cuts: vec![cut], ..Content::default() }),
        }
    }

    #[test]
    fn two_chunks_whose_ids_clash_are_told_apart() {
        let dir = tempfile::tempdir().unwrap();
        let mut ledger = Ledger::open_or_create(&dir.path().join("l.sqlite")).unwrap();
        let rows = vec![row("a", 7), row("b", 7)];
        let batch = Batch { rows, ..Batch::default() };
        let name = |_: &RepoPath, _: &[u8; 32], occurrence| ChunkId(7 + u64::from(occurrence));
        let changes = ledger.apply(&batch, 1, &name).unwrap();
        assert_eq!(changes.added, 2);
        let cut = |path: &str| {
            let row = ledger.file(&RepoPath::new(path).unwrap()).unwrap().unwrap();
            ledger.cuts(row.id).unwrap()[0].clone()
        };
        assert_eq!((cut("a").id, cut("b").id, cut("b").occurrence), (ChunkId(7), ChunkId(8), 1));
    }

    #[test]
    fn reads_are_append_only() {
        let dir = tempfile::tempdir().unwrap();
        let mut ledger = Ledger::open_or_create(&dir.path().join("l.sqlite")).unwrap();
        let delete = ledger.db.write(Durability::Process, |tx| {
            tx.execute(
                "INSERT INTO reads (chunk_id, body, file, path, byte_from, byte_to, reader, how, at)
                 VALUES ('a', 'b', 'c', x'64', 0, 1, 'e', 'shown', 'f')",
                [],
            )?;
            Ok(tx.execute("DELETE FROM reads", [])?)
        });
        assert!(delete.unwrap_err().to_string().contains("reads are never deleted"));
    }
}
