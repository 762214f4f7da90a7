//! `auwai-ledger adopt`: a plan becomes the plan in force.

use super::outdated::is_outdated;
use super::target::{FullReadOptions, owner};
use super::{Ledger, import};
use crate::cli::{Io, Tool};
use crate::counted::{agree, count};
use crate::error::Result;
use crate::record::{self, End, Plan, path_to_wire};
use crate::store::coverage::{Coverage, fullread_path, ledger_path};
use crate::workspace::Workspace;

/// Make the plan on standard input the plan in force
///
/// The input is what auwai-plan writes: `policy`, `segment`…, `plan`, `end`; without the `end`
/// nothing changes. With a plan there and the same policy nothing changes either, and the plan that
/// is there is printed; the `policy` record alone is enough then. Every planned chunk gets a row in coverage.sqlite.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    target: FullReadOptions,
    /// Begin anew, also beside an unfinished plan: nothing counts as read then (the history of
    /// reads stays)
    #[arg(long)]
    force: bool,
}

/// Runs the verb.
pub fn run(args: Args, io: &mut Io<'_>) -> Result<()> {
    let workspace = args.target.workspace(io.world)?;
    let dir = workspace.create_fullread_dir()?;
    let at = io.world.timestamp();
    let (mut coverage, adopted) = Coverage::adopt(&dir, io.input, args.force, &at)?;
    count_imported(&mut coverage, &workspace, &at, io)?;
    if !adopted.existing {
        super::warn_export(coverage.export(owner(&workspace)), io);
    }
    let outdated = adopted.existing && is_outdated(&adopted.plan, &workspace);
    let plan = Plan { outdated: outdated.then_some(true), ..adopted.plan };
    record::write(io.out, &located(plan, adopted.existing, &workspace))?;
    record::write(io.out, &End { of: "plan".to_string(), count: 1 })
}

/// Lets count what was imported before there was a plan, also where an adoption was stopped before it
/// came to that.
fn count_imported(
    coverage: &mut Coverage,
    workspace: &Workspace,
    at: &str,
    io: &mut Io<'_>,
) -> Result<()> {
    if !coverage.has_waiting_reads()? {
        return Ok(());
    }
    let completed = import::waiting(coverage, workspace, at, io)?;
    coverage.note_waiting_reads()?;
    if completed > 0 {
        let (chunks, are) = (count(completed, "chunk"), agree(completed, "is", "are"));
        io.say(Ledger::NAME, &format!("{chunks} {are} read already: reads were imported"));
    }
    Ok(())
}

/// A plan that is in force, and where all of it is.
pub(super) fn located(plan: Plan, existing: bool, workspace: &Workspace) -> Plan {
    let dir = workspace.fullread_dir();
    let (root, root_b64) = path_to_wire(workspace.root());
    let (coverage, coverage_b64) = path_to_wire(&ledger_path(&dir));
    let (fullread, fullread_b64) = path_to_wire(&fullread_path(&dir));
    Plan {
        workspace: Some(workspace.name().to_string()),
        root: Some(root),
        root_b64,
        coverage: Some(coverage),
        coverage_b64,
        fullread: Some(fullread),
        fullread_b64,
        existing: Some(existing),
        ..plan
    }
}
