//! `auwai next`: what to read now.

use std::time::Duration;

use super::options::{Common, LeaseOption, ReaderOption};
use super::pipeline::{Pipeline, collect_records};
use super::target::Target;
use crate::cli::Io;
use crate::cli::parse::span;
use crate::error::{Error, Result};
use crate::record::{self, Record, Segment, SegmentKind, Why};

/// Hand out the next segment
///
/// The reader's own active segment if it has one, else the first that nobody has, marked active. It
/// prints a brief and the chunks, not their text: that is what `auwai read` does. When every read
/// segment is done, the synthesis segment comes. With nothing to hand out the exit status is 1. When
/// the index has changed since the plan, standard error says so.
///
/// A segment is handed out for a while, the lease, which `auwai read` renews. When nothing is heard for
/// so long, somebody else may have it; what was read of it stays read.
#[derive(Debug, Clone, clap::Args)]
pub struct Args {
    #[command(flatten)]
    pub(super) reader: ReaderOption,
    #[command(flatten)]
    lease: LeaseOption,
    /// When other readers have what is left, wait so long for a segment to come back, such as 10m
    #[arg(long, value_name = "DURATION", value_parser = span)]
    wait: Option<Duration>,
}

/// Runs the command.
pub fn run(args: &Args, common: &Common, io: &mut Io<'_>) -> Result<()> {
    let target = Target::resolve(common, io)?;
    let claim = target.ledger("claim").arg("--reader").arg(args.reader.resolve(io.world)?);
    let claim = args.lease.pass(claim);
    let claim = claim.option("--wait", args.wait.map(|wait| wait.as_secs_f64().to_string()));
    let with = target.flag();
    let claim = claim.option("--with", (!with.is_empty()).then(|| with.trim_start().to_string()));
    let claimed = collect_records(&[claim], io).map_err(|error| match error.code() {
        "done" => what_now(error, &target, io),
        _ => error,
    });
    for record in claimed? {
        if matches!(&record, Record::Segment(segment) if segment.outdated == Some(true)) {
            io.say("auwai", "the tree has changed since the plan");
            io.hint(&format!("let the plan follow it: `{}`", target.plan_command(true)));
        }
        match record {
            Record::Segment(segment) if common.json => record::write(io.out, &segment)?,
            Record::Segment(segment) => tell(&segment, io)?,
            _ => {}
        }
    }
    Ok(())
}

/// Every segment is done: what the index says of the tree decides what comes next.
fn what_now(done: Error, target: &Target, io: &mut Io<'_>) -> Error {
    let mut stale = false;
    let verify = [target.ledger("verify").arg("--no-scan")];
    let quiet =
        &mut Io { input: io.input, out: io.out, err: &mut std::io::sink(), world: io.world };
    // That it cannot be told is for `auwai verify` to say.
    let _ = Pipeline::start(&verify, quiet).and_then(|asked| {
        asked.records(quiet, |record, _| {
            stale |= matches!(record, Record::Unread(row) if row.why != Why::Unreadable);
            Ok(())
        })
    });
    match stale {
        true => Error::no("done", "every segment is done, and the tree has changed since the plan")
            .hint(format!("let the plan follow it: `{}`", target.plan_command(true))),
        false => done,
    }
}

fn tell(segment: &Segment, io: &mut Io<'_>) -> Result<()> {
    if let Some(brief) = &segment.brief {
        super::text(io, brief)?;
    }
    if segment.kind == SegmentKind::Read {
        super::line(io, "chunks:")?;
    }
    for chunk in &segment.chunks {
        super::line(io, &format!("  {chunk}"))?;
    }
    Ok(())
}
