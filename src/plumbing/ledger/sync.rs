//! `auwai-ledger sync`: keep a repository's index true while its files change.

mod backoff;
mod barrier;
mod follow;
mod input;
mod keeper;
mod report;
pub mod state;

use std::time::Duration;

use self::keeper::Keeper;
use super::source::BoundedOptions;
use crate::cli::Io;
use crate::cli::parse::span;
use crate::error::Result;
use crate::record;

/// Keep the index of a repository true from what a watcher tells on standard input
///
/// The input is what `auwai-wait-events --barriers` writes: `ready`, `event`, `rescan`, `batch` and
/// `barrier` records.
/// `ready` and `rescan .` scan the whole tree, as does a batch of more than --max-files paths;
/// anything else brings up to date only what it names. All batches that are there when one is
/// begun are done as one. Events that no `batch` ends are taken when the input rests or ends. A
/// `barrier` says that somebody waits: what is put off is done now. The index is then what a scan
/// would make it, but for which files are ignored, and a missing one is made.
///
/// Writes one `sync` record a round; rounds that end while nobody takes what is written are told as
/// one. Ends when the input ends, when the reader of its output has
/// gone, or by a signal; what goes wrong in between is told and tried again. One process at a time
/// keeps a repository's index: a second one ends with 3.
#[derive(Debug, Clone, clap::Args)]
pub struct Args {
    #[command(flatten)]
    of: BoundedOptions,
    /// Scan the whole tree when more than N paths are to be looked at
    #[arg(long, value_name = "N", default_value_t = 2000)]
    max_files: usize,
    /// Read no input: scan once, and end
    #[arg(long)]
    once: bool,
    /// Read `barrier` records, and wait until the process that keeps the index has done all that
    /// they stand for; each is then written to standard output
    #[arg(long = "await", conflicts_with = "once")]
    barrier: bool,
    /// With --await, wait no longer than this: then end with 1, and say for what
    #[arg(long, value_name = "SECONDS", value_parser = span, requires = "barrier")]
    max_seconds: Option<Duration>,
    /// Work with N threads (default: one a core)
    #[arg(long, value_name = "N")]
    threads: Option<usize>,
}

/// Runs the verb.
pub fn run(args: Args, io: &mut Io<'_>) -> Result<()> {
    let source = args.of.one(io.world)?;
    if args.barrier {
        return barrier::run(&source, args.max_seconds, io);
    }
    let threads = args.threads.unwrap_or(io.world.threads);
    if args.once {
        let sync = Keeper::for_once(source, threads, io.world)?.once(io)?;
        return record::write(io.out, &sync);
    }
    let keeper = Keeper::locked(source, threads, io.world)?;
    follow::run(keeper, args.max_files, io)
}
