//! `auwai-ledger segments`: the segments of the plan.

use super::target::FullReadOptions;
use crate::cli::Io;
use crate::error::Result;
use crate::record::{self, End, Segment, SegmentId, SegmentStatus};
use crate::store::coverage::{Coverage, Placed};

/// How many segments are in memory at a time.
const PAGE: u32 = 64;

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
        true => each(&coverage, |placed| put(&placed.segment, io))?,
        false => {
            named(&coverage, args.ids)?.iter().try_for_each(|placed| put(&placed.segment, io))?
        }
    }
    if args.plan {
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

/// Every segment in order, a page at a time.
pub(super) fn each(coverage: &Coverage, mut put: impl FnMut(&Placed) -> Result<()>) -> Result<()> {
    let mut seq = 0;
    loop {
        let page = coverage.segments_after(seq, PAGE)?;
        let Some(last) = page.last() else { return Ok(()) };
        seq = last.seq;
        page.iter().try_for_each(&mut put)?;
    }
}
