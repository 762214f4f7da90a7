//! The root and the rules that hold there: how they are opened, and what happens when they change.

use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use rustc_hash::{FxHashMap, FxHashSet};

use super::touch::Of;
use super::{Changes, Controls, How, Id, LeftOut, Tree, Watches};
use crate::admit::{Policy, Surroundings};
use crate::error::Result;
use crate::listing;
use crate::record::{RepoPath, RescanReason};
use crate::watch::limit::Limit;
use crate::watch::pending::{Dirty, Hint};

/// What is watched, and under which rules.
#[derive(Debug, Clone)]
pub struct Site {
    /// The root, absolute and without links.
    pub root: PathBuf,
    /// Where git's configuration is.
    pub around: Surroundings,
    /// With a scope, only these subtrees.
    pub scope: Vec<RepoPath>,
    /// Whether ignore rules hold.
    pub rules: bool,
    /// The clock.
    pub now: fn() -> SystemTime,
    /// Which file systems, by their number in statfs(2), do not tell of all changes; their names.
    pub remote: fn(u64) -> Option<&'static str>,
    /// How many watches the system allows, for a warning.
    pub limit: fn() -> Option<Limit>,
}

impl Site {
    /// Opens the policy.
    ///
    /// # Errors
    /// As [`Policy::open`].
    pub fn policy(&self) -> Result<Policy> {
        match self.rules {
            true => Policy::open(&self.root, &self.around, &self.scope),
            false => Policy::everything(&self.root, &self.scope),
        }
    }
}

impl Tree {
    /// Takes in the tree below the root, with `watches` or, without, to be polled. The changes hold
    /// warnings alone.
    ///
    /// # Errors
    /// When the root cannot be read, or its policy cannot be opened.
    pub fn open(site: Site, watches: Option<Arc<dyn Watches>>) -> Result<(Tree, Changes)> {
        let mut controls = Controls::of(&site.policy()?, watches.as_deref(), &Controls::default());
        // What changed before the watches stood is in the second look.
        controls.differ();
        let policy = site.policy()?;
        let mut tree = Tree {
            fingerprint: policy.fingerprint(),
            policy: Arc::new(policy),
            site,
            watches,
            nodes: FxHashMap::default(),
            by_watch: FxHashMap::default(),
            above: FxHashSet::default(),
            controls,
            root: None,
            next: 0,
            polled: FxHashSet::default(),
            deciding: 0,
            left_out: LeftOut::default(),
            unsure: false,
            stale: false,
        };
        let mut out = Changes::default();
        tree.watch_above();
        tree.build(false, &mut out);
        Ok((tree, out))
    }

    /// Watches the directories above the root: when one of them is moved, the root is not where it
    /// was.
    fn watch_above(&mut self) {
        let Some(watches) = &self.watches else { return };
        let above = self.site.root.ancestors().skip(1);
        self.above = above.filter_map(|dir| watches.add_above(dir).ok()).collect();
    }

    /// Opens the policy anew. If it admits something else, the tree is taken anew.
    pub fn check_policy(&mut self, out: &mut Changes) {
        self.controls.differ();
        let policy = match self.site.policy() {
            Ok(policy) => policy,
            Err(_) if self.inode_now().is_none() => return self.check_root(out),
            Err(error) => return self.keep_stale(&error, out),
        };
        self.stale = false;
        let fingerprint = policy.fingerprint();
        let same = fingerprint == self.fingerprint && policy.in_git() == self.policy.in_git();
        (self.policy, self.fingerprint) = (Arc::new(policy), fingerprint);
        self.renew_controls();
        if same {
            out.touched = true;
            return;
        }
        out.rescan(None, RescanReason::Rules);
        self.build(false, out);
    }

    /// Nobody knows what is in: the old rules stand for now, and it is tried again.
    fn keep_stale(&mut self, error: &crate::error::Error, out: &mut Changes) {
        if !std::mem::replace(&mut self.stale, true) {
            out.warn(error.to_string(), error.hints().first().cloned());
            out.rescan(None, RescanReason::Rules);
        }
    }

    /// Whether the policy is to be opened again.
    pub fn is_stale(&self) -> bool {
        self.stale
    }

    fn renew_controls(&mut self) {
        let new = Controls::of(&self.policy, self.watches.as_deref(), &self.controls);
        let old = std::mem::replace(&mut self.controls, new);
        for watch in old.watches().filter(|watch| !self.controls.has(*watch)) {
            let needed = self.by_watch.contains_key(&watch) || self.above.contains(&watch);
            if let (false, Some(watches)) = (needed, &self.watches) {
                watches.remove(watch);
            }
        }
    }

    /// Directories that were moved or have gone, and watches that the system has ended, which it
    /// does with a directory that has gone or was unmounted. Of interest when the root is one, or
    /// is in one, or when a control file was in one: what stands there now has no watch yet.
    pub fn moved(&mut self, moved: &FxHashSet<i32>, ended: &FxHashSet<i32>, out: &mut Changes) {
        let is_root = |ids: &Vec<Id>| ids.iter().any(|id| self.root == Some(*id));
        let of_root = |watch: &i32| {
            self.above.contains(watch) || self.by_watch.get(watch).is_some_and(is_root)
        };
        // Asked first: a watch that has ended is nobody's.
        let concerned = self.root.is_some() && moved.iter().chain(ended).any(of_root);
        let rules = moved.iter().chain(ended).any(|watch| self.controls.has(*watch));
        ended.iter().for_each(|watch| self.ended(*watch));
        if concerned {
            self.check_root(out);
        }
        if rules && self.root.is_some() {
            self.check_policy(out);
        }
    }

    /// Looks whether a control file differs: one that was written between the opening of a policy
    /// and the watching of its control files is no event.
    pub fn check_controls(&mut self, out: &mut Changes) {
        if self.root.is_some() && self.controls.differ() {
            self.check_policy(out);
        }
    }

    fn ended(&mut self, watch: i32) {
        self.above.remove(&watch);
        for id in self.by_watch.remove(&watch).unwrap_or_default() {
            let Some(node) = self.nodes.get_mut(&id) else { continue };
            // No directory has this number: should one stand here again, it is another one.
            node.inode = (u64::MAX, u64::MAX);
            node.how = How::Watched(-1);
        }
    }

    /// Looks at places where something was mounted or unmounted.
    pub fn remounted(&mut self, points: &[PathBuf], out: &mut Changes) {
        let mut work = Vec::new();
        for point in points {
            match point.strip_prefix(&self.site.root) {
                Ok(inside) if inside != Path::new("") => work.extend(self.hint_at(inside)),
                _ if self.site.root.starts_with(point) => self.check_root(out),
                _ => {}
            }
        }
        self.work_off(work, out);
    }

    /// The hint that something else may be at a path; `None` where nothing of the tree is.
    fn hint_at(&self, path: &Path) -> Option<(Of, Dirty)> {
        let mut id = self.root?;
        for name in path.parent()? {
            id = *self.nodes.get(&id)?.children.get(name.as_bytes())?;
        }
        Some((Of::Node(id), Dirty::one(path.file_name()?.as_bytes(), Hint::ANOTHER)))
    }

    /// Looks whether another repository is around the root than was: one made above it is no event
    /// in the tree.
    pub fn check_repository(&mut self, out: &mut Changes) {
        if self.root.is_some() && self.policy.has_rules() && !self.policy.is_where_it_was() {
            self.check_policy(out);
        }
    }

    /// A link in the place of the root, or of a folder above it, is not the root: that it leads
    /// elsewhere later is no event here.
    fn inode_now(&self) -> Option<super::Inode> {
        let root = &self.site.root;
        let real = root.canonicalize().is_ok_and(|real| real == *root);
        listing::inode(root).filter(|_| real)
    }

    fn known_inode(&self) -> Option<super::Inode> {
        self.root.and_then(|root| self.nodes.get(&root)).map(|node| node.inode)
    }

    /// Whether the directory that is watched as the root stands where the root is.
    pub(super) fn is_at_home(&self) -> bool {
        self.known_inode() == self.inode_now()
    }

    /// Looks whether the root is still the same directory; if not, tells it and takes in what is
    /// there, if anything.
    pub fn check_root(&mut self, out: &mut Changes) {
        if self.root.is_some() {
            // It may have come back below others, which are watched before the look.
            self.watch_above();
        }
        let (known, now) = (self.known_inode(), self.inode_now());
        if known.is_some() && now == known {
            return;
        }
        if let Some(root) = self.root.take() {
            self.fell(root);
            out.rescan(None, RescanReason::Root);
        }
        if now.is_none() {
            return;
        }
        // Half a repository may be there already; its control files tell the rest.
        self.controls.differ();
        let policy = match self.site.policy() {
            Ok(policy) => policy,
            Err(error) => return self.keep_stale(&error, out),
        };
        self.stale = false;
        (self.fingerprint, self.policy) = (policy.fingerprint(), Arc::new(policy));
        self.renew_controls();
        self.watch_above();
        self.build(false, out);
        if self.root.is_some() {
            out.rescan(None, RescanReason::Root);
        }
    }

    /// Visits every directory again, after events were lost: what differs is told.
    pub fn sweep(&mut self, out: &mut Changes) {
        self.unsure = false;
        if self.root.is_none() {
            return self.check_root(out);
        }
        let touched = out.touched;
        self.check_policy(out);
        out.touched = touched;
        self.check_root(out);
        if self.root.is_some() {
            self.watch_above();
            self.build(true, out);
        }
    }

    /// Whether something could not be looked at, so that a sweep is needed.
    pub fn is_unsure(&self) -> bool {
        self.unsure
    }
}
