//! One scan: the walk's threads find what differs, worker threads read it, this thread writes.

use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::SystemTime;

use crossbeam_channel::{Receiver, Sender, bounded};

use rustc_hash::FxHashMap;

use super::content::ContentReader;
use super::open::{Outcome, detail, fate, read_entry, stat_bytes};
use super::stat::Young;
use crate::admit::Policy;
use crate::beneath::Root;
use crate::error::{Error, Result};
use crate::record::{Fate, Progress, RepoPath, Sync, SyncMode};
use crate::store::ledger::{Batch, Changes, Known, Ledger};
use crate::text::{CHUNKER_VERSION, Tokenizer, chunk_id};
use crate::visible::quote_path;
use crate::walk::{self, Entry, Kind};

/// How many files a transaction takes, and how many chunks: they bound the write-ahead log, the
/// memory, and what a crash undoes. Chunk ids are random keys, so that every transaction dirties
/// most pages of their table: fewer and larger ones write less.
const BATCH: (usize, usize) = (16_384, 131_072);

/// How many files go by between two words of progress.
const TELL: u64 = 1000;

/// How many files wait between two stages.
const QUEUE: usize = 4096;

/// How to scan.
pub struct Options<'a> {
    /// The repository's name, for the record.
    pub name: &'a str,
    /// Threads that walk, and threads that read.
    pub threads: usize,
    /// The tokenizer; `None`: the one of the last scan, else the default.
    pub tokenizer: Option<Tokenizer>,
    /// The time that the scan begins.
    pub now: SystemTime,
    /// The same, RFC 3339.
    pub at: &'a str,
}

/// Makes the ledger say what the tree is. `progress` is called now and then.
///
/// # Errors
/// The ledger's, and `not-found` for a root that is not there. A path that cannot be read is a row
/// with its errno, not an error.
pub fn scan(
    root: &Path,
    policy: &Policy,
    ledger: &mut Ledger,
    options: &Options<'_>,
    progress: &mut dyn FnMut(Progress),
) -> Result<Sync> {
    let folder = Root::open(root).map_err(|e| {
        let name = quote_path(std::os::unix::ffi::OsStrExt::as_bytes(root.as_os_str()));
        Error::io("open", name, &e)
    })?;
    let (tokenizer, anew) = settle_tokenizer(ledger, options.tokenizer)?;
    let young = Young::at(options.now);
    let work = Work { root: &folder, policy, tokenizer, young, anew, unchanged: AtomicU64::new(0) };
    let mut writer = Writer::new(ledger, anew, progress)?;
    run(&work, options.threads, &mut writer)?;
    writer.note_git(policy)?;
    writer.finish(options)
}

/// The tokenizer to count with, and whether every file must be cut anew for it. Both are noted at
/// once, so that a first scan that is killed goes on where it stopped, and one that cuts anew
/// begins again instead of leaving two kinds of chunks.
fn settle_tokenizer(ledger: &mut Ledger, asked: Option<Tokenizer>) -> Result<(Tokenizer, bool)> {
    let noted = ledger.meta("tokenizer")?;
    let last = noted.as_deref().and_then(|name| name.parse().ok());
    let (tokenizer, chunker) = (asked.or(last).unwrap_or_default(), CHUNKER_VERSION.to_string());
    let same = last == Some(tokenizer) && ledger.meta("chunker")?.as_deref() == Some(&chunker);
    let cut_off = ledger.meta("anew")?.as_deref() == Some("1");
    let anew = noted.is_some() && (cut_off || !same);
    if noted.is_none() || anew {
        let flag = if anew { "1" } else { "0" };
        let facts = [("tokenizer", tokenizer.as_str()), ("chunker", &chunker), ("anew", flag)];
        ledger.set_meta(&facts)?;
    }
    Ok((tokenizer, anew))
}

/// What every thread of a scan knows.
struct Work<'a> {
    root: &'a Root,
    policy: &'a Policy,
    tokenizer: Tokenizer,
    young: Young,
    anew: bool,
    /// Paths that are as they were: nothing more is done about them.
    unchanged: AtomicU64,
}

/// An entry to read, and its row if it has one.
struct Job {
    entry: Entry,
    known: Option<i64>,
}

/// What came of a job.
struct Done {
    known: Option<i64>,
    outcome: Outcome,
}

fn run(work: &Work<'_>, threads: usize, writer: &mut Writer<'_>) -> Result<()> {
    let (found, entries) = bounded(QUEUE);
    let (jobs, todo) = bounded(QUEUE);
    let (done, outcomes) = bounded(QUEUE);
    std::thread::scope(|scope| {
        let walking = scope.spawn(move || {
            walk::walk(work.policy, threads, &|batch| {
                // The receiver is gone only when the scan has failed.
                let _ = found.send(batch);
            })
        });
        let known = writer.ledger.known()?;
        writer.expect(known.len())?;
        let sorting = scope.spawn(move || sort(work, known, &entries, &jobs));
        for _ in 0..threads.max(1) {
            let (todo, done) = (todo.clone(), done.clone());
            scope.spawn(move || read_all(work, &todo, &done));
        }
        drop((todo, done));
        let written = outcomes.iter().try_for_each(|done| {
            writer.tell(work.unchanged.load(Ordering::Relaxed));
            writer.take(done)
        });
        drop(outcomes);
        let gone = join(sorting)?;
        writer.dirty = join(walking)??.dirty;
        written?;
        writer.forget(gone)
    })
}

fn join<T>(thread: std::thread::ScopedJoinHandle<'_, T>) -> Result<T> {
    thread.join().map_err(|_| Error::failed("bug", "a thread of the scan panicked"))
}

/// Passes on what differs from the ledger, and returns the rows of what was not found.
fn sort(
    work: &Work<'_>,
    mut known: FxHashMap<Box<[u8]>, Known>,
    entries: &Receiver<Vec<Entry>>,
    jobs: &Sender<Job>,
) -> Vec<i64> {
    let mut key = Vec::new();
    for entry in entries.iter().flatten() {
        key.clear();
        entry.path.push_key(&mut key);
        let before = known.remove(key.as_slice());
        if !work.anew && before.as_ref().is_some_and(|before| is_unchanged(&entry, before)) {
            work.unchanged.fetch_add(1, Ordering::Relaxed);
            continue;
        }
        let job = Job { entry, known: before.map(|before| before.id) };
        if jobs.send(job).is_err() {
            break;
        }
    }
    known.into_values().map(|known| known.id).collect()
}

fn is_unchanged(entry: &Entry, known: &Known) -> bool {
    match entry.kind {
        Kind::File => {
            matches!(known.fate, Fate::Text | Fate::Binary)
                && !known.racy
                && known.stat.is_some()
                && known.stat == stat_bytes(entry)
        }
        _ => {
            known.fate == fate(&entry.kind)
                && known.detail.as_deref() == detail(&entry.kind).as_deref()
        }
    }
}

fn read_all(work: &Work<'_>, todo: &Receiver<Job>, done: &Sender<Done>) {
    let mut reader = ContentReader::new(work.tokenizer);
    for Job { entry, known } in todo {
        let outcome = read_entry(work.root, entry, work.young, &mut reader);
        if done.send(Done { known, outcome }).is_err() {
            return;
        }
    }
}

/// Collects outcomes and writes them batch by batch.
struct Writer<'a> {
    ledger: &'a mut Ledger,
    change: i64,
    batch: Batch,
    sum: Changes,
    files: u64,
    of_files: Option<u64>,
    bytes: u64,
    chunks: usize,
    dirty: bool,
    progress: &'a mut dyn FnMut(Progress),
}

impl<'a> Writer<'a> {
    fn new(
        ledger: &'a mut Ledger,
        anew: bool,
        progress: &'a mut dyn FnMut(Progress),
    ) -> Result<Self> {
        let change = ledger.change()? + 1;
        let batch = Batch { anew, ..Batch::default() };
        let sum = Changes::default();
        Ok(Writer {
            ledger,
            change,
            batch,
            sum,
            files: 0,
            of_files: None,
            bytes: 0,
            chunks: 0,
            dirty: false,
            progress,
        })
    }

    /// Notes how many paths the last scan found, if it came to its end: about as many as there are.
    fn expect(&mut self, known: usize) -> Result<()> {
        self.of_files = self.ledger.meta("scanned")?.map(|_| known as u64);
        Ok(())
    }

    /// Counts one more path, and says now and then how far the scan is.
    fn tell(&mut self, unchanged: u64) {
        self.files += 1;
        if self.files.is_multiple_of(TELL) {
            let files = self.files + unchanged;
            (self.progress)(Progress { files, bytes: self.bytes, of_files: self.of_files });
        }
    }

    fn take(&mut self, done: Done) -> Result<()> {
        match done.outcome {
            Outcome::Row(row) => {
                if let Some(content) = &row.content {
                    self.bytes += content.size;
                    self.chunks += content.cuts.len();
                }
                self.batch.rows.push(*row);
            }
            Outcome::Gone => self.batch.gone.extend(done.known),
        }
        match self.batch.rows.len() >= BATCH.0 || self.chunks >= BATCH.1 {
            true => self.write(),
            false => Ok(()),
        }
    }

    fn forget(&mut self, gone: Vec<i64>) -> Result<()> {
        self.batch.gone.extend(gone);
        self.write()
    }

    fn write(&mut self) -> Result<()> {
        if !self.batch.is_empty() {
            let changes = self.ledger.apply(&self.batch, self.change, &name_chunk)?;
            self.sum += changes;
            self.batch.clear();
            self.chunks = 0;
        }
        Ok(())
    }

    /// Notes the state of git, for the records that carry it.
    fn note_git(&mut self, policy: &Policy) -> Result<()> {
        let head = policy.head().unwrap_or_default();
        let dirty = if policy.in_git() { self.dirty.to_string() } else { String::new() };
        for (key, value) in [("head", head), ("dirty", dirty.as_str())] {
            if self.ledger.meta(key)?.as_deref() != Some(value) {
                self.ledger.set_meta(&[(key, value)])?;
            }
        }
        Ok(())
    }

    fn finish(self, options: &Options<'_>) -> Result<Sync> {
        let changed = self.sum != Changes::default();
        let kept_reads = if changed { self.ledger.move_reads(options.at)? } else { 0 };
        if changed || self.ledger.meta("scanned")?.is_none() {
            let change = self.change.to_string();
            let facts = [("changes", change.as_str()), ("scanned", options.at), ("anew", "0")];
            self.ledger.set_meta(&facts)?;
            self.ledger.checkpoint();
        }
        Ok(Sync {
            repo: options.name.to_string(),
            files: self.sum.files,
            chunks_added: self.sum.added,
            chunks_removed: self.sum.removed,
            kept_reads,
            mode: SyncMode::Full,
        })
    }
}

fn name_chunk(path: &RepoPath, body: &[u8; 32], occurrence: u32) -> crate::record::ChunkId {
    chunk_id(path, &blake3::Hash::from_bytes(*body), occurrence)
}
