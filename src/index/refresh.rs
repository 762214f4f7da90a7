//! What a scan and a sync share: entries come from a source, this is compared with what the ledger
//! knows, worker threads read what differs, and the calling thread writes.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use crossbeam_channel::{Receiver, Sender, bounded};

use super::content::ContentReader;
use super::open::{Outcome, detail, fate, read_entry, stat_bytes};
use super::stat::Young;
use super::write::Writer;
use crate::admit::Rule;
use crate::beneath::Root;
use crate::error::{Error, Result};
use crate::record::Fate;
use crate::store::ledger::{Known, KnownRows, Ledger, RowId};
use crate::text::Tokenizer;
use crate::walk::{Entry, Errno, Kind};

/// How many files wait between two stages.
const QUEUE: usize = 4096;

/// What every thread knows.
pub struct Work<'a> {
    /// Where the files are.
    pub root: &'a Root,
    /// What to count with.
    pub tokenizer: Tokenizer,
    /// Which times are too young to be trusted.
    pub young: Young,
    /// Whether to read every file.
    pub anew: bool,
    /// What has been met.
    pub met: Met,
}

/// What the threads have met so far.
#[derive(Debug, Default)]
pub struct Met {
    /// Paths that are as they were: nothing more is done about them.
    unchanged: AtomicU64,
    /// Why something could not be looked at at all.
    starved: OnceLock<Errno>,
}

impl Met {
    /// # Errors
    /// When something could not be looked at: what is missing may be there.
    fn all(&self) -> Result<()> {
        match self.starved.get() {
            Some(Errno(code)) => Err(Error::io("look at", "all files", &(*code).into())),
            None => Ok(()),
        }
    }
}

/// An entry to read, and its row if it has one.
struct Job {
    entry: Entry,
    known: Option<RowId>,
}

/// What came of a job.
pub struct Done {
    /// The row that the path had.
    pub known: Option<RowId>,
    /// What is there.
    pub outcome: Outcome,
}

/// Makes the ledger say what `source` finds: entries that differ from the rows of `known` are read
/// and written, and rows that met no entry are taken out. `source` runs beside `known`.
pub fn refresh<T: Send>(
    work: &Work<'_>,
    threads: usize,
    source: impl FnOnce(&(dyn Fn(Vec<Entry>) + Sync)) -> Result<T> + Send,
    known: impl FnOnce(&Ledger) -> Result<KnownRows>,
    writer: &mut Writer<'_>,
) -> Result<T> {
    let (found, entries) = bounded(QUEUE);
    let (jobs, todo) = bounded(QUEUE);
    let (done, outcomes) = bounded(QUEUE);
    std::thread::scope(|scope| {
        let looking = scope.spawn(move || {
            source(&|batch| {
                // The receiver is gone only when the work has failed.
                let _ = found.send(batch);
            })
        });
        let known = known(writer.ledger())?;
        writer.expect(known.len())?;
        let sorting = scope.spawn(move || sort(work, known, &entries, &jobs));
        let reading: Vec<_> = (0..threads.max(1))
            .map(|_| {
                let (todo, done) = (todo.clone(), done.clone());
                scope.spawn(move || read_all(work, &todo, &done))
            })
            .collect();
        drop((todo, done));
        let written = outcomes.iter().try_for_each(|done| {
            writer.tell(work.met.unchanged.load(Ordering::Relaxed));
            writer.take(done)
        });
        drop(outcomes);
        let gone = join(sorting)?;
        let told = join(looking)??;
        written?;
        reading.into_iter().try_for_each(join)?;
        work.met.all()?;
        writer.forget(gone.ok_or_else(panicked)?)?;
        Ok(told)
    })
}

fn join<T>(thread: std::thread::ScopedJoinHandle<'_, T>) -> Result<T> {
    thread.join().map_err(|_| panicked())
}

fn panicked() -> Error {
    Error::failed("bug", "a thread of the scan panicked")
}

/// Passes on what differs from the ledger, and returns the rows of what was not found; `None` when
/// nobody takes what it passes on, and it does not know.
fn sort(
    work: &Work<'_>,
    mut known: KnownRows,
    entries: &Receiver<Vec<Entry>>,
    jobs: &Sender<Job>,
) -> Option<Vec<RowId>> {
    let mut key = Vec::new();
    for entry in entries.iter().flatten().filter(|entry| !is_outside(entry)) {
        if let Kind::Unreadable(errno) = entry.kind
            && errno.is_starved()
        {
            let _ = work.met.starved.set(errno);
            continue;
        }
        key.clear();
        entry.path.push_key(&mut key);
        let before = known.meet(&key);
        if !work.anew && before.is_some_and(|before| is_unchanged(&entry, before)) {
            work.met.unchanged.fetch_add(1, Ordering::Relaxed);
            continue;
        }
        let known = before.map(|before| (key.as_slice().into(), before.id));
        jobs.send(Job { entry, known }).ok()?;
    }
    Some(known.unmet().collect())
}

/// Whether an entry only says that something lies outside the subtrees that are looked at: a row that
/// stands there is none of our business.
fn is_outside(entry: &Entry) -> bool {
    matches!(entry.kind, Kind::Ignored(Rule::Scope))
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
        if let Outcome::Starved(errno) = outcome {
            let _ = work.met.starved.set(errno);
        }
        if done.send(Done { known, outcome }).is_err() {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::RepoPath;

    #[test]
    fn when_nobody_reads_any_more_nothing_counts_as_gone() {
        let dir = tempfile::tempdir().unwrap();
        let root = Root::open(dir.path()).unwrap();
        let young = Young::at(std::time::SystemTime::now());
        let (tokenizer, met) = (Tokenizer::default(), Met::default());
        let work = Work { root: &root, tokenizer, young, anew: false, met };
        let known = |id| Known { id, fate: Fate::Text, detail: None, stat: None, racy: true };
        let rows = || {
            let mut rows = KnownRows::default();
            [b"a", b"b"].into_iter().for_each(|key| rows.push(key, known(1)));
            rows
        };
        let entry = Entry {
            path: RepoPath::new("a").unwrap(),
            kind: Kind::File,
            stat: None,
            tracked: false,
        };
        for read in [true, false] {
            let (found, entries) = bounded(1);
            let (jobs, todo) = bounded(1);
            found.send(vec![entry.clone()]).unwrap();
            drop(found);
            let todo = Some(todo).filter(|_| read);
            let gone = sort(&work, rows(), &entries, &jobs);
            assert_eq!(gone.map(|gone| gone.len()), todo.map(|_| 1));
        }
    }
}
