//! The verbs of a full read: the same under `auwai` and under `auwai workspace fullread`.

use super::options::Common;
use super::{done, next, plan, read, run, status, verify};
use crate::cli::Io;
use crate::error::Result;

/// Work through a plan, segment by segment
#[derive(Debug, Clone, clap::Subcommand)]
pub enum FullreadVerb {
    /// Divide what is to be read into segments that fit the reader's window
    Plan(plan::Args),
    /// Hand out the next segment
    Next(next::Args),
    /// Print the text of the active segment, and mark what was taken as read
    Read(read::Args),
    /// Close a segment, with what was found in it
    Done(done::Args),
    /// Say where the full read stands
    Status(status::Args),
    /// Answer, by exit status, whether everything in the tree as it stands has been read
    Verify(verify::Args),
    /// List what is unread, the largest first
    Unread(verify::UnreadArgs),
    /// Feed every segment to a command, until all is read
    Run(run::Args),
}

impl FullreadVerb {
    /// Runs the verb.
    pub fn run(&self, common: &Common, io: &mut Io<'_>) -> Result<()> {
        match self {
            FullreadVerb::Plan(args) => plan::run(args, common, io),
            FullreadVerb::Next(args) => next::run(args, common, io),
            FullreadVerb::Read(args) => read::run(args, common, io),
            FullreadVerb::Done(args) => done::run(args, common, io),
            FullreadVerb::Status(args) => status::run(args, common, io),
            FullreadVerb::Verify(args) => verify::run(args, common, io),
            FullreadVerb::Unread(args) => verify::run_unread(args, common, io),
            FullreadVerb::Run(args) => run::run(args, common, io),
        }
    }
}
