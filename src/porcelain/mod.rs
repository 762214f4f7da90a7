//! The porcelain: `auwai …`, for people. It composes the plumbing as processes joined by pipes and
//! sees records only.

mod advice;
mod done;
mod help;
mod index;
mod log;
pub mod man;
mod nested;
mod next;
mod options;
mod pipeline;
mod plan;
mod progress;
mod read;
mod render;
mod replan;
mod run;
mod signals;
mod status;
mod survey;
mod target;
mod trace;
mod typed;
mod verbs;
mod verify;
mod waive;
mod watch;
mod why;
mod workspace;

use std::ffi::OsString;
use std::process::ExitCode;

use clap::Parser;

use crate::cli::{Io, Tool};
use crate::error::{Error, Result};
use crate::plumbing;
use crate::workspace::Registry;
use options::Common;
use typed::Typed;

/// Read whole repositories, a context window at a time, and prove it
///
/// auwai cuts every file into chunks, packs the chunks into segments that fit a reader's context
/// window, hands them out one after the other, and keeps a ledger of what was really delivered.
/// `auwai verify` answers, by exit status, whether anything in the tree as it stands is unread.
#[derive(Debug, Parser)]
#[command(name = "auwai", version, disable_help_subcommand = true, max_term_width = 100)]
#[command(
    after_help = "Plumbing: auwai-wait-events, auwai-relay, auwai-ledger, auwai-plan, auwai-inbox (JSON Lines over pipes). The manual: auwai help [COMMAND]"
)]
pub struct Auwai {
    #[command(flatten)]
    common: Common,
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Clone, clap::Subcommand)]
enum Verb {
    Index(index::Args),
    Watch(watch::Args),
    Why(why::Args),
    /// Several repositories read as one
    #[command(subcommand)]
    Workspace(workspace::Verb),
    #[command(flatten)]
    Fullread(verbs::FullreadVerb),
    Help(help::Args),
}

impl Tool for Auwai {
    const NAME: &'static str = "auwai";

    fn json(&self) -> bool {
        self.common.json
    }

    fn run(self, io: &mut Io<'_>) -> Result<()> {
        let common = &self.common;
        let world = common.dir.as_deref().map(|dir| io.world.inside(dir)).transpose()?;
        let world = world.as_ref().unwrap_or(io.world);
        let io = &mut Io { input: io.input, out: io.out, err: io.err, world };
        let done = match &self.verb {
            Verb::Index(args) => index::run(args, common, io),
            Verb::Watch(args) => watch::run(args, common, io),
            Verb::Why(args) => why::run(args, common, io),
            Verb::Workspace(verb) => workspace::run(verb, common, io),
            Verb::Fullread(verb) => verb.run(common, io),
            Verb::Help(args) => help::run(args, common, io),
        };
        done.map_err(|error| self.verb.typed(common).repeat(error))
    }

    fn advice(words: &[OsString], error: &clap::Error) -> Option<String> {
        advice::of(words, error)
    }
}

impl Verb {
    /// What was typed and is to be repeated in the commands that are suggested.
    fn typed(&self, common: &Common) -> Typed {
        let plain = || Typed::of(common, None);
        match self {
            Verb::Fullread(verb) | Verb::Workspace(workspace::Verb::Fullread(verb)) => {
                Typed::of(common, verb.reader()).planning(verb.planning())
            }
            Verb::Workspace(workspace::Verb::Survey(args)) => {
                plain().planning(Some(args.planning()))
            }
            Verb::Index(_) => plain().stands_for(&[("auwai-ledger scan", "auwai index")]),
            Verb::Watch(_) => plain().stands_for(&[
                ("auwai-wait-events", "auwai watch"),
                ("auwai-ledger sync", "auwai watch"),
            ]),
            _ => plain(),
        }
    }
}

/// `main` of `auwai`: a porcelain command, or the plumbing tool that the first argument names, which
/// is how pipelines start their stages.
pub fn main() -> ExitCode {
    plumbing::main::<Auwai>()
}

/// The names of workspaces on this machine.
fn registry(io: &Io<'_>) -> Registry {
    Registry::below(io.world.state_home().as_deref())
}

/// Writes one line to standard output.
fn line(io: &mut Io<'_>, text: &str) -> Result<()> {
    writeln!(io.out, "{text}").map_err(|e| Error::io("write to", "standard output", &e))
}

/// Writes text that has its own line ends.
fn text(io: &mut Io<'_>, text: &str) -> Result<()> {
    let end = if text.ends_with('\n') { "" } else { "\n" };
    write!(io.out, "{text}{end}").map_err(|e| Error::io("write to", "standard output", &e))
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    /// Clap looks at a command's own contradictions only when it runs, and only in this profile.
    #[test]
    fn the_command_line_contradicts_itself_nowhere() {
        super::Auwai::command().debug_assert();
        super::plumbing::inbox::Inbox::command().debug_assert();
        super::plumbing::ledger::Ledger::command().debug_assert();
        super::plumbing::plan::PlanTool::command().debug_assert();
        super::plumbing::relay::Relay::command().debug_assert();
        super::plumbing::wait_events::WaitEvents::command().debug_assert();
    }
}
