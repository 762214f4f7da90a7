//! `auwai next`: what to read now.

use super::options::{Common, ReaderOption};
use super::pipeline::collect_records;
use super::target::Target;
use crate::cli::Io;
use crate::error::Result;
use crate::record::{self, Record, Segment, SegmentKind};

/// Hand out the next segment
///
/// The reader's own active segment if it has one, else the first that nobody has, marked active. It
/// prints a brief and the chunks, not their text: that is what `auwai read` does. When every read
/// segment is done, the synthesis segment comes. With nothing to hand out the exit status is 1.
#[derive(Debug, Clone, clap::Args)]
pub struct Args {
    #[command(flatten)]
    reader: ReaderOption,
}

/// Runs the command.
pub fn run(args: &Args, common: &Common, io: &mut Io<'_>) -> Result<()> {
    let target = Target::resolve(common, io)?;
    let claim = target.ledger("claim").arg("--reader").arg(args.reader.resolve(io.world)?);
    let with = target.flag();
    let claim = claim.option("--with", (!with.is_empty()).then(|| with.trim_start().to_string()));
    for record in collect_records(&[claim], io)? {
        match record {
            Record::Segment(segment) if common.json => record::write(io.out, &segment)?,
            Record::Segment(segment) => tell(&segment, io)?,
            _ => {}
        }
    }
    Ok(())
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
