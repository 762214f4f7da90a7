//! `auwai-ledger`: the index and the ledgers. One file a verb.

mod adopt;
mod brief;
mod claim;
mod close;
mod coverage;
mod mark;
mod release;
mod segments;
mod status;
mod target;

pub use target::{
    DEFAULT_READER, FullReadOptions, ReaderOption, Repos, StateOption, WorkspaceOption,
};

use crate::cli::{Io, Tool};
use crate::error::Result;

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
    Adopt(adopt::Args),
    Segments(segments::Args),
    Claim(claim::Args),
    Release(release::Args),
    Mark(mark::Args),
    Close(close::Args),
    Coverage(coverage::Args),
    Status(status::Args),
}

impl Tool for Ledger {
    const NAME: &'static str = "auwai-ledger";

    fn json(&self) -> bool {
        self.json
    }

    fn run(self, io: &mut Io<'_>) -> Result<()> {
        match self.verb {
            Verb::Adopt(args) => adopt::run(args, io),
            Verb::Segments(args) => segments::run(args, io),
            Verb::Claim(args) => claim::run(args, io),
            Verb::Release(args) => release::run(args, io),
            Verb::Mark(args) => mark::run(args, io),
            Verb::Close(args) => close::run(args, io),
            Verb::Coverage(args) => coverage::run(args, io),
            Verb::Status(args) => status::run(args, io),
        }
    }
}

#[cfg(test)]
mod tests;
