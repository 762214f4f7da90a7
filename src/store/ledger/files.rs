//! The index's side of a ledger: paths, fates, contents and chunk ids.

use rusqlite::{Connection, OptionalExtension};

use super::Ledger;
use super::apply::half;
use super::cuts::{Cut, unpack};
use super::known::{Known, KnownRows, RowId, StatBytes};
use super::view::View;
use crate::error::Result;
use crate::record::{ChunkId, Fate, RepoPath, Tokens};

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
    /// Rows of paths that are gone, each with its key: a row's id may be another path's by now.
    pub gone: Vec<RowId>,
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
    /// Both, mixed: what they are in a fingerprint.
    pub(super) mixed: u64,
}

impl std::ops::AddAssign for Changes {
    fn add_assign(&mut self, more: Changes) {
        self.files += more.files;
        self.added += more.added;
        self.removed += more.removed;
        self.mixed ^= more.mixed;
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

const UNREADABLE: &str = "SELECT count(*) FROM files WHERE fate = 5";

/// Who gives a prefix that so many ids have has to give more of it.
const MOST_FOUND: usize = 16;

impl Ledger {
    /// Every path with its stat data, also of what is not looked at.
    ///
    /// # Errors
    /// The ledger's.
    pub fn known_of_all(&self) -> Result<KnownRows> {
        self.known_in(&View::default())
    }

    /// Every path with its stat data.
    ///
    /// # Errors
    /// The ledger's.
    pub fn known(&self) -> Result<KnownRows> {
        self.known_in(&self.view)
    }

    fn known_in(&self, view: &View) -> Result<KnownRows> {
        let count: u64 = self
            .db
            .read(|c| Ok(c.query_row("SELECT count(*) FROM files", [], |row| row.get(0))?))?;
        let mut all = KnownRows::with_capacity(usize::try_from(count).unwrap_or_default());
        self.put_known("", [], view, &mut all)?;
        Ok(all)
    }

    /// The same for a path and all below it, into `all`.
    pub fn known_within(&self, path: &RepoPath, all: &mut KnownRows) -> Result<()> {
        let key = path.to_key();
        // Below are the keys that go on with NUL, the separator.
        let bounds = [key.clone(), [&key[..], b"\0"].concat(), [&key[..], b"\x01"].concat()];
        self.put_known("WHERE key = ?1 OR key >= ?2 AND key < ?3", bounds, &self.view, all)
    }

    /// Calls `each` with the row, the key and the stat data of every path that has some, in no order.
    pub fn each_stat(&self, mut each: impl FnMut(i64, &[u8], &StatBytes)) -> Result<()> {
        self.db.read(|c| {
            let mut query =
                c.prepare_cached("SELECT id, key, stat FROM files WHERE stat IS NOT NULL")?;
            let mut rows = query.query([])?;
            while let Some(row) = rows.next()? {
                let key = row.get_ref(1)?.as_blob().unwrap_or_default();
                if self.view.has(key) {
                    each(row.get(0)?, key, &row.get(2)?);
                }
            }
            Ok(())
        })
    }

    /// The key of a row.
    pub fn key_of(&self, row: i64) -> Result<Option<Box<[u8]>>> {
        self.db.read(|c| {
            let mut query = c.prepare_cached("SELECT key FROM files WHERE id = ?1")?;
            let key: Option<Vec<u8>> = query.query_row([row], |row| row.get(0)).optional()?;
            Ok(key.map(Vec::into_boxed_slice))
        })
    }

    /// Puts every path with its stat data, or those that `filter` says, into `all`.
    fn put_known<const N: usize>(
        &self,
        filter: &str,
        bounds: [Vec<u8>; N],
        view: &View,
        all: &mut KnownRows,
    ) -> Result<()> {
        self.db.read(|c| {
            let query = format!("SELECT id, key, fate, detail, stat, racy FROM files {filter}");
            let mut query = c.prepare_cached(&query)?;
            let mut rows = query.query(rusqlite::params_from_iter(bounds))?;
            while let Some(row) = rows.next()? {
                let key = row.get_ref(1)?.as_blob().unwrap_or_default();
                if view.has(key) {
                    all.push(key, read_known(row)?);
                }
            }
            Ok(())
        })
    }

    /// The nearest to the root of the paths above `path` that have a row.
    pub fn row_above(&self, path: &RepoPath) -> Result<Option<RepoPath>> {
        let bytes = path.as_bytes();
        let above = memchr::memchr_iter(b'/', bytes).filter_map(|end| RepoPath::new(&bytes[..end]));
        self.db.read(|c| {
            let mut query = c.prepare_cached("SELECT 1 FROM files WHERE key = ?1")?;
            for path in above {
                if query.exists([path.to_key()])? {
                    return Ok(Some(path));
                }
            }
            Ok(None)
        })
    }

    /// Calls `each` for every path in tree order, all of it and what `each` asks this ledger as it
    /// is at the first call: a file that is renamed meanwhile is neither missed nor told twice, and
    /// its chunks are those of its row. The write-ahead log grows with what others write meanwhile.
    pub fn each_file(&self, mut each: impl FnMut(Row) -> Result<()>) -> Result<()> {
        self.db.read(|c| {
            let mut query = c.prepare(&format!("{ROW} ORDER BY key"))?;
            let mut rows = query.query([])?;
            while let Some(row) = rows.next()? {
                if self.view.has(row.get_ref(1)?.as_blob().unwrap_or_default()) {
                    each(read_row(row)?)?;
                }
            }
            Ok(())
        })
    }

    /// The row of a path.
    pub fn file(&self, path: &RepoPath) -> Result<Option<Row>> {
        let key = path.to_key();
        if !self.view.has(&key) {
            return Ok(None);
        }
        self.db.read(|c| {
            let mut query = c.prepare_cached(&format!("{ROW} WHERE key = ?1"))?;
            Ok(query.query_row([key], read_row).optional()?)
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
                 WHERE ids.id BETWEEN ?1 AND ?2 ORDER BY ids.id"
            ))?;
            let mut rows = query.query([low, high])?;
            let mut found = Vec::new();
            while let Some(row) = rows.next()?.filter(|_| found.len() < MOST_FOUND) {
                if self.view.has(row.get_ref(2)?.as_blob().unwrap_or_default()) {
                    let id = ChunkId(row.get::<_, i64>(0)? as u64);
                    found.push((id, read_row_at(row, 1)?));
                }
            }
            Ok(found)
        })
    }

    /// Whether the index has a chunk of this id with another body.
    pub fn has_other(&self, id: ChunkId, body: &[u8; 32]) -> Result<bool> {
        self.db.read(|c| {
            let mut query =
                c.prepare_cached("SELECT 1 FROM chunk_ids WHERE id = ?1 AND body <> ?2")?;
            Ok(query.exists([id.0.cast_signed(), half(body)])?)
        })
    }

    /// How many paths cannot be read. By an index of its own, so that it costs nothing to ask.
    pub fn unreadable(&self) -> Result<u64> {
        let all = self.db.read(|c| Ok(c.query_row(UNREADABLE, [], |row| row.get(0))?))?;
        if all == 0 || self.view.is_whole() {
            return Ok(all);
        }
        let totals = self.totals()?;
        let unreadable = totals.iter().find(|(fate, _)| *fate == Fate::Unreadable);
        Ok(unreadable.map_or(0, |(_, totals)| totals.files))
    }

    /// Sums by fate.
    pub fn totals(&self) -> Result<Vec<(Fate, Totals)>> {
        if !self.view.is_whole() {
            return self.totals_in_view();
        }
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

    fn totals_in_view(&self) -> Result<Vec<(Fate, Totals)>> {
        let mut sums = Fate::ALL.map(|fate| (fate, Totals::default()));
        self.each_file(|row| {
            let sum = sums.iter_mut().find(|(fate, _)| *fate == row.fate);
            if let Some((_, sum)) = sum {
                sum.files += 1;
                sum.chunks += row.chunks;
                sum.tokens += row.tokens.0;
            }
            Ok(())
        })?;
        Ok(sums.into_iter().filter(|(_, sum)| sum.files > 0).collect())
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

fn read_known(row: &rusqlite::Row<'_>) -> rusqlite::Result<Known> {
    Ok(Known {
        id: row.get(0)?,
        fate: fate_of(row.get(2)?),
        detail: row.get::<_, Option<String>>(3)?.map(String::into_boxed_str),
        stat: row.get(4)?,
        racy: row.get(5)?,
    })
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_read_is_found_by_its_index() {
        assert_eq!(fate_of(5), Fate::Unreadable);
        let dir = tempfile::tempdir().unwrap();
        let ledger = Ledger::open_or_create(&dir.path().join("ledger.sqlite")).unwrap();
        let plan = format!("EXPLAIN QUERY PLAN {UNREADABLE}");
        let how: String =
            ledger.db.read(|c| Ok(c.query_row(&plan, [], |row| row.get(3))?)).unwrap();
        assert!(how.contains("USING COVERING INDEX unreadable"), "{how}");
    }

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
