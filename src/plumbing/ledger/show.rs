//! `auwai-ledger show`: the text of chunks, checked against the index: the input of
//! `auwai-ledger print`.

use std::ffi::OsString;

use crate::cli::Io;
use crate::counted::{agree, count};
use crate::error::{Error, Result};
use crate::index::BodyReader;
use crate::plumbing::ledger::budget;
use crate::plumbing::ledger::reading::{Part, Reading, ReadingOptions, Wanted};
use crate::plumbing::ledger::source::Source;
use crate::plumbing::ledger::words::StdinOption;
use crate::record::{self, End, SegmentId, Unread, Why};
use crate::store::coverage::{Coverage, InForce};

/// Write the text of chunks, as `body` records
///
/// The bytes are hashed and compared with the index before they go out. A chunk whose file has
/// changed since is not shown: it becomes an `unread` record with `why` `changed`, the others are
/// shown, and the exit status is 3. A path that has no text to show is an error, and then nothing is
/// shown; so is a segment that has outgrown the budget of the plan.
#[derive(Debug, Clone, clap::Args)]
pub struct Args {
    #[command(flatten)]
    of: ReadingOptions,
    /// Show the chunks of this segment of the workspace's plan
    #[arg(long, value_name = "ID", requires = "workspace", conflicts_with_all = ["wanted", "stdin", "null"])]
    segment: Option<String>,
    /// Show only chunks that are not complete
    #[arg(long)]
    unread: bool,
    /// What is shown will be printed in pages: show the segment also where all of it together has
    /// outgrown the budget of the plan
    #[arg(long, requires = "segment")]
    paged: bool,
    /// Take no chunk that the plan does not have: what is named and not in it at all is an error, and
    /// then nothing is shown; of a file that has changed since, the chunks that stand are shown
    #[arg(long, requires = "workspace")]
    planned: bool,
    /// Chunks to show: an id, a unique prefix of 6 digits or more, either behind `repo:`, or a path
    /// for all chunks of a file
    #[arg(value_name = "ID|PATH", required_unless_present_any = ["segment", "stdin"])]
    #[arg(conflicts_with_all = ["stdin", "null"])]
    wanted: Vec<OsString>,
    #[command(flatten)]
    stdin: StdinOption,
}

/// Runs the verb.
pub fn run(args: Args, io: &mut Io<'_>) -> Result<()> {
    let reading = Reading::open(&args.of, io.world)?;
    let wanted = wanted(&args, &reading, io)?;
    let mut shown = Shown { planned: reading.coverage().is_some(), ..Shown::default() };
    for (source, wanted) in joined(wanted) {
        show(&source, &wanted, &mut shown, io)?;
    }
    record::write(io.out, &End { of: "body".into(), count: shown.bodies })?;
    shown.verdict()
}

/// What is to be shown.
fn wanted(args: &Args, reading: &Reading, io: &mut Io<'_>) -> Result<Vec<Part>> {
    let Some(id) = &args.segment else {
        let words = args.stdin.words(&args.wanted, io.input).collect::<Result<Vec<_>>>()?;
        let mut found = reading.find(&words, io.world)?;
        if args.planned {
            found = reading.planned(&words, found)?;
        }
        return Ok(unless_read(args, found));
    };
    let (segment, parts) = reading.segment(&SegmentId(id.clone()))?;
    let parts = unless_read(args, parts);
    let policy = reading.coverage().filter(|_| !args.paged).map(Coverage::in_force).transpose()?;
    if let Some(InForce { policy, .. }) = policy {
        budget::check(&segment, &policy, &parts)?;
    }
    Ok(parts)
}

/// With --unread, what is complete stays out.
fn unless_read(args: &Args, mut parts: Vec<Part>) -> Vec<Part> {
    for (_, wanted) in &mut parts {
        wanted.retain(|chunk| !(args.unread && chunk.complete()));
    }
    parts
}

/// Parts that follow each other in one repository are one: it is opened once.
fn joined(parts: Vec<Part>) -> Vec<Part> {
    let mut joined: Vec<Part> = Vec::new();
    for (source, wanted) in parts {
        match joined.last_mut() {
            Some((last, more)) if last.name == source.name => more.extend(wanted),
            _ => joined.push((source, wanted)),
        }
    }
    joined
}

#[derive(Default)]
struct Shown {
    bodies: u64,
    changed: u64,
    /// Whether there is a plan that they are held against.
    planned: bool,
}

impl Shown {
    fn verdict(&self) -> Result<()> {
        if self.changed == 0 {
            return Ok(());
        }
        let (since, hint) = match self.planned {
            true => ("the plan", super::CHANGED_HINT),
            false => ("the index was made", "bring it up to date: `auwai index`"),
        };
        let (chunks, have) = (count(self.changed, "chunk"), agree(self.changed, "has", "have"));
        Err(Error::failed("changed", format!("{chunks} {have} changed since {since}")).hint(hint))
    }
}

fn show(source: &Source, wanted: &[Wanted], shown: &mut Shown, io: &mut Io<'_>) -> Result<()> {
    record::write(io.out, &source.record(&source.ledger()?)?)?;
    let root = source.open_root()?;
    // What git says is evidence, and not needed to read: git may be at odds with itself.
    let git = source.policy(io.world).ok();
    let mut reader = BodyReader::new(&root, &source.name, git.as_ref());
    for chunk in wanted {
        let body = match chunk {
            Wanted::Here(here) => reader.read(&here.row, &here.cut, here.complete),
            Wanted::Gone(..) => None,
        };
        match body {
            Some(body) => {
                shown.bodies += 1;
                record::write(io.out, &body)?;
            }
            None => {
                shown.changed += 1;
                record::write(io.out, &changed(source, chunk))?;
            }
        }
    }
    Ok(())
}

fn changed(source: &Source, chunk: &Wanted) -> Unread {
    let (path, id, lines) = match chunk {
        Wanted::Here(here) => (here.row.path.to_wire(), here.cut.id, Some(here.cut.lines)),
        Wanted::Gone(path, id) => (path.to_wire(), *id, None),
    };
    Unread {
        repo: source.name.clone(),
        path: path.0,
        path_b64: path.1,
        lines,
        id: Some(id),
        bytes: None,
        tokens: None,
        segment: None,
        reader: None,
        why: Why::Changed,
    }
}
