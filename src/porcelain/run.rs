//! `auwai run`: every segment through a command, as `git bisect run` does with commits.

mod alive;
mod call;
mod feed;
mod queue;

use std::ffi::OsString;
use std::sync::Mutex;
use std::time::Duration;

use super::options::Common;
use super::plan;
use super::progress::Bar;
use super::replan;
use super::signals::Forward;
use super::target::Target;
use super::trace;
use super::typed::Planning;
use super::verify;
use crate::cli::parse::{Lease, lease};
use crate::cli::{Io, allow_open_files};
use crate::counted::{agree, count, thousands};
use crate::error::{Error, Result};
use crate::record::Status;
use crate::visible::quote;
use crate::workspace::Lock;
use queue::Queue;
pub use queue::is_worker;

/// Feed every segment to a command, until all is read
///
/// COMMAND gets the brief and the text of a segment on standard input, and AUWAI_SEGMENT and
/// AUWAI_WORKSPACE in its environment; what it writes to standard output becomes the finding. When
/// it exits with 0 and has taken all its input, the segment is done. 125 leaves the segment unread
/// and goes on. Any other status stops the run after the segments in flight, and so does status 0
/// with input left. Nothing is complete before COMMAND has ended well.
///
/// Makes a plan first when there is none; one that is there follows the tree, as by `auwai replan`,
/// first and whenever all of it is read, until the tree stands still. Then comes the synthesis, with
/// the findings as input, and then the verdict of `auwai verify`. Stopped and started again, it goes on
/// where it was. auwai itself calls no model.
///
/// Exit status: 0 everything is read and every segment is done; 1 something is left, or another
/// reader has it; 3 COMMAND failed.
#[derive(Debug, Clone, clap::Args)]
pub struct Args {
    #[command(flatten)]
    plan: plan::Args,
    /// Run N commands at once
    #[arg(long, short = 'j', value_name = "N", default_value_t = 1,
          value_parser = clap::value_parser!(u16).range(1..=256))]
    jobs: u16,
    /// Give a segment back when nothing is heard of this run for so long, such as 30s; while it lives it
    /// is heard of (default: 2m)
    #[arg(long, value_name = "DURATION", value_parser = lease)]
    lease: Option<Lease>,
    /// The command and its arguments
    #[arg(value_name = "COMMAND", required = true, last = true)]
    command: Vec<OsString>,
}

impl Args {
    /// What was typed, for the commands that are suggested.
    pub fn planning(&self) -> Planning {
        Planning { verb: "run", rest: self.rest(), ..self.plan.planning() }
    }

    /// The jobs and the command, as they are typed.
    fn rest(&self) -> String {
        let jobs = if self.jobs > 1 { format!(" --jobs {}", self.jobs) } else { String::new() };
        let lease = self.lease.map(|lease| format!(" --lease {lease}")).unwrap_or_default();
        let command: Vec<String> = self.command.iter().map(|word| trace::quote(word)).collect();
        format!("{jobs}{lease} -- {}", command.join(" "))
    }

    /// For how long a segment is handed to a worker.
    fn lease(&self) -> Lease {
        self.lease.unwrap_or(Lease(Some(LEASE)))
    }

    /// The command that goes on after this one. It has no `--force`, which would forget what was
    /// read, and no options of the plan, which is there by then.
    fn again(&self, target: &Target) -> String {
        format!("auwai run{}{}", target.flag(), self.rest())
    }
}

/// Runs the command.
pub fn run(args: &Args, common: &Common, io: &mut Io<'_>) -> Result<()> {
    let target = Target::resolve(common, io)?;
    make_room(args.jobs)?;
    // Before the plan: `--force` must not take it from under a run that is at work.
    let _lock = hold(&target)?;
    let made = plan::ensure(&args.plan, &target, common, io)?;
    if made.plan.existing == Some(true) {
        follow(&target, common, io)?;
    }
    read_until_still(args, &target, common, io)?;
    conclude(args, &target, common, io)
}

/// A run is heard of while it lives, so what a killed one had may come back soon.
const LEASE: Duration = Duration::from_secs(120);

/// How often at most the plan follows the tree: a command that writes into the tree at every call
/// would have no end.
const ROUNDS: u32 = 16;

/// The segment that has to wait for all others, and for the tree.
const SYNTHESIS: &str = "synthesis-1";

/// Reads what is planned and lets the plan follow the tree, until that changes nothing; then the
/// synthesis.
fn read_until_still(args: &Args, target: &Target, common: &Common, io: &mut Io<'_>) -> Result<()> {
    let left = Mutex::new(vec![SYNTHESIS.to_string()]);
    for _ in 0..ROUNDS {
        read_all(args, target, &left, common, io)?;
        if !follow(target, common, io)? {
            break;
        }
    }
    if let Ok(mut left) = left.lock() {
        left.retain(|id| id != SYNTHESIS);
    }
    read_all(args, target, &left, common, io)
}

/// Lets the plan follow the tree; whether anything changed.
fn follow(target: &Target, common: &Common, io: &mut Io<'_>) -> Result<bool> {
    let plan = replan::follow(&plan::Shape::default(), target, common, io)?;
    if plan.existing == Some(true) {
        return Ok(false);
    }
    io.say("auwai", &format!("the plan follows the tree: {}", replan::changes(&plan)));
    Ok(true)
}

/// Files that a run has open beside its jobs, and for each job: pipes to and from the command and
/// between the stages, and those that come and go while a process is started.
const OPEN: (u64, u64) = (40, 12);

/// Sees to it that every job can open its pipes, before any of them has begun.
fn make_room(jobs: u16) -> Result<()> {
    let (base, each) = OPEN;
    let wanted = base + each * u64::from(jobs);
    let Err(limit) = allow_open_files(wanted) else { return Ok(()) };
    let most = limit.saturating_sub(base) / each;
    let message = format!("{jobs} jobs need {wanted} open files, and {limit} are allowed");
    let error = Error::failed("open-files", message);
    Err(match most {
        0 => error,
        most => error.hint(format!("run fewer at once: `--jobs {most}`")),
    }
    .hint(format!("or allow more: `ulimit -n {wanted}`")))
}

/// Every segment that waits through the command, but for those of `left`. A signal stops what is in
/// flight, which goes back unread, and then ends this process.
fn read_all(
    args: &Args,
    target: &Target,
    left: &Mutex<Vec<String>>,
    common: &Common,
    io: &mut Io<'_>,
) -> Result<()> {
    let signals = Forward::new()?;
    let queue = Queue::new(target, &signals, left, args.lease());
    queue.release_stale(io)?;
    let title = format!("reading {}", target.workspace().name());
    let pending = target.status(io)?.segments.unwrap_or_default().pending;
    let bar = Bar::of(common.progress, io, &title, pending);
    let worked = work(args, target, &queue, &bar, io);
    bar.clear();
    if signals.caught().is_some() {
        tell_stopped(args, target, io);
    }
    signals.raise_again();
    worked
}

/// How far a run came that a signal ends.
fn tell_stopped(args: &Args, target: &Target, io: &mut Io<'_>) {
    // What cannot be asked any more is not told.
    let Ok(status) = target.status(io) else { return };
    let segments = status.segments.unwrap_or_default();
    let (done, all) = (thousands(segments.done), count(segments.total, "segment"));
    io.say("auwai", &format!("stopped with {done} of {all} done"));
    io.hint(&format!("go on with `{}`", args.again(target)));
}

/// One run at a time: what another has active is then a dead run's, and comes back.
fn hold(target: &Target) -> Result<Lock> {
    let path = target.workspace().create_fullread_dir()?.join("run.lock");
    Lock::try_take(&path)?.ok_or_else(|| {
        Error::failed("busy", "another `auwai run` is at work on this workspace")
            .hint("several commands at once: `auwai run --jobs N -- COMMAND`")
    })
}

fn work(args: &Args, target: &Target, queue: &Queue<'_>, bar: &Bar, io: &mut Io<'_>) -> Result<()> {
    let (world, again) = (io.world, args.again(target));
    let results: Vec<Result<String>> = std::thread::scope(|scope| {
        let worker = |number: u16| {
            let reader = queue::worker(number);
            let command = (&args.command[..], again.as_str());
            scope.spawn(move || feed::work(&reader, command, target, queue, bar, world))
        };
        let workers: Vec<_> = (1..=args.jobs).map(worker).collect();
        workers
            .into_iter()
            .map(|worker| worker.join().unwrap_or_else(|_| Err(panicked())))
            .collect()
    });
    let mut first = Ok(());
    for result in results {
        match result {
            Ok(talk) => {
                let _ = io.err.write_all(talk.as_bytes());
            }
            Err(error) => first = first.and(Err(error)),
        }
    }
    first
}

fn panicked() -> Error {
    Error::failed("bug", "a worker of the run panicked")
}

fn conclude(args: &Args, target: &Target, common: &Common, io: &mut Io<'_>) -> Result<()> {
    let answer = verify::ask_aloud(&verify::Question::default(), target, common, io)?;
    let status = target.status(io)?;
    tell_holders(&status, target, io);
    verify::finish(&answer, target, common, io)?;
    all_done(&status, &args.again(target))
}

/// Everything may be read and the work not done: a segment is with another reader, or the synthesis
/// had to wait for one.
fn all_done(status: &Status, again: &str) -> Result<()> {
    let segments = status.segments.unwrap_or_default();
    let (held, pending) = (segments.active, segments.pending);
    let told = match (held, pending) {
        (0, 0) => return Ok(()),
        (0, _) => format!("{} {} not done", count(pending, "segment"), agree(pending, "is", "are")),
        (_, 0) => format!("other readers have {}", count(held, "segment")),
        _ => format!(
            "other readers have {}, and {pending} more {} not done",
            count(held, "segment"),
            agree(pending, "is", "are")
        ),
    };
    let hint = match held {
        0 => format!("go on with it: `{again}`"),
        _ => format!("when they are closed (`auwai done`): `{again}`"),
    };
    Err(Error::no("not-done", told).hint(hint))
}

/// Segments that a reader outside this run has are left to it: says so.
fn tell_holders(status: &Status, target: &Target, io: &mut Io<'_>) {
    for holder in &status.active {
        let (segment, reader) = (&holder.segment, &holder.reader);
        io.say("auwai", &format!("{segment} was left to reader '{reader}', who has it"));
        let root = quote(target.workspace().root());
        io.hint(&format!(
            "take it back: `auwai-ledger release --workspace {root} --segment {segment}`"
        ));
    }
}
