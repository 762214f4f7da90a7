//! The verbs of a full read: the same under `auwai` and under `auwai workspace fullread`.

use super::options::Common;
use super::typed::Planning;
use super::{done, log, next, plan, read, replan, run, status, verify, waive};
use crate::cli::Io;
use crate::error::Result;

// What each is for stands at its arguments, once, for both places.
/// Work through a plan, segment by segment
#[derive(Debug, Clone, clap::Subcommand)]
pub enum FullreadVerb {
    Plan(plan::Args),
    Next(next::Args),
    Read(read::Args),
    Done(done::Args),
    Status(status::Args),
    Verify(verify::Args),
    Unread(verify::UnreadArgs),
    Replan(replan::Args),
    Run(run::Args),
    Log(log::Args),
    Waive(waive::Args),
}

impl FullreadVerb {
    /// The reader that was typed.
    pub fn reader(&self) -> Option<&str> {
        let option = match self {
            FullreadVerb::Next(args) => &args.reader,
            FullreadVerb::Read(args) => &args.reader,
            FullreadVerb::Done(args) => &args.reader,
            _ => return None,
        };
        option.reader.as_deref()
    }

    /// What was typed of a plan.
    pub fn planning(&self) -> Option<Planning> {
        match self {
            FullreadVerb::Plan(args) => Some(args.planning()),
            FullreadVerb::Replan(args) => Some(args.planning()),
            FullreadVerb::Run(args) => Some(args.planning()),
            _ => None,
        }
    }

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
            FullreadVerb::Replan(args) => replan::run(args, common, io),
            FullreadVerb::Run(args) => run::run(args, common, io),
            FullreadVerb::Log(args) => log::run(args, common, io),
            FullreadVerb::Waive(args) => waive::run(args, common, io),
        }
    }
}
