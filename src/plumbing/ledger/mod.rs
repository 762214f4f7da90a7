//! `auwai-ledger`: the index and the ledgers. One file a verb.

pub mod print;
mod target;

pub use target::{Repos, StateOption, WorkspaceOption};

/// Keep the index and the ledgers of repositories, and print what they hold
#[derive(Debug, clap::Parser)]
#[command(name = "auwai-ledger", version)]
pub struct Ledger {
    /// What to do.
    #[command(subcommand)]
    pub verb: Verb,
}

/// The verbs; the comments on their arguments are their help.
#[derive(Debug, clap::Subcommand)]
#[expect(missing_docs, reason = "a comment here would replace the one on the arguments")]
pub enum Verb {
    Print(print::Args),
}

impl crate::cli::Tool for Ledger {
    const NAME: &'static str = "auwai-ledger";

    fn run(self, io: &mut crate::cli::Io<'_>) -> crate::error::Result<()> {
        match self.verb {
            Verb::Print(args) => print::run(args, io),
        }
    }
}
