//! `auwai done`: close a segment that has been read.

use std::path::PathBuf;

use super::options::{Common, ReaderOption, SegmentOption};
use super::pipeline::collect_records;
use super::render::{count, percent, thousands};
use super::target::Target;
use crate::cli::Io;
use crate::error::{Error, Result};
use crate::record::{self, Record, Status};

/// Close a segment, with what was found in it
///
/// Refused until every chunk of the segment is complete. The finding is kept with the segment and
/// appended to findings.md. The same again changes nothing.
#[derive(Debug, Clone, clap::Args)]
pub struct Args {
    #[command(flatten)]
    reader: ReaderOption,
    #[command(flatten)]
    segment: SegmentOption,
    /// What was found
    #[arg(short = 'm', long, value_name = "TEXT", conflicts_with = "file")]
    summary: Option<String>,
    /// Read what was found from FILE; `-` is standard input
    #[arg(short = 'F', long, value_name = "FILE")]
    file: Option<PathBuf>,
}

/// Runs the command.
pub fn run(args: &Args, common: &Common, io: &mut Io<'_>) -> Result<()> {
    let target = Target::resolve(common, io)?;
    let reader = target.reader(&args.reader, io)?;
    let segment = match args.segment.id() {
        Some(id) => id,
        None => target.active(&reader, io)?,
    };
    let close = target.ledger("close").arg("--reader").arg(&reader);
    let close = close.arg("--segment").arg(segment.to_string());
    let close = match summary(args, io)? {
        Some(text) => close.arg("--summary").arg(text),
        None => close,
    };
    collect_records(&[close], io)?;
    let status = target.status(io)?;
    if common.json {
        return record::write(io.out, &status);
    }
    super::line(io, &format!("{segment} is done; {}", progress(&status)))?;
    super::line(io, &what_now(&status, &target))
}

/// The summary as text: it travels as an argument, so standard input is read here.
fn summary(args: &Args, io: &mut Io<'_>) -> Result<Option<String>> {
    let Some(file) = &args.file else { return Ok(args.summary.clone()) };
    let mut text = Vec::new();
    if file.as_os_str() == "-" {
        let read = std::io::Read::read_to_end(io.input, &mut text);
        read.map_err(|e| Error::io("read", "-", &e))?;
    } else {
        let name = crate::visible::one_line(&file.to_string_lossy()).into_owned();
        text = std::fs::read(io.world.absolute(file)).map_err(|e| Error::io("read", name, &e))?;
    }
    Ok(Some(String::from_utf8_lossy(&text).into_owned()))
}

/// How far the plan is, in one line.
pub fn progress(status: &Status) -> String {
    let segments = status.segments.unwrap_or_default();
    format!(
        "{} of {}, {} of {} read ({} %)",
        thousands(segments.done),
        count(segments.total, "segment"),
        thousands(status.chunks.complete),
        count(status.chunks.planned, "chunk"),
        percent(status.tokens.complete, status.tokens.planned)
    )
}

fn what_now(status: &Status, target: &Target) -> String {
    let segments = status.segments.unwrap_or_default();
    let verb = if segments.done == segments.total { "verify" } else { "next" };
    format!("go on: auwai {verb}{}", target.flag())
}

/// The records of a collected pipeline that are of one kind.
pub fn status_of(records: Vec<Record>) -> Result<Status> {
    let found = records.into_iter().find_map(|record| match record {
        Record::Status(status) => Some(status),
        _ => None,
    });
    found.ok_or_else(|| Error::failed("cut-off", "the ledger gave no status"))
}
