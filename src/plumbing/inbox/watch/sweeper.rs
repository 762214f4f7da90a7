//! The thread that sweeps: it begins with the migration, and tells what is pending in order, a line
//! when there is room for one.

use std::io::{PipeReader, PipeWriter};
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

use super::pace::{Pace, Room};
use super::teller::{Teller, When};
use crate::cli::{Tool, last_words};
use crate::counted::{agree, count};
use crate::doubling::delay;
use crate::error::{Error, Result};
use crate::inbox::{Due, Inbox as Folders, Pointer, TaskId};
use crate::plumbing::inbox::Inbox;
use crate::record::Task;

/// What failed is tried again after so long, then ever later, up to the second.
const AGAIN: (Duration, Duration) = (Duration::from_millis(500), Duration::from_secs(10));

/// A task that is pending, if it is.
type Pending = Option<(Pointer, Task)>;

/// What is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Sweep {
    /// Tell what is pending and has not been told.
    New,
    /// Tell all that is pending, but for what is told since the sweep got its number.
    All(u64),
}

impl Sweep {
    fn when(self) -> When {
        match self {
            Sweep::New => When::New,
            Sweep::All(number) => When::Swept(number),
        }
    }
}

/// The thread, as others see it.
pub struct Sweeper {
    asked: Sender<Sweep>,
    ended: PipeReader,
    thread: Mutex<Option<JoinHandle<Result<()>>>>,
}

impl Sweeper {
    /// Starts it.
    ///
    /// # Errors
    /// When the system refuses.
    pub fn start(teller: Arc<Teller>) -> Result<Sweeper> {
        let (ended, living) = std::io::pipe().map_err(|e| Error::io("make", "a pipe", &e))?;
        let (asked, questions) = channel();
        let run = move || run(&teller, &questions, living);
        let thread = std::thread::Builder::new().name("sweep".into()).spawn(run);
        let thread = thread.map_err(|e| Error::io("start", "a thread", &e))?;
        Ok(Sweeper { asked, ended, thread: Mutex::new(Some(thread)) })
    }

    /// Asks for a sweep. Those that are asked for while one is made are made as one.
    pub fn ask(&self, sweep: Sweep) {
        // One that has ended says so itself.
        let _ = self.asked.send(sweep);
    }

    /// Hangs up when the thread has ended.
    pub fn ended(&self) -> BorrowedFd<'_> {
        self.ended.as_fd()
    }

    /// Why it has ended.
    pub fn why(&self) -> Error {
        let thread = self.thread.lock().ok().and_then(|mut thread| thread.take());
        let ended = thread.and_then(|thread| thread.join().ok());
        match ended {
            Some(Err(error)) => error,
            _ => Error::failed("bug", "the thread that sweeps has ended"),
        }
    }
}

/// `_living` is closed when this ends, however it does.
fn run(teller: &Teller, asked: &Receiver<Sweep>, _living: PipeWriter) -> Result<()> {
    migrate(teller);
    let (mut pace, mut failures) = (Pace::default(), 0);
    while let Some(wanted) = next(asked, failures) {
        match sweep(teller, wanted, &mut pace)? {
            Ok(()) => failures = 0,
            Err(error) => {
                super::say(&error);
                failures = failures.saturating_add(1);
            }
        }
    }
    Ok(())
}

/// What is asked for next, together; after a failure what has not been told is, by and by.
fn next(asked: &Receiver<Sweep>, failures: u32) -> Option<Sweep> {
    let first = match failures.checked_sub(1) {
        None => asked.recv().ok()?,
        Some(more) => match asked.recv_timeout(delay(AGAIN.0, AGAIN.1, more)) {
            Ok(sweep) => sweep,
            Err(RecvTimeoutError::Timeout) => Sweep::New,
            Err(RecvTimeoutError::Disconnected) => return None,
        },
    };
    Some(asked.try_iter().fold(first, Sweep::max))
}

/// One that fails is told, and is tried again when `watch` begins the next time.
fn migrate(teller: &Teller) {
    match teller.retire_archived() {
        Ok(done) if done.retired > 0 => {
            let pointers = count(done.retired, "pointer");
            let whose = agree(done.retired, "its task is", "their tasks are");
            last_words(Inbox::NAME, &format!("{pointers} retired, since {whose} archived"));
        }
        Ok(_) => {}
        Err(error) => super::say(&error.hint("try again: `auwai-inbox retire-archived`")),
    }
}

/// Tells what is pending. The outer error is of the output, which ends all; the inner one, the first, is
/// of the inbox, and all that can be told is.
fn sweep(teller: &Teller, wanted: Sweep, pace: &mut Pace) -> Result<Result<()>> {
    let planned = match teller.plan() {
        Ok(planned) => planned,
        Err(error) => return Ok(Err(error)),
    };
    super::super::warn_of_odd(&planned.odd, teller.reader());
    let (mut looked, when) = (Ok(()), wanted.when());
    let mut open = None;
    for Due { pointer, .. } in planned.all {
        if teller.has_told(&pointer, when) {
            continue;
        }
        match when_there_is_room(teller, &mut open, &pointer.id, pace)? {
            Ok(Some(found)) => teller.tell(&found, when)?,
            Ok(None) => {}
            Err(error) => looked = looked.and(Err(error)),
        }
    }
    Ok(looked)
}

/// The task as it is when a line can be written. The folders are opened anew after each time that
/// somebody was waited for, so that what takes their place is seen.
fn when_there_is_room(
    teller: &Teller,
    open: &mut Option<Folders>,
    id: &TaskId,
    pace: &mut Pace,
) -> Result<Result<Pending>> {
    let found = pending(teller, open, id);
    if !matches!(found, Ok(Some(_))) {
        return Ok(found);
    }
    match pace.wait(rustix::stdio::stdout())? {
        Room::AtOnce => Ok(found),
        Room::Now => {
            *open = None;
            Ok(pending(teller, open, id))
        }
        Room::Never => Err(Error::closed()),
    }
}

fn pending(teller: &Teller, open: &mut Option<Folders>, id: &TaskId) -> Result<Pending> {
    match open {
        Some(open) => open.pending(id),
        None => open.insert(teller.open()?).pending(id),
    }
}
