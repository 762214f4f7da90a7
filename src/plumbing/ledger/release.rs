//! `auwai-ledger release`: a segment goes back.

use super::target::{ActingOptions, owner};
use crate::cli::Io;
use crate::error::Result;
use crate::record::SegmentId;

/// Make an active segment pending again
///
/// What was read of it stays read. With a reader named, only that reader's segment is released;
/// without, anybody's: the way to take one back from a reader that is gone. A segment that is
/// pending already stays so.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    by: ActingOptions,
    /// The segment
    #[arg(long, value_name = "ID")]
    segment: String,
}

/// Runs the verb.
pub fn run(args: Args, io: &mut Io<'_>) -> Result<()> {
    let reader = args.by.reader.named(io.world)?;
    let (workspace, mut coverage) = args.by.target.open(io)?;
    coverage.release(&SegmentId(args.segment), reader.as_deref())?;
    super::warn_export(coverage.export_if_small(owner(&workspace)), io);
    Ok(())
}
