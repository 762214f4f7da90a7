//! The history of reads: the table `reads`, which only ever grows.
//!
//! It is handed out in pages, so that whoever takes it slowly keeps neither it in memory nor a
//! transaction open, behind which the write-ahead log would grow.

use std::collections::{BTreeMap, HashMap};

use rusqlite::types::ValueRef;
use rusqlite::{Connection, Row, Transaction, params};

use super::{Coverage, How};
use crate::error::{Error, Result};
use crate::record::{ByteRange, ChunkId, Read, RepoPath, SegmentId};
use crate::store::db::Work;

/// How many reads a page has.
const PAGE: i64 = 1024;

/// The columns that [`read_of`] takes, in its order; the first is the row's number.
const COLUMNS: &str = "id, repo, chunk_id, body, file, path, from_byte, to_byte, head, clean,
    reader, how, origin, at, plan, segment";

/// The texts that were read, by the chunk and, where that is known, BLAKE3 of its bytes; and whether
/// for one read of it there is more to say than that it was shown.
pub type ReadsMade = HashMap<(ChunkId, Option<[u8; 32]>), bool>;

/// Which reads are wanted.
#[derive(Debug, Clone, Default)]
pub struct Wanted {
    /// Only this reader's.
    pub reader: Option<String>,
    /// Only those of this time, RFC 3339 in UTC, and later ones.
    pub since: Option<String>,
}

/// Where in the history a page ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    at: String,
    id: i64,
}

impl Coverage {
    /// The newest reads before a place, or of all, the newest first; and where to go on, if there
    /// are any.
    ///
    /// # Errors
    /// The ledger's; `damaged` for a row that no command wrote.
    pub fn reads_before(
        &self,
        place: Option<&Place>,
        wanted: &Wanted,
    ) -> Result<(Vec<Read>, Option<Place>)> {
        let sql = format!(
            "SELECT {COLUMNS} FROM reads WHERE (at, id) < (?1, ?2) AND at >= ?3
                AND (?4 IS NULL OR reader = ?4) ORDER BY at DESC, id DESC LIMIT {PAGE}"
        );
        // Behind every time, which begins with a digit.
        let (at, id) = place.map_or((":", i64::MAX), |place| (&place.at, place.id));
        let since = wanted.since.as_deref().unwrap_or_default();
        self.db.read(|c| page(c, &sql, params![at, id, since, wanted.reader]))
    }

    /// The oldest reads after the `after`th, in the order in which they came to be in this ledger;
    /// and the number of the last. None are left out by what is written meanwhile.
    ///
    /// # Errors
    /// As [`Coverage::reads_before`].
    pub fn reads_after(&self, after: i64) -> Result<(Vec<Read>, Option<i64>)> {
        let sql = format!("SELECT {COLUMNS} FROM reads WHERE id > ? ORDER BY id LIMIT {PAGE}");
        let (reads, last) = self.db.read(|c| page(c, &sql, params![after]))?;
        Ok((reads, last.map(|place| place.id)))
    }

    /// The same of those that were imported before there was a plan.
    ///
    /// # Errors
    /// As [`Coverage::reads_before`].
    pub fn waiting_reads(&self, after: i64) -> Result<(Vec<Read>, Option<i64>)> {
        let sql = format!(
            "SELECT {COLUMNS} FROM reads WHERE id > ? AND generation = 0 ORDER BY id LIMIT {PAGE}"
        );
        let (reads, last) = self.db.read(|c| page(c, &sql, params![after]))?;
        Ok((reads, last.map(|place| place.id)))
    }

    /// What was read of a repository, under whatever plan; with a `reader`, what that one read.
    ///
    /// # Errors
    /// As [`Coverage::reads_before`].
    pub fn reads_made(&self, repo: &str, reader: Option<&str>) -> Result<ReadsMade> {
        let sql = "SELECT chunk_id, body, how, origin FROM reads
            WHERE repo = ?1 AND (?2 IS NULL OR reader = ?2)";
        self.db.read(|c| {
            let (mut query, mut all) = (c.prepare_cached(sql)?, ReadsMade::new());
            let mut rows = query.query(params![repo, reader])?;
            while let Some(row) = rows.next()? {
                let id = row.get_ref(0)?.as_str().unwrap_or_default().parse().map_err(damaged)?;
                let body = row.get_ref(1)?.as_str_or_null().unwrap_or_default();
                let body = body.and_then(|body| blake3::Hash::from_hex(body).ok());
                let body = body.map(|body| *body.as_bytes());
                let how = how_of(row.get_ref(2)?.as_str().unwrap_or_default())?;
                let origin = row.get_ref(3)?.as_str_or_null().unwrap_or_default();
                let origin = origin.map(how_of).transpose()?;
                *all.entry((id, body)).or_default() |= is_more_than_shown(how, origin);
            }
            Ok(all)
        })
    }

    /// The repositories of which something was read.
    ///
    /// # Errors
    /// The ledger's.
    pub fn read_repositories(&self) -> Result<Vec<String>> {
        self.db.read(|c| {
            let mut query = c.prepare("SELECT DISTINCT repo FROM reads ORDER BY repo")?;
            let names = query.query_map([], |row| row.get(0))?;
            Ok(names.collect::<rusqlite::Result<_>>()?)
        })
    }
}

fn page(
    c: &Connection,
    sql: &str,
    values: impl rusqlite::Params,
) -> Work<(Vec<Read>, Option<Place>)> {
    let mut query = c.prepare_cached(sql)?;
    let mut rows = query.query(values)?;
    let (mut reads, mut last) = (Vec::new(), None);
    while let Some(row) = rows.next()? {
        let read = read_of(row)?;
        last = Some((read.at.clone().unwrap_or_default(), row.get(0)?));
        reads.push(read);
    }
    Ok((reads, last.map(|(at, id)| Place { at, id })))
}

/// A row of [`COLUMNS`] as a record.
fn read_of(row: &Row<'_>) -> Work<Read> {
    let chunk: String = row.get(2)?;
    let id = chunk.parse::<ChunkId>().map_err(damaged)?;
    let (path, path_b64) = match path_of(row.get_ref(5)?)? {
        Some(path) => {
            let (path, b64) = path.to_wire();
            (Some(path), b64)
        }
        None => (None, None),
    };
    let (from, to): (Option<u64>, Option<u64>) = (row.get(6)?, row.get(7)?);
    let how: String = row.get(11)?;
    let origin: Option<String> = row.get(12)?;
    Ok(Read {
        path,
        path_b64,
        bytes: from.zip(to).map(|(from, to)| ByteRange { from, to }),
        body: row.get(3)?,
        file: row.get(4)?,
        head: row.get(8)?,
        clean: row.get(9)?,
        reader: Some(row.get(10)?),
        how: Some(how_of(&how)?),
        origin: origin.map(|origin| how_of(&origin)).transpose()?,
        at: Some(row.get(13)?),
        plan: Some(row.get(14)?),
        segment: Some(SegmentId(row.get(15)?)),
        ..Read::of(row.get::<_, String>(1)?, id)
    })
}

/// A path as it is kept: text, or a blob where it is not UTF-8.
fn path_of(value: ValueRef<'_>) -> Result<Option<RepoPath>> {
    match value {
        ValueRef::Text(bytes) | ValueRef::Blob(bytes) => Ok(RepoPath::new(bytes)),
        ValueRef::Null => Ok(None),
        _ => Err(damaged("a path is a number".into())),
    }
}

fn how_of(word: &str) -> Result<How> {
    How::of(word).ok_or_else(|| damaged(format!("'{word}' is no way to read")))
}

fn damaged(what: String) -> Error {
    Error::failed("damaged", "the history of reads has a row that no command wrote")
        .because(crate::visible::one_line(&what))
        .hint("bring back a copy of coverage.sqlite, or begin anew: `auwai plan --force`")
}

/// Whether a read says more than that its text went out: the reader gave back a mark, or a command
/// took it and ended well. One that stands for another says what that one said, where it is known.
fn is_more_than_shown(how: How, origin: Option<How>) -> bool {
    let made = if how.stands_for_another() { origin } else { Some(how) };
    made != Some(How::Shown)
}

/// Who has read a chunk when its text was this, each with the best way that is known; by name.
pub(super) fn made_by(
    tx: &Transaction<'_>,
    repo: &str,
    id: ChunkId,
    body: &[u8; 32],
) -> Work<Vec<(String, Option<How>)>> {
    let body = blake3::Hash::from_bytes(*body).to_hex();
    let sql = "SELECT reader, how, origin FROM reads WHERE repo = ? AND chunk_id = ? AND body = ?";
    let mut query = tx.prepare_cached(sql)?;
    let mut rows = query.query(params![repo, id.to_string(), body.as_str()])?;
    let mut all = BTreeMap::<String, Option<How>>::new();
    while let Some(row) = rows.next()? {
        let how = how_of(&row.get::<_, String>(1)?)?;
        let origin: Option<String> = row.get(2)?;
        let origin = origin.map(|origin| how_of(&origin)).transpose()?;
        let made = if how.stands_for_another() { origin } else { Some(how) };
        let best = all.entry(row.get(0)?).or_default();
        *best = (*best).max(made);
    }
    Ok(all.into_iter().collect())
}
