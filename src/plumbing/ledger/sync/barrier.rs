//! Waiting for what a watcher was asked: that all that happened before is in the index.

use std::fs::File;
use std::io::BufReader;
use std::sync::mpsc::{Receiver, TryRecvError, channel};
use std::time::{Duration, Instant};

use super::state::{Place, WatchState};
use crate::cli::Io;
use crate::error::{Error, Result};
use crate::plumbing::ledger::source::Source;
use crate::record::{self, Barrier, Reader, Record};
use crate::regular;
use crate::visible::within;

/// How often the state is looked at.
const LOOK: Duration = Duration::from_millis(2);

/// A failure that stands so long will not go away by itself soon; who waits so long is told for whom.
const PATIENCE: Duration = Duration::from_secs(2);

/// Reads `barrier` records, up to that of the watcher that is followed, waits, and writes it when it
/// has been reached. Other watchers of the same tree may be slow to answer, and need not be waited for.
///
/// # Errors
/// `not-watched`, and 1, when no process keeps the index; `not-reached`, and 1, when it took longer
/// than `longest`; `not-kept` when the process that keeps the index fails, or follows another
/// watcher.
pub fn run(source: &Source, longest: Option<Duration>, io: &mut Io<'_>) -> Result<()> {
    let mut waiting = Waiting::begin(source, longest)?;
    let reached = loop {
        match waiting.look(io)? {
            Some(barrier) => break barrier,
            None => std::thread::sleep(LOOK),
        }
    };
    record::write(io.out, &reached)
}

struct Waiting<'a> {
    source: &'a Source,
    place: Place,
    answers: Receiver<Result<Barrier>>,
    barriers: Vec<Barrier>,
    /// No more barriers will come.
    ended: bool,
    begun: Instant,
    longest: Option<Duration>,
    /// Since when nobody keeps the index, and since when who does fails.
    alone: Option<Instant>,
    failing: Option<Instant>,
    /// Whether it was said who is waited for.
    said: bool,
}

impl<'a> Waiting<'a> {
    fn begin(source: &'a Source, longest: Option<Duration>) -> Result<Waiting<'a>> {
        Ok(Waiting {
            source,
            place: Place::of(&source.state),
            answers: answers()?,
            barriers: Vec::new(),
            ended: false,
            begun: Instant::now(),
            longest,
            alone: None,
            failing: None,
            said: false,
        })
    }

    /// The barrier that has been reached, if one has.
    fn look(&mut self, io: &mut Io<'_>) -> Result<Option<Barrier>> {
        self.take_answers()?;
        let live = self.place.live();
        match &live {
            None => self.check_alone()?,
            Some(state) => {
                self.alone = None;
                self.check_kept(state)?;
                if let Some(barrier) = self.reached(state)? {
                    return Ok(Some(barrier));
                }
                self.check_failing(state)?;
            }
        }
        self.check_time(live.as_ref(), io)?;
        Ok(None)
    }

    fn take_answers(&mut self) -> Result<()> {
        loop {
            match self.answers.try_recv() {
                Ok(barrier) => self.barriers.push(barrier?),
                Err(TryRecvError::Empty) => return Ok(()),
                Err(TryRecvError::Disconnected) => break,
            }
            self.alone = None;
        }
        self.ended = true;
        match self.barriers.is_empty() {
            true => Err(Error::no("no-barrier", "no watcher has answered")
                .hint(format!("start one: `auwai watch --repo {}`", self.source.shown_root()))),
            false => Ok(()),
        }
    }

    /// Who keeps the index, and was told of the question, may be about to make its state anew.
    fn check_alone(&mut self) -> Result<()> {
        let asked = self.ended || !self.barriers.is_empty();
        match asked && self.alone.get_or_insert_with(Instant::now).elapsed() > PATIENCE {
            true => Err(not_watched(self.source)),
            false => Ok(()),
        }
    }

    /// The answer of the watcher that is followed, when all that it stands for is in the index.
    fn reached(&self, state: &WatchState) -> Result<Option<Barrier>> {
        // Before it has told anything it follows nobody.
        let Some(session) = &state.session else { return Ok(None) };
        let own = self.barriers.iter().find(|barrier| barrier.session == *session);
        if own.is_none() && self.ended {
            return Err(not_kept(self.source, "it follows a watcher that did not answer"));
        }
        let is_there = || regular::is_there(&self.source.state.ledger());
        // Who keeps the index was asked, too: somebody else may have taken it away since that batch.
        let is_answered =
            |barrier: &&Barrier| last(state) >= barrier.batch && state.question >= barrier.question;
        Ok(own.filter(is_answered).filter(|_| is_there()).cloned())
    }

    /// Who keeps a part alone has never done what happened elsewhere.
    fn check_kept(&self, state: &WatchState) -> Result<()> {
        if state.session.is_none() || state.keeps(&self.source.only) {
            return Ok(());
        }
        let why = format!("process {} keeps it{} alone", state.pid, within(&state.folders()));
        Err(not_kept(self.source, &why))
    }

    fn check_failing(&mut self, state: &WatchState) -> Result<()> {
        let Some(error) = &state.last_error else {
            self.failing = None;
            return Ok(());
        };
        match self.failing.get_or_insert_with(Instant::now).elapsed() > PATIENCE {
            true => Err(not_kept(self.source, error)),
            false => Ok(()),
        }
    }

    /// Gives up when it has taken too long, and says before who is waited for. While no watcher has answered, who asks the watchers says so.
    fn check_time(&mut self, state: Option<&WatchState>, io: &mut Io<'_>) -> Result<()> {
        let waited = self.begun.elapsed();
        if let Some(longest) = self.longest.filter(|longest| waited >= *longest) {
            return Err(not_reached(self.source, state, &self.barriers, longest));
        }
        let asked = self.ended || state.is_some_and(|state| self.answer_of(state).is_some());
        if let Some(state) = state
            && asked
            && waited >= PATIENCE
            && !std::mem::replace(&mut self.said, true)
        {
            let root = self.source.shown_root();
            let pid = state.pid;
            let what = format!("waiting for process {pid}, which keeps the index of '{root}'");
            io.say("auwai-ledger", &what);
        }
        Ok(())
    }

    fn answer_of(&self, state: &WatchState) -> Option<&Barrier> {
        let session = state.session.as_ref()?;
        self.barriers.iter().find(|barrier| barrier.session == *session)
    }
}

/// The barriers on standard input, read by a thread: it may be silent for long.
fn answers() -> Result<Receiver<Result<Barrier>>> {
    let stdin = rustix::io::fcntl_dupfd_cloexec(rustix::stdio::stdin(), 0);
    let stdin = stdin.map_err(|e| Error::io("read", "standard input", &e.into()))?;
    let (sender, receiver) = channel();
    std::thread::spawn(move || {
        let mut records = Reader::new(BufReader::new(File::from(stdin)), "-");
        while let Some(record) = records.next_record().transpose() {
            let (answer, end) = match record {
                Ok(Record::Barrier(barrier)) => (Ok(barrier), false),
                Ok(_) => continue,
                Err(error) => (Err(error), true),
            };
            if sender.send(answer).is_err() || end {
                return;
            }
        }
    });
    Ok(receiver)
}

/// The number of the last batch that is in the index.
fn last(state: &WatchState) -> u64 {
    state.last_batch.as_ref().map_or(0, |last| last.n)
}

fn not_watched(source: &Source) -> Error {
    let root = source.shown_root();
    Error::no("not-watched", format!("no process keeps the index of '{root}'"))
        .hint(format!("start one: `auwai watch --repo {root}`"))
}

fn not_kept(source: &Source, why: &str) -> Error {
    let root = source.shown_root();
    Error::failed("not-kept", format!("the index of '{root}' is not up to date"))
        .because(why)
        .hint(format!("bring it up to date: `auwai index --repo {root}`"))
}

fn not_reached(
    source: &Source,
    state: Option<&WatchState>,
    barriers: &[Barrier],
    longest: Duration,
) -> Error {
    let (root, longest) = (source.shown_root(), humantime::format_duration(longest));
    let Some(state) = state else { return not_watched(source) };
    let keeper = format!("process {}, which keeps the index of '{root}',", state.pid);
    let own = barriers.iter().find(|barrier| state.session.as_ref() == Some(&barrier.session));
    let message = match own {
        Some(own) => format!("{keeper} is at batch {} of {}", last(state), own.batch),
        None => format!("the watcher of {keeper} has not answered"),
    };
    let error = Error::no("not-reached", format!("{message} after {longest}"));
    let error = match &state.last_error {
        Some(why) => error.because(why),
        None => error,
    };
    error
        .hint(format!("see what it does: `auwai-ledger status --repo {root}`"))
        .hint(format!("or bring the index up to date without it: `auwai index --repo {root}`"))
}
