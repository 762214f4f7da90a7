//! Adopting a plan: the stream of `auwai-plan` becomes the plan in force, or nothing changes.

use std::collections::HashMap;
use std::io::{self, BufRead, BufReader, Seek};
use std::path::Path;

use rusqlite::{ErrorCode, Statement, Transaction, params};

use super::chunks::with_files;
use super::marks::path_value;
use super::segments::kind_word;
use super::{Counters, Coverage, counters, in_force, to_json};
use crate::error::{Error, Result};
use crate::record::{
    End, Plan, Policy, Reader, Record, Segment, SegmentFile, SegmentKind, SegmentStatus, Tokens,
};
use crate::store::db::{Durability, Fault, Work};
use crate::store::file::cannot_write;

/// The page cache while a plan goes in, in KiB: chunk ids are hashes, so rows land all over the
/// index, and a million of them in a small cache would be read and written many times.
const CACHE_KIB: i64 = 64 << 10;

/// About what a segment costs in `fullread.json` beside its lists, in bytes.
const EXPORT_OVERHEAD: usize = 160;

/// The plan in force after [`Coverage::adopt`].
#[derive(Debug, Clone, PartialEq)]
pub struct Adopted {
    /// It.
    pub plan: Plan,
    /// Whether it was there before, and nothing changed.
    pub existing: bool,
    /// Whether every segment of it is done.
    pub finished: bool,
}

impl Coverage {
    /// Makes the plan in `input` the plan in force of the full read in `dir`, in one transaction.
    ///
    /// With a plan there and the same policy nothing changes; `force` begins a new generation.
    /// Memory does not grow with the plan, and the transaction does not wait for the writer of
    /// `input`, which may be reading the same ledger.
    ///
    /// # Errors
    /// `cut-off` and `bad-input` with the line; `planned` when there is a plan under another
    /// policy and no `force`. Nothing has changed then.
    pub fn adopt(
        dir: &Path,
        input: &mut dyn BufRead,
        force: bool,
        at: &str,
    ) -> Result<(Coverage, Adopted)> {
        let mut reader = Reader::new(spool(dir, input)?, "-");
        let mut coverage = Coverage::create(dir)?;
        coverage.db.read(|c| Ok(c.pragma_update(None, "cache_size", -CACHE_KIB)?))?;
        let adopted =
            coverage.db.write(Durability::Power, |tx| take(tx, &mut reader, force, at))?;
        if !adopted.existing {
            coverage.db.checkpoint();
        }
        Ok((coverage, adopted))
    }
}

/// The whole input in a file without a name, which is gone with the process.
fn spool(dir: &Path, input: &mut dyn BufRead) -> Result<impl BufRead> {
    let mut file = tempfile::tempfile_in(dir).map_err(|e| cannot_write(dir, &e))?;
    let mut take = || -> io::Result<()> {
        io::copy(input, &mut file)?;
        file.rewind()
    };
    take().map_err(|e| cannot_write(dir, &e))?;
    Ok(BufReader::with_capacity(1 << 16, file))
}

fn take<R: BufRead>(
    tx: &Transaction<'_>,
    reader: &mut Reader<R>,
    force: bool,
    at: &str,
) -> Work<Adopted> {
    let policy = policy(reader)?;
    let before = counters::find(tx)?;
    if let Some(before) = before.filter(|_| !force) {
        return keep(tx, &policy, &before);
    }
    clear(tx)?;
    let generation = last_generation(tx)? + 1;
    let mut loader = Loader::new(tx, generation.cast_unsigned())?;
    let plan = load(&mut loader, reader)?;
    counters::store(tx, &loader.counters)?;
    tx.execute(
        "INSERT INTO plans (generation, plan_id, policy, plan, created_at) VALUES (?, ?, ?, ?, ?)",
        params![generation, plan.id, to_json(&policy)?, to_json(&plan)?, at],
    )?;
    Ok(Adopted { plan, existing: false, finished: loader.counters.finished() })
}

/// The plan that is there, when the new one is made under the same policy.
fn keep(tx: &Transaction<'_>, policy: &Policy, before: &Counters) -> Work<Adopted> {
    let now = in_force(tx)?;
    if now.policy == *policy {
        return Ok(Adopted { plan: now.plan, existing: true, finished: before.finished() });
    }
    let left = before.segments.total - before.segments.done;
    let message = match left {
        0 => "there is a finished plan under another policy".to_string(),
        1 => "there is a plan under another policy, with 1 segment not done".to_string(),
        _ => format!("there is a plan under another policy, with {left} segments not done"),
    };
    let error = Error::no("planned", message)
        .hint("go on with it: `auwai next`; repack what is unread: `auwai replan`")
        .hint("or begin anew, with nothing read: `auwai plan --force`");
    Err(error.into())
}

fn clear(tx: &Transaction<'_>) -> Work<()> {
    let tables = [
        "chunks",
        "segments",
        "repos",
        "places",
        "segment_records",
        "segment_progress",
        "queue",
        "claims",
    ];
    for table in tables {
        tx.execute(&format!("DELETE FROM {table}"), [])?;
    }
    Ok(())
}

fn last_generation(tx: &Transaction<'_>) -> Work<i64> {
    Ok(tx.query_row("SELECT coalesce(max(generation), 0) FROM plans", [], |row| row.get(0))?)
}

fn policy<R: BufRead>(reader: &mut Reader<R>) -> Result<Policy> {
    match next(reader)? {
        Record::Policy(policy) => Ok(policy),
        _ => Err(reader.bad("a plan begins with a policy record")),
    }
}

/// The next record that is known here.
fn next<R: BufRead>(reader: &mut Reader<R>) -> Result<Record> {
    loop {
        match reader.next_record()? {
            None => return Err(reader.cut_off()),
            Some(Record::Unknown | Record::Repo(_)) => {}
            Some(record) => return Ok(record),
        }
    }
}

fn load<R: BufRead>(loader: &mut Loader<'_>, reader: &mut Reader<R>) -> Work<Plan> {
    let plan = loop {
        match next(reader)? {
            Record::Segment(segment) => loader.push(&segment).map_err(|e| placed(e, reader))?,
            Record::Plan(plan) => break plan,
            _ => return Err(reader.bad("not a segment or plan record").into()),
        }
    };
    let counts = (loader.counters.segments.total, loader.counters.chunks.planned);
    if (plan.segments, plan.chunks) != counts {
        return Err(reader.bad("the plan does not sum up the segments before it").into());
    }
    match next(reader)? {
        Record::End(End { of, count }) if of == "segment" && count == counts.0 => Ok(plan),
        _ => Err(reader.bad("not the end record of these segments").into()),
    }
}

/// A fault with its line, when the line is at fault.
fn placed<R: BufRead>(fault: Fault, reader: &Reader<R>) -> Fault {
    match fault {
        Fault::Sql(e) if e.sqlite_error_code() == Some(ErrorCode::ConstraintViolation) => {
            reader.bad("a segment, or a chunk of it, is there twice").into()
        }
        Fault::Ours(e) if e.code() == "bad-segment" => reader.bad(&e.to_string()).into(),
        other => other,
    }
}

/// Puts segments into the tables.
struct Loader<'tx> {
    tx: &'tx Transaction<'tx>,
    repos: HashMap<String, i64>,
    chunk: Statement<'tx>,
    place: Statement<'tx>,
    counters: Counters,
}

impl<'tx> Loader<'tx> {
    fn new(tx: &'tx Transaction<'tx>, generation: u64) -> Work<Self> {
        Ok(Loader {
            tx,
            repos: HashMap::new(),
            chunk: tx.prepare("INSERT INTO chunks (repo, chunk_id, path) VALUES (?, ?, ?)")?,
            place: tx
                .prepare("INSERT INTO places (repo_no, chunk, seq, tokens) VALUES (?, ?, ?, ?)")?,
            counters: Counters { generation, ..Counters::default() },
        })
    }

    fn push(&mut self, segment: &Segment) -> Work<()> {
        self.counters.segments.total += 1;
        self.counters.segments.pending += 1;
        let seq = self.counters.segments.total.cast_signed();
        self.push_segment(seq, segment)?;
        self.push_chunks(seq, segment)
    }

    fn push_segment(&mut self, seq: i64, segment: &Segment) -> Work<()> {
        let id = &segment.id.0;
        let (chunks, files) = (to_json(&segment.chunks)?, to_json(&segment.files)?);
        self.counters.export_bytes += (chunks.len() + files.len() + EXPORT_OVERHEAD) as u64;
        let tokens = to_json(&segment.chunk_tokens)?;
        self.tx
            .prepare_cached("INSERT INTO segments (segment_id, status, tokens) VALUES (?, ?, ?)")?
            .execute(params![
                id,
                SegmentStatus::Pending.as_str(),
                segment.tokens.0.cast_signed()
            ])?;
        self.tx
            .prepare_cached(
                "INSERT INTO segment_records (seq, segment_id, kind, chunks, chunk_tokens, files)
                VALUES (?, ?, ?, ?, ?, ?)",
            )?
            .execute(params![seq, id, kind_word(segment.kind), chunks, tokens, files])?;
        let unread = segment.chunks.len() as u64;
        self.tx
            .prepare_cached("INSERT INTO segment_progress (seq, unread) VALUES (?, ?)")?
            .execute([seq, unread.cast_signed()])?;
        if segment.kind == SegmentKind::Read {
            self.counters.read_segments_left += 1;
            self.tx.prepare_cached("INSERT INTO queue (seq) VALUES (?)")?.execute([seq])?;
        }
        Ok(())
    }

    fn push_chunks(&mut self, seq: i64, segment: &Segment) -> Work<()> {
        let (mut run, mut path) = (None::<&SegmentFile>, None);
        for ((id, file), tokens) in with_files(segment)?.zip(shares(segment)) {
            if run.is_none_or(|run| !std::ptr::eq(run, file)) {
                path = Some(file.repo_path().map_err(|e| Error::failed("bad-segment", e))?);
                run = Some(file);
            }
            let repo_no = self.repo_no(&id.repo)?;
            let value = path.as_ref().map(path_value);
            self.chunk.execute(params![id.repo, id.id.to_string(), value])?;
            let tokens = tokens.0.cast_signed();
            self.place.execute([repo_no, id.id.0.cast_signed(), seq, tokens])?;
            self.counters.chunks.planned += 1;
            self.counters.tokens.planned += tokens.cast_unsigned();
        }
        Ok(())
    }

    fn repo_no(&mut self, name: &str) -> Work<i64> {
        if let Some(no) = self.repos.get(name) {
            return Ok(*no);
        }
        if !crate::record::is_name(name) {
            let error = format!("'{}' cannot name a repository", crate::visible::one_line(name));
            return Err(Error::failed("bad-segment", error).into());
        }
        self.tx.execute("INSERT INTO repos (name) VALUES (?)", [name])?;
        let no = self.tx.last_insert_rowid();
        self.repos.insert(name.to_string(), no);
        Ok(no)
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
