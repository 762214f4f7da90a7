//! `auwai watch`: keep the index true while files change.

use std::ffi::OsString;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::event::{PollFd, poll};
use rustix::io::Errno;

use super::done::status_of;
use super::index::{only_options, state_options, told};
use super::options::Common;
use super::pipeline::{Pipeline, Stage, stage};
use super::signals::Stopper;
use super::target::{argument, repositories};
use crate::cli::Io;
use crate::cli::parse::{NamedRepo, repo_parser};
use crate::error::{Error, Result};
use crate::hangup;
use crate::record::Record;
use crate::visible::quote;
use crate::workspace::Member;

/// Keep the index of a repository true while its files change
///
/// Brings the index up to date, and then again after each change, until it is stopped: by a signal,
/// by --max-seconds, or because the reader of its output has gone. Prints a line when it has begun, and
/// when something has changed. One process at a time keeps a repository's index; `auwai status` names it.
///
/// Any number of other commands may be used meanwhile. `auwai watch --sync` waits until all that was
/// changed before is in the index.
#[derive(Debug, Clone, clap::Args)]
pub struct Args {
    /// The repository (default: the one around the current folder)
    #[arg(long = "repo", value_name = "[NAME=]PATH", value_parser = repo_parser())]
    repo: Option<NamedRepo>,
    /// Learn of changes by BACKEND: auto, inotify, fsevents, poll or notify (default: auto, the
    /// system's own, or polling where that cannot be had)
    #[arg(long, value_name = "BACKEND")]
    backend: Option<String>,
    /// Look at what is polled every TIME: 500ms, 2s (default: 1s)
    #[arg(long, value_name = "TIME")]
    interval: Option<String>,
    /// Wait until nothing has changed for TIME before the index is brought up to date (default: 50ms)
    #[arg(long, value_name = "TIME", alias = "debounce")]
    settle: Option<String>,
    /// Scan the whole tree when more than N paths have changed at once (default: 2000)
    #[arg(long, value_name = "N")]
    max_files: Option<u64>,
    /// End after N seconds; with --sync: give up then, with 1, and say what was waited for
    #[arg(long, value_name = "N", conflicts_with = "once")]
    max_seconds: Option<String>,
    /// Watch nothing: bring the index up to date by one scan, and end
    #[arg(long, conflicts_with = "sync")]
    once: bool,
    /// Wait until the running `auwai watch` has done all that was changed before
    #[arg(long)]
    sync: bool,
}

/// Runs the command.
pub fn run(args: &Args, common: &Common, io: &mut Io<'_>) -> Result<()> {
    let named: Vec<NamedRepo> = args.repo.iter().cloned().collect();
    let members = repositories(&named, common, io)?;
    let [member] = members.as_slice() else { return Err(one_at_a_time(args, &members)) };
    let root = member.root()?;
    if !args.once && !args.sync {
        io.warn_of_own_output("auwai", root);
    }
    let pipeline = Pipeline::start_live(&stages(args, member, common), io)?;
    let unread = end_when_unread(pipeline.stopper());
    let mut first = true;
    let done = pipeline.records(io, |record, io| {
        let shown = match &record {
            Record::Sync(sync) => std::mem::take(&mut first) || sync.files > 0,
            _ => false,
        };
        tell(&record, shown, common, io)?;
        io.out.flush().map_err(|e| Error::io("write to", "standard output", &e))
    });
    match unread.load(Ordering::SeqCst) {
        true => Err(Error::closed()),
        false => done.map_err(|error| own_words(error, member, common, io)),
    }
}

/// What a stage suggests, as it is to be typed here.
fn own_words(error: Error, member: &Member, common: &Common, io: &mut Io<'_>) -> Error {
    if error.code() != "no-watcher" {
        return error;
    }
    let start = format!("`auwai watch --repo {}`", quote(&member.path));
    match keeper(member, common, io) {
        None => error.hint_instead(format!("start it: {start}")).hint(
            "one of another user, or with another XDG_RUNTIME_DIR, cannot be asked from here",
        ),
        Some(pid) => error.hint_instead(format!(
            "process {pid} keeps its index and cannot be asked: its socket has gone, or it has another XDG_RUNTIME_DIR; stop it (`kill {pid}`), then start it again: {start}"
        )),
    }
}

/// The process that keeps an index, also when it cannot be asked.
fn keeper(member: &Member, common: &Common, io: &mut Io<'_>) -> Option<u64> {
    let status = stage(["auwai-ledger", "status", "--brief", "--repo"]).arg(argument(member));
    let status = status
        .option("--state-dir", member.state_dir.as_deref())
        .flag("--trust-state", common.trust_state);
    let quiet =
        &mut Io { input: io.input, out: io.out, err: &mut std::io::sink(), world: io.world };
    let asked = Pipeline::start(&[status], quiet).and_then(|asked| status_of(asked, quiet));
    asked.ok()?.watched.first().map(|watched| watched.pid)
}

/// Ends the stages when nobody reads our output any more, also while there is nothing to write;
/// says whether that has come to pass.
fn end_when_unread(stopper: Stopper) -> Arc<AtomicBool> {
    let unread = Arc::new(AtomicBool::new(false));
    let told = Arc::clone(&unread);
    std::thread::spawn(move || {
        let mut fds = [PollFd::from_borrowed_fd(rustix::stdio::stdout(), hangup::ASK)];
        while !fds[0].revents().intersects(hangup::SEEN) {
            if !matches!(poll(&mut fds, None), Ok(_) | Err(Errno::INTR)) {
                return;
            }
        }
        told.store(true, Ordering::SeqCst);
        stopper.stop();
    });
    unread
}

fn tell(record: &Record, shown: bool, common: &Common, io: &mut Io<'_>) -> Result<()> {
    match record {
        record if common.json => record.write(io.out),
        Record::Sync(sync) if shown => super::line(io, &told(sync)),
        _ => Ok(()),
    }
}

fn stages(args: &Args, member: &Member, common: &Common) -> Vec<Stage> {
    let events = stage(["auwai-wait-events", "--repo"]).arg(member.path.as_os_str());
    let keep = stage(["auwai-ledger", "sync", "--repo"]).arg(argument(member));
    let keep = state_options(keep, member, common);
    let max_files = args.max_files.map(|n| OsString::from(n.to_string()));
    let keep = keep.option("--max-files", max_files);
    if args.once {
        return vec![keep.arg("--once")];
    }
    let max_seconds = args.max_seconds.as_deref();
    if args.sync {
        // Who waits for the index says what was not done in time, also that no watcher answered.
        let keep = keep.arg("--await").option("--max-seconds", max_seconds);
        return vec![events.arg("--sync"), keep];
    }
    let events = only_options(events.arg("--barriers"), member)
        .option("--backend", args.backend.as_deref())
        .option("--interval", args.interval.as_deref())
        .option("--settle", args.settle.as_deref())
        .option("--max-seconds", max_seconds);
    vec![events, keep]
}

fn one_at_a_time(args: &Args, members: &[Member]) -> Error {
    let count = members.len();
    let error = Error::usage(format!("one process watches one repository, and these are {count}"));
    let sync = if args.sync { " --sync" } else { "" };
    members.iter().take(3).fold(error, |error, member| {
        let (name, path) = (&member.name, quote(&member.path));
        error.hint(format!("name one: `auwai watch{sync} --repo {name}={path}`"))
    })
}
