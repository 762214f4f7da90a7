//! `auwai plan`: divide what is to be read into segments.

use std::path::PathBuf;

use super::index::scan_all;
use super::options::Common;
use super::pipeline::{Pipeline, Stage, silent, stage};
use super::render::{from_ppm, percent};
use super::target::Target;
use super::trace;
use super::typed::Planning;
use crate::cli::Io;
use crate::counted::{agree, count, thousands};
use crate::error::{Error, Result};
use crate::plumbing::plan::{BRIEF_TOKENS, PolicyArgs, options};
use crate::record::{Plan, Policy, Record, Status, Tokens};

/// What a plan is made under.
#[derive(Debug, Clone, Default, clap::Args)]
pub struct Shape {
    #[command(flatten)]
    policy: PolicyArgs,
    /// Read files that match an earlier glob of FILE first, as `git diff -O` does
    ///
    /// See auwai-plan(1) for the globs.
    #[arg(long, value_name = "FILE")]
    order: Option<PathBuf>,
    /// The same, with the globs themselves: how a plan keeps its order.
    #[arg(skip)]
    globs: Vec<String>,
}

impl Shape {
    /// What made this policy.
    fn of(policy: &Policy) -> Shape {
        Shape { policy: PolicyArgs::of(policy), order: None, globs: policy.order.clone() }
    }

    /// The tokenizer, where one was asked for.
    pub fn tokenizer(&self) -> Option<&str> {
        self.policy.tokenizer.as_deref()
    }

    /// A stage with these options.
    pub fn on(&self, stage: Stage, io: &Io<'_>) -> Stage {
        let typed = self.policy.typed().into_iter();
        let stage = typed.fold(stage, |stage, (name, value)| stage.arg(name).arg(value));
        let order = self.order.as_deref().map(|file| io.world.absolute(file));
        let stage = stage.option("--order", order);
        self.globs.iter().fold(stage, |stage, glob| stage.arg(format!("--order-glob={glob}")))
    }

    /// What was typed with `verb`, for the commands that are suggested.
    pub fn planning(&self, verb: &'static str) -> Planning {
        let mut options = self.policy.typed();
        let order = self.order.as_deref().map(|file| ("--order", trace::quote(file.as_os_str())));
        options.extend(order);
        Planning { verb, options, ..Planning::default() }
    }

    /// Whether anything of it was typed.
    fn is_typed(&self) -> bool {
        self.order.is_some() || !self.policy.typed().is_empty()
    }
}

/// Divide what is to be read into segments that fit the reader's window
///
/// Brings the index up to date, plans, and keeps the plan. With a plan there, and no options or those
/// that it was made with, it is printed and nothing is changed.
#[derive(Debug, Clone, Default, clap::Args)]
#[group(skip)] // `run` has these options among its own `Args`, and clap groups go by that name.
pub struct Args {
    #[command(flatten)]
    shape: Shape,
    /// Forget the plan that is there and what was read under it, and plan anew, with its options
    /// unless others are given; what was read stays in the history
    #[arg(long)]
    force: bool,
}

impl Args {
    /// What was typed, for the commands that are suggested.
    pub fn planning(&self) -> Planning {
        Planning { force: self.force, ..self.shape.planning("plan") }
    }
}

/// Runs the command.
pub fn run(args: &Args, common: &Common, io: &mut Io<'_>) -> Result<()> {
    let target = Target::resolve(common, io)?;
    let made = ensure(args, &target, common, io)?;
    made.hint_replan(&target, io);
    let Made { plan, before, .. } = made;
    if common.json {
        return crate::record::write(io.out, &plan);
    }
    let status = if plan.existing == Some(true) { before } else { target.status(io)? };
    tell(&plan, status.is_finished(), &target, io)?;
    if let Some(policy) = &status.policy {
        hint_half_empty(policy, &plan, true, &target, io);
    }
    Ok(())
}

/// A plan that is there.
pub struct Made {
    /// It.
    pub plan: Plan,
    /// How things stood before.
    before: Status,
    /// Whether it was there before, and is of repositories that were bounded otherwise.
    rebounded: bool,
}

impl Made {
    /// A plan that stays, where another may be wanted, does not stay without a word.
    fn hint_replan(&self, target: &Target, io: &mut Io<'_>) {
        let follow = format!("let it follow the tree: `{}`", target.plan_command(true));
        let anew =
            format!("or begin anew, with nothing read: `auwai plan --force{}`", target.flag());
        if self.rebounded {
            io.say("auwai", "the plan that is there stays, and is bounded to other folders");
            io.hint(&follow);
        } else if self.plan.existing == Some(true) && self.before.is_finished() {
            io.say("auwai", "the plan that is there is finished, and stays");
            io.hint(&follow);
            io.hint(&anew);
        } else if self.plan.outdated == Some(true) {
            io.say("auwai", "the plan that is there stays, and the tree has changed");
            io.hint(&follow);
        }
    }
}

/// Makes the plan unless there is one, and returns it.
pub fn ensure(args: &Args, target: &Target, common: &Common, io: &mut Io<'_>) -> Result<Made> {
    // What is planned anew may take the place of a plan that has followed the tree meanwhile.
    let _turn = args.force.then(|| target.turn(io)).transpose()?;
    let before = target.status(io)?;
    if let Some(tokenizer) = args.shape.tokenizer().filter(|_| !args.force) {
        refuse_to_count_anew(tokenizer, &before, target)?;
    }
    scan_all(target.members(), args.shape.tokenizer(), common, io)?;
    let plan = match before.policy.as_ref().filter(|_| !args.shape.is_typed()) {
        // Nothing was said of another plan: this one stays, or is made again as it was.
        Some(policy) if !args.force => keep(policy, target, io),
        Some(policy) => make(&Shape::of(policy), args.force, target, io),
        None => make(&args.shape, args.force, target, io),
    }?;
    warn(&plan, &before, io);
    let policy = before.policy.as_ref().filter(|_| plan.existing == Some(true));
    let rebounded = policy.is_some_and(|policy| policy.scope != target.scope());
    Ok(Made { plan, before, rebounded })
}

/// Says what a plan costs. `before` is how things stood before it.
fn warn(plan: &Plan, before: &Status, io: &mut Io<'_>) {
    let read = before.chunks.complete;
    if plan.existing != Some(true) && read > 0 {
        let (chunks, do_not) = (count(read, "chunk"), agree(read, "does", "do"));
        let was = agree(read, "was", "were");
        io.say("auwai", &format!("{chunks} that {was} read {do_not} not count any more"));
    }
}

/// The plan that is there, if one is.
pub fn standing(target: &Target, io: &mut Io<'_>) -> Result<Option<Plan>> {
    let policy = target.status(io)?.policy;
    policy.map(|policy| keep(&policy, target, io)).transpose()
}

/// Another tokenizer cuts the whole index anew, and nothing that is planned would be left.
///
/// # Errors
/// `planned` when `status` is that of a plan which is counted with another than `tokenizer`.
pub fn refuse_to_count_anew(tokenizer: &str, status: &Status, target: &Target) -> Result<()> {
    match status.policy.as_ref().filter(|policy| policy.tokenizer != tokenizer) {
        None => Ok(()),
        Some(policy) => {
            let message = format!("there is a plan that is counted with {}", policy.tokenizer);
            Err(Error::no("planned", message)
                .hint(format!("leave it, and leave out `--tokenizer {tokenizer}`"))
                .hint(format!(
                    "or begin anew, with nothing read: `auwai plan --force --tokenizer {tokenizer}{}`",
                    target.flag()
                )))
        }
    }
}

/// The plan that is there: its policy alone is enough for `adopt` to keep it.
fn keep(policy: &Policy, target: &Target, io: &mut Io<'_>) -> Result<Plan> {
    let mut line = Vec::new();
    crate::record::write(&mut line, policy)?;
    adopted(Pipeline::start_on(&[target.ledger("adopt")], &line, io)?, io)
}

fn make(shape: &Shape, force: bool, target: &Target, io: &mut Io<'_>) -> Result<Plan> {
    let adopt = target.ledger("adopt").flag("--force", force);
    let stages = [target.ledger("chunks"), plan_stage(shape, target, io), adopt];
    adopted(Pipeline::start(&stages, io)?, io)
}

/// What `adopt` or `replan`, at the end of a pipeline, says.
pub fn adopted(pipeline: Pipeline, io: &mut Io<'_>) -> Result<Plan> {
    let mut plan = None;
    pipeline.records(io, |record, _| {
        if let Record::Plan(made) = record {
            plan = Some(made);
        }
        Ok(())
    })?;
    plan.ok_or_else(|| silent("the plan was not kept"))
}

/// `auwai-plan` with these options, and the subtrees that the repositories are bounded to.
pub fn plan_stage(shape: &Shape, target: &Target, io: &Io<'_>) -> Stage {
    let plan = stage(["auwai-plan"]);
    let scope = target.scope().into_iter();
    shape.on(scope.fold(plan, |plan, dir| plan.arg("--scope").arg(dir)), io)
}

fn tell(plan: &Plan, finished: bool, target: &Target, io: &mut Io<'_>) -> Result<()> {
    let existing = if plan.existing == Some(true) { " (made before, unchanged)" } else { "" };
    super::line(io, &format!("plan {}{existing}", plan.id))?;
    super::line(io, &summary(plan))?;
    for repo in &plan.repos {
        super::line(io, &format!("  {}: {}", repo.name, count(repo.chunks, "chunk")))?;
    }
    let verb = if finished { "verify" } else { "next" };
    super::line(io, &format!("go on: auwai {verb}{}", target.flag()))
}

/// Says with which prompt the segments would be full, when it is their lists of chunks that keep them
/// from it.
pub fn hint_half_empty(
    policy: &Policy,
    plan: &Plan,
    planned: bool,
    target: &Target,
    io: &mut Io<'_>,
) {
    let Some((share, wanted)) = half_empty(policy, plan) else { return };
    let why = "their lists of chunks fill the prompt";
    io.say("auwai", &format!("the segments are {share} % full: {why}"));
    let options = options(&Policy { fixed_prompt: wanted, ..policy.clone() });
    io.hint(&format!("with more of it they are full: `{}{options}`", target.plan_command(planned)));
}

/// The mean fill in percent, and the fixed prompt that would do, of a plan whose segments are less
/// than four fifths full. Nothing but the list of chunks, which has to fit the prompt, closes a segment
/// so early; only the last may be small for want of text.
fn half_empty(policy: &Policy, plan: &Plan) -> Option<(u64, Tokens)> {
    let full = plan.segments.checked_sub(2).filter(|full| *full > 0)?;
    let budget = policy.segment_budget.0;
    let share = percent(plan.tokens.0, budget.checked_mul(full)?)?;
    let listed = policy.fixed_prompt.0.checked_sub(BRIEF_TOKENS)?;
    // A tenth more, since lists are not all of one length.
    let wanted = u128::from(listed) * 110 / u128::from(share.max(1)) + u128::from(BRIEF_TOKENS);
    let wanted = u64::try_from(wanted).ok()?.div_ceil(1000) * 1000;
    let room = policy.context_window.0.checked_sub(policy.reserve.0)?;
    (share < 80 && wanted <= room / 2).then_some((share, Tokens(wanted)))
}

/// A plan in one line.
pub fn summary(plan: &Plan) -> String {
    format!(
        "{}, {}, {} as printed",
        count(plan.segments, "segment"),
        count(plan.chunks, "chunk"),
        count(plan.tokens.0, "token")
    )
}

/// A policy in one line.
pub fn policy_line(policy: &Policy) -> String {
    format!(
        "window {}, prompt {}, reserve {}, safety {}: {} a segment ({})",
        thousands(policy.context_window.0),
        thousands(policy.fixed_prompt.0),
        thousands(policy.reserve.0),
        from_ppm(policy.safety_ppm),
        count(policy.segment_budget.0, "token"),
        policy.tokenizer
    )
}
