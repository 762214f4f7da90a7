//! How changes of the index are written: rows, chunks, and the ids that come and go.

use std::collections::HashMap;

use rusqlite::{OptionalExtension, Transaction, params};

use super::cuts::{Cut, pack};
use super::files::{Batch, Changes, Content, FileRow, NameChunk, cuts_of};
use super::marks::change_of;
use super::{Durability, Ledger, fingerprint};
use crate::error::{Error, Result};
use crate::record::{ChunkId, Fate, RepoPath};
use crate::store::db::Work;

impl Ledger {
    /// Applies a batch in one transaction, as the next change of the index. `name` names a chunk,
    /// for the case that two names clash. What it frees of reads waits for [`Ledger::move_reads`].
    pub fn apply(&mut self, batch: &Batch, name: NameChunk<'_>) -> Result<Changes> {
        self.db.write(Durability::Process, |tx| {
            let mut changes = Changes::default();
            let (change, before) = (next_change(tx)?, fingerprint::of(tx)?);
            for (key, id) in &batch.gone {
                remove(tx, key, *id, &mut changes)?;
            }
            for row in &batch.rows {
                let cut_anew = batch.anew && row.content.is_some();
                if cut_anew || !touch(tx, row)? {
                    put(tx, row, change, name, &mut changes)?;
                }
            }
            note_change(tx, change, before, changes)?;
            Ok(changes)
        })
    }
}

/// The number of a change that is begun. A chunk can take over a read when it came in a later
/// change than that of the read, so the number moves on only where something is read.
fn next_change(tx: &Transaction<'_>) -> Work<i64> {
    let last = change_of(tx)?;
    let any_read = tx.prepare_cached("SELECT 1 FROM marks LIMIT 1")?.exists([])?;
    Ok(if any_read { last + 1 } else { last.max(1) })
}

/// Notes the change with what it did, not after it: else a mark that comes in between, or after a
/// process that was killed in between, would count as older than what it saw. `before` is the
/// fingerprint before it.
fn note_change(tx: &Transaction<'_>, change: i64, before: u64, changes: Changes) -> Work<()> {
    if changes == Changes::default() {
        return Ok(());
    }
    let mut put = tx.prepare_cached("INSERT OR REPLACE INTO meta VALUES (?1, ?2)")?;
    put.execute(["changes", &change.to_string()])?;
    put.execute(["moves", "due"])?;
    fingerprint::keep(tx, before ^ changes.mixed)?;
    Ok(())
}

fn fate_number(fate: Fate) -> i64 {
    Fate::ALL.iter().position(|f| *f == fate).unwrap_or_default() as i64
}

/// Notes new stat data of a file that has the bytes it had; `false` when it has not.
fn touch(tx: &Transaction<'_>, row: &FileRow) -> Work<bool> {
    let Some(content) = &row.content else { return touch_bare(tx, row) };
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

/// The same for what has no content, like a file that cannot be read.
fn touch_bare(tx: &Transaction<'_>, row: &FileRow) -> Work<bool> {
    let mut touch = tx.prepare_cached(
        "UPDATE files SET stat = ?2, racy = ?3
         WHERE key = ?1 AND hash IS NULL AND fate = ?4 AND detail IS ?5",
    )?;
    let fate = fate_number(row.fate);
    let key = row.path.to_key();
    Ok(touch.execute(params![key, row.stat, row.racy, fate, row.detail])? > 0)
}

fn remove(tx: &Transaction<'_>, key: &[u8], file: i64, changes: &mut Changes) -> Work<()> {
    let mut find = tx.prepare_cached("SELECT 1 FROM files WHERE id = ?1 AND key = ?2")?;
    if !find.exists(params![file, key])? {
        return Ok(());
    }
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
    let mut delete = tx.prepare_cached("DELETE FROM chunk_ids WHERE id = ?1 RETURNING body")?;
    if let Some(body) = delete.query_row([id.0 as i64], |row| row.get(0)).optional()? {
        changes.removed += 1;
        changes.mixed ^= fingerprint::mixed(id, body);
    }
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
    let old = bodies(&cuts_of(tx, file)?);
    let mut cuts = row.content.as_ref().map(|c| c.cuts.clone()).unwrap_or_default();
    let new = bodies(&cuts);
    // An id alone does not say that the bytes are those that were read.
    for (id, _) in old.iter().filter(|(id, body)| new.get(id) != Some(body)) {
        forget(tx, *id, changes)?;
    }
    for cut in cuts.iter_mut().filter(|cut| old.get(&cut.id) != Some(&cut.body)) {
        claim_id(tx, &row.path, file, change, cut, name)?;
        changes.added += 1;
        changes.mixed ^= fingerprint::mixed(cut.id, half(&cut.body));
    }
    put_cuts(tx, file, &cuts)
}

fn bodies(cuts: &[Cut]) -> HashMap<ChunkId, [u8; 32]> {
    cuts.iter().map(|cut| (cut.id, cut.body)).collect()
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

/// Two statements: one that selects what it inserts would keep a journal of its own, a page a chunk.
const TAKEN: &str = "SELECT 1 FROM marks WHERE id = ?1 AND body <> ?2";
const CLAIM: &str = "INSERT OR IGNORE INTO chunk_ids VALUES (?1, ?2, ?3, ?4)";

/// Enters a new chunk's id. When another chunk has it, or a read of other bytes was given to it,
/// the occurrence is bumped until a name is free: two of 2^64 ids meet once in a repository of four
/// billion chunks, or where somebody means them to, and are told apart then.
fn claim_id(
    tx: &Transaction<'_>,
    path: &RepoPath,
    file: i64,
    change: i64,
    cut: &mut Cut,
    name: NameChunk<'_>,
) -> Work<()> {
    let (mut taken, mut claim) = (tx.prepare_cached(TAKEN)?, tx.prepare_cached(CLAIM)?);
    let body = half(&cut.body);
    while taken.exists(params![cut.id.0 as i64, cut.body])?
        || claim.execute(params![cut.id.0 as i64, file, body, change])? == 0
    {
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
    use super::super::{Evidence, MarkOutcome};
    use super::*;
    use crate::record::Read;

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
        let changes = ledger.apply(&batch, &name).unwrap();
        assert_eq!(changes.added, 2);
        let cut = |path: &str| {
            let row = ledger.file(&RepoPath::new(path).unwrap()).unwrap().unwrap();
            ledger.cuts(row.id).unwrap()[0].clone()
        };
        assert_eq!((cut("a").id, cut("b").id, cut("b").occurrence), (ChunkId(7), ChunkId(8), 1));
    }

    fn no_clash(_: &RepoPath, _: &[u8; 32], _: u32) -> ChunkId {
        unreachable!("no two of these ids are equal")
    }

    fn ledger() -> (tempfile::TempDir, Ledger) {
        let dir = tempfile::tempdir().unwrap();
        let ledger = Ledger::open_or_create(&dir.path().join("l.sqlite")).unwrap();
        (dir, ledger)
    }

    #[test]
    fn a_path_that_cannot_be_read_is_no_change_the_second_time() {
        let (_dir, mut ledger) = ledger();
        let detail = |text: &str| Some(text.to_string());
        let row = FileRow { fate: Fate::Unreadable, content: None, ..row("a", 1) };
        let batch = |detail: Option<String>, anew| Batch {
            rows: vec![FileRow { detail, ..row.clone() }],
            anew,
            ..Batch::default()
        };
        let mut files = |batch: Batch| ledger.apply(&batch, &no_clash).unwrap().files;
        assert_eq!(files(batch(detail("EACCES"), false)), 1);
        assert_eq!(files(batch(detail("EACCES"), false)), 0);
        assert_eq!(files(batch(detail("EACCES"), true)), 0);
        assert_eq!(files(batch(detail("EIO"), false)), 1);
        let text = Batch { rows: vec![self::row("a", 1)], ..Batch::default() };
        assert_eq!(files(text), 1);
        assert_eq!(files(batch(detail("EIO"), false)), 1, "it had content");
    }

    #[test]
    fn a_row_that_is_another_paths_by_now_is_not_taken_out() {
        let (_dir, mut ledger) = ledger();
        let put = |ledger: &mut Ledger, path, id| {
            let batch = Batch { rows: vec![row(path, id)], ..Batch::default() };
            ledger.apply(&batch, &no_clash).unwrap();
            ledger.file(&RepoPath::new(path).unwrap()).unwrap().unwrap().id
        };
        let gone = |path: &str, id| {
            let key = RepoPath::new(path).unwrap().to_key().into();
            Batch { gone: vec![(key, id)], ..Batch::default() }
        };
        let first = put(&mut ledger, "a", 1);
        assert_eq!(ledger.apply(&gone("a", first), &no_clash).unwrap().removed, 1);
        assert_eq!(put(&mut ledger, "b", 2), first, "ids are used again");
        assert_eq!(ledger.apply(&gone("a", first), &no_clash).unwrap(), Changes::default());
        assert_eq!(ledger.find("0000000000000002").unwrap().len(), 1);
    }

    #[test]
    fn a_chunk_does_not_get_the_id_under_which_other_bytes_were_read() {
        let (_dir, mut ledger) = ledger();
        let name = |_: &RepoPath, _: &[u8; 32], occurrence| ChunkId(7 + u64::from(occurrence));
        let mut put = |path, gone| {
            let batch = Batch { rows: vec![row(path, 7)], gone, ..Batch::default() };
            ledger.apply(&batch, &name).unwrap();
            let file = ledger.file(&RepoPath::new(path).unwrap()).unwrap().unwrap();
            let cut = ledger.cuts(file.id).unwrap()[0].clone();
            let evidence = Evidence { reader: "t", how: "shown", at: "1970-01-01T00:00:00Z" };
            let marked = ledger.mark(&[Read::of("r", cut.id)], evidence).unwrap();
            (file.id, cut.id, marked)
        };
        let (id, ..) = put("a", vec![]);
        let gone = (RepoPath::new("a").unwrap().to_key().into(), id);
        let (_, chunk, marked) = put("b", vec![gone]);
        assert_ne!(chunk, ChunkId(7));
        assert_eq!(marked, [MarkOutcome::New], "nobody has read the bytes of b");
    }

    #[test]
    fn a_file_does_not_keep_a_read_under_the_id_of_other_bytes() {
        let (_dir, mut ledger) = ledger();
        let name = |_: &RepoPath, _: &[u8; 32], occurrence| ChunkId(7 + u64::from(occurrence));
        let mut put = |text: &[u8]| {
            let mut row = row("a", 7);
            let content = row.content.as_mut().unwrap();
            content.hash = *blake3::hash(text).as_bytes();
            content.cuts[0].body = content.hash;
            ledger.apply(&Batch { rows: vec![row], ..Batch::default() }, &name).unwrap();
            let file = ledger.file(&RepoPath::new("a").unwrap()).unwrap().unwrap();
            let cut = ledger.cuts(file.id).unwrap()[0].clone();
            let evidence = Evidence { reader: "t", how: "shown", at: "1970-01-01T00:00:00Z" };
            (cut.id, ledger.mark(&[Read::of("r", cut.id)], evidence).unwrap())
        };
        assert_eq!(put(b"x"), (ChunkId(7), vec![MarkOutcome::New]));
        assert_eq!(put(b"y"), (ChunkId(8), vec![MarkOutcome::New]), "nobody has read y");
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
