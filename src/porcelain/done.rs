//! `auwai done`: close a segment that has been read.

use std::path::PathBuf;
use std::process::Stdio;

use super::options::{Common, ReaderOption, SegmentOption};
use super::pipeline::{Pipeline, silent};
use super::render::percent;
use super::target::Target;
use crate::cli::Io;
use crate::cli::parse::{Marks, marks};
use crate::counted::{count, thousands};
use crate::error::Result;
use crate::record::{self, Record, Status};

/// Close a segment, with what was found in it
///
/// Refused until every chunk of the segment is complete. The finding is kept with the segment and
/// appended to findings.md. The same again changes nothing. Without -m and -F the segment is closed
/// without a finding, and one may be added later by the same command.
#[derive(Debug, Clone, clap::Args)]
pub struct Args {
    #[command(flatten)]
    pub(super) reader: ReaderOption,
    #[command(flatten)]
    segment: SegmentOption,
    /// What was found
    #[arg(short = 'm', long, value_name = "TEXT", conflicts_with = "file")]
    #[arg(allow_hyphen_values = true)]
    summary: Option<String>,
    /// Read what was found from FILE; `-` is standard input
    #[arg(short = 'F', long, value_name = "FILE")]
    file: Option<PathBuf>,
    /// First confirm what was printed last, under a plan with marks: MARKS are all that stand in it
    #[arg(long, value_name = "MARKS", value_parser = marks)]
    marks: Option<Marks>,
}

/// Runs the command.
pub fn run(args: &Args, common: &Common, io: &mut Io<'_>) -> Result<()> {
    let target = Target::resolve(common, io)?;
    let reader = args.reader.resolve(io.world)?;
    let segment = match args.segment.id() {
        Some(id) => id,
        None => target.own(&reader, io)?,
    };
    if let Some(marks) = &args.marks {
        target.confirm(&segment, &reader, marks, io)?;
    }
    let close = target.ledger("close").arg("--reader").arg(&reader);
    let close = close.arg("--segment").arg(segment.to_string());
    let close = match (&args.summary, &args.file) {
        (Some(text), _) => close.arg(format!("--summary={text}")),
        (None, Some(file)) if file.as_os_str() == "-" => close.arg("--file").arg("-"),
        (None, Some(file)) => close.arg("--file").arg(io.world.absolute(file)),
        (None, None) => close,
    };
    // A summary on standard input is for the stage to read.
    let closing = Pipeline::start_with(&[close], Stdio::inherit(), io)?;
    let status = status_of(closing, io).map_err(|error| args.segment.explain(error, "done"))?;
    if common.json {
        return record::write(io.out, &status);
    }
    super::line(io, &format!("{segment} is done; {}", progress(&status)))?;
    super::line(io, &what_now(&status, &target, &args.reader))
}

/// How far the plan is, in one line.
pub fn progress(status: &Status) -> String {
    let segments = status.segments.unwrap_or_default();
    let done = format!("{} of {}", thousands(segments.done), count(segments.total, "segment"));
    let (chunks, tokens) = (status.chunks, status.tokens);
    match percent(tokens.complete, tokens.planned) {
        None => format!("{done}, no text to read"),
        Some(share) => format!(
            "{done}, {} of {}, {share} % of the tokens read",
            thousands(chunks.complete),
            count(chunks.planned, "chunk"),
        ),
    }
}

fn what_now(status: &Status, target: &Target, reader: &ReaderOption) -> String {
    let place = target.flag();
    match status.is_finished() {
        true => format!("go on: auwai verify{place}"),
        false => format!("go on: auwai next{place}{}", reader.flag()),
    }
}

/// The status that a pipeline tells.
pub fn status_of(pipeline: Pipeline, io: &mut Io<'_>) -> Result<Status> {
    let mut status = None;
    pipeline.records(io, |record, _| {
        if let Record::Status(told) = record {
            status = Some(told);
        }
        Ok(())
    })?;
    status.ok_or_else(|| silent("the ledger gave no status"))
}
