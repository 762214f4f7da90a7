//! `auwai-ledger mark`: what was delivered is read.

mod groups;

use self::groups::{Arrived, commit_in_groups};
use super::source::Source;
use super::target::{FullReadOptions, ReaderOption, Repos};
use crate::cli::{Io, Signals, World};
use crate::error::{Error, Kind, Result};
use crate::record::{Read, Reader, Record, SegmentId};
use crate::store::coverage::{Coverage, How, Marking, Placed};
use crate::store::ledger::{Evidence, Ledger, MarkOutcome};

/// Mark the chunks on standard input as read
///
/// The input is `read` records, one a delivered chunk, as auwai-ledger print acknowledges them;
/// other records are passed over. Marks are committed at most 100 ms after they came, at the end of
/// the input, and before a SIGINT or SIGTERM ends the process. Twice is once. A chunk that is not
/// planned is an error (`not-planned`) that names the line, told at the end; all others are marked.
/// With --segment the marks renew the reader's lease on it. When that has run out and another reader has
/// taken the segment, the chunks are marked all the same, and the exit status is 1 (`lost-lease`).
/// What a record says beside its chunk, such as git's commit, is evidence, and is kept with the read.
///
/// With --repo the marks are those of the repository alone, in its own ledger.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    target: FullReadOptions,
    #[command(flatten)]
    repos: Repos,
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
    if !args.repos.repos.is_empty() {
        return in_repository(&args, &reader, io);
    }
    let signals = Signals::catch()?;
    let (_, mut coverage) = args.target.open(io)?;
    let segment = args.segment.map(SegmentId);
    if let Some(id) = &segment {
        warn_of_holder(&coverage.segment(id)?, &reader, io);
    }
    let marking = Marking { reader, how: args.how.meant() };
    let world = io.world;
    let mut lease = Kept { reader: &marking.reader, segment, lost: None };
    lease.renew(&mut coverage, world)?;
    let mut input = Reader::new(&mut *io.input, "-");
    let mut unknown = None;
    commit_in_groups(
        || next(&mut input, "plan", |unknown| unknown.called("not-planned").hint(HINT)),
        |group| {
            let first = mark(&mut coverage, group, &marking, &world.timestamp())?;
            unknown = unknown.take().or(first);
            lease.renew(&mut coverage, world)
        },
        &signals,
    )?;
    lease.lost.or(unknown).map_or(Ok(()), Err)
}

/// The lease that deliveries renew.
struct Kept<'a> {
    reader: &'a str,
    segment: Option<SegmentId>,
    /// That it ran out, and another has the segment: told at the end, since what is delivered is read
    /// all the same.
    lost: Option<Error>,
}

impl Kept<'_> {
    /// Renews it. Who reads what is not its own has none to renew.
    fn renew(&mut self, coverage: &mut Coverage, world: &World) -> Result<()> {
        let Some(id) = self.segment.as_ref().filter(|_| self.lost.is_none()) else {
            return Ok(());
        };
        match coverage.renew(self.reader, Some(id), &world.moment()) {
            Err(error) if error.code() == "lost-lease" => self.lost = Some(error),
            // A replan has taken it away meanwhile.
            Err(error) if error.code() == "unknown-segment" => self.segment = None,
            Err(error) if error.kind() != Kind::No => return Err(error),
            _ => {}
        }
        Ok(())
    }
}

/// To read in a segment that another reader has is allowed, and worth a word.
fn warn_of_holder(placed: &Placed, reader: &str, io: &mut Io<'_>) {
    let Placed { segment, .. } = placed;
    if let Some(holder) = segment.reader.as_deref().filter(|holder| *holder != reader) {
        let id = &segment.id;
        io.say("auwai-ledger", &format!("reader {holder} has {id}; what is read of it counts"));
    }
}

/// Marks in the ledger of the repository alone.
fn in_repository(args: &Args, reader: &str, io: &mut Io<'_>) -> Result<()> {
    let signals = Signals::catch()?;
    let terms = args.target.state.resolve(io.world);
    let source = Source::named(args.repos.one()?, &terms, io.world)?;
    let mut ledger = source.ledger()?;
    let (how, world) = (args.how.meant().as_str(), io.world);
    let mut input = Reader::new(&mut *io.input, "-");
    let mut unknown = None;
    commit_in_groups(
        || next(&mut input, "index", |unknown| unknown.called("unknown-chunk").hint(INDEX_HINT)),
        |group| {
            let evidence = Evidence { reader, how, at: &world.timestamp() };
            let first = mark_indexed(&mut ledger, &source.name, group, evidence)?;
            unknown = unknown.take().or(first);
            Ok(())
        },
        &signals,
    )?;
    unknown.map_or(Ok(()), Err)
}

/// Marks what is known of a group in a repository's ledger; the error for the first that is not.
fn mark_indexed(
    ledger: &mut Ledger,
    name: &str,
    group: Vec<Arrived>,
    evidence: Evidence<'_>,
) -> Result<Option<Error>> {
    let own = |arrived: &Arrived| arrived.read.repo == name;
    let foreign = group.iter().position(|arrived| !own(arrived));
    let mine: Vec<usize> = (0..group.len()).filter(|at| own(&group[*at])).collect();
    let (reads, mut unknown) = apart(group);
    let reads: Vec<Read> = mine.iter().map(|at| reads[*at].clone()).collect();
    let outcomes = ledger.mark(&reads, evidence)?;
    let missing = outcomes.iter().position(|outcome| *outcome == MarkOutcome::Unknown);
    let first = missing.map(|at| mine[at]).into_iter().chain(foreign).min();
    Ok(first.map(|at| unknown.swap_remove(at)))
}

/// The reads of a group, and the error for each if it is not known.
fn apart(group: Vec<Arrived>) -> (Vec<Read>, Vec<Error>) {
    group.into_iter().map(|delivery| (delivery.read, delivery.unknown)).unzip()
}

/// The next `read` record of the input; `place` is where an unknown chunk is missing.
fn next<R: std::io::BufRead>(
    input: &mut Reader<R>,
    place: &str,
    explain: impl Fn(Error) -> Error,
) -> Result<Option<Arrived>> {
    loop {
        match input.next_record()? {
            None => return Ok(None),
            Some(Record::Read(read)) => {
                let unknown =
                    input.bad(&format!("'{}:{}' is not in the {place}", read.repo, read.id));
                return Ok(Some(Arrived { read, unknown: explain(unknown) }));
            }
            Some(_) => {}
        }
    }
}

const INDEX_HINT: &str = "the others are marked; bring the index up to date: `auwai index`";

const HINT: &str = "the others are marked; let the plan follow the tree: `auwai replan`";

/// Marks what is planned of a group; the error for the first that is not.
fn mark(
    coverage: &mut Coverage,
    group: Vec<Arrived>,
    marking: &Marking,
    at: &str,
) -> Result<Option<Error>> {
    let (reads, mut unknown) = apart(group);
    let first = coverage.mark(&reads, marking, at)?.unknown;
    Ok(first.map(|at| unknown.swap_remove(at)))
}
