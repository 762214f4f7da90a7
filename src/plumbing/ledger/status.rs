//! `auwai-ledger status`: how far the full read has come.

use std::collections::BTreeMap;

use super::target::{FullReadOptions, owner};
use crate::cli::Io;
use crate::error::Result;
use crate::record::{self, Status};
use crate::store::coverage::Coverage;

/// Print where the full read stands
///
/// One `status` record: segments, chunks and tokens, and who has which segment. Without a plan the
/// record has no `plan`, and the exit status is 0.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    target: FullReadOptions,
}

/// Runs the verb.
pub fn run(args: Args, io: &mut Io<'_>) -> Result<()> {
    let workspace = args.target.workspace(io.world)?;
    let Some(coverage) = Coverage::find(&workspace.fullread_dir())? else {
        return record::write(io.out, &Status::default());
    };
    print(&coverage, io)?;
    coverage.export_if_stale(owner(&workspace), (io.world.now)())
}

/// Prints the record of an open ledger.
pub(super) fn print(coverage: &Coverage, io: &mut Io<'_>) -> Result<()> {
    let counters = coverage.counters()?;
    let status = Status {
        plan: Some(coverage.in_force()?.plan.id),
        segments: Some(counters.segments),
        chunks: counters.chunks,
        tokens: counters.tokens,
        fates: BTreeMap::new(),
        active: coverage.holders()?,
    };
    record::write(io.out, &status)
}
