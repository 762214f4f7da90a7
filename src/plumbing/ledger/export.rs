//! `auwai-ledger export`: the evidence as a stream, to be kept beside the repository.

use std::collections::BTreeMap;
use std::path::Path;

use super::source::Source;
use super::target::FullReadOptions;
use crate::cli::Io;
use crate::error::Result;
use crate::record::{self, End, Repo};
use crate::store::coverage::Coverage;
use crate::workspace::Workspace;

/// Write the evidence: every read that there ever was, the findings and the waivers
///
/// `repo` records, one a repository (of one that the workspace has no more, the path is `/`); `read`
/// records, the oldest first; `finding` and `waiver` records; `end`, which counts the reads. The same
/// ledger gives the same bytes. `auwai-ledger import` takes it, here or elsewhere.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    target: FullReadOptions,
}

/// Runs the verb.
pub fn run(args: Args, io: &mut Io<'_>) -> Result<()> {
    let workspace = args.target.workspace(io.world)?;
    let coverage = Coverage::find_history(&workspace.fullread_dir())?;
    for repo in repositories(&workspace, coverage.as_ref())?.into_values() {
        record::write(io.out, &repo)?;
    }
    let count = coverage.map_or(Ok(0), |coverage| write(&coverage, io))?;
    record::write(io.out, &End { of: "read".into(), count })
}

/// The repositories that there are, and those of which something was read.
fn repositories(
    workspace: &Workspace,
    coverage: Option<&Coverage>,
) -> Result<BTreeMap<String, Repo>> {
    let mut all = BTreeMap::new();
    for name in coverage.map_or(Ok(Vec::new()), Coverage::read_repositories)? {
        let gone = Repo::at(&name, Path::new("/"));
        all.insert(name, gone);
    }
    for member in workspace.members() {
        // The commit is in it where the index is at hand.
        let known = Source::member(member, workspace.trust())
            .and_then(|source| source.ledger_if_cheap()?.map(|it| source.record(&it)).transpose());
        let repo = known.ok().flatten().unwrap_or_else(|| Repo::at(&member.name, &member.path));
        all.insert(member.name.clone(), repo);
    }
    Ok(all)
}

/// Writes reads, findings and waivers; how many reads.
fn write(coverage: &Coverage, io: &mut Io<'_>) -> Result<u64> {
    let (mut count, mut after) = (0, 0);
    while let (reads, Some(last)) = coverage.reads_after(after)? {
        reads.iter().try_for_each(|read| record::write(io.out, read))?;
        count += reads.len() as u64;
        after = last;
    }
    coverage.each_finding(|finding| record::write(io.out, &finding))?;
    coverage.waivers(true)?.iter().try_for_each(|waiver| record::write(io.out, waiver))?;
    Ok(count)
}
