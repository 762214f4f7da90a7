//! `auwai-ledger claim`: the next segment for a reader.

use std::time::Duration;

use super::brief::{Brief, brief};
use super::outdated::is_outdated;
use super::target::{ActingOptions, owner};
use super::wait::Wait;
use crate::cli::Io;
use crate::cli::parse::{Lease, lease, span};
use crate::delivery::reader_has_gone;
use crate::error::{Error, Result};
use crate::record::{self, Holder, SegmentId};
use crate::store::coverage::{Ask, Coverage, Handed};

/// Hand the reader a segment
///
/// Its own active segment if it has one, else the first pending one, which nobody else gets then;
/// the synthesis when every read segment is done. Prints the `segment` record with a brief in
/// words, and with `outdated` when the index has changed since the plan. Nothing to hand out: exit
/// status 1, with the code `done` or `held`.
///
/// It is handed out for a while, the lease, which every delivery renews (`auwai-ledger mark`, `renew`).
/// When nothing is heard for so long the segment is pending again, and what was read of it stays read.
/// While nobody else has taken it, it is still its reader's.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    by: ActingOptions,
    /// Hand out no segment of this ID; may be repeated
    #[arg(long, value_name = "ID")]
    except: Vec<String>,
    /// Take the segment back when nothing is heard of the reader for so long, such as 90s or 2h;
    /// `never`: only `auwai-ledger release` does
    #[arg(long, value_name = "DURATION", default_value = "30m", value_parser = lease)]
    lease: Lease,
    /// When others have what is left, wait so long for a segment to come back
    #[arg(long, value_name = "DURATION", value_parser = span)]
    wait: Option<Duration>,
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
    let ask = Ask { reader: &reader, except: &except, term: args.lease.0 };
    let placed = match claim(&mut coverage, ask, args.wait, io)? {
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

/// Asks, and when others have what is left, again whenever the ledger has changed or a lease has run
/// out, until the time is over.
fn claim(
    coverage: &mut Coverage,
    ask: Ask<'_>,
    patience: Option<Duration>,
    io: &Io<'_>,
) -> Result<Handed> {
    let Some(patience) = patience else { return coverage.claim(ask, &io.world.moment()) };
    let wait = Wait::begin(patience);
    loop {
        check_heard()?;
        let seen = coverage.version()?;
        let handed = coverage.claim_while(&check_heard, ask, &io.world.moment())?;
        let Handed::Held(_) = handed else { return Ok(handed) };
        if !wait.for_change(coverage, seen, &|| io.world.moment(), &|| check_heard().is_err())? {
            return Ok(handed);
        }
    }
}

/// Whoever waits may have been killed, and would never know what it was given.
fn check_heard() -> Result<()> {
    match reader_has_gone(rustix::stdio::stdout()) {
        Ok(true) => Err(Error::closed()),
        _ => Ok(()),
    }
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
        let until = holder.until.as_ref().map(|until| format!(", until {until}"));
        let Holder { reader, segment, since, .. } = holder;
        format!("reader {reader} has {segment} since {since}{}", until.unwrap_or_default())
    };
    let shown: Vec<String> = holders.iter().take(8).map(held).collect();
    let more = match holders.len().saturating_sub(8) {
        0 => String::new(),
        more => format!(", and {more} more"),
    };
    Error::no("held", format!("other readers have what is left: {}{more}", shown.join(", ")))
        .hint("wait for them: `auwai next --wait 10m`")
        .hint("or take one back: `auwai-ledger release --segment ID`")
}
