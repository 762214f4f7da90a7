//! `auwai-ledger scan`: bring a repository's index up to date by looking at the whole tree.

use std::ffi::OsString;

use crate::cli::Io;
use crate::error::Result;
use crate::index::{self, Options};
use crate::plumbing::ledger::source::Source;
use crate::plumbing::ledger::{Repos, StateOption};
use crate::record::{self, End, Repo, RepoPath};
use crate::store::ledger::Ledger;
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
    repos: Repos,
    #[command(flatten)]
    state: StateOption,
    /// Bound the scan to the subtree DIR of the repository; may be repeated
    #[arg(long, value_name = "DIR", allow_hyphen_values = true)]
    only: Vec<OsString>,
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

/// Runs the verb.
pub fn run(args: Args, io: &mut Io<'_>) -> Result<()> {
    let state_dir = args.state.resolve(io.world);
    let repos = args.repos.required()?;
    for repo in repos {
        let mut source = Source::named(repo, state_dir.as_deref(), io.world)?;
        source.only = subtrees(&args.only)?;
        scan_one(&args, &source, io)?;
    }
    record::write(io.out, &End { of: "sync".into(), count: repos.len() as u64 })
}

fn subtrees(only: &[OsString]) -> Result<Vec<RepoPath>> {
    only.iter().map(|dir| super::subtree(dir)).collect()
}

/// Scans one repository and writes its `repo` and `sync` records. The first says what is known
/// before the scan: where the repository is, and git's HEAD.
fn scan_one(args: &Args, source: &Source, io: &mut Io<'_>) -> Result<()> {
    let policy = source.policy(io.world)?;
    let head = policy.head().map(str::to_string);
    record::write(io.out, &Repo { head, ..Repo::at(&source.name, &source.root) })?;
    source.state.create()?;
    let mut ledger = Ledger::open_or_create(&source.state.ledger())?;
    let options = Options {
        name: &source.name,
        threads: args.threads.unwrap_or(io.world.threads),
        tokenizer: args.tokenizer,
        now: (io.world.now)(),
        at: &io.world.timestamp(),
    };
    let mut told = Ok(());
    let sync = index::scan(&source.root, &policy, &mut ledger, &options, &mut |progress| {
        if args.progress && told.is_ok() {
            told = record::write(io.out, &progress).and_then(|()| super::flush(io.out));
        }
    })?;
    told?;
    warn_unreadable(source, &ledger, io)?;
    record::write(io.out, &sync)
}

fn warn_unreadable(source: &Source, ledger: &Ledger, io: &mut Io<'_>) -> Result<()> {
    let totals = ledger.totals()?;
    let unreadable = totals.iter().find(|(fate, _)| *fate == record::Fate::Unreadable);
    if let Some((_, count)) = unreadable {
        let (paths, root) = (count.files, source.shown_root());
        io.say("auwai-ledger", &format!("{paths} paths below '{root}' cannot be read"));
        io.hint(&format!("`auwai-ledger files --repo {root} --fate unreadable` lists them"));
    }
    Ok(())
}
