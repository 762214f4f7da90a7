//! `auwai-ledger import`: evidence from elsewhere.

mod check;
mod file;
mod place;

use std::io::{BufRead, Seek};

use self::file::{Evidence, File};
use self::place::Places;
use super::Ledger;
use super::target::{FullReadOptions, owner};
use crate::cli::{Io, Tool};
use crate::counted::{agree, count};
use crate::error::{Error, Result};
use crate::record::{Read, is_name};
use crate::store::coverage::{Coverage, Imported, Incoming};
use crate::store::spool::spool;
use crate::workspace::Workspace;

/// Take in the evidence that auwai-ledger export wrote, here or elsewhere
///
/// Every read is kept in the history, once, as `imported`, with who made it, how and when. It counts
/// for the chunk of the plan that has its repository's name, its path and its bytes. One whose text
/// is not at its path any more counts for one unread chunk of the same bytes at most, as for a file
/// that was renamed; what else does not fit the tree stays in the history alone. Before there is a
/// plan all waits for one. Findings and waivers come back, each once. The same again changes nothing.
///
/// A line that is malformed or contradicts itself or another is refused, exit status 3, with its
/// number, before anything is imported. Whoever can write an export can forge one: see
/// docs/evidence.md for how to sign it.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    target: FullReadOptions,
    /// Take a stream that was cut off as far as it came
    #[arg(long)]
    partial: bool,
    /// What the export calls OLD is called NEW here; may be repeated
    #[arg(long, value_name = "OLD=NEW", value_parser = renaming)]
    rename: Vec<(String, String)>,
}

/// How many reads are one transaction: it holds the lock for about a second.
const GROUP: usize = 16_384;

fn renaming(text: &str) -> std::result::Result<(String, String), String> {
    match text.split_once('=') {
        Some((old, new)) if is_name(old) && is_name(new) => Ok((old.to_string(), new.to_string())),
        _ => Err("give two names of repositories: OLD=NEW".to_string()),
    }
}

/// Runs the verb.
pub fn run(args: Args, io: &mut Io<'_>) -> Result<()> {
    let workspace = args.target.workspace(io.world)?;
    let dir = workspace.create_fullread_dir()?;
    let mut input = spool(&dir, io.input)?;
    let file = File { partial: args.partial, rename: &args.rename };
    // All of it is looked at before any of it counts.
    let named = file.each(&mut input, &mut |_| Ok(()))?;
    input.rewind().map_err(|e| Error::io("read", "-", &e))?;
    let mut coverage = Coverage::open_or_create(&dir)?;
    let at = io.world.timestamp();
    let done = take(&file, &mut input, &mut coverage, &workspace, &at, io)?;
    super::warn_export(export(&coverage, &workspace), io);
    tell(&done, &coverage, io)?;
    warn_of_strangers(&named, &workspace, io);
    Ok(())
}

/// What came of it all.
#[derive(Default)]
struct Done {
    reads: u64,
    imported: Imported,
    findings: u64,
    waivers: u64,
}

fn take(
    file: &File<'_>,
    input: &mut dyn BufRead,
    coverage: &mut Coverage,
    workspace: &Workspace,
    at: &str,
    io: &mut Io<'_>,
) -> Result<Done> {
    let mut done = Done::default();
    let mut placer = Placer::new(coverage, workspace, at, io)?;
    let (mut findings, mut waivers) = (Vec::new(), Vec::new());
    file.each(input, &mut |evidence| {
        match evidence {
            Evidence::Read(read) => {
                done.reads += 1;
                placer.take(*read, false)?;
            }
            Evidence::Finding(finding) => {
                findings.push(finding);
                // So that no number of findings is in memory at once.
                if findings.len() >= 64 {
                    done.findings += placer.coverage.import_rest(&findings, &[])?.0;
                    findings.clear();
                }
            }
            Evidence::Waiver(waiver) => waivers.push(waiver),
        }
        Ok(())
    })?;
    done.imported = placer.end()?;
    let rest = coverage.import_rest(&findings, &waivers)?;
    (done.findings, done.waivers) = (done.findings + rest.0, rest.1);
    Ok(done)
}

/// Lets the reads count that were imported before there was a plan; how many chunks are complete by
/// them.
///
/// # Errors
/// The ledgers'.
pub(super) fn waiting(
    coverage: &mut Coverage,
    workspace: &Workspace,
    at: &str,
    io: &mut Io<'_>,
) -> Result<u64> {
    let (mut reads, mut last) = coverage.waiting_reads(0)?;
    let mut placer = Placer::new(coverage, workspace, at, io)?;
    while let Some(after) = last {
        reads.drain(..).try_for_each(|read| placer.take(read, true))?;
        (reads, last) = placer.coverage.waiting_reads(after)?;
    }
    placer.end().map(|done| done.completed)
}

/// Puts reads into the ledger in groups, each with its place in the tree.
struct Placer<'a> {
    coverage: &'a mut Coverage,
    places: Places,
    group: Vec<Incoming>,
    done: Imported,
    at: &'a str,
}

impl<'a> Placer<'a> {
    fn new(
        coverage: &'a mut Coverage,
        workspace: &Workspace,
        at: &'a str,
        io: &mut Io<'_>,
    ) -> Result<Self> {
        coverage.make_room()?;
        let places = match coverage.is_planned()? {
            true => Places::of(workspace, io),
            // Nothing counts yet, so no index is asked.
            false => Places::default(),
        };
        Ok(Placer { coverage, places, group: Vec::new(), done: Imported::default(), at })
    }

    fn take(&mut self, read: Read, waits: bool) -> Result<()> {
        let here = self.places.find(&read)?;
        self.group.push(Incoming { read, here, waits });
        if self.group.len() >= GROUP { self.put() } else { Ok(()) }
    }

    fn put(&mut self) -> Result<()> {
        // Before the group is kept: then the plan may know them.
        for incoming in self.group.iter().filter(|incoming| incoming.here.is_none()) {
            if self.places.is_known(&incoming.read) && self.coverage.is_unknown(&incoming.read)? {
                self.places.lost(&incoming.read);
            }
        }
        let done = self.coverage.import_reads(&self.group, self.at)?;
        self.done.new += done.new;
        self.done.completed += done.completed;
        self.group.clear();
        Ok(())
    }

    fn end(mut self) -> Result<Imported> {
        self.put()?;
        let pairs = self.places.pairs(self.coverage)?;
        for group in pairs.chunks(GROUP) {
            self.done.completed += self.coverage.move_imported(group, self.at)?;
        }
        Ok(self.done)
    }
}

fn export(coverage: &Coverage, workspace: &Workspace) -> Result<()> {
    match coverage.is_planned()? {
        true => coverage.export_if_small(owner(workspace)),
        false => Ok(()),
    }
}

fn tell(done: &Done, coverage: &Coverage, io: &mut Io<'_>) -> Result<()> {
    let Done { reads, imported, findings, waivers } = done;
    let mut said = format!("{}, {} new", count(*reads, "read"), imported.new);
    for (number, what) in [(*findings, "new finding"), (*waivers, "new waiver")] {
        if number > 0 {
            said += &format!("; {}", count(number, what));
        }
    }
    let planned = coverage.is_planned()?;
    if planned {
        let (chunks, are) = (imported.completed, agree(imported.completed, "is", "are"));
        said += &format!("; {} {are} now complete", count(chunks, "chunk"));
    }
    io.say(Ledger::NAME, &said);
    if !planned && *reads > 0 {
        io.say(Ledger::NAME, "they count when there is a plan");
        io.hint("make one: `auwai plan`");
    }
    Ok(())
}

/// Says which names mean nothing here.
fn warn_of_strangers(named: &[String], workspace: &Workspace, io: &mut Io<'_>) {
    let is_here = |name: &String| workspace.members().iter().any(|member| member.name == *name);
    let strangers: Vec<&String> = named.iter().filter(|name| !is_here(name)).collect();
    for name in &strangers {
        io.say(
            Ledger::NAME,
            &format!(
                "no repository here is called '{name}': what was read of it stays in the history"
            ),
        );
    }
    if let ([one], [member]) = (&strangers[..], workspace.members())
        && named.len() == 1
    {
        let new = &member.name;
        io.hint(&format!(
            "if it is '{new}', import it again so: `auwai-ledger import --rename {one}={new}`"
        ));
    }
}
