//! Some paths brought up to date: after it the ledger says of them, and of all below them, what a
//! scan of the whole tree would say.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

use super::links::Links;
use super::refresh::{Met, Work, refresh};
use super::scan::{Options, open_root, settled_tokenizer};
use super::stat::Young;
use super::write::Writer;
use crate::admit::Policy;
use crate::error::Result;
use crate::record::{self, Progress, RepoPath, SyncMode};
use crate::store::ledger::{KnownRows, Ledger, Turn};
use crate::walk::{self, Entry};

/// What a sync did.
#[derive(Debug, Clone, PartialEq)]
pub struct Synced {
    /// The record of it.
    pub sync: record::Sync,
    /// In git: a path that was looked at and differs from git's index.
    pub differing: Option<RepoPath>,
}

/// Brings `paths`, all below them, and the other names of the files there up to date. The ledger
/// must hold a finished scan.
///
/// # Errors
/// As [`super::scan`].
pub fn sync(
    policy: &Policy,
    ledger: &mut Ledger,
    _turn: &Turn,
    paths: &BTreeSet<RepoPath>,
    links: &mut Links,
    options: &Options<'_>,
    progress: &mut dyn FnMut(Progress),
) -> Result<Synced> {
    let folder = open_root(policy.root_path())?;
    let tokenizer = settled_tokenizer(ledger)?;
    let mut look = Look::at_all(paths, policy, ledger, progress)?;
    let mut known = look.known(ledger)?;
    let mut all = links.others(ledger, policy.root_path(), &known, &look.entries)?;
    if !all.is_empty() {
        all.extend(paths.iter().cloned());
        look = Look::at_all(&all, policy, ledger, progress)?;
        known = look.known(ledger)?;
    }
    let (young, met) = (Young::at(options.now), Met::default());
    let work = Work { root: &folder, tokenizer, young, anew: false, met };
    let threads = options.threads.min(look.entries.len());
    let mut writer = Writer::new(ledger, false, progress);
    let entries = look.entries;
    let source = |sink: &(dyn Fn(Vec<Entry>) + Sync)| {
        sink(entries);
        Ok(())
    };
    refresh(&work, threads, source, |_| Ok(known), &mut writer)?;
    let sync = writer.finish(SyncMode::Incremental, options)?;
    Ok(Synced { sync, differing: look.differing })
}

/// What was found at some paths, each looked at once.
#[derive(Default)]
struct Look {
    entries: Vec<Entry>,
    /// What the entries account for: in the order of the tree, none within another.
    covered: Vec<RepoPath>,
    differing: Option<RepoPath>,
}

impl Look {
    fn at_all(
        paths: &BTreeSet<RepoPath>,
        policy: &Policy,
        ledger: &Ledger,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<Look> {
        let mut look = Look::default();
        for path in paths {
            progress(Progress { files: 0, bytes: 0, of_files: None });
            look.at(path, policy, ledger)?;
        }
        Ok(look)
    }

    /// Looks at one path; paths must come in the order of the tree.
    fn at(&mut self, path: &RepoPath, policy: &Policy, ledger: &Ledger) -> Result<()> {
        if self.covered.last().is_some_and(|last| path.is_within(last)) {
            return Ok(());
        }
        // A row above stands for all below it, or has gone: the look goes from there.
        let above = ledger.row_above(path)?;
        let found = Mutex::new(Vec::new());
        let sink = |batch| found.lock().unwrap_or_else(PoisonError::into_inner).extend(batch);
        let revisit = walk::revisit(policy, above.as_ref().unwrap_or(path), &sink)?;
        // The tree may have changed since the last look: the later one counts.
        while self.covered.last().is_some_and(|last| last.is_within(&revisit.covered)) {
            self.covered.pop();
            self.entries.retain(|entry| !entry.path.is_within(&revisit.covered));
        }
        self.entries.extend(found.into_inner().unwrap_or_else(PoisonError::into_inner));
        self.differing = revisit.differing.or(self.differing.take());
        self.covered.push(revisit.covered);
        Ok(())
    }

    /// The rows of what was looked at.
    fn known(&self, ledger: &Ledger) -> Result<KnownRows> {
        let mut known = KnownRows::default();
        self.covered.iter().try_for_each(|path| ledger.known_within(path, &mut known))?;
        Ok(known)
    }
}
