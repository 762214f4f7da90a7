//! `auwai-ledger mark`: what was delivered is read.

mod groups;

use self::groups::{Delivery, commit_in_groups};
use super::target::{FullReadOptions, ReaderOption};
use crate::cli::{Io, Signals};
use crate::error::{Error, Result};
use crate::record::{Read, Reader, Record, SegmentId};
use crate::store::coverage::{Coverage, How, Marking};

/// Mark the chunks on standard input as read
///
/// The input is `read` records, one a delivered chunk, as auwai-ledger print acknowledges them;
/// other records are passed over. Marks are committed at most 100 ms after they came, at the end of
/// the input, and before a SIGINT or SIGTERM ends the process. Twice is once. A chunk that is not
/// planned is an error that names the line; what came before it stands.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    target: FullReadOptions,
    #[command(flatten)]
    reader: ReaderOption,
    /// How they were read
    #[arg(long, value_name = "HOW", default_value = "shown")]
    how: Way,
    /// The segment that they were read under (default: the one that holds the chunk)
    #[arg(long, value_name = "ID")]
    segment: Option<String>,
}

#[derive(Debug, Clone, Copy, clap::ValueEnum)]
enum Way {
    /// Their text was delivered
    Shown,
    /// Their text was delivered, and the reader gave back a mark in it
    Confirmed,
    /// A command took them as its input, and ended well
    Run,
    /// An earlier read of the same body moved to them
    Moved,
    /// They were read elsewhere
    Imported,
}

impl Way {
    fn meant(self) -> How {
        match self {
            Way::Shown => How::Shown,
            Way::Confirmed => How::Confirmed,
            Way::Run => How::Run,
            Way::Moved => How::Moved,
            Way::Imported => How::Imported,
        }
    }
}

/// Runs the verb.
pub fn run(args: Args, io: &mut Io<'_>) -> Result<()> {
    let reader = args.reader.resolve(io.world)?;
    let signals = Signals::catch()?;
    let (_, mut coverage) = args.target.open(io)?;
    let segment = args.segment.map(SegmentId);
    if let Some(id) = &segment {
        coverage.segment(id)?;
    }
    let marking = Marking { reader, how: args.how.meant(), segment };
    let world = io.world;
    let mut input = Reader::new(&mut *io.input, "-");
    commit_in_groups(
        || next(&mut input),
        |group| mark(&mut coverage, group, &marking, &world.timestamp()),
        &signals,
    )
}

/// The next `read` record of the input.
fn next<R: std::io::BufRead>(input: &mut Reader<R>) -> Result<Option<Delivery>> {
    loop {
        match input.next_record()? {
            None => return Ok(None),
            Some(Record::Read(read)) => {
                let unknown = input.bad(&format!("'{}:{}' is not in the plan", read.repo, read.id));
                return Ok(Some(Delivery { read, unknown: unknown.hint(HINT) }));
            }
            Some(_) => {}
        }
    }
}

const HINT: &str = "what came before it is marked; plan what the tree is now: `auwai plan --force`";

/// Marks a group; what came before an unknown chunk stands.
fn mark(coverage: &mut Coverage, group: Vec<Delivery>, marking: &Marking, at: &str) -> Result<()> {
    let (reads, mut unknown): (Vec<Read>, Vec<Error>) =
        group.into_iter().map(|delivery| (delivery.read, delivery.unknown)).unzip();
    match coverage.mark(&reads, marking, at)?.unknown {
        None => Ok(()),
        Some(at) => Err(unknown.swap_remove(at)),
    }
}
