//! `auwai-ledger renew`: a reader is still at work.

use super::target::{ActingOptions, owner};
use crate::cli::Io;
use crate::error::Result;
use crate::record::{self, SegmentId};

/// Renew the lease of a reader's segment
///
/// From now on for as long as it was handed out for. A lease that has run out begins anew while nobody
/// else has taken the segment. Prints a `holder` record. Exit status 1, with the code `no-active` when
/// the reader has no segment, `not-held` when it does not have the one that is named, `lost-lease` when
/// its lease ran out and another has taken it, or it is not in the plan any more.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    by: ActingOptions,
    /// The segment (default: the one that the reader has)
    #[arg(long, value_name = "ID")]
    segment: Option<String>,
}

/// Runs the verb.
pub fn run(args: Args, io: &mut Io<'_>) -> Result<()> {
    let reader = args.by.reader.resolve(io.world)?;
    let (workspace, mut coverage) = args.by.target.open(io)?;
    let segment = args.segment.map(SegmentId);
    let before = coverage.active_of(&reader)?;
    let holder = coverage.renew(&reader, segment.as_ref(), &io.world.moment())?;
    if before.as_ref() != Some(&holder.segment) {
        super::warn_export(coverage.export_if_small(owner(&workspace)), io);
    }
    record::write(io.out, &holder)
}
