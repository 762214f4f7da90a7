//! `auwai-ledger close`: a segment is done.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use super::status;
use super::target::{ActingOptions, owner};
use crate::cli::Io;
use crate::counted::{count, thousands};
use crate::delivery::reader_has_gone;
use crate::error::{Error, Result};
use crate::record::SegmentId;
use crate::store::coverage::Coverage;
use crate::visible::quote;

/// Close a segment
///
/// Refused, with exit status 1, until every chunk of it is read; the synthesis, until every read
/// segment is done. The finding is kept with the segment and appended to findings.md. The same
/// again changes nothing; another finding for a segment that has one is refused. Without --summary
/// and --file there is no finding, and one may be added later. Prints the `status` record,
/// without the paths by fate.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    by: ActingOptions,
    /// The segment (default: the reader's active one)
    #[arg(long, value_name = "ID")]
    segment: Option<String>,
    /// What was found
    #[arg(long, short = 'm', value_name = "TEXT", allow_hyphen_values = true)]
    summary: Option<String>,
    /// Take what was found from FILE; `-` is standard input
    #[arg(long, short = 'F', value_name = "FILE", conflicts_with = "summary")]
    file: Option<PathBuf>,
    /// Refuse a FILE that does not have N bytes: whoever was to write it may have been killed
    #[arg(long, value_name = "N", requires = "file")]
    bytes: Option<u64>,
    /// Close it only while somebody reads standard output: whoever wants it closed may have been killed
    #[arg(long)]
    while_heard: bool,
}

/// The most bytes that a summary may have: it is to be read again, with all others.
const LONGEST: u64 = 1 << 20;

/// Runs the verb.
pub fn run(args: Args, io: &mut Io<'_>) -> Result<()> {
    let reader = args.by.reader.resolve(io.world)?;
    let (workspace, mut coverage) = args.by.target.open(io)?;
    let segment = segment(args.segment, &coverage, &reader)?;
    let summary = summary(args.summary, args.file.as_deref(), args.bytes, io)?;
    let heard = || if args.while_heard { check_heard(&segment) } else { Ok(()) };
    let at = io.world.timestamp();
    let closed = coverage.close_while(&heard, &segment, &reader, summary.as_deref(), &at);
    // The segment may be done although its finding could not be appended.
    super::warn_export(coverage.export_if_small(owner(&workspace)), io);
    closed?;
    // The paths by fate are not what was asked for, and take a look at each.
    status::print(&coverage, &workspace, None, io)
}

fn segment(named: Option<String>, coverage: &Coverage, reader: &str) -> Result<SegmentId> {
    if let Some(id) = named {
        return Ok(SegmentId(id));
    }
    coverage.active_of(reader)?.ok_or_else(|| {
        Error::failed("no-segment", format!("reader '{reader}' has no active segment"))
            .hint("take one: `auwai next`; or name one: `auwai done --segment ID`")
    })
}

/// Whether somebody still waits for what comes of it.
fn check_heard(segment: &SegmentId) -> Result<()> {
    match reader_has_gone(rustix::stdio::stdout()) {
        Ok(false) => Ok(()),
        _ => Err(Error::failed(
            "unheard",
            format!("nobody waits for the end of '{segment}' any more"),
        )
        .hint(format!("close it all the same: `auwai done --segment {segment}`"))),
    }
}

fn summary(
    text: Option<String>,
    file: Option<&Path>,
    bytes: Option<u64>,
    io: &mut Io<'_>,
) -> Result<Option<String>> {
    let text = match file {
        Some(file) => Some(read(file, bytes, io)?),
        None => text,
    };
    match text {
        Some(text) if text.trim().is_empty() => {
            Err(Error::usage("the summary is empty").hint("say what was found: `--summary 'TEXT'`"))
        }
        other => Ok(other),
    }
}

fn read(file: &Path, wanted: Option<u64>, io: &mut Io<'_>) -> Result<String> {
    let mut bytes = Vec::new();
    let done = match file == Path::new("-") {
        true => io.input.take(LONGEST + 1).read_to_end(&mut bytes),
        false => File::open(file_path(file, io))
            .and_then(|file| file.take(LONGEST + 1).read_to_end(&mut bytes)),
    };
    let name = quote(file);
    done.map_err(|e| {
        Error::io("read", &name, &e)
            .hint("say what was found on the command line instead: `auwai done -m 'TEXT'`")
    })?;
    if wanted.is_some_and(|wanted| wanted != bytes.len() as u64) {
        let (all, came) =
            (thousands(wanted.unwrap_or_default()), count(bytes.len() as u64, "byte"));
        return Err(Error::failed("cut-off", format!("{came} of {all} came from '{name}'"))
            .hint("close it with what was found: `auwai done -m 'TEXT'`"));
    }
    if bytes.len() as u64 > LONGEST {
        return Err(Error::failed("bad-input", format!("'{name}' is longer than 1 MiB"))
            .hint("sum up what was found, and say where the rest is: `auwai done -m 'TEXT'`"));
    }
    String::from_utf8(bytes).map_err(|_| {
        Error::failed("bad-input", format!("'{name}' is not text in UTF-8"))
            .hint("make it so: `iconv -f ENCODING -t UTF-8 FILE | auwai done -F -`")
    })
}

fn file_path(file: &Path, io: &Io<'_>) -> PathBuf {
    io.world.absolute(file)
}
