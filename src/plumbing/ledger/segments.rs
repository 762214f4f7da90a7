//! `auwai-ledger segments`: the segments of the plan.

use super::target::FullReadOptions;
use crate::cli::Io;
use crate::error::{Error, Result};
use crate::record::{self, End, Segment, SegmentId, SegmentStatus};
use crate::store::coverage::{Coverage, Placed};

/// How many segments are in memory at a time.
pub(super) const PAGE: u32 = 64;

/// List the segments of the plan in order
///
/// `segment` records, then `end`. With --plan the stream is one that adopt takes.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    target: FullReadOptions,
    /// Only those that are STATUS
    #[arg(long, value_name = "STATUS")]
    status: Option<Standing>,
    /// Begin with the policy and end with the plan, as auwai-plan does
    #[arg(long, conflicts_with_all = ["status", "ids"])]
    plan: bool,
    /// Only these
    #[arg(value_name = "ID")]
    ids: Vec<String>,
}

#[derive(Debug, Clone, Copy, clap::ValueEnum)]
enum Standing {
    /// Nobody has it
    Pending,
    /// A reader has it
    Active,
    /// Read and closed
    Done,
}

impl Standing {
    fn is(self, status: SegmentStatus) -> bool {
        match self {
            Standing::Pending => status == SegmentStatus::Pending,
            Standing::Active => status == SegmentStatus::Active,
            Standing::Done => status == SegmentStatus::Done,
        }
    }
}

/// Runs the verb.
pub fn run(args: Args, io: &mut Io<'_>) -> Result<()> {
    let (_, coverage) = args.target.open(io)?;
    let mut count = 0;
    let mut put = |segment: &Segment, io: &mut Io<'_>| {
        if args.status.is_some_and(|wanted| !wanted.is(segment.status)) {
            return Ok(());
        }
        count += 1;
        record::write(io.out, segment)
    };
    let in_force = coverage.in_force()?;
    if args.plan {
        record::write(io.out, &in_force.policy)?;
    }
    match args.ids.is_empty() {
        true => pages(&coverage, |seq| {
            let page = coverage.segments_after(seq, PAGE)?;
            page.iter().try_for_each(|placed| put(&placed.segment, io))?;
            Ok(page.last().map(|placed| placed.seq))
        })?,
        false => {
            named(&coverage, args.ids)?.iter().try_for_each(|placed| put(&placed.segment, io))?
        }
    }
    if args.plan {
        if coverage.in_force()? != in_force {
            return Err(changed());
        }
        record::write(io.out, &in_force.plan)?;
    }
    record::write(io.out, &End { of: "segment".to_string(), count })
}

/// The named segments in order of the plan, each once.
fn named(coverage: &Coverage, ids: Vec<String>) -> Result<Vec<Placed>> {
    let ids = ids.into_iter().map(SegmentId);
    let mut all = ids.map(|id| coverage.segment(&id)).collect::<Result<Vec<_>>>()?;
    all.sort_by_key(|placed| placed.seq);
    all.dedup_by_key(|placed| placed.seq);
    Ok(all)
}

/// Every page of segments in order: `page` takes those after a place, and says where the last one
/// stands.
///
/// # Errors
/// `plan-changed` when the pages were of more than one plan.
pub(super) fn pages(
    coverage: &Coverage,
    mut page: impl FnMut(u64) -> Result<Option<u64>>,
) -> Result<()> {
    let which = || coverage.counters().map(|counters| (counters.generation, counters.revision));
    let (before, mut seq, mut full) = (which()?, 0, 0);
    while let Some(last) = page(seq)? {
        (seq, full) = (last, full + 1);
    }
    if full < 2 || which()? == before { Ok(()) } else { Err(changed()) }
}

fn changed() -> Error {
    Error::failed("plan-changed", "the plan has changed while it was listed")
        .hint("run the command again")
}
