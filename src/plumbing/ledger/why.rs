//! `auwai-ledger why`: what becomes of a path, and by which rule.

use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use crate::admit::{Policy, Verdict};
use crate::cli::Io;
use crate::error::{Error, Result};
use crate::plumbing::ledger::source::Source;
use crate::plumbing::ledger::{Repos, StateOption, files};
use crate::record::{self, End, Fate, File, RepoPath};
use crate::store::ledger::Ledger;
use crate::visible::quote_path;
use crate::walk;

/// Say what becomes of each PATH and why, as `file` records
///
/// The answer is about the tree as it is now; the numbers of a text file are those of the last
/// scan. A path may be given from the repository's root or from the current folder. The exit status
/// is 0 whatever the fate, and 3 for a path that is not there.
#[derive(Debug, Clone, clap::Args)]
pub struct Args {
    #[command(flatten)]
    repos: Repos,
    #[command(flatten)]
    state: StateOption,
    /// The paths to explain
    #[arg(value_name = "PATH", required = true)]
    paths: Vec<PathBuf>,
}

/// Runs the verb.
pub fn run(args: &Args, io: &mut Io<'_>) -> Result<()> {
    let state_dir = args.state.resolve(io.world);
    let source = Source::named(args.repos.one()?, state_dir.as_deref(), io.world)?;
    let policy = source.policy(io.world)?;
    let ledger = source.ledger().ok();
    record::write(io.out, &source.record())?;
    for path in &args.paths {
        let path = source.relative(path, io.world)?;
        record::write(io.out, &explain(&source, &policy, ledger.as_ref(), &path)?)?;
    }
    record::write(io.out, &End { of: "file".into(), count: args.paths.len() as u64 })
}
