//! `auwai log`: who has read what, and when.

use std::ffi::OsString;

use super::options::Common;
use super::pipeline::Pipeline;
use super::target::Target;
use crate::cli::Io;
use crate::cli::parse::name;
use crate::cli::since::since;
use crate::counted::count;
use crate::error::Result;
use crate::record::{self, Read, Record};
use crate::visible::{one_line, quote_path};

/// Tell who has read what, and when, the newest first
///
/// The history of the full read: what was read under earlier plans is in it too, and what was
/// imported. Chunks of one file that one reader has read in one go, in one segment, are one line:
/// when the last of them was read, who read, how, in which segment, what, and in git the commit.
/// With --json each of them is a record.
///
/// Nothing was deleted from it: no command can. What the ledger is worth as evidence, and what it is
/// not, stands in docs/evidence.md.
#[derive(Debug, Clone, clap::Args)]
pub struct Args {
    /// Only what this reader has read
    #[arg(long, value_name = "NAME", value_parser = name)]
    reader: Option<String>,
    /// Only what was read since then: a time (2026-12-01T08:00:00Z), a day (2026-12-01, from its
    /// first second in UTC) or a span back from now (2days, '2 days ago', '3h 30m')
    #[arg(long, value_name = "TIME", value_parser = moment)]
    since: Option<String>,
    /// Only these files, and what lies below these folders; they need not be there any more
    #[arg(value_name = "PATH")]
    paths: Vec<OsString>,
}

/// A moment as it was typed, once it is understood.
fn moment(text: &str) -> std::result::Result<String, String> {
    since(text).map(|_| text.to_string())
}

/// Runs the command.
pub fn run(args: &Args, common: &Common, io: &mut Io<'_>) -> Result<()> {
    let target = Target::resolve(common, io)?;
    let log = target.ledger("log");
    let log = log.option("--reader", args.reader.as_ref()).option("--since", args.since.as_ref());
    let log = match args.paths.is_empty() {
        true => log,
        false => args.paths.iter().fold(log.arg("--"), |log, path| log.arg(path)),
    };
    let mut run = None::<Run>;
    Pipeline::start(&[log], io)?.records(io, |record, io| match record {
        Record::Read(read) if common.json => record::write(io.out, &read),
        Record::Read(read) => match run.as_mut().is_some_and(|run| run.take(&read)) {
            true => Ok(()),
            false => tell(run.replace(Run::of(read)), io),
        },
        _ => Ok(()),
    })?;
    tell(run, io)
}

fn tell(run: Option<Run>, io: &mut Io<'_>) -> Result<()> {
    run.map_or(Ok(()), |run| super::line(io, &run.told()))
}

/// Chunks of one file that one reader has read in one go.
struct Run {
    /// The last of them.
    read: Read,
    chunks: u64,
    bytes: u64,
}

impl Run {
    fn of(read: Read) -> Run {
        Run { bytes: size(&read), chunks: 1, read }
    }

    /// Takes in the one before; false when it is of another file, reader, way, segment or commit.
    fn take(&mut self, before: &Read) -> bool {
        let own = &self.read;
        let same = (&own.repo, &own.path, &own.path_b64)
            == (&before.repo, &before.path, &before.path_b64)
            && (&own.reader, own.how, own.origin) == (&before.reader, before.how, before.origin)
            && (&own.plan, &own.segment) == (&before.plan, &before.segment)
            && (&own.head, own.clean) == (&before.head, before.clean);
        if same {
            self.chunks += 1;
            self.bytes += size(before);
        }
        same
    }

    fn told(&self) -> String {
        let Run { read, chunks, bytes } = self;
        let text = |text: &Option<String>| one_line(text.as_deref().unwrap_or("?")).into_owned();
        let how = read.how.map_or("?", |how| how.as_str());
        let origin = match (read.how, read.origin) {
            (Some(how), Some(origin)) if how.stands_for_another() => {
                format!(" ({})", origin.as_str())
            }
            _ => String::new(),
        };
        let segment =
            read.segment.as_ref().map(|id| one_line(&id.0).into_owned()).unwrap_or_default();
        let path = match read.repo_path() {
            Ok(Some(path)) => path.display().into_owned(),
            _ => quote_path(read.path.as_deref().unwrap_or("?").as_bytes()).into_owned(),
        };
        let sizes = format!("{}, {}", count(*chunks, "chunk"), count(*bytes, "byte"));
        let (at, reader) = (text(&read.at), text(&read.reader));
        format!(
            "{at}  {reader}  {how}{origin}  {segment}  {}:{path}  {sizes}{}",
            read.repo,
            commit(read)
        )
    }
}

/// How many bytes a read was of; of one that does not say it, none.
fn size(read: &Read) -> u64 {
    read.bytes.map_or(0, |bytes| bytes.to.saturating_sub(bytes.from))
}

/// In git, the commit, and whether the file was another than it has.
fn commit(read: &Read) -> String {
    let Some(head) = read.head.as_deref().filter(|head| head.is_ascii()) else {
        return String::new();
    };
    let edited = if read.clean == Some(false) { ", edited" } else { "" };
    format!("  at {}{edited}", one_line(&head[..head.len().min(12)]))
}
