//! `auwai workspace`: several repositories read as one.

use std::path::{Path, PathBuf};

use super::options::Common;
use super::plan;
use super::registry;
use super::survey;
use super::target::Target;
use super::verbs::FullreadVerb;
use crate::cli::Io;
use crate::counted::count;
use crate::error::{Error, Result};
use crate::record::{self, Repo};
use crate::visible::quote;
use crate::workspace::{Added, Member, Workspace};

/// Several repositories read as one
#[derive(Debug, Clone, clap::Subcommand)]
pub enum Verb {
    Init(Init),
    Add(Add),
    Remove(Remove),
    List(List),
    Survey(survey::Args),
    /// Work through the plan: the same as `auwai VERB`
    #[command(subcommand)]
    Fullread(FullreadVerb),
}

/// Make a folder a workspace
///
/// The name is kept for `-W NAME`. A folder that is a workspace of this name already stays as it is.
#[derive(Debug, Clone, clap::Args)]
pub struct Init {
    /// The workspace's name
    #[arg(value_parser = crate::cli::parse::name)]
    name: String,
    /// Its root folder, made if need be (default: the current folder)
    #[arg(long, value_name = "DIR")]
    root: Option<PathBuf>,
}

/// Add a repository to the workspace, or move one that has this name
///
/// One that has moved is given its new PATH by its name, with --as, and keeps its reads.
#[derive(Debug, Clone, clap::Args)]
pub struct Add {
    /// The repository's root; it need not lie below the workspace's
    path: PathBuf,
    /// Call it NAME (default: its folder's name)
    #[arg(long = "as", value_name = "NAME", value_parser = crate::cli::parse::name)]
    name: Option<String>,
    /// Bound it to the subtree DIR, relative to its root; may be repeated
    ///
    /// Only what lies there is walked, watched, planned and verified. Given again with other folders,
    /// or none, the bounds are these, and `auwai replan` lets the plan follow.
    #[arg(long, value_name = "DIR")]
    only: Vec<PathBuf>,
}

/// Take a repository out of the workspace; its reads stay
#[derive(Debug, Clone, clap::Args)]
pub struct Remove {
    /// The repository's name
    name: String,
}

/// List the repositories of the workspace, or all workspaces
#[derive(Debug, Clone, clap::Args)]
pub struct List {
    /// List the workspaces that have a name on this machine
    #[arg(long)]
    all: bool,
}

/// Runs a verb.
pub fn run(verb: &Verb, common: &Common, io: &mut Io<'_>) -> Result<()> {
    match verb {
        Verb::Init(init) => run_init(init, common, io),
        Verb::Add(add) => run_add(add, common, io),
        Verb::Remove(remove) => run_remove(remove, common, io),
        Verb::List(list) if list.all => list_all(common, io),
        Verb::List(_) => list_members(common, io),
        Verb::Survey(args) => survey::run(args, common, io),
        Verb::Fullread(verb) => verb.run(common, io),
    }
}

fn run_init(init: &Init, common: &Common, io: &mut Io<'_>) -> Result<()> {
    let root = io.world.absolute(init.root.as_deref().unwrap_or(Path::new(".")));
    registry(io).check(&init.name, &std::fs::canonicalize(&root).unwrap_or(root.clone()))?;
    let workspace =
        Workspace::init(&root, &init.name, common.terms(io.world).trust).map_err(elsewhere)?;
    if let Err(error) = registry(io).record(&init.name, workspace.root()) {
        // A sandbox may not let us write there: the path works all the same.
        io.say("auwai", &error.to_string());
        error.hints().iter().for_each(|hint| io.hint(hint));
    }
    let told = format!("workspace {} at {}", init.name, quote(workspace.root()));
    tell(&init.name, workspace.root(), &told, common, io)
}

/// The state of a workspace is at its root: where that cannot be written, only another root helps.
fn elsewhere(error: Error) -> Error {
    match error.code() {
        "not-writable" | "no-permission" | "read-only" | "not-found" | "io" => {
            let hint =
                "make it in a folder that you may write: `auwai workspace init NAME --root DIR`";
            let (code, message) = (error.code().to_string(), error.to_string());
            Error::told(error.kind(), code, message, Some(hint.to_string()))
        }
        _ => error,
    }
}

/// A line, or the `repo` record of what it is about.
fn tell(name: &str, path: &Path, told: &str, common: &Common, io: &mut Io<'_>) -> Result<()> {
    match common.json {
        true => record::write(io.out, &Repo::at(name, path)),
        false => super::line(io, told),
    }
}

fn run_add(add: &Add, common: &Common, io: &mut Io<'_>) -> Result<()> {
    let target = Target::open(common, io)?;
    let path = io.world.absolute(&add.path);
    let state_dir = io.world.state_dir(common.state_dir.as_deref());
    let added = Added {
        name: add.name.as_deref(),
        only: &add.only,
        state_dir: state_dir.as_deref(),
        around: &io.world.surroundings(),
    };
    let before = target.members().to_vec();
    let member = target.workspace().clone().add(&path, &added)?;
    tell(&member.name, &member.path, &row(&member), common, io)?;
    let bounds = |members: &[Member]| {
        let found = members.iter().find(|it| it.name == member.name);
        found.map(|found| found.only.clone())
    };
    if bounds(&before).is_some_and(|only| only != member.only) {
        tell_rebounded(&member.name, &target, io);
    }
    Ok(())
}

/// A plan that stands does not follow a member that is bounded otherwise by itself.
fn tell_rebounded(name: &str, target: &Target, io: &mut Io<'_>) {
    // A plan that cannot be asked is for the commands that need it to complain of.
    let Ok(Some(plan)) = plan::standing(target, io) else { return };
    if plan.repos.iter().any(|repo| repo.name == name) {
        io.say("auwai", &format!("the plan has '{name}' as it was bounded before"));
        io.hint(&format!("let it follow: `{}`", target.plan_command(true)));
    }
}

fn run_remove(remove: &Remove, common: &Common, io: &mut Io<'_>) -> Result<()> {
    let target = Target::open(common, io)?;
    let member = target.workspace().clone().remove(&remove.name)?;
    let told = format!("{} is out of the workspace; its reads stay", member.name);
    tell(&member.name, &member.path, &told, common, io)?;
    // A plan that cannot be asked is for the commands that need it to complain of.
    let Ok(Some(plan)) = plan::standing(&target, io) else { return Ok(()) };
    if let Some(repo) = plan.repos.iter().find(|repo| repo.name == member.name) {
        let (chunks, name) = (count(repo.chunks, "chunk"), &member.name);
        let path = quote(&member.path);
        io.say("auwai", &format!("the plan still has {chunks} of '{name}'"));
        io.hint(&format!("plan without it: `{}`", target.plan_command(true)));
        io.hint(&format!(
            "or take it in again: `auwai workspace add {path} --as {name}{}`",
            target.flag()
        ));
    }
    Ok(())
}

/// The workspace itself, which may have no repositories yet.
fn opened(common: &Common, io: &mut Io<'_>) -> Result<Workspace> {
    Target::open(common, io).map(Target::into_workspace)
}

fn list_members(common: &Common, io: &mut Io<'_>) -> Result<()> {
    let workspace = opened(common, io)?;
    for member in workspace.members() {
        tell(&member.name, &member.path, &row(member), common, io)?;
    }
    Ok(())
}

fn list_all(common: &Common, io: &mut Io<'_>) -> Result<()> {
    for (name, root) in registry(io).list()? {
        tell(&name, &root, &format!("{name}\t{}", quote(&root)), common, io)?;
    }
    Ok(())
}

fn row(member: &Member) -> String {
    let only: Vec<_> = member.only.iter().map(|dir| dir.display().into_owned()).collect();
    let only = if only.is_empty() { String::new() } else { format!("\tonly {}", only.join(" ")) };
    format!("{}\t{}{only}", member.name, quote(&member.path))
}
