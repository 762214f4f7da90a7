//! A ledger that follows its tree, change by change, with the rules of admission held open.
//!
//! Git's own files change without a change of what is in (`git status` rewrites the index). So the
//! rules are read anew when one of the files they come from has changed, and a scan is asked for
//! only when they then admit something else.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::links::Links;
use super::scan::{self, Options, is_whole};
use super::stat;
use super::sync;
use super::write::{note_git, note_head};
use crate::admit::{self, GIT_RULES, OWN_RULES, Policy, Stat, Surroundings};
use crate::error::Result;
use crate::record::{Fate, Progress, RepoPath, Sync};
use crate::store::ledger::{Known, Ledger, Turn};
use crate::walk;

/// The rules of one repository held open, and what is known of git's state.
pub struct Follower {
    root: PathBuf,
    around: Surroundings,
    scope: Vec<RepoPath>,
    policy: Policy,
    /// The files that the policy was made from, as they were just before.
    controls: Vec<Option<Stat>>,
    /// What is in may be another set since the last scan.
    stale: bool,
    /// Git's index may be another since it was last compared with the tree.
    recompare: bool,
    /// A path that differs from git's index.
    differing: Option<RepoPath>,
    links: Links,
}

impl Follower {
    /// Follows the repository at `root`.
    ///
    /// # Errors
    /// As [`Policy::open`].
    pub fn open(root: &Path, around: Surroundings, scope: &[RepoPath]) -> Result<Follower> {
        let policy = Policy::open(root, &around, scope)?;
        Ok(Follower {
            root: root.to_owned(),
            around,
            scope: scope.to_vec(),
            policy,
            controls: Vec::new(),
            stale: false,
            recompare: true,
            differing: None,
            links: Links::default(),
        })
    }

    /// Whether only a scan can bring the ledger up to date when `changed` has: no scan was ever
    /// finished, or the rules that hold for all have changed.
    ///
    /// # Errors
    /// The ledger's; those of [`Policy::open`].
    pub fn wants_scan(&mut self, ledger: &Ledger, changed: &BTreeSet<RepoPath>) -> Result<bool> {
        let in_git =
            |path: &RepoPath| path.as_bytes().split(|b| *b == b'/').next() == Some(b".git");
        if self.controls != stats(&self.policy) || changed.iter().any(in_git) {
            let before = (self.policy.fingerprint(), self.policy.in_git());
            self.reopen()?;
            self.stale |= before != (self.policy.fingerprint(), self.policy.in_git());
            self.recompare = true;
        }
        let rules_of_all = |path: &RepoPath| is_rule_file(path) && path.parent().is_none();
        Ok(self.stale || changed.iter().any(rules_of_all) || !is_whole(ledger)?)
    }

    fn reopen(&mut self) -> Result<()> {
        let before = stats(&self.policy);
        let policy = Policy::open(&self.root, &self.around, &self.scope)?;
        // Which files count is known only now; when they are others, the next look opens again.
        let same = policy.control_files() == self.policy.control_files();
        self.controls = if same { before } else { Vec::new() };
        self.policy = policy;
        Ok(())
    }

    /// Scans the whole tree, with the rules as they are now.
    ///
    /// # Errors
    /// As [`super::scan`].
    pub fn scan(
        &mut self,
        ledger: &mut Ledger,
        turn: &Turn,
        options: &Options<'_>,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<Sync> {
        self.stale = true;
        self.reopen()?;
        let sync = scan::scan(&self.root, &self.policy, ledger, turn, options, progress)?;
        self.links = Links::default();
        (self.stale, self.recompare, self.differing) = (false, false, None);
        Ok(sync)
    }

    /// Brings some paths up to date, and what is noted of git's state. Where an ignore file has
    /// changed, this is all of its folder. `progress` is called at least once a path.
    ///
    /// # Errors
    /// As [`super::sync`].
    pub fn sync(
        &mut self,
        ledger: &mut Ledger,
        turn: &Turn,
        changed: &BTreeSet<RepoPath>,
        options: &Options<'_>,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<Sync> {
        let folder = |path: &RepoPath| path.parent().filter(|_| is_rule_file(path));
        let paths = changed.iter().map(|path| folder(path).unwrap_or_else(|| path.clone()));
        let paths = paths.collect();
        let links = &mut self.links;
        let synced = sync::sync(&self.policy, ledger, turn, &paths, links, options, progress)?;
        let head = admit::head(&self.root);
        let dirty = self.policy.in_git() && self.is_dirty(ledger, synced.differing)?;
        note_git(ledger, &self.policy, head.as_deref(), dirty)?;
        self.recompare = false;
        Ok(synced.sync)
    }

    /// Notes where git's head is now, which moves without a change of what is in.
    ///
    /// # Errors
    /// The ledger's.
    pub fn note_head(&self, ledger: &mut Ledger) -> Result<()> {
        note_head(ledger, admit::head(&self.root).as_deref())
    }

    /// Whether anything differs from git's index; `seen`: where something does for certain.
    fn is_dirty(&mut self, ledger: &Ledger, seen: Option<RepoPath>) -> Result<bool> {
        if seen.is_some() {
            self.differing = seen;
            return Ok(true);
        }
        if let Some(path) = &self.differing
            && self.differs(path)?
        {
            return Ok(true);
        }
        let was_clean = ledger.meta_of_part("dirty")?.as_deref() == Some("false");
        if was_clean && !self.recompare {
            return Ok(false);
        }
        self.differing = self.first_differing(ledger)?;
        Ok(self.differing.is_some())
    }

    fn differs(&self, path: &RepoPath) -> Result<bool> {
        Ok(walk::revisit(&self.policy, path, &|_| {})?.differing.is_some())
    }

    /// A path that differs, by the stat data that the ledger has; what it has none of is looked at.
    fn first_differing(&self, ledger: &Ledger) -> Result<Option<RepoPath>> {
        for (key, known) in ledger.known()?.iter() {
            let Some(path) = RepoPath::from_key(key) else { continue };
            if self.policy.holds_tracked(&path) && self.row_differs(&path, known)? {
                return Ok(Some(path));
            }
        }
        Ok(None)
    }

    fn row_differs(&self, path: &RepoPath, known: &Known) -> Result<bool> {
        match (&known.stat, known.fate) {
            (Some(bytes), _) => Ok(self.policy.differs(path, Some(&stat::from_bytes(bytes)))),
            (None, Fate::Absent) => Ok(self.policy.differs(path, None)),
            (None, _) => self.differs(path),
        }
    }
}

fn is_rule_file(path: &RepoPath) -> bool {
    [GIT_RULES, OWN_RULES].iter().any(|name| path.name() == name.as_bytes())
}

/// What the files are now that the policy was made from.
fn stats(policy: &Policy) -> Vec<Option<Stat>> {
    let stat = |path: &PathBuf| rustix::fs::stat(path).ok().map(|stat| Stat::from(&stat));
    policy.control_files().iter().map(stat).collect()
}
