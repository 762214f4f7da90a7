//! `auwai replan`: the plan follows the tree.

use super::index::scan_all;
use super::options::Common;
use super::pipeline::Pipeline;
use super::plan::{Shape, adopted, refuse_to_count_anew, summary};
use super::target::Target;
use super::typed::Planning;
use crate::cli::Io;
use crate::counted::count;
use crate::error::{Result, no_plan};
use crate::record::{self, Plan};

/// Let the plan follow the tree
///
/// Brings the index up to date. What is gone leaves the plan; what is new tops up segments that
/// nobody has, and then gets segments of its own. What was read stays read, also where it has moved
/// to another path. Segments that are done or active keep their ids and get nothing new. When there
/// is something new to sum up, the synthesis is to be done again.
///
/// Options that are not given stay as the plan has them, whatever the default. With others, all that
/// nobody has is divided anew.
#[derive(Debug, Clone, Default, clap::Args)]
#[group(skip)]
pub struct Args {
    #[command(flatten)]
    shape: Shape,
}

impl Args {
    /// What was typed, for the commands that are suggested.
    pub fn planning(&self) -> Planning {
        self.shape.planning("replan")
    }
}

/// Runs the command.
pub fn run(args: &Args, common: &Common, io: &mut Io<'_>) -> Result<()> {
    let target = Target::resolve(common, io)?;
    let before = target.status(io)?;
    if before.plan.is_none() {
        return Err(no_plan());
    }
    if let Some(tokenizer) = args.shape.tokenizer() {
        refuse_to_count_anew(tokenizer, &before, &target)?;
    }
    let plan = follow(&args.shape, &target, common, io)?;
    if common.json {
        return record::write(io.out, &plan);
    }
    let existing = plan.existing == Some(true);
    let unchanged = if existing { " (unchanged: it is that of the tree)" } else { "" };
    super::line(io, &format!("plan {}{unchanged}", plan.id))?;
    if !existing {
        super::line(io, &format!("{}; now {}", changes(&plan), summary(&plan)))?;
    }
    let status = if existing { before } else { target.status(io)? };
    let verb = if status.is_finished() { "verify" } else { "next" };
    super::line(io, &format!("go on: auwai {verb}{}", target.flag()))
}

/// Scans, and lets the plan follow. One process at a time does both: else the tree that one has seen
/// before a change could become the plan after that which another has seen since.
///
/// # Errors
/// What the stages say.
pub fn follow(shape: &Shape, target: &Target, common: &Common, io: &mut Io<'_>) -> Result<Plan> {
    let _turn = target.turn(io)?;
    scan_all(target.members(), None, common, io)?;
    let chunks = target.ledger("chunks").arg("--hashes");
    let stages = [chunks, shape.on(target.ledger("replan"), io)];
    adopted(Pipeline::start(&stages, io)?, io)
}

/// What became of a plan, in a line.
pub fn changes(plan: &Plan) -> String {
    let told = |number: Option<u64>, noun: &str, what: &str| {
        number.map(|number| format!("{} {what}", count(number, noun)))
    };
    let all = [
        told(plan.added, "chunk", "added"),
        told(plan.removed, "chunk", "gone"),
        told(plan.moved, "read", "kept"),
    ];
    let all: Vec<String> = all.into_iter().flatten().collect();
    if all.is_empty() { "no chunk has come or gone".to_string() } else { all.join(", ") }
}
