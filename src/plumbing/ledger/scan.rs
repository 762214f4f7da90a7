//! `auwai-ledger scan`: bring a repository's index up to date by looking at the whole tree.

use std::time::Duration;

use crate::cli::Io;
use crate::counted::count;
use crate::error::Result;
use crate::index::{self, Options};
use crate::plumbing::ledger::source::{BoundedOptions, Source};
use crate::record::{self, End, Repo, Sync};
use crate::store::ledger::{Ledger, Turn};
use crate::text::Tokenizer;

/// Bring the index of repositories up to date by a scan of the whole tree
///
/// Every path below the root gets exactly one fate. Only files whose stat data differ from the last
/// scan are read. A first scan that was interrupted goes on where it stopped.
///
/// Writes a `repo` and a `sync` record for each repository, then `end`. Files that cannot be read are
/// counted in a message on standard error, and are no failure.
#[derive(Debug, Clone, clap::Args)]
pub struct Args {
    #[command(flatten)]
    of: BoundedOptions,
    /// Count with TOKENIZER: o200k_base, cl100k_base or bytes/4 (default: that of the last scan,
    /// else o200k_base); another one than before cuts every file anew
    #[arg(long, value_name = "TOKENIZER")]
    tokenizer: Option<Tokenizer>,
    /// Work with N threads (default: one a core)
    #[arg(long, value_name = "N")]
    threads: Option<usize>,
    /// Write a `progress` record now and then
    #[arg(long)]
    progress: bool,
}

/// After so long it is said that another scan is waited for.
const LONG: Duration = Duration::from_secs(1);

/// Runs the verb.
pub fn run(args: Args, io: &mut Io<'_>) -> Result<()> {
    let sources = args.of.sources(io.world)?;
    let threads = args.threads.unwrap_or(io.world.threads);
    let how = How { tokenizer: args.tokenizer, threads, progress: args.progress };
    for source in &sources {
        record::write(io.out, &Repo::at(&source.name, &source.root))?;
        let sync = scan(source, how, io)?;
        record::write(io.out, &sync)?;
    }
    record::write(io.out, &End { of: "sync".into(), count: sources.len() as u64 })
}

/// How to scan.
#[derive(Clone, Copy)]
pub(super) struct How {
    /// The tokenizer, if another than the last is meant.
    pub tokenizer: Option<Tokenizer>,
    /// How many threads.
    pub threads: usize,
    /// Whether to write `progress` records.
    pub progress: bool,
}

/// Brings the index of one repository up to date, and makes it first when there is none.
pub(super) fn scan(source: &Source, how: How, io: &mut Io<'_>) -> Result<Sync> {
    // A root that has gone must not be made anew for the state in it.
    source.open_root()?;
    source.state.create()?;
    let mut ledger = Ledger::open_for_scan(&source.state.ledger())?.bounded(&source.only);
    let turn = turn(source, &ledger, &mut || {}, io)?;
    let policy = source.policy(io.world)?;
    source.check_bounds(&policy)?;
    let options = Options {
        name: &source.name,
        threads: how.threads,
        tokenizer: how.tokenizer,
        now: (io.world.now)(),
        at: &io.world.timestamp(),
    };
    let mut told = Ok(());
    let sync = index::scan(&source.root, &policy, &mut ledger, &turn, &options, &mut |progress| {
        if how.progress && told.is_ok() {
            told = record::write(io.out, &progress).and_then(|()| super::flush(io.out));
        }
    })?;
    told?;
    ledger.settle(sync.files > 0)?;
    warn_unreadable(source, &ledger, io)?;
    Ok(sync)
}

/// Waits for the turn to bring the index up to date, and says so when that takes long. `alive` is
/// called again and again meanwhile.
pub(super) fn turn(
    source: &Source,
    ledger: &Ledger,
    alive: &mut dyn FnMut(),
    io: &mut Io<'_>,
) -> Result<Turn> {
    let mut told = false;
    ledger.turn(&mut |waited| {
        alive();
        if waited >= LONG && !std::mem::replace(&mut told, true) {
            let root = source.shown_root();
            let message = format!("another scan of '{root}' is running: waiting for its end");
            io.say("auwai-ledger", &message);
        }
    })
}

fn warn_unreadable(source: &Source, ledger: &Ledger, io: &mut Io<'_>) -> Result<()> {
    let unreadable = ledger.unreadable()?;
    if unreadable > 0 {
        let (paths, root) = (count(unreadable, "path"), source.shown_root());
        io.say("auwai-ledger", &format!("{paths} below '{root}' cannot be read"));
        io.hint(&format!("`auwai-ledger files --repo {root} --fate unreadable` lists them"));
    }
    Ok(())
}
