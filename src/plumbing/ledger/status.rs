//! `auwai-ledger status`: how far the full read, or a repository's own, has come.

use std::collections::BTreeMap;

use super::source::Source;
use super::sync::state::Place;
use super::target::{self, FullReadOptions, Repos, owner};
use crate::cli::Io;
use crate::error::Result;
use crate::record::{self, Done, End, Status, Watched};
use crate::store::coverage::Coverage;
use crate::store::ledger::Ledger;
use crate::text::shown_tokens;
use crate::workspace::{Member, Trust, Workspace};

/// Print where the full read stands
///
/// One `status` record: segments, chunks and tokens, who has which segment, and the paths by fate.
/// Without a plan the record has no `plan`, and the exit status is 0. What keeps an index up to
/// date just now (`auwai watch`) is told too. With --repo, what the
/// repository's own ledger says, a `repo` and a `status` record each, then `end`. The ledgers are
/// taken as they are.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    target: FullReadOptions,
    #[command(flatten)]
    repos: Repos,
    /// Leave out the paths by fate, for which the whole index is looked at, and write no fullread.json
    #[arg(long)]
    brief: bool,
}

/// Runs the verb.
pub fn run(args: Args, io: &mut Io<'_>) -> Result<()> {
    if !args.repos.repos.is_empty() {
        return of_repositories(&args, io);
    }
    let workspace = args.target.workspace(io.world)?;
    let Some(coverage) = target::find(&workspace, io.world)? else {
        let status = Status { fates: args.fates(&workspace)?, ..known(&workspace) };
        return record::write(io.out, &status);
    };
    print(&coverage, &workspace, args.fates(&workspace)?, io)?;
    if !args.brief {
        let exported = coverage.export_if_stale(owner(&workspace), (io.world.now)());
        super::warn_export(exported, io);
    }
    Ok(())
}

impl Args {
    fn fates(&self, workspace: &Workspace) -> Result<Option<Fates>> {
        if self.brief { Ok(None) } else { fates(workspace).map(Some) }
    }
}

/// Prints the record of an open ledger, with the paths by fate where they were counted.
pub(super) fn print(
    coverage: &Coverage,
    workspace: &Workspace,
    fates: Option<Fates>,
    io: &mut Io<'_>,
) -> Result<()> {
    let counters = coverage.counters()?;
    let force = coverage.in_force()?;
    let status = Status {
        plan: Some(force.plan.id),
        segments: Some(counters.segments),
        chunks: counters.chunks,
        tokens: counters.tokens,
        policy: Some(force.policy),
        active: coverage.holders(&io.world.moment())?,
        pending: coverage.pending(10)?,
        fates,
        ..known(workspace)
    };
    record::write(io.out, &status)
}

/// What is known of a workspace without a plan, but for its paths.
fn known(workspace: &Workspace) -> Status {
    let source = |member| Source::member(member, workspace.trust()).ok();
    let watched = workspace.members().iter().filter_map(source).filter_map(|it| watched(&it));
    Status { watched: watched.collect(), ..Status::default() }
}

/// The process that keeps a repository's index, if one does.
fn watched(source: &Source) -> Option<Watched> {
    let state = Place::of(&source.state).live()?;
    let only = state.folders();
    let (batch, batch_at) = state.last_batch.map(|last| (last.n, last.at)).unzip();
    Some(Watched {
        repo: source.name.clone(),
        pid: state.pid.into(),
        only,
        since: state.started,
        backend: state.backend,
        batch,
        batch_at,
        watches: state.watches,
        polled: state.polled,
        error: state.last_error,
    })
}

/// How many paths have a fate.
type Fates = BTreeMap<String, u64>;

/// The paths by fate, over the members that are there and indexed.
fn fates(workspace: &Workspace) -> Result<Fates> {
    let mut fates = Fates::new();
    for member in workspace.members() {
        let Some(ledger) = indexed(member, workspace.trust())? else { continue };
        add(&ledger, &mut fates)?;
    }
    Ok(fates)
}

/// Adds the paths of one index.
pub(super) fn add(ledger: &Ledger, fates: &mut Fates) -> Result<()> {
    for (fate, totals) in ledger.totals()? {
        *fates.entry(fate.as_str().to_string()).or_default() += totals.files;
    }
    Ok(())
}

/// A member's ledger, if it is where it was and has been indexed.
fn indexed(member: &Member, trust: Trust) -> Result<Option<Ledger>> {
    match Source::member(member, trust) {
        Err(error) if error.code() == "gone" => Ok(None),
        source => source?.ledger_if_indexed(),
    }
}

fn of_repositories(args: &Args, io: &mut Io<'_>) -> Result<()> {
    let terms = args.target.state.resolve(io.world);
    for repo in args.repos.required()? {
        let source = Source::named(repo, &terms, io.world)?;
        let ledger = source.ledger()?;
        let (chunks, tokens) = read(&ledger)?;
        let mut fates = (!args.brief).then(Fates::new);
        fates.as_mut().map_or(Ok(()), |fates| add(&ledger, fates))?;
        let watched = watched(&source).into_iter().collect();
        let status = Status { chunks, tokens, fates, watched, ..Status::default() };
        record::write(io.out, &source.record(&ledger)?)?;
        record::write(io.out, &status)?;
    }
    record::write(io.out, &End { of: "status".into(), count: args.repos.repos.len() as u64 })
}

/// The chunks and tokens of an index, and how many of them its own ledger has as read.
fn read(ledger: &Ledger) -> Result<(Done, Done)> {
    let done = ledger.read_ids()?;
    let (mut chunks, mut tokens) = (Done::default(), Done::default());
    ledger.each_file(|row| {
        if row.chunks == 0 {
            return Ok(());
        }
        for cut in super::cuts(ledger, &row)? {
            let (shown, read) = (shown_tokens(cut.tokens, cut.lines), done.contains(&cut.id));
            chunks.planned += 1;
            tokens.planned += shown;
            chunks.complete += u64::from(read);
            tokens.complete += if read { shown } else { 0 };
        }
        Ok(())
    })?;
    Ok((chunks, tokens))
}
