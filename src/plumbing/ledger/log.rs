//! `auwai-ledger log`: who has read what, and when.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use super::target::FullReadOptions;
use crate::cli::parse::name;
use crate::cli::since::{Since, since};
use crate::cli::{Io, World};
use crate::error::{Error, Result};
use crate::record::{self, End, Read, RepoPath};
use crate::store::coverage::{Coverage, Wanted};
use crate::visible::quote_path;
use crate::workspace::{Workspace, below};

/// Tell the history of reads, the newest first
///
/// A `read` record for each row of the history with all that was kept of it, then `end`. What was
/// read under earlier plans is in it too, and what was imported, which stands at the time at which
/// it was read.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    target: FullReadOptions,
    /// Only what this reader has read
    #[arg(long, value_name = "NAME", value_parser = name)]
    reader: Option<String>,
    /// Only what was read since then: a time (2026-12-01T08:00:00Z), a day (2026-12-01, from its
    /// first second in UTC) or a span back from now (2days, 3h 30m)
    #[arg(long, value_name = "TIME", value_parser = since)]
    since: Option<Since>,
    /// Only these files, and what lies below these folders; they need not be there any more
    #[arg(value_name = "PATH")]
    paths: Vec<OsString>,
}

/// Runs the verb.
pub fn run(args: Args, io: &mut Io<'_>) -> Result<()> {
    let workspace = args.target.workspace(io.world)?;
    let since = args.since.map(|since| since.resolve((io.world.now)())).transpose()?;
    let wanted = Wanted { reader: args.reader, since };
    let places = places(&args.paths, &workspace, io.world)?;
    let mut count = 0;
    if let Some(coverage) = Coverage::find_history(&workspace.fullread_dir())? {
        each(&coverage, &wanted, &mut |read| {
            if !places.is_empty() && !places.iter().any(|place| place.has(&read)) {
                return Ok(());
            }
            count += 1;
            record::write(io.out, &read)
        })?;
    }
    record::write(io.out, &End { of: "read".into(), count })
}

/// Passes all reads that are wanted to `take`, the newest first.
fn each(
    coverage: &Coverage,
    wanted: &Wanted,
    take: &mut dyn FnMut(Read) -> Result<()>,
) -> Result<()> {
    let mut place = None;
    loop {
        let (reads, last) = coverage.reads_before(place.as_ref(), wanted)?;
        if last.is_none() {
            return Ok(());
        }
        place = last;
        reads.into_iter().try_for_each(&mut *take)?;
    }
}

/// Something in a repository that a word can mean: a path, or all of it.
struct InRepo {
    repo: String,
    path: Option<RepoPath>,
}

impl InRepo {
    fn has(&self, read: &Read) -> bool {
        if self.repo != read.repo {
            return false;
        }
        let Some(place) = &self.path else { return true };
        read.repo_path().is_ok_and(|path| path.is_some_and(|path| path.is_within(place)))
    }
}

/// Everything that the words can mean: `repo:path`, a path from the current folder, or one from a
/// repository's root. Of what is gone nobody can say which of them it was.
fn places(words: &[OsString], workspace: &Workspace, world: &World) -> Result<Vec<InRepo>> {
    let mut all = Vec::new();
    for word in words {
        let found = meanings(word, workspace, world);
        if found.is_empty() {
            let shown = quote_path(word.as_bytes());
            return Err(Error::failed("outside", format!("'{shown}' is in no repository here"))
                .hint("see which there are: `auwai workspace list`"));
        }
        all.extend(found);
    }
    Ok(all)
}

fn meanings(word: &OsStr, workspace: &Workspace, world: &World) -> Vec<InRepo> {
    let bytes = word.as_bytes();
    let mut found = Vec::new();
    // Also of a repository that the workspace does not have any more.
    if let Some(colon) = bytes.iter().position(|b| *b == b':')
        && let Ok(repo) = std::str::from_utf8(&bytes[..colon])
        && record::is_name(repo)
        && let Some(path) = within(&bytes[colon + 1..])
    {
        found.push(InRepo { repo: repo.to_string(), path });
    }
    for member in workspace.members() {
        let here = below(&member.path, &world.absolute(Path::new(word)));
        let from_here = here.and_then(|path| within(path.as_os_str().as_bytes()));
        let from_root = within(bytes).filter(Option::is_some);
        let repo = || member.name.clone();
        found.extend(
            [from_here, from_root].into_iter().flatten().map(|path| InRepo { repo: repo(), path }),
        );
    }
    found
}

/// A path as typed inside a repository; `Some(None)` for its root, `None` for what is no such path.
fn within(bytes: &[u8]) -> Option<Option<RepoPath>> {
    let plain = bytes.strip_prefix(b"./").unwrap_or(bytes);
    let plain = plain.strip_suffix(b"/").unwrap_or(plain);
    match plain {
        b"" | b"." => Some(None),
        plain => RepoPath::new(plain).map(Some),
    }
}
