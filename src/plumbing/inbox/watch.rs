//! `auwai-inbox watch`: what is pending, as it comes.
//!
//! Events come from `auwai-wait-events` behind `auwai-relay`, so that nothing here makes the watcher wait,
//! and are told by the main thread at once. Sweeps are another thread's ([`sweeper`]), which writes only
//! where there is room, so none of them stands before an event. When the processes end, they are started
//! again, and the inbox is swept.
//!
//! A signal needs no care here: a line goes out in one `write()`, and the processes end with their reader.

mod pace;
mod source;
mod sweeper;
mod teller;

use std::io;
use std::os::fd::BorrowedFd;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

use self::source::{Launches, News, Source};
use self::sweeper::{Sweep, Sweeper};
use self::teller::{Format, Teller, When};
use super::Inbox;
use super::options::{MarkOption, ReaderOption};
use crate::cli::{Io, Tool, last_words, say_raw};
use crate::error::{Error, Result};
use crate::hangup;
use crate::inbox::{Root, TaskId};
use crate::visible::one_line;

/// Tell what is pending in an inbox, and what comes, until the reader of the output has gone
///
/// A line for each pending task: first what comes, at once, and what was there before when there is
/// room, in the order of `list`. A task is pending when nobody has accepted it and it is not answered. One
/// that is given back is told again, and so is all that is pending when the watcher of the files had to be
/// started again: a task that was told before may come once more, so accept it before working on it.
///
/// Begins with `retire-archived`, if that was not done before.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    reader: ReaderOption,
    #[command(flatten)]
    mark: MarkOption,
    /// What a line is: a `task` record, or the id of a task
    #[arg(long, value_name = "FORMAT", value_enum, default_value = "jsonl")]
    format: Format,
}

/// Runs the verb.
pub fn run(args: &Args, root: &Root, io: &mut Io<'_>) -> Result<()> {
    let reader = args.reader.resolve(io.world)?;
    root.make_inbox(&reader)?;
    if io.world.var("AUWAI_TRACE").is_some_and(|value| value != "0") {
        say_raw(format!("{}\n", one_line(&source::line(root, &reader))).as_bytes());
    }
    let mark = args.mark.refusal_mark.clone();
    let teller = Arc::new(Teller::new(root.clone(), reader, mark, args.format));
    let sweeper = Sweeper::start(Arc::clone(&teller))?;
    let mut launches = Launches::default();
    loop {
        launches.begun(Instant::now());
        let stood = match Source::start(root, teller.reader()) {
            Ok(source) => follow(source, &teller, &sweeper)?,
            Err(error) => {
                say(&error);
                false
            }
        };
        if !stood {
            // Nobody tells what comes, so it is looked for.
            sweeper.ask(Sweep::New);
        }
        rest(launches.ended(stood, Instant::now()), &sweeper)?;
    }
}

/// Tells what the source tells, until it ends; whether its watches stood.
fn follow(mut source: Source, teller: &Teller, sweeper: &Sweeper) -> Result<bool> {
    let mut stood = false;
    loop {
        wait(source.output(), sweeper, None)?;
        let Some(news) = source.news()? else { return Ok(stood) };
        for one in news {
            match one {
                News::Came(id) => came(&id, teller)?,
                News::Lost => sweeper.ask(Sweep::New),
                News::Stands => {
                    stood = true;
                    sweeper.ask(Sweep::All(teller.next_sweep()));
                }
            }
        }
    }
}

/// Tells a task at once, if it is pending.
fn came(id: &TaskId, teller: &Teller) -> Result<()> {
    match teller.pending(id) {
        Ok(Some(found)) => teller.tell(&found, When::Came),
        Ok(None) => Ok(()),
        Err(error) => {
            say(&error);
            Ok(())
        }
    }
}

/// Lets some time pass, unless there is a reason to end.
fn rest(time: Duration, sweeper: &Sweeper) -> Result<()> {
    let until = Instant::now() + time;
    loop {
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Ok(());
        }
        wait(None, sweeper, Some(left))?;
    }
}

/// Waits until the source has something to say, or for some time.
///
/// # Errors
/// `closed` when the reader of the output has gone; what ended the sweeper.
fn wait(source: Option<BorrowedFd<'_>>, sweeper: &Sweeper, time: Option<Duration>) -> Result<()> {
    let output = PollFd::from_borrowed_fd(rustix::stdio::stdout(), hangup::ASK);
    let mut fds = vec![output, PollFd::from_borrowed_fd(sweeper.ended(), PollFlags::IN)];
    fds.extend(source.map(|source| PollFd::from_borrowed_fd(source, PollFlags::IN)));
    let time = time.map(timespec);
    match poll(&mut fds, time.as_ref()) {
        Ok(_) | Err(Errno::INTR) => {}
        Err(e) => return Err(Error::io("wait for", "events", &io::Error::from(e))),
    }
    match (fds[0].revents().intersects(hangup::SEEN), fds[1].revents().is_empty()) {
        (true, _) => Err(Error::closed()),
        (false, false) => Err(sweeper.why()),
        (false, true) => Ok(()),
    }
}

fn timespec(time: Duration) -> Timespec {
    Timespec {
        tv_sec: time.as_secs().try_into().unwrap_or(i64::MAX),
        tv_nsec: time.subsec_nanos().into(),
    }
}

/// A word about what went wrong and is tried again.
fn say(error: &Error) {
    last_words(Inbox::NAME, &error.to_string());
    error.hints().iter().for_each(|hint| {
        say_raw(format!("hint: {}\n", one_line(hint)).as_bytes());
    });
}
