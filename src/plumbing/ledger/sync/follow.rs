//! The loop: wait, take all that has been told, bring the index up to date, tell.

use std::io::Read;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

use super::backoff::Backoff;
use super::input::{Change, Input, Taken};
use super::keeper::Keeper;
use super::report::Report;
use crate::cli::{Io, Signals};
use crate::error::{Error, Kind, Result};
use crate::hangup;
use crate::record;

/// Events that no batch ends are taken when nothing has come for so long.
const REST: Duration = Duration::from_millis(100);

/// Follows standard input to its end.
///
/// # Errors
/// A bad input's, when what came before it is done.
pub fn run(keeper: Keeper, max_files: usize, io: &mut Io<'_>) -> Result<()> {
    let cannot = |e: &std::io::Error| Error::io("wait for", "standard input", e);
    let (wake, woken) = UnixStream::pair().map_err(|e| cannot(&e))?;
    woken.set_nonblocking(true).map_err(|e| cannot(&e))?;
    let (signals, stop) = Signals::catch_and_wake()?;
    let input = Input::read(rustix::stdio::stdin(), wake, max_files)?;
    let todo = Todo::default();
    let (backoff, report) = (Backoff::default(), Report::default());
    let mut follow =
        Follow { keeper, input, woken, signals, stop, max_files, todo, backoff, report };
    let done = follow.run(io);
    if done.as_ref().is_err_and(|error| error.kind() == Kind::Closed) {
        follow.keeper.end(io.world)?;
    }
    follow.signals.obey();
    done
}

struct Follow {
    keeper: Keeper,
    input: Input,
    woken: UnixStream,
    signals: Signals,
    stop: OwnedFd,
    max_files: usize,
    todo: Todo,
    backoff: Backoff,
    report: Report,
}

/// What is to be done, and when.
#[derive(Default)]
struct Todo {
    change: Change,
    /// When the last event came that no batch has ended.
    since: Option<Instant>,
    /// When the change may be done.
    due: Option<Instant>,
    /// What is to be looked at once more, and when.
    again: Option<(Change, Instant)>,
}

impl Follow {
    fn run(&mut self, io: &mut Io<'_>) -> Result<()> {
        loop {
            let gone = !self.wait()?;
            if self.signals.any() || gone {
                return Err(Error::closed());
            }
            let end = self.take(io)?;
            self.take_again(end.is_some(), io)?;
            if end.is_some() || self.todo.due.is_some_and(|due| due <= Instant::now()) {
                self.work(io)?;
            }
            self.report.say(io)?;
            if let Some(end) = end {
                self.report.say_last(&self.stop, io)?;
                return self.finish(end, io);
            }
        }
    }

    /// Waits until something has come or is due; `false` when the reader of our output has gone.
    fn wait(&mut self) -> Result<bool> {
        let rest = self.todo.since.map(|since| since + REST);
        let again = self.todo.again.as_ref().map(|(_, at)| *at);
        let until = [self.todo.due, rest, again].into_iter().flatten().min();
        let timeout = until.map(|until| until.saturating_duration_since(Instant::now()));
        let timeout = timeout.and_then(|timeout| Timespec::try_from(timeout).ok());
        let stdout = rustix::stdio::stdout();
        let mut fds = [
            PollFd::new(&self.woken, PollFlags::IN),
            PollFd::new(&self.stop, PollFlags::IN),
            PollFd::from_borrowed_fd(stdout.as_fd(), self.report.wanted()),
        ];
        match poll(&mut fds, timeout.as_ref()) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(e) => return Err(Error::io("wait for", "standard input", &e.into())),
        }
        let gone = fds[2].revents().intersects(hangup::SEEN);
        let _ = self.woken.read(&mut [0; 64]);
        Ok(!gone)
    }

    /// Takes what has been told, and settles when it is done; returns how the input has ended.
    fn take(&mut self, io: &mut Io<'_>) -> Result<Option<Result<()>>> {
        let now = Instant::now();
        let rested = self.todo.since.is_some_and(|since| now >= since + REST);
        let Taken { change, came, more, asked, end } = self.input.take(rested);
        self.todo.since = if came { Some(now) } else { self.todo.since }.filter(|_| more);
        if !change.is_empty() {
            self.todo.change.merge(change, self.max_files);
            self.settle(now, io)?;
        }
        if let Some(barrier) = asked {
            self.hurry(now, io)?;
            self.answer(barrier.question, io)?;
        }
        Ok(end)
    }

    /// Somebody waits: what is put off is done now, and what others may have taken away from where
    /// they look is put there again.
    fn hurry(&mut self, now: Instant, io: &mut Io<'_>) -> Result<()> {
        match self.keeper.stand() {
            Ok(false) => {}
            Ok(true) => {
                self.todo.change.all = true;
                self.settle(now, io)?;
            }
            Err(error) => self.fail(error, io)?,
        }
        self.todo.due = self.todo.due.map(|due| self.backoff.hurry(due, now));
        Ok(())
    }

    /// Notes a question as answered, when there is nothing to do for it; else with what there is.
    fn answer(&mut self, question: Option<u64>, io: &mut Io<'_>) -> Result<()> {
        let change = &mut self.todo.change;
        change.question = question.or(change.question);
        if !change.is_empty() || self.backoff.failing() {
            return Ok(());
        }
        match change.question.take().map_or(Ok(()), |question| self.keeper.answered(question)) {
            Ok(()) => Ok(()),
            Err(error) => {
                self.todo.change.question = question;
                self.fail(error, io)
            }
        }
    }

    /// Takes what is to be looked at once more, when its time has come or the input has ended.
    fn take_again(&mut self, ended: bool, io: &mut Io<'_>) -> Result<()> {
        let now = Instant::now();
        let Some((change, _)) = self.todo.again.take_if(|(_, at)| ended || *at <= now) else {
            return Ok(());
        };
        self.todo.change.merge(change, self.max_files);
        self.settle(now, io)
    }

    fn settle(&mut self, now: Instant, io: &mut Io<'_>) -> Result<()> {
        if self.backoff.failing() {
            // All is tried again when that is due, and this with it.
            return Ok(());
        }
        match self.keeper.wants_scan(&self.todo.change) {
            Ok(full) => {
                self.todo.change.all |= full;
                self.todo.due = Some(if full { self.backoff.ask(now) } else { now });
            }
            Err(error) => self.fail(error, io)?,
        }
        Ok(())
    }

    /// Does what is to be done. What fails is tried again as a whole.
    fn work(&mut self, io: &mut Io<'_>) -> Result<()> {
        if self.todo.change.is_empty() {
            return Ok(());
        }
        let signals = &self.signals;
        match self.keeper.round(&self.todo.change, &mut || signals.obey(), io) {
            Ok(sync) => {
                self.backoff.succeed();
                if sync.mode == record::SyncMode::Full {
                    self.backoff.note(Instant::now());
                }
                self.done(&sync);
                self.report.add(sync);
                Ok(())
            }
            Err(error) => {
                if self.todo.change.all {
                    self.backoff.note(Instant::now());
                }
                self.fail(error, io)
            }
        }
    }

    fn done(&mut self, sync: &record::Sync) {
        let Todo { change, since, again, .. } = std::mem::take(&mut self.todo);
        self.todo = Todo { since, again, ..Todo::default() };
        if let Some(delay) = self.keeper.looks_again(sync) {
            let mut more = Change { all: change.all, paths: change.paths, ..Change::default() };
            if let Some((before, _)) = self.todo.again.take() {
                more.merge(before, self.max_files);
            }
            self.todo.again = Some((more, Instant::now() + delay));
        }
    }

    fn fail(&mut self, error: Error, io: &mut Io<'_>) -> Result<()> {
        if error.code() == "watched" {
            return Err(error);
        }
        if self.keeper.failed(&error).unwrap_or(true) {
            io.say("auwai-ledger", &format!("{error}; it is tried again"));
            error.hints().iter().for_each(|hint| io.hint(hint));
        }
        self.todo.change.all = true;
        self.todo.due = Some(self.backoff.fail(Instant::now()));
        Ok(())
    }

    /// Ends with the input: by its fault, or by what could not be done.
    fn finish(&mut self, end: Result<()>, io: &mut Io<'_>) -> Result<()> {
        if let Err(error) = &end {
            self.keeper.failed(error)?;
            return end;
        }
        if self.backoff.failing() {
            let message = "the input ended before the index could be brought up to date";
            return Err(Error::failed("behind", message).hint("scan the tree: `auwai index`"));
        }
        self.keeper.end(io.world)
    }
}
