//! `auwai-ledger claim`: the next segment for a reader.

use super::brief::{Brief, brief};
use super::outdated::is_outdated;
use super::target::{ActingOptions, owner};
use crate::cli::Io;
use crate::error::{Error, Result};
use crate::record::{self, Holder, SegmentId};
use crate::store::coverage::Handed;

/// Hand the reader a segment
///
/// Its own active segment if it has one, else the first pending one, which nobody else gets then;
/// the synthesis when every read segment is done. Prints the `segment` record with a brief in
/// words, and with `outdated` when the index has changed since the plan. Nothing to hand out: exit
/// status 1, with the code `done` or `held`.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    by: ActingOptions,
    /// Hand out no segment of this ID; may be repeated
    #[arg(long, value_name = "ID")]
    except: Vec<String>,
    /// Options to repeat in the commands that the brief suggests, such as `-W demo`
    #[arg(
        long,
        value_name = "OPTIONS",
        allow_hyphen_values = true,
        default_value = "",
        hide_default_value = true
    )]
    with: String,
}

/// Runs the verb.
pub fn run(args: Args, io: &mut Io<'_>) -> Result<()> {
    let reader = args.by.reader.resolve(io.world)?;
    let (workspace, mut coverage) = args.by.target.open(io)?;
    let except: Vec<SegmentId> = args.except.into_iter().map(SegmentId).collect();
    let own = coverage.active_of(&reader)?;
    let placed = match coverage.claim(&reader, &except, &io.world.timestamp())? {
        Handed::Segment(placed) => *placed,
        Handed::Done => return Err(all_done()),
        Handed::Held(holders) => return Err(others_hold(&holders)),
    };
    // What the reader had before changes nothing, and the export stands.
    if own.as_ref() != Some(&placed.segment.id) {
        super::warn_export(coverage.export_if_small(owner(&workspace)), io);
    }
    let in_force = coverage.in_force()?;
    let words = brief(&Brief {
        placed: &placed,
        rank: coverage.rank(&placed)?,
        of: coverage.counters()?.segments.total,
        workspace: workspace.name(),
        plan: &in_force.plan.id,
        reader: &reader,
        with: &args.with,
        fixed_prompt: in_force.policy.fixed_prompt,
    });
    let mut segment = placed.segment;
    segment.brief = Some(words);
    segment.outdated = is_outdated(&in_force.plan, &workspace).then_some(true);
    record::write(io.out, &segment)
}

fn all_done() -> Error {
    Error::no("done", "every segment is done").hint("prove it: `auwai verify`")
}

fn others_hold(holders: &[Holder]) -> Error {
    if holders.is_empty() {
        return Error::no("held", "what is left is what was to be passed over")
            .hint("leave out --except to have it: `auwai-ledger claim`");
    }
    let held = |holder: &Holder| {
        format!("reader {} has {} since {}", holder.reader, holder.segment, holder.since)
    };
    let shown: Vec<String> = holders.iter().take(8).map(held).collect();
    let more = match holders.len().saturating_sub(8) {
        0 => String::new(),
        more => format!(", and {more} more"),
    };
    Error::no("held", format!("other readers have what is left: {}{more}", shown.join(", ")))
        .hint("wait for them, or take one back: `auwai-ledger release --segment ID`")
}
