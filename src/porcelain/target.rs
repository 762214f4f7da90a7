//! Which full read a command is about, and the plumbing that acts on it.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::done::status_of;
use super::options::Common;
use super::pipeline::{Pipeline, Stage, collect_records, silent, stage};
use super::registry;
use super::typed::Typed;
use crate::cli::Io;
use crate::cli::parse::{Marks, NamedRepo};
use crate::error::Result;
use crate::record::{Record, SegmentId, Status};
use crate::visible::quote;
use crate::workspace::{Lock, Member, Terms, Workspace, repository_around, workspace_around};

/// After so long it is said that another replan is waited for.
const LONG: Duration = Duration::from_secs(1);

/// A workspace, or a repository alone as one.
pub struct Target {
    workspace: Workspace,
    terms: Terms,
    typed: Typed,
}

impl Target {
    /// What the command line, the environment or the current folder names, in this order. Where the
    /// folder decided and could have meant two things, standard error says which it is.
    ///
    /// # Errors
    /// `no-repositories` for a workspace that is still empty; else as [`Target::open`].
    pub fn resolve(common: &Common, io: &mut Io<'_>) -> Result<Target> {
        let target = Self::open(common, io)?;
        target.workspace.some_members()?;
        Ok(target)
    }

    /// The same for a workspace that may be empty.
    ///
    /// # Errors
    /// `unknown-workspace`, `gone` and what else keeps it from being opened.
    pub fn open(common: &Common, io: &mut Io<'_>) -> Result<Target> {
        let variable = || io.world.var("AUWAI_WORKSPACE").map(PathBuf::from);
        let terms = common.terms(io.world);
        let workspace = match common.workspace.clone().or_else(variable) {
            Some(typed) => Workspace::open(&typed, &io.world.cwd, &registry(io), &terms)?,
            None => around(&terms, io)?,
        };
        if let Some(why) = workspace.passed_over() {
            io.say("auwai", &format!("a workspace is passed over: {why}"));
        }
        Ok(Target { workspace, terms, typed: Typed::of(common, None) })
    }

    /// The repositories.
    pub fn members(&self) -> &[Member] {
        self.workspace.members()
    }

    /// The workspace.
    pub fn workspace(&self) -> &Workspace {
        &self.workspace
    }

    /// The workspace, for its own.
    pub fn into_workspace(self) -> Workspace {
        self.workspace
    }

    /// `auwai-ledger VERB --workspace …`.
    pub fn ledger(&self, verb: &str) -> Stage {
        let state_dir = self.terms.elsewhere.as_deref().filter(|_| self.workspace.is_alone());
        stage(["auwai-ledger", verb, "--workspace"])
            .arg(self.workspace.root())
            .option("--state-dir", state_dir)
            .flag("--trust-state", self.terms.trust.is_told())
    }

    /// ` -W NAME` and the like where it was typed, for commands that are suggested.
    pub fn flag(&self) -> String {
        self.typed.place()
    }

    /// One line that says what it is.
    pub fn title(&self) -> String {
        let what = if self.workspace.is_alone() { "repository" } else { "workspace" };
        let root = quote(self.workspace.root());
        format!("{what} {} at {root}", self.workspace.name())
    }

    /// The subtrees that the repositories are bounded to, as a policy has them.
    pub fn scope(&self) -> Vec<String> {
        let mut scope: Vec<String> = self.members().iter().flat_map(Member::scope).collect();
        scope.sort();
        scope
    }

    /// The same in a line; none where all counts.
    pub fn bounds(&self) -> Option<String> {
        let scope = self.scope();
        (!scope.is_empty()).then(|| format!("bounded to {}", scope.join(", ")))
    }

    /// Where the full read stands, but for the paths by fate.
    pub fn status(&self, io: &mut Io<'_>) -> Result<Status> {
        status_of(Pipeline::start(&[self.ledger("status").arg("--brief")], io)?, io)
    }

    /// The same with the paths by fate, which are counted over the whole index; it brings
    /// `fullread.json` up to date.
    pub fn whole_status(&self, io: &mut Io<'_>) -> Result<Status> {
        status_of(Pipeline::start(&[self.ledger("status")], io)?, io)
    }

    /// Waits for the turn to put the tree into the place of a plan, which one process at a time has
    /// from before it looks at the tree; says so when that takes long.
    pub fn turn(&self, io: &mut Io<'_>) -> Result<Lock> {
        let path = self.workspace.create_fullread_dir()?.join("replan.lock");
        let mut told = false;
        Lock::take(&path, &mut |waited| {
            if waited >= LONG && !std::mem::replace(&mut told, true) {
                io.say("auwai", "another replan of this full read is at work: waiting for its end");
            }
        })
    }

    /// The reader's own segment, its lease renewed.
    ///
    /// # Errors
    /// `no-plan`; `no-active` with the command that hands one out; `lost-lease`.
    pub fn own(&self, reader: &str, io: &mut Io<'_>) -> Result<SegmentId> {
        let renew = self.ledger("renew").arg("--reader").arg(reader);
        let holder = collect_records(&[renew], io)?.into_iter().find_map(|record| match record {
            Record::Holder(holder) => Some(holder.segment),
            _ => None,
        });
        holder.ok_or_else(|| silent("the ledger named no segment"))
    }

    /// Renews the lease of a reader on a segment, where it has one.
    ///
    /// # Errors
    /// `lost-lease` when it had one, and another has taken the segment since.
    pub fn renew(&self, segment: &SegmentId, reader: &str, io: &mut Io<'_>) -> Result<()> {
        let renew = self.ledger("renew").arg("--reader").arg(reader);
        match collect_records(&[renew.arg("--segment").arg(&segment.0)], io) {
            Err(error) if error.code() != "not-held" => Err(error),
            _ => Ok(()),
        }
    }

    /// The command that plans what the tree is now; with a plan there, it follows the tree.
    pub fn plan_command(&self, planned: bool) -> String {
        let verb = if planned { "replan" } else { "plan" };
        format!("auwai {verb}{}", self.flag())
    }

    /// Confirms what was delivered, by the marks that a reader gives back.
    ///
    /// # Errors
    /// `wrong-mark`, `no-marks`.
    pub fn confirm(
        &self,
        segment: &SegmentId,
        reader: &str,
        marks: &Marks,
        io: &mut Io<'_>,
    ) -> Result<()> {
        let confirm = self.ledger("confirm").arg("--reader").arg(reader);
        let confirm =
            confirm.arg("--segment").arg(&segment.0).arg("--marks").arg(marks.0.join(" "));
        collect_records(&[confirm], io).map(|_| ())
    }

    /// Tells `print` which commands to suggest, when the default ones would miss what was typed;
    /// `reader` is who reads, where that was typed, and `more` are further options of `auwai read`.
    pub fn next_commands(
        &self,
        print: Stage,
        segment: Option<&str>,
        reader: &str,
        (more, marks): (&str, bool),
    ) -> Stage {
        let given = if marks { " --marks '…'" } else { "" };
        let (flag, Some(segment)) = (self.flag() + reader + given, segment) else { return print };
        if flag.is_empty() && more.is_empty() {
            return print;
        }
        print
            .arg("--next")
            .arg(format!("auwai read --segment {segment}{flag}{more}"))
            .arg("--done")
            .arg(format!("auwai done --segment {segment}{flag}"))
    }
}

fn around(terms: &Terms, io: &mut Io<'_>) -> Result<Workspace> {
    let cwd = real(&io.world.cwd);
    let workspace = Workspace::around(&cwd, terms)?;
    let (repository, root) = (repository_around(&cwd), workspace.root());
    if !workspace.is_alone() && repository.starts_with(root) && repository != root {
        io.say("auwai", &format!("acting on workspace '{}'", workspace.name()));
    }
    Ok(workspace)
}

fn real(path: &Path) -> PathBuf {
    std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned())
}

/// The repositories that `--repo` names, else the one around the current folder.
pub fn repositories(named: &[NamedRepo], common: &Common, io: &mut Io<'_>) -> Result<Vec<Member>> {
    let terms = common.terms(io.world);
    if named.is_empty() && common.workspace.is_some() {
        return Ok(Target::resolve(common, io)?.members().to_vec());
    }
    let cwd = real(&io.world.cwd);
    if named.is_empty()
        && let Some(workspace) = workspace_alone(&cwd, &terms)?
    {
        workspace.some_members()?;
        return Ok(workspace.members().to_vec());
    }
    let one = |path: &Path, name: Option<&str>| {
        Workspace::of_repo(path, name, &terms).map(|one| one.members().to_vec())
    };
    if named.is_empty() {
        return one(&repository_around(&cwd), None);
    }
    let all: Result<Vec<Vec<Member>>> = named
        .iter()
        .map(|repo| one(&io.world.absolute(&repo.path), repo.name.as_deref()))
        .collect();
    Ok(all?.concat())
}

/// The workspace whose root a folder is, where that is no repository of its own: its files are those
/// of the members, or of nobody.
fn workspace_alone(folder: &Path, terms: &Terms) -> Result<Option<Workspace>> {
    if workspace_around(folder).as_deref() != Some(folder) || folder.join(".git").exists() {
        return Ok(None);
    }
    let workspace = Workspace::at(folder, terms)?;
    let is_member = workspace.members().iter().any(|member| member.path == folder);
    Ok(Some(workspace).filter(|_| !is_member))
}

/// `NAME=PATH`, for `--repo`.
pub fn argument(member: &Member) -> OsString {
    let mut argument = OsString::from(format!("{}=", member.name));
    argument.push(OsStr::new(&member.path));
    argument
}
