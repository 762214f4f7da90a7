//! `auwai-ledger`: the index and the ledgers. One file a verb.

mod adopt;
mod brief;
mod budget;
mod chunks;
mod claim;
mod close;
mod confirm;
mod coverage;
mod export;
mod files;
mod import;
mod log;
mod mark;
mod not_text;
mod outdated;
pub mod print;
mod reading;
mod release;
mod renew;
mod replan;
mod scan;
mod segments;
mod show;
mod source;
mod status;
mod sync;
mod target;
mod verify;
mod wait;
mod waive;
mod why;
mod words;

use std::io::Write;

use crate::cli::{Io, Tool};
use crate::error::{Error, Result};
use crate::record::Fate;
use crate::store::ledger::{Cut, Ledger as RepoLedger, Row};
use crate::text::Tokenizer;
use crate::visible::one_line;

/// The index and the ledgers: what there is to read, in which order, by whom, and what is read
#[derive(Debug, clap::Parser)]
#[command(name = "auwai-ledger", version, max_term_width = 100)]
pub struct Ledger {
    /// Tell a failure as an `error` record on standard output too
    #[arg(long, global = true)]
    json: bool,
    /// What to do
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, clap::Subcommand)]
enum Verb {
    Scan(scan::Args),
    Sync(sync::Args),
    Files(files::Args),
    Why(why::Args),
    Chunks(chunks::Args),
    Adopt(adopt::Args),
    Replan(replan::Args),
    Segments(segments::Args),
    Claim(claim::Args),
    Release(release::Args),
    Renew(renew::Args),
    Show(show::Args),
    Print(print::Args),
    Mark(mark::Args),
    Confirm(confirm::Args),
    Close(close::Args),
    Coverage(coverage::Args),
    Status(status::Args),
    Verify(verify::Args),
    Log(log::Args),
    Export(export::Args),
    Import(import::Args),
    Waive(waive::Args),
}

impl Tool for Ledger {
    const NAME: &'static str = "auwai-ledger";

    fn json(&self) -> bool {
        self.json
    }

    fn run(self, io: &mut Io<'_>) -> Result<()> {
        let typed = format!("{} {}", Self::NAME, self.verb.name());
        let done = match self.verb {
            Verb::Scan(args) => scan::run(args, io),
            Verb::Sync(args) => sync::run(args, io),
            Verb::Files(args) => files::run(args, io),
            Verb::Why(args) => why::run(args, io),
            Verb::Chunks(args) => chunks::run(args, io),
            Verb::Adopt(args) => adopt::run(args, io),
            Verb::Replan(args) => replan::run(args, io),
            Verb::Segments(args) => segments::run(args, io),
            Verb::Claim(args) => claim::run(args, io),
            Verb::Release(args) => release::run(args, io),
            Verb::Renew(args) => renew::run(args, io),
            Verb::Show(args) => show::run(args, io),
            Verb::Print(args) => print::run(args, io),
            Verb::Mark(args) => mark::run(args, io),
            Verb::Confirm(args) => confirm::run(args, io),
            Verb::Close(args) => close::run(args, io),
            Verb::Coverage(args) => coverage::run(args, io),
            Verb::Status(args) => status::run(args, io),
            Verb::Verify(args) => verify::run(args, io),
            Verb::Log(args) => log::run(args, io),
            Verb::Export(args) => export::run(args, io),
            Verb::Import(args) => import::run(args, io),
            Verb::Waive(args) => waive::run(args, io),
        };
        done.map_err(|error| error.map_hints(|hint| hint.replace(TYPED, &typed)))
    }
}

impl Verb {
    /// The word that is typed.
    fn name(&self) -> &'static str {
        match self {
            Verb::Scan(_) => "scan",
            Verb::Sync(_) => "sync",
            Verb::Files(_) => "files",
            Verb::Why(_) => "why",
            Verb::Chunks(_) => "chunks",
            Verb::Adopt(_) => "adopt",
            Verb::Replan(_) => "replan",
            Verb::Segments(_) => "segments",
            Verb::Claim(_) => "claim",
            Verb::Release(_) => "release",
            Verb::Renew(_) => "renew",
            Verb::Show(_) => "show",
            Verb::Print(_) => "print",
            Verb::Mark(_) => "mark",
            Verb::Confirm(_) => "confirm",
            Verb::Close(_) => "close",
            Verb::Coverage(_) => "coverage",
            Verb::Status(_) => "status",
            Verb::Verify(_) => "verify",
            Verb::Log(_) => "log",
            Verb::Export(_) => "export",
            Verb::Import(_) => "import",
            Verb::Waive(_) => "waive",
        }
    }
}

/// What stands in a hint for the command that was typed: its options do not know whose they are.
const TYPED: &str = "auwai-ledger VERB";

/// What to do when a chunk is not any more what was planned.
const CHANGED_HINT: &str = "let the plan follow the tree: `auwai replan`";

/// `fullread.json` is for people and never read back: that it cannot be written is worth a word and
/// no more.
fn warn_export(exported: Result<()>, io: &mut Io<'_>) {
    if let Err(error) = exported {
        io.say("auwai-ledger", &format!("fullread.json is not up to date: {error}"));
    }
}

/// Parses a fate for clap.
fn parse_fate(text: &str) -> std::result::Result<Fate, String> {
    let known = Fate::ALL.into_iter().find(|fate| fate.as_str() == text);
    known.ok_or_else(|| {
        let all: Vec<&str> = Fate::ALL.iter().map(|fate| fate.as_str()).collect();
        format!("a fate is one of {}", all.join(", "))
    })
}

/// The tokenizer that an index was counted with.
fn tokenizer_of(ledger: &RepoLedger) -> Result<Tokenizer> {
    let name = ledger.meta("tokenizer")?.unwrap_or_default();
    name.parse().map_err(|_| {
        let name = one_line(&name).into_owned();
        Error::failed("newer-schema", format!("the index is counted with '{name}'"))
            .hint("count anew with one that is known here: `auwai index --tokenizer o200k_base`")
    })
}

/// The chunks of a file.
///
/// # Errors
/// `damaged` when they are not those that its row counts.
fn cuts(ledger: &RepoLedger, row: &Row) -> Result<Vec<Cut>> {
    let cuts = ledger.cuts(row.id)?;
    if cuts.len() as u64 == row.chunks {
        return Ok(cuts);
    }
    let path = row.path.display().into_owned();
    Err(Error::failed("damaged", format!("the ledger has lost chunks of '{path}'"))
        .hint("change the file's time (`touch FILE`) and run `auwai index`"))
}

/// Sends what is written, so that a reader sees it now.
fn flush(out: &mut dyn Write) -> Result<()> {
    out.flush().map_err(|e| Error::io("write to", "standard output", &e))
}

#[cfg(test)]
mod tests;
