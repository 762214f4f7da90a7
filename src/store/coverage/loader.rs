//! The segments of a plan on their way into the tables.
//!
//! Chunk ids are hashes: put in as they come, a million rows would land all over two indices. So
//! they wait in batches, which go in sorted; that takes a third of the time.

use rusqlite::{ErrorCode, Statement, Transaction, params};

use super::chunks::with_files;
use super::marks::path_value;
use super::{Counters, to_json};
use crate::error::{Error, Result};
use crate::record::{ChunkId, RepoPath, Segment, SegmentFile, SegmentKind, SegmentStatus, Tokens};
use crate::store::db::{Fault, Work};

/// About what a segment costs in `fullread.json` beside its lists, in bytes.
const EXPORT_OVERHEAD: usize = 160;

const PLACE: &str =
    "INSERT INTO places (repo_no, chunk, seq, tokens, added) VALUES (?, ?, ?, ?, ?)";

/// How many chunks wait for each other: about 32 MiB.
const BATCH: usize = 1 << 20;

/// A chunk that waits. The order of the fields is the order of the index.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Waiting {
    repo_no: i32,
    chunk: ChunkId,
    seq: i32,
    tokens: u32,
    /// Its place in the list of paths.
    path: u32,
}

/// Puts segments into the tables.
pub(super) struct Loader<'tx> {
    tx: &'tx Transaction<'tx>,
    /// The repositories; a number counts from 1.
    repos: Vec<String>,
    waiting: Vec<Waiting>,
    paths: Vec<RepoPath>,
    chunk: Statement<'tx>,
    place: Statement<'tx>,
    revision: u64,
    /// The totals so far.
    pub counters: Counters,
}

impl<'tx> Loader<'tx> {
    /// Begins a generation.
    pub fn new(tx: &'tx Transaction<'tx>, generation: u64) -> Work<Self> {
        Ok(Loader {
            tx,
            repos: Vec::new(),
            waiting: Vec::new(),
            paths: Vec::new(),
            chunk: tx.prepare("INSERT INTO chunks (repo, chunk_id, path) VALUES (?, ?, ?)")?,
            place: tx.prepare(PLACE)?,
            revision: 1,
            counters: Counters { generation, revision: 1, ..Counters::default() },
        })
    }

    /// Goes on with a generation, in its `revision`: a chunk that is planned already gets another
    /// place and keeps what else is known of it. `repos` are its repositories in their order.
    pub fn resume(tx: &'tx Transaction<'tx>, repos: Vec<String>, revision: u64) -> Work<Self> {
        let place = format!(
            "{PLACE} ON CONFLICT DO UPDATE SET seq = excluded.seq, tokens = excluded.tokens"
        );
        let chunk = "INSERT OR IGNORE INTO chunks (repo, chunk_id, path) VALUES (?, ?, ?)";
        Ok(Loader {
            tx,
            repos,
            waiting: Vec::new(),
            paths: Vec::new(),
            chunk: tx.prepare(chunk)?,
            place: tx.prepare(&place)?,
            revision,
            counters: Counters::default(),
        })
    }

    /// Adds the next segment.
    ///
    /// # Errors
    /// `bad-segment` when it contradicts itself, a constraint when its id came before.
    pub fn push(&mut self, segment: &Segment) -> Work<()> {
        self.counters.segments.total += 1;
        self.counters.segments.pending += 1;
        let seq = self.counters.segments.total.cast_signed();
        self.push_segment(seq, segment)?;
        self.push_chunks(seq, segment)
    }

    /// Puts the chunks that wait into their tables.
    ///
    /// # Errors
    /// `bad-plan` when a chunk came before.
    pub fn settle(&mut self) -> Work<()> {
        self.waiting.sort_unstable();
        for row in &self.waiting {
            let repo = &self.repos[place(row.repo_no)];
            let path = path_value(&self.paths[row.path as usize]);
            let done = self.chunk.execute(params![repo, row.chunk.to_string(), path]);
            done.map_err(|e| twice(e, repo, row.chunk))?;
        }
        for row in &self.waiting {
            let chunk = row.chunk.0.cast_signed();
            let added = self.revision.cast_signed();
            self.place.execute(params![row.repo_no, chunk, row.seq, row.tokens, added])?;
        }
        self.waiting.clear();
        self.paths.clear();
        Ok(())
    }

    /// Adds a segment without its chunks.
    pub fn push_segment(&mut self, seq: i64, segment: &Segment) -> Work<()> {
        let (id, tx) = (&segment.id.0, self.tx);
        let lists = Lists::of(segment)?;
        let unread = segment.chunks.len() as u64;
        self.counters.export_bytes += lists.exported();
        self.counters.last_read = self.counters.last_read.max(number(id));
        let status = SegmentStatus::Pending.as_str();
        tx.prepare_cached("INSERT INTO segments (segment_id, status, tokens) VALUES (?, ?, ?)")?
            .execute(params![id, status, segment.tokens.0.cast_signed()])?;
        tx.prepare_cached("INSERT INTO segment_records VALUES (?, ?, ?, ?, ?, ?)")?.execute(
            params![seq, id, segment.kind.as_str(), lists.chunks, lists.tokens, lists.files],
        )?;
        tx.prepare_cached("INSERT INTO segment_progress VALUES (?, ?)")?
            .execute([seq, unread.cast_signed()])?;
        if segment.kind == SegmentKind::Read {
            self.counters.read_segments_left += 1;
            tx.prepare_cached("INSERT INTO queue VALUES (?)")?.execute([seq])?;
        }
        Ok(())
    }

    /// Adds the chunks of a segment, which wait for [`Loader::settle`].
    pub fn push_chunks(&mut self, seq: i64, segment: &Segment) -> Work<()> {
        let seq = small(seq.cast_unsigned())?;
        let mut run = None::<&SegmentFile>;
        let mut repo_no = 0;
        for ((id, file), tokens) in with_files(segment)?.zip(shares(segment)) {
            if run.is_none_or(|run| !std::ptr::eq(run, file)) {
                self.paths.push(file.repo_path().map_err(bad)?);
                repo_no = self.repo_no(&file.repo)?;
                run = Some(file);
            }
            let path = small(self.paths.len() as u64 - 1)?;
            let tokens = small(tokens.0)?;
            self.waiting.push(Waiting { repo_no, chunk: id.id, seq, tokens, path });
            self.counters.chunks.planned += 1;
            self.counters.tokens.planned += u64::from(tokens);
        }
        if self.waiting.len() >= BATCH { self.settle() } else { Ok(()) }
    }

    fn repo_no(&mut self, name: &str) -> Work<i32> {
        // A plan goes from repository to repository, so the last one is the usual answer.
        if let Some(at) = self.repos.iter().rposition(|known| known == name) {
            return Ok(small(at as u64 + 1)?);
        }
        if !crate::record::is_name(name) {
            let name = crate::visible::one_line(name);
            return Err(bad(format!("'{name}' cannot name a repository")).into());
        }
        self.repos.push(name.to_string());
        let no = small(self.repos.len() as u64)?;
        self.tx.execute("INSERT INTO repos VALUES (?, ?)", params![no, name])?;
        Ok(no)
    }
}

/// The lists of a segment as they are kept.
#[derive(PartialEq, Eq)]
pub(super) struct Lists {
    pub chunks: String,
    pub tokens: String,
    pub files: String,
}

impl Lists {
    /// Of this segment.
    pub fn of(segment: &Segment) -> Result<Self> {
        let (chunks, files) = (to_json(&segment.chunks)?, to_json(&segment.files)?);
        Ok(Lists { chunks, tokens: to_json(&segment.chunk_tokens)?, files })
    }

    /// About how many bytes of `fullread.json` the segment is.
    pub fn exported(&self) -> u64 {
        (self.chunks.len() + self.files.len() + EXPORT_OVERHEAD) as u64
    }
}

/// The number of a read segment; 0 of what is called otherwise.
fn number(id: &str) -> u64 {
    id.strip_prefix("read-").and_then(|number| number.parse().ok()).unwrap_or(0)
}

/// Where the name of a repository's number is.
fn place(repo_no: i32) -> usize {
    repo_no.unsigned_abs() as usize - 1
}

/// A number that any plan of this world keeps small.
fn small<T: TryFrom<u64>>(number: u64) -> Result<T> {
    T::try_from(number).map_err(|_| bad(format!("{number} is too much")))
}

fn bad(what: impl Into<String>) -> Error {
    Error::failed("bad-segment", what)
}

fn twice(cause: rusqlite::Error, repo: &str, id: ChunkId) -> Fault {
    match cause.sqlite_error_code() {
        Some(ErrorCode::ConstraintViolation) => {
            Error::failed("bad-plan", format!("-: the plan has the chunk '{repo}:{id}' twice"))
                .hint("make it again from the index: `auwai plan --force`")
                .into()
        }
        _ => cause.into(),
    }
}

/// The tokens of each chunk; where the plan does not say them, equal shares of the segment's.
fn shares(segment: &Segment) -> impl Iterator<Item = Tokens> {
    let chunks = segment.chunks.len() as u64;
    let (share, rest) = match chunks {
        0 => (0, 0),
        _ => (segment.tokens.0 / chunks, segment.tokens.0 % chunks),
    };
    let said = segment.chunk_tokens.len() as u64 == chunks;
    (0..segment.chunks.len()).map(move |at| match said {
        true => segment.chunk_tokens[at],
        false => Tokens(share + u64::from((at as u64) < rest)),
    })
}
