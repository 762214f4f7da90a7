//! `auwai-ledger verify`: is anything in the tree unread?

mod strict;

use std::collections::BTreeMap;

use self::strict::{Counting, Judge, Waivers, each_left_out};
use super::reading::{Reading, ReadingOptions};
use super::scan::{How, scan};
use super::source::Source;
use super::status;
use crate::cli::parse::name;
use crate::cli::{Io, Verdict};
use crate::counted::{agree, count};
use crate::error::{Error, Result, no_plan};
use crate::record::{self, End, Fate, RepoPath, SegmentStatus, Status, Tokens, Unread, Why};
use crate::store::coverage::{Coverage, Planned, PlannedChunks, SegmentStand, Standing};
use crate::store::ledger::{Cut, Ledger, Row};
use crate::text::shown_tokens;

/// Hold what was read against the tree
///
/// Brings the index up to date first. Then it writes an `unread` record for each part that is not
/// read, a `status` record with the sums over the tree, and the end. Exit status: 0 everything is
/// read; 1 something is not; 3 a repository is missing, or, with --no-scan, not indexed.
///
/// With --strict a path that git tracks and that is no text is unread, too, unless a waiver names it
/// (see auwai-ledger waive); outside git, one that no rule leaves out. And a read that was only shown
/// does not count: only one that the reader has confirmed by a mark, or that a command took. One that
/// has moved or was imported counts as the one that it stands for; where it is not known how that was
/// made, it counts.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    of: ReadingOptions,
    /// Ask only whether the plan has been read, whatever the tree is now; the sums are the plan's
    #[arg(long)]
    planned: bool,
    /// Leave out nothing without a waiver, and count no read that was only shown
    #[arg(long, conflicts_with = "planned")]
    strict: bool,
    /// Count only what this reader has read
    #[arg(long, value_name = "NAME", value_parser = name, conflicts_with = "planned")]
    reader: Option<String>,
    /// Take the index as it is, as for a repository that was scanned with --only; --planned does too
    #[arg(long)]
    no_scan: bool,
    /// Write a `progress` record now and then, while the index is brought up to date
    #[arg(long)]
    progress: bool,
}

/// Runs the verb.
pub fn run(args: Args, io: &mut Io<'_>) -> Result<()> {
    let mut out = Verdict(&mut *io.out);
    let io = &mut Io { input: &mut *io.input, out: &mut out, err: &mut *io.err, world: io.world };
    let reading = Reading::open(&args.of, io.world)?;
    reading.some()?;
    if (args.strict || args.reader.is_some()) && !reading.is_workspace() {
        return Err(Error::usage("who read how is known of a workspace alone")
            .hint("name it, or a repository as one: `auwai-ledger verify --workspace .`"));
    }
    if !(args.planned || args.no_scan) {
        let how = How { tokenizer: None, threads: io.world.threads, progress: args.progress };
        for source in reading.sources() {
            scan(source, how, io)?;
        }
    }
    let counting = Counting { strict: args.strict, reader: args.reader };
    let mut check = Check::new(&reading, args.planned, counting)?;
    for source in reading.sources() {
        check.repository(source, io)?;
    }
    check.removed(io)?;
    check.waivers.tell_idle(io);
    let (status, rows) = (check.status, check.rows);
    record::write(io.out, &status)?;
    record::write(io.out, &End { of: "unread".into(), count: rows })?;
    reading.export(io);
    match rows {
        0 => Ok(()),
        rows => {
            let (parts, are) = (count(rows, "part"), agree(rows, "is", "are"));
            Err(Error::no("unread", format!("{parts} {are} unread")))
        }
    }
}

struct Check<'a> {
    reading: &'a Reading,
    /// The plan; what the walk over the index takes out of its chunks is in a file.
    standing: Option<Standing>,
    only_planned: bool,
    counting: Counting,
    /// Of the repository that is looked at.
    judge: Judge,
    waivers: Waivers,
    status: Status,
    rows: u64,
}

impl<'a> Check<'a> {
    fn new(reading: &'a Reading, only_planned: bool, counting: Counting) -> Result<Self> {
        let standing = reading.coverage().map(Coverage::standing).transpose()?;
        let plan = standing.as_ref().map(|standing| standing.force.plan.id.clone());
        if only_planned && plan.is_none() {
            return Err(no_plan());
        }
        let mut status = Status { plan, ..Status::default() };
        if let Some(Standing { counters, .. }) = standing.as_ref().filter(|_| only_planned) {
            // A plan is counted as it was made, also where the tree has lost some of it.
            (status.chunks, status.tokens) = (counters.chunks, counters.tokens);
        }
        let waivers = if counting.strict { reading.waivers()? } else { Vec::new() };
        let (judge, waivers) = (Judge::default(), Waivers::of(waivers));
        Ok(Check { reading, standing, only_planned, counting, judge, waivers, status, rows: 0 })
    }

    fn repository(&mut self, source: &Source, io: &mut Io<'_>) -> Result<()> {
        let ledger = source.ledger()?;
        record::write(io.out, &source.record(&ledger)?)?;
        status::add(&ledger, self.status.fates.get_or_insert_default())?;
        let mut plan = self.plan(source, &ledger)?;
        self.judge = Judge::of(&self.counting, &source.name, self.reading.coverage())?;
        ledger.each_file(|row| self.file(source, &ledger, &row, &mut plan, io))?;
        if self.counting.strict {
            each_left_out(source, &ledger, io, &mut |path, why, is_dir, io| {
                self.left_out(source, path, why, is_dir, io)
            })?;
        }
        self.left_over(&source.name, Some(&ledger), &plan, io)
    }

    /// What is planned of repositories that the workspace does not have any more.
    fn removed(&mut self, io: &mut Io<'_>) -> Result<()> {
        let standing = self.standing.as_mut().filter(|_| self.only_planned);
        let left = standing.map(|standing| std::mem::take(&mut standing.chunks));
        let is_there = |name: &str| self.reading.sources().iter().any(|it| it.name == name);
        let mut left: Vec<_> = left.into_iter().flatten().collect();
        left.retain(|(name, _)| !is_there(name));
        left.sort_by(|a, b| a.0.as_bytes().cmp(b.0.as_bytes()));
        left.iter().try_for_each(|(name, plan)| self.left_over(name, None, plan, io))
    }

    /// What is planned; for a repository's own ledger, what is read.
    fn plan(&mut self, source: &Source, ledger: &Ledger) -> Result<PlannedChunks> {
        if self.reading.is_workspace() {
            let planned = self.standing.as_mut().and_then(|it| it.chunks.remove(&source.name));
            return Ok(planned.unwrap_or_default());
        }
        let read = |id| (id, Planned { seq: 0, tokens: Tokens(0), complete: true, body: None });
        Ok(ledger.read_ids()?.into_iter().map(read).collect())
    }

    fn file(
        &mut self,
        source: &Source,
        ledger: &Ledger,
        row: &Row,
        plan: &mut PlannedChunks,
        io: &mut Io<'_>,
    ) -> Result<()> {
        if row.fate == Fate::Unreadable && !self.only_planned {
            return self.left_out(source, &row.path, Why::Unreadable, false, io);
        }
        if row.chunks == 0 {
            return Ok(());
        }
        for cut in super::cuts(ledger, row)? {
            self.chunk(source, row, &cut, plan.remove(&cut.id), io)?;
        }
        Ok(())
    }

    /// A path of which there is no text to read; a waiver may say that it need not be.
    fn left_out(
        &mut self,
        source: &Source,
        path: &RepoPath,
        why: Why,
        is_dir: bool,
        io: &mut Io<'_>,
    ) -> Result<()> {
        match self.waivers.have(&source.name, path, is_dir) {
            true => Ok(()),
            false => self.tell(unread(&source.name, path, why), io),
        }
    }

    fn chunk(
        &mut self,
        source: &Source,
        row: &Row,
        cut: &Cut,
        planned: Option<Planned>,
        io: &mut Io<'_>,
    ) -> Result<()> {
        if self.only_planned && planned.is_none() {
            return Ok(());
        }
        let tokens = Tokens(shown_tokens(cut.tokens, cut.lines));
        let same = |planned: &Planned| planned.body.is_none_or(|body| body == cut.body);
        let read = planned.is_some_and(|planned| planned.complete && same(&planned));
        let objection = if read { self.judge.objects(cut) } else { None };
        let complete = read && objection.is_none();
        self.count(tokens, complete);
        if complete {
            return Ok(());
        }
        let (why, stand) = self.why(planned);
        let why = objection.unwrap_or(why);
        let unread = Unread {
            lines: Some(cut.lines),
            id: Some(cut.id),
            bytes: cut.piece.then_some(cut.bytes),
            tokens: Some(tokens),
            segment: stand.map(|stand| stand.id.clone()),
            reader: stand.and_then(|stand| stand.reader.clone()),
            ..unread(&source.name, &row.path, why)
        };
        self.tell(unread, io)
    }

    fn why(&self, planned: Option<Planned>) -> (Why, Option<&SegmentStand>) {
        let stand = planned.and_then(|planned| self.stand(planned.seq));
        let why = match (planned, stand.map(|stand| stand.status)) {
            (None, _) if self.reading.is_workspace() => Why::Unplanned,
            // Other bytes were read under this id; only a plan that follows can tell them apart.
            (Some(Planned { complete: true, .. }), _) => Why::Changed,
            (_, Some(SegmentStatus::Active)) => Why::Leased,
            _ => Why::Pending,
        };
        (why, stand)
    }

    fn stand(&self, seq: u64) -> Option<&SegmentStand> {
        self.standing.as_ref()?.segments.get(&seq)
    }

    /// Counts a chunk of the tree; a plan has its own sums.
    fn count(&mut self, tokens: Tokens, complete: bool) {
        if self.only_planned {
            return;
        }
        self.status.chunks.planned += 1;
        self.status.tokens.planned += tokens.0;
        if complete {
            self.status.chunks.complete += 1;
            self.status.tokens.complete += tokens.0;
        }
    }

    /// Chunks that were planned and are in no file any more: of a file that is still there, they
    /// have changed; of one that is gone, only the plan misses them.
    fn left_over(
        &mut self,
        repo: &str,
        ledger: Option<&Ledger>,
        plan: &PlannedChunks,
        io: &mut Io<'_>,
    ) -> Result<()> {
        let Some(coverage) = self.reading.coverage() else { return Ok(()) };
        let mut rows = BTreeMap::new();
        for (id, planned) in plan.iter().filter(|(_, planned)| !planned.complete) {
            // What a replan has taken out of the plan meanwhile is not missed any more: what came in
            // its place is in the index, where the plan of before did not have it.
            let path = coverage.planned_path(repo, *id)?;
            if let Some(path) = path.and_then(RepoPath::new) {
                rows.insert((path.to_key(), planned.seq, *id), (path, *planned));
            }
        }
        for ((_, _, id), (path, planned)) in rows {
            let row = ledger.map(|ledger| ledger.file(&path)).transpose()?.flatten();
            if self.only_planned || row.is_some_and(|row| row.fate == Fate::Text) {
                let segment = self.stand(planned.seq).map(|stand| stand.id.clone());
                let changed = unread(repo, &path, Why::Changed);
                self.tell(Unread { id: Some(id), segment, ..changed }, io)?;
            }
        }
        Ok(())
    }

    fn tell(&mut self, row: Unread, io: &mut Io<'_>) -> Result<()> {
        self.rows += 1;
        record::write(io.out, &row)
    }
}

fn unread(repo: &str, path: &RepoPath, why: Why) -> Unread {
    let (path, path_b64) = path.to_wire();
    Unread {
        repo: repo.to_string(),
        path,
        path_b64,
        lines: None,
        id: None,
        bytes: None,
        tokens: None,
        segment: None,
        reader: None,
        why,
    }
}
