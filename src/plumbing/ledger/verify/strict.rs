//! The strict question: nothing that git tracks is left out without a reason, and only reads count
//! of which there is more to say than that the text went out.

use std::collections::HashMap;

use super::super::source::Source;
use super::super::{Ledger as LedgerTool, waive};
use crate::cli::{Io, Tool};
use crate::error::Result;
use crate::record::{ChunkId, Fate, RepoPath, Waiver, Why};
use crate::store::coverage::{Coverage, ReadsMade};
use crate::store::ledger::{Cut, Ledger, Row};

/// Which reads count.
#[derive(Debug, Clone, Default)]
pub struct Counting {
    /// Not those that were only shown.
    pub strict: bool,
    /// Only this reader's.
    pub reader: Option<String>,
}

/// The reads of one repository that are to be judged; none where all count.
#[derive(Default)]
pub struct Judge(Option<(Counting, ReadsMade)>);

impl Judge {
    /// Of a repository.
    ///
    /// # Errors
    /// The ledger's.
    pub fn of(counting: &Counting, repo: &str, coverage: Option<&Coverage>) -> Result<Judge> {
        if !counting.strict && counting.reader.is_none() {
            return Ok(Judge(None));
        }
        let made = coverage.map_or(Ok(HashMap::new()), |coverage| {
            coverage.reads_made(repo, counting.reader.as_deref())
        })?;
        Ok(Judge(Some((counting.clone(), made))))
    }

    /// Why a complete chunk does not count as read; `None` when it does.
    pub fn objects(&self, cut: &Cut) -> Option<Why> {
        let (counting, made) = self.0.as_ref()?;
        let of = |id: ChunkId, body| made.get(&(id, body)).copied();
        // A read that does not say of what is one of whatever is under the id.
        let more_than_shown = of(cut.id, Some(cut.body)).max(of(cut.id, None));
        match more_than_shown {
            None if counting.reader.is_some() => Some(Why::Others),
            None | Some(false) if counting.strict => Some(Why::Shown),
            _ => None,
        }
    }
}

/// The waivers, and whether they were of use.
pub struct Waivers(Vec<(waive::Named, Waiver, bool)>);

impl Waivers {
    /// Those that stand.
    pub fn of(waivers: Vec<Waiver>) -> Waivers {
        let named = |waiver: Waiver| Some((waive::Named::parse(&waiver.glob)?, waiver, false));
        Waivers(waivers.into_iter().filter_map(named).collect())
    }

    /// Whether one names this path; all that do are of use.
    pub fn have(&mut self, repo: &str, path: &RepoPath, is_dir: bool) -> bool {
        let mut found = false;
        for (named, _, used) in &mut self.0 {
            if named.has(repo, path, is_dir) {
                (*used, found) = (true, true);
            }
        }
        found
    }

    /// Says which of them name nothing that is unread.
    pub fn tell_idle(&self, io: &mut Io<'_>) {
        for (_, waiver, _) in self.0.iter().filter(|(_, _, used)| !used) {
            io.say(
                LedgerTool::NAME,
                &format!("the waiver '{}' names nothing that needs it", waiver.glob),
            );
        }
    }
}

/// Why a path of this fate is unread when nothing may be left out.
fn why(fate: Fate) -> Option<Why> {
    match fate {
        Fate::Text => None,
        Fate::Binary => Some(Why::Binary),
        Fate::Symlink => Some(Why::Symlink),
        Fate::Repository => Some(Why::Repository),
        Fate::Special => Some(Why::Special),
        Fate::Absent => Some(Why::Absent),
        Fate::Ignored => Some(Why::Ignored),
        Fate::Unreadable => Some(Why::Unreadable),
    }
}

/// Passes what is tracked in a repository and is no text to `each`, with its reason and whether it is
/// a directory. In git that is what git's index has, in the order of git; elsewhere all that no rule
/// leaves out. What cannot be read is told by its own row, and what lies outside the bounds of a
/// repository is nobody's business.
pub fn each_left_out(
    source: &Source,
    ledger: &Ledger,
    io: &mut Io<'_>,
    each: &mut dyn FnMut(&RepoPath, Why, bool, &mut Io<'_>) -> Result<()>,
) -> Result<()> {
    let policy = source.policy(io.world)?;
    if !policy.in_git() {
        return ledger.each_file(|row| match why(row.fate) {
            None | Some(Why::Ignored | Why::Unreadable) => Ok(()),
            Some(why) => each(&row.path, why, row.fate == Fate::Repository, io),
        });
    }
    policy.each_tracked(|path| {
        let inside = source.only.is_empty() || source.only.iter().any(|only| path.is_within(only));
        let found = if inside { stands_for(ledger, &path)? } else { return Ok(()) };
        let fate = found.map(|row| row.fate);
        match fate.map_or(Some(Why::Unplanned), why) {
            None | Some(Why::Unreadable) => Ok(()),
            Some(why) => each(&path, why, fate == Some(Fate::Repository), io),
        }
    })
}

/// The row of a path, or of what stands above it and is not gone into.
fn stands_for(ledger: &Ledger, path: &RepoPath) -> Result<Option<Row>> {
    if let Some(row) = ledger.file(path)? {
        return Ok(Some(row));
    }
    ledger.row_above(path)?.map_or(Ok(None), |above| ledger.file(&above))
}
