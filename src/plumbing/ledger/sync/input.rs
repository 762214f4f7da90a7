//! What a watcher tells, collected by a thread of its own so that the watcher never waits for a
//! scan: paths that are told again and again are one path, and past a limit all of them are one.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{BufReader, Write};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::error::{Error, Result};
use crate::record::{Barrier, Reader, Ready, Record, RepoPath};

/// What is to be brought up to date.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Change {
    /// Everything.
    pub all: bool,
    /// These paths and all below them.
    pub paths: BTreeSet<RepoPath>,
    /// A watcher that has begun.
    pub ready: Option<Ready>,
    /// The number of the last batch in it.
    pub batch: Option<u64>,
    /// The number of the last question that is answered when it is done.
    pub question: Option<u64>,
    /// How many batches, events and rescans are in it.
    pub told: (u64, u64, u64),
    /// How many directories are watched, and how many polled, where that was told.
    pub standing: Option<(u64, u64)>,
}

impl Change {
    /// Whether there is nothing to do, not even to note a batch.
    pub fn is_empty(&self) -> bool {
        !self.all && self.paths.is_empty() && self.batch.is_none()
    }

    /// Adds a later change.
    pub fn merge(&mut self, later: Change, max_files: usize) {
        self.all |= later.all;
        later.paths.into_iter().for_each(|path| self.add(path, max_files));
        if later.ready.is_some() {
            (self.ready, self.batch, self.question) = (later.ready, None, None);
        }
        self.batch = later.batch.or(self.batch);
        self.question = later.question.or(self.question);
        self.standing = later.standing.or(self.standing);
        let (batches, events, rescans) = later.told;
        self.told = (self.told.0 + batches, self.told.1 + events, self.told.2 + rescans);
    }

    fn add(&mut self, path: RepoPath, max_files: usize) {
        if !self.all {
            self.paths.insert(path);
        }
        self.all |= self.paths.len() > max_files;
        if self.all {
            self.paths.clear();
        }
    }

    fn everything(&mut self) {
        self.all = true;
        self.paths.clear();
    }
}

/// What has been told and not yet taken.
#[derive(Default)]
struct Pending {
    /// Ended by a `batch` record.
    whole: Change,
    /// What came after the last one.
    open: Change,
    /// How the input ended.
    end: Option<Result<()>>,
    /// The question of who waits.
    asked: Option<Barrier>,
    /// Whether a byte lies in the wake-up line.
    woken: bool,
}

/// The input, as its reading thread and the one that works share it.
#[derive(Clone)]
pub struct Input {
    pending: Arc<Mutex<Pending>>,
    max_files: usize,
}

/// What [`Input::take`] found.
pub struct Taken {
    /// What is to be done.
    pub change: Change,
    /// Whether something has come since the last time.
    pub came: bool,
    /// Whether events wait that no batch has ended.
    pub more: bool,
    /// The question of who waits for it.
    pub asked: Option<Barrier>,
    /// How the input ended, if it has.
    pub end: Option<Result<()>>,
}

impl Input {
    /// Begins to read standard input in a thread; each time something has come, `wake` gets a byte.
    ///
    /// # Errors
    /// When standard input is not open.
    pub fn read(stdin: impl AsFd, wake: UnixStream, max_files: usize) -> Result<Input> {
        let stdin = rustix::io::fcntl_dupfd_cloexec(stdin, 0);
        let stdin = stdin.map_err(|e| Error::io("read", "standard input", &e.into()))?;
        let input = Input { pending: Arc::default(), max_files };
        let shared = input.clone();
        std::thread::spawn(move || {
            let mut records = Reader::new(BufReader::new(File::from(stdin)), "-");
            while shared.put(records.next_record(), &records, &wake) {}
        });
        Ok(input)
    }

    fn lock(&self) -> MutexGuard<'_, Pending> {
        self.pending.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Puts in what was read; `false` at the end.
    fn put<R: std::io::BufRead>(
        &self,
        next: Result<Option<Record>>,
        records: &Reader<R>,
        mut wake: &UnixStream,
    ) -> bool {
        let mut pending = self.lock();
        let end = match next {
            Ok(Some(record)) => pending.put(record, self.max_files).map_err(|e| records.bad(&e)),
            Ok(None) => Ok(true),
            Err(error) => Err(error),
        };
        if !matches!(end, Ok(false)) {
            pending.end = Some(end.map(|_| ()));
        }
        let going_on = pending.end.is_none();
        if !std::mem::replace(&mut pending.woken, true) {
            drop(pending);
            // When nobody listens any more, the process is about to end.
            let _ = wake.write_all(b"!");
        }
        going_on
    }

    /// Takes what whole batches have told; with `open` also what no batch has ended yet.
    pub fn take(&self, open: bool) -> Taken {
        let mut pending = self.lock();
        let came = std::mem::take(&mut pending.woken);
        let mut change = std::mem::take(&mut pending.whole);
        if open || pending.end.is_some() {
            let rest = std::mem::take(&mut pending.open);
            change.merge(rest, self.max_files);
        }
        let asked = std::mem::take(&mut pending.asked);
        Taken { change, came, more: !pending.open.is_empty(), asked, end: pending.end.take() }
    }
}

impl Pending {
    /// Takes in a record; never the end.
    fn put(&mut self, record: Record, max_files: usize) -> std::result::Result<bool, String> {
        match record {
            Record::Ready(ready) => {
                let standing = Some((ready.watches, ready.polled));
                let ready = Change { all: true, ready: Some(ready), standing, ..Change::default() };
                self.whole.merge(ready, max_files);
                self.whole.everything();
            }
            Record::Event(event) => {
                self.open.add(event.repo_path()?, max_files);
                self.open.told.1 += 1;
            }
            Record::Rescan(rescan) => {
                match rescan.dir()? {
                    Some(dir) => self.open.add(dir, max_files),
                    None => self.open.everything(),
                }
                self.open.told.2 += 1;
            }
            Record::Batch(batch) => {
                let mut open = std::mem::take(&mut self.open);
                open.batch = Some(batch.n);
                open.standing = batch.watches.map(|watches| (watches, batch.polled));
                open.told.0 += 1;
                self.whole.merge(open, max_files);
            }
            Record::Barrier(barrier) => self.asked = Some(barrier),
            _ => {}
        }
        Ok(false)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(lines: &[&str]) -> Pending {
        let mut pending = Pending::default();
        for line in lines {
            let record = crate::record::parse(&format!(r#"{{"v":1,"type":{line}}}"#)).unwrap();
            pending.put(record, 3).unwrap();
        }
        pending
    }

    fn event(path: &str) -> String {
        format!(r#""event","op":"modify","kind":"file","path":"{path}""#)
    }

    const READY: &str =
        r#""ready","session":"0123456789abcdef","backend":"poll","root":"/r","watches":1"#;
    const BATCH: &str = r#""batch","n":7,"events":1,"rescans":0,"watches":2"#;

    #[test]
    fn batches_run_together_and_what_no_batch_has_ended_waits() {
        let pending = told(&[&event("a"), &event("a"), BATCH, &event("b/c")]);
        let paths: Vec<_> = pending.whole.paths.iter().map(RepoPath::as_bytes).collect();
        assert_eq!((paths, pending.whole.batch), (vec![&b"a"[..]], Some(7)));
        assert_eq!((pending.whole.told, pending.whole.standing), ((1, 2, 0), Some((2, 0))));
        assert_eq!(pending.open.paths.len(), 1);
    }

    #[test]
    fn too_many_paths_are_all() {
        let events: Vec<String> = (0..4).map(|n| event(&format!("f{n}"))).collect();
        let all: Vec<&str> = events.iter().map(String::as_str).collect();
        assert!(!told(&all[..3]).open.all);
        let pending = told(&all);
        assert!(pending.open.all && pending.open.paths.is_empty());
    }

    #[test]
    fn a_watcher_that_begins_means_all_and_counts_anew() {
        let pending = told(&[&event("a"), BATCH, READY]);
        assert!(pending.whole.all && pending.whole.ready.is_some());
        assert_eq!(pending.whole.batch, None);
        let rescan = r#""rescan","path":".","reason":"overflow""#;
        assert!(told(&[rescan]).open.all);
    }

    #[test]
    fn a_path_that_leads_outside_is_refused() {
        let record = crate::record::parse(&format!(r#"{{"v":1,"type":{}}}"#, event("../x")));
        assert!(Pending::default().put(record.unwrap(), 3).is_err());
    }
}
