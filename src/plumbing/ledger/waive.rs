//! `auwai-ledger waive`: what a strict verify need not find read.

use super::target::{FullReadOptions, ReaderOption};
use crate::admit::Covering;
use crate::cli::Io;
use crate::error::{Error, Result};
use crate::record::{self, End, RepoPath, is_name};
use crate::store::coverage::Coverage;
use crate::visible::one_line;

/// Say which paths a strict verify need not find read, and why
///
/// GLOB is a pattern as in an ignore file: `*.png` at any depth, `/docs/*.svg` from the root,
/// `vendor/` a folder and all below it. Before it may stand the name of a repository and `:`; else it
/// is of all repositories. A waiver is of what has no text to read, never of text. It is kept in the
/// ledger, with who made it and when, and nothing in the tree knows of it. Another reason for the
/// same GLOB replaces the waiver; the same again changes nothing.
///
/// Writes the `waiver` records that stand then, and `end`.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    target: FullReadOptions,
    #[command(flatten)]
    reader: ReaderOption,
    /// The paths
    #[arg(value_name = "GLOB", requires = "reason", required_unless_present_any = ["list", "remove"])]
    glob: Option<String>,
    /// Why they need not be read
    #[arg(long, value_name = "TEXT", requires = "glob", allow_hyphen_values = true)]
    reason: Option<String>,
    /// Remove the waiver of GLOB; that it was there, and who removed it, is kept
    #[arg(long, value_name = "GLOB", conflicts_with_all = ["glob", "list"], allow_hyphen_values = true)]
    remove: Option<String>,
    /// Change nothing
    #[arg(long, conflicts_with = "glob")]
    list: bool,
}

/// The most bytes of a reason and of a pattern.
const LONGEST: usize = 4096;

/// Runs the verb.
pub fn run(args: Args, io: &mut Io<'_>) -> Result<()> {
    let workspace = args.target.workspace(io.world)?;
    let reader = args.reader.resolve(io.world)?;
    let at = io.world.timestamp();
    let coverage = match (&args.glob, &args.reason, &args.remove) {
        (Some(glob), Some(reason), _) => {
            check(glob, reason)?;
            let mut coverage = Coverage::open_or_create(&workspace.create_fullread_dir()?)?;
            coverage.waive(glob, reason, &reader, &at)?;
            Some(coverage)
        }
        (.., Some(glob)) => {
            let coverage = Coverage::find_history(&workspace.fullread_dir())?;
            let mut coverage = coverage.ok_or_else(|| Coverage::no_waiver(glob))?;
            coverage.unwaive(glob, &reader, &at)?;
            Some(coverage)
        }
        _ => Coverage::find_history(&workspace.fullread_dir())?,
    };
    let waivers = coverage.map_or(Ok(Vec::new()), |coverage| coverage.waivers(false))?;
    waivers.iter().try_for_each(|waiver| record::write(io.out, waiver))?;
    record::write(io.out, &End { of: "waiver".into(), count: waivers.len() as u64 })
}

fn check(glob: &str, reason: &str) -> Result<()> {
    let shown = one_line(glob);
    if Named::parse(glob).is_none() || glob.len() > LONGEST {
        return Err(Error::usage(format!("'{shown}' is not a pattern that can name a path"))
            .hint("give one as in an ignore file: `auwai waive '*.png' --reason TEXT`"));
    }
    if reason.trim().is_empty() || reason.len() > LONGEST {
        return Err(Error::usage("a waiver has a reason, of not more than 4,096 bytes")
            .hint(format!("say why it need not be read: `auwai waive '{shown}' --reason TEXT`")));
    }
    Ok(())
}

/// What the GLOB of a waiver names.
pub(super) struct Named {
    repo: Option<String>,
    pattern: Covering,
}

impl Named {
    /// Reads it: `NAME:PATTERN`, or `PATTERN`. A `:` in a path is written behind a `/`.
    pub fn parse(glob: &str) -> Option<Named> {
        let (repo, pattern) = match glob.split_once(':') {
            Some((repo, pattern)) if is_name(repo) => (Some(repo.to_string()), pattern),
            _ => (None, glob),
        };
        Some(Named { repo, pattern: Covering::parse(pattern)? })
    }

    /// Whether it names a path, which may be a directory.
    pub fn has(&self, repo: &str, path: &RepoPath, is_dir: bool) -> bool {
        self.repo.as_ref().is_none_or(|named| named == repo) && self.pattern.has(path, is_dir)
    }
}
