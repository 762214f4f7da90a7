//! The plumbing: small programs with one job each, JSON Lines in and out. One file a tool, one file
//! a verb: the arguments (their comments are the help and the man page) and `run`.

pub mod inbox;
pub mod ledger;
pub mod plan;
pub mod relay;
pub mod wait_events;

use std::ffi::OsString;
use std::process::ExitCode;

use crate::cli::{Tool, start_with};

/// `main` of a program that starts tools as its stages: it is this same executable, with the tool's
/// name as the first argument, so that their versions cannot differ.
pub fn main<T: Tool>() -> ExitCode {
    let args: Vec<OsString> = std::env::args_os().collect();
    let stage = args.get(1..).and_then(start);
    stage.unwrap_or_else(|| start_with::<T>(args))
}

/// Runs the tool that the first word names; `None` when it names none.
fn start(words: &[OsString]) -> Option<ExitCode> {
    let args = || words.to_vec();
    Some(match words.first()?.to_str()? {
        "auwai-inbox" => start_with::<inbox::Inbox>(args()),
        "auwai-ledger" => start_with::<ledger::Ledger>(args()),
        "auwai-plan" => start_with::<plan::PlanTool>(args()),
        "auwai-relay" => start_with::<relay::Relay>(args()),
        "auwai-wait-events" => start_with::<wait_events::WaitEvents>(args()),
        _ => return None,
    })
}
