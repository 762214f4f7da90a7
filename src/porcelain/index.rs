//! `auwai index`: bring the index up to date.

use std::ffi::OsString;

use super::options::Common;
use super::pipeline::{Pipeline, Stage, silent, stage};
use super::progress::Bar;
use super::target::{argument, repositories};
use crate::cli::Io;
use crate::cli::parse::{NamedRepo, repo_parser};
use crate::counted::{count, thousands};
use crate::error::Result;
use crate::record::{self, Record, RepoPath, Sync};
use crate::regular;
use crate::workspace::Member;

/// Bring the index of a repository up to date
///
/// Looks at the whole tree and reads what has changed since the last time. The other commands do
/// this themselves where they need it.
#[derive(Debug, Clone, clap::Args)]
pub struct Args {
    /// The repository (default: the one around the current folder); may be repeated
    #[arg(long = "repo", value_name = "[NAME=]PATH", value_parser = repo_parser())]
    repos: Vec<NamedRepo>,
    /// Count with TOKENIZER: o200k_base, cl100k_base or bytes/4 (default: that of the last time,
    /// else o200k_base)
    #[arg(long, value_name = "TOKENIZER")]
    tokenizer: Option<String>,
}

/// Runs the command.
pub fn run(args: &Args, common: &Common, io: &mut Io<'_>) -> Result<()> {
    for member in repositories(&args.repos, common, io)? {
        let first = !regular::is_there(&member.state().ledger());
        let sync = scan(&member, args.tokenizer.as_deref(), common, io)?;
        if common.json {
            record::write(io.out, &sync)?;
        } else {
            super::line(io, &told_as(if first { "indexed" } else { "changed" }, &sync))?;
        }
    }
    Ok(())
}

/// What was done to an index, in a line.
pub fn told(sync: &Sync) -> String {
    told_as("changed", sync)
}

/// The same, with what the paths are.
fn told_as(what: &str, sync: &Sync) -> String {
    if sync.files == 0 {
        return format!("{}: nothing has changed", sync.repo);
    }
    let kept = match sync.kept_reads {
        0 => String::new(),
        kept => format!("; {} kept", count(kept, "read")),
    };
    format!(
        "{}: {} {}; {} added, {} removed{kept}",
        sync.repo,
        count(sync.files, "path"),
        what,
        count(sync.chunks_added, "chunk"),
        thousands(sync.chunks_removed),
    )
}

/// Scans one repository, with a progress line on a terminal.
pub fn scan(
    member: &Member,
    tokenizer: Option<&str>,
    common: &Common,
    io: &mut Io<'_>,
) -> Result<Sync> {
    member.root()?;
    let bar = Bar::new(common.progress, io, &format!("indexing {}", member.name));
    let stages = [scan_stage(member, tokenizer, common).flag("--progress", bar.is_shown())];
    let mut sync = None;
    Pipeline::start(&stages, io)?.records(io, |record, _| {
        match record {
            Record::Progress(progress) => bar.scanned(&progress),
            Record::Sync(done) => sync = Some(done),
            _ => {}
        }
        Ok(())
    })?;
    bar.clear();
    sync.ok_or_else(|| silent("the scan ended without a word"))
}

fn scan_stage(member: &Member, tokenizer: Option<&str>, common: &Common) -> Stage {
    let scan = stage(["auwai-ledger", "scan", "--repo"])
        .arg(argument(member))
        .option("--tokenizer", tokenizer);
    state_options(scan, member, common)
}

/// The options that say where a member's state is, whether it is believed, and how much of the
/// member counts.
pub fn state_options(stage: Stage, member: &Member, common: &Common) -> Stage {
    let stage = stage
        .option("--state-dir", member.state_dir.as_deref())
        .flag("--trust-state", common.trust_state);
    only_options(stage, member)
}

/// The options that say how much of a member counts.
pub fn only_options(stage: Stage, member: &Member) -> Stage {
    let only = |stage: Stage, dir: &RepoPath| stage.arg("--only").arg(os(dir.as_bytes()));
    member.only.iter().fold(stage, only)
}

fn os(bytes: &[u8]) -> OsString {
    std::os::unix::ffi::OsStringExt::from_vec(bytes.to_vec())
}

/// Scans every repository of a workspace.
pub fn scan_all(
    members: &[Member],
    tokenizer: Option<&str>,
    common: &Common,
    io: &mut Io<'_>,
) -> Result<()> {
    members.iter().try_for_each(|member| {
        member.root()?;
        scan(member, tokenizer, common, io).map(|_| ())
    })
}
