//! `auwai-ledger confirm`: marks that a reader gives back.

use super::target::ActingOptions;
use crate::cli::Io;
use crate::cli::parse::{Marks, marks};
use crate::counted::{agree, count};
use crate::error::{Error, Result};
use crate::record::{self, End, SegmentId};

/// Confirm what was delivered, by the marks that stood in it
///
/// Under a plan with marks a chunk that was delivered is complete when the marks around it have been
/// given back: the last one before it, those within it, and the first one after it, of the delivery that was last.
/// Writes a `read` record for each chunk that is complete now, and the end; how many still wait is said on
/// standard error. A mark that stands in nothing that was delivered to this reader of this segment is refused
/// (`wrong-mark`, exit status 1), and then nothing is confirmed.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    by: ActingOptions,
    /// The segment (default: the one that the reader has)
    #[arg(long, value_name = "ID")]
    segment: Option<String>,
    /// The marks: numbers, with space or commas between them; lines as they were printed will do
    #[arg(long, value_name = "MARKS", required = true, value_parser = marks)]
    marks: Vec<Marks>,
}

/// Runs the verb.
pub fn run(args: Args, io: &mut Io<'_>) -> Result<()> {
    let reader = args.by.reader.resolve(io.world)?;
    let (_, mut coverage) = args.by.target.open(io)?;
    if !coverage.in_force()?.policy.marks {
        return Err(Error::no("no-marks", "the plan is one without marks")
            .hint("close the segment without them: `auwai done`"));
    }
    let named = args.segment.map(SegmentId);
    let now = io.world.moment();
    let segment = match named {
        Some(id) => coverage.segment(&id)?.segment.id,
        None => coverage.renew(&reader, None, &now)?.segment,
    };
    let given: Vec<String> = args.marks.into_iter().flat_map(|marks| marks.0).collect();
    let confirmed = coverage.confirm(&reader, &segment, &given, &now.timestamp())?;
    for read in &confirmed.reads {
        record::write(io.out, read)?;
    }
    if confirmed.waiting > 0 {
        let (chunks, wait) =
            (count(confirmed.waiting, "chunk"), agree(confirmed.waiting, "waits", "wait"));
        io.say("auwai-ledger", &format!("{chunks} of {segment} {wait} for marks, and stay unread"));
    }
    record::write(io.out, &End { of: "read".into(), count: confirmed.reads.len() as u64 })
}
