//! `auwai read`: the text of a segment, delivered and acknowledged.

use std::ffi::OsString;

use super::options::{Common, ReaderOption, SegmentOption};
use super::pipeline::{Pipeline, Stage, stage};
use super::target::Target;
use crate::cli::Io;
use crate::cli::parse::{Marks, marks};
use crate::error::{Error, Result};
use crate::plumbing::plan::most_marks;
use crate::visible::quote;

/// Print the text of the active segment, and mark what was taken as read
///
/// Each line has its number. A chunk is complete when its last byte has been taken by whoever reads
/// the output; what stays unread is said on standard error. Reading twice is reading once.
///
/// With --max-chars (or $AUWAI_MAX_CHARS, or a plan made with --page) one page is printed at a
/// time: the first that is not yet complete. The last line says which page it was and how to go on.
///
/// What it prints is text, so there is no --json: the records of the same are those of
/// auwai-ledger(1), `auwai-ledger show`.
#[derive(Debug, Clone, clap::Args)]
pub struct Args {
    #[command(flatten)]
    pub(super) reader: ReaderOption,
    #[command(flatten)]
    segment: SegmentOption,
    /// Print only chunks that are not complete
    #[arg(long)]
    unread: bool,
    /// Print at most N characters: whole chunks, with the last line included; a chunk that is larger is
    /// a page alone
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    max_chars: Option<u64>,
    /// Print page N again
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    page: Option<u64>,
    /// First confirm the page before, under a plan with marks: MARKS are all that stand in it, lines
    /// such as `=== mark 0481297355106` or their numbers
    #[arg(long, value_name = "MARKS", value_parser = marks, conflicts_with = "wanted")]
    marks: Option<Marks>,
    /// How long to wait without progress for the reader of a pipe to take the rest
    #[arg(long, value_name = "DURATION", default_value = "5s")]
    drain: humantime::Duration,
    /// Read these again, whoever has their segment: chunk ids, unique prefixes of them, or paths of
    /// files; each must be in the plan
    #[arg(value_name = "ID|PATH", conflicts_with = "segment")]
    wanted: Vec<OsString>,
}

/// Runs the command.
pub fn run(args: &Args, common: &Common, io: &mut Io<'_>) -> Result<()> {
    let target = Target::resolve(common, io)?;
    if common.json {
        return Err(no_records(args, &target));
    }
    let reader = args.reader.resolve(io.world)?;
    let (size, segment) = (page_size(args, io)?, args.segment.id());
    let segment = match (args.wanted.is_empty(), segment) {
        (false, _) => None,
        (true, None) => Some(target.own(&reader, io)?),
        (true, Some(id)) => {
            let renewed = target.renew(&id, &reader, io);
            renewed.map_err(|error| args.segment.explain(error, "read"))?;
            Some(id)
        }
    };
    if let (Some(marks), Some(id)) = (&args.marks, &segment) {
        target.confirm(id, &reader, marks, io)?;
    }
    let policy = target.status(io)?.policy;
    let size = size.or(policy.as_ref().and_then(|policy| policy.page));
    let marks = policy.as_ref().and_then(most_marks).filter(|_| segment.is_some());
    // What the marks have confirmed is not printed again.
    let unread = args.unread || args.marks.is_some();
    let show = target.ledger("show").flag("--unread", unread && size.is_none());
    let show = show.flag("--planned", !args.wanted.is_empty());
    let mark = target.ledger("mark").arg("--reader").arg(&reader);
    let (show, mark) = match &segment {
        Some(id) => {
            let show = show.flag("--paged", size.is_some());
            (show.arg("--segment").arg(&id.0), mark.arg("--segment").arg(&id.0))
        }
        None => (args.wanted.iter().fold(show.arg("--"), |show, w| show.arg(w)), mark),
    };
    let id = segment.as_ref().map(|id| id.0.as_str());
    let print = print_stage(args, &target, id, (size, marks))?;
    let passed = Pipeline::start(&[show, print, mark], io)?.pass(io);
    passed.map_err(|error| explain(args.segment.explain(error, "read"), &args.wanted))
}

/// A segment is named by an option: what looks like one and is neither a chunk nor a path is meant so.
fn explain(error: Error, wanted: &[OsString]) -> Error {
    let is_segment = |word: &&str| {
        let number = word.strip_prefix("read-").or_else(|| word.strip_prefix("synthesis-"));
        number.is_some_and(|number| number.bytes().all(|b| b.is_ascii_digit()))
    };
    let meant = wanted.iter().filter_map(|word| word.to_str()).find(is_segment);
    match meant {
        Some(segment) if error.code() == "unknown-chunk" => error.hint_instead(format!(
            "a segment is named by an option: `auwai read --segment {segment}`"
        )),
        _ => error,
    }
}

/// Text cannot be asked for as records.
fn no_records(args: &Args, target: &Target) -> Error {
    let root = quote(target.workspace().root());
    let what = match (args.wanted.is_empty(), args.segment.id()) {
        (true, Some(id)) => format!("--segment {id}"),
        (true, None) => "--segment ID".to_string(),
        (false, _) => "ID|PATH".to_string(),
    };
    Error::usage("`auwai read` prints text: it takes no --json")
        .hint(format!("the text as records: `auwai-ledger show --workspace {root} {what}`"))
}

/// The characters of a page, when the option or the variable says them.
fn page_size(args: &Args, io: &Io<'_>) -> Result<Option<u64>> {
    if args.max_chars.is_some() {
        return Ok(args.max_chars);
    }
    let Some(text) = io.world.text("AUWAI_MAX_CHARS") else { return Ok(None) };
    match text.parse() {
        Ok(0) | Err(_) => {
            Err(Error::usage(format!("AUWAI_MAX_CHARS is not a number above 0: '{text}'"))
                .hint("set it to a number of characters, such as 30000"))
        }
        Ok(size) => Ok(Some(size)),
    }
}

fn print_stage(
    args: &Args,
    target: &Target,
    segment: Option<&str>,
    (size, marks): (Option<u64>, Option<u64>),
) -> Result<Stage> {
    // What is named is to be shown, read or not: its first page.
    let first = (segment.is_none() && size.is_some()).then_some(1);
    let page = args.page.or(first).map(|page| page.to_string());
    let more = args.max_chars.map(|size| format!(" --max-chars {size}")).unwrap_or_default();
    if args.page.is_some() && size.is_none() {
        return Err(Error::usage("there are no pages without a page size")
            .hint("give one: `auwai read --max-chars 30000 --page 1`"));
    }
    let print = stage(["auwai-ledger", "print", "--ack-fd", "3"])
        .option("--segment", segment)
        .option("--max-chars", size.map(|size| size.to_string()))
        .option("--page", page)
        .option("--marks", marks.map(|most| most.to_string()))
        .flag("--unread", args.unread || (args.marks.is_some() && size.is_none()))
        .arg("--drain")
        .arg(args.drain.to_string().replace(' ', ""));
    Ok(target.next_commands(print, segment, &args.reader.flag(), (&more, marks.is_some())).acks())
}
