//! One path looked at again, with the very rules of a walk: what a walk would say about it and all
//! below it, and nothing else.
//!
//! The way there goes down from the root as a walk does, with the ignore files of each directory as
//! they are now. Where a walk would not go in, or would have something to say about the directory
//! itself, the way ends: what the walk says there accounts for all below.

use std::os::fd::OwnedFd;
use std::sync::{Arc, OnceLock};

use rustix::io::Errno as Code;

use super::Entry;
use super::job::open_root;
use super::queue::Queue;
use super::visit::{Here, Visitor, is_gone};
use crate::admit::{Child, Policy, RuleFiles, Ruling, is_repository};
use crate::error::Result;
use crate::listing::{self, Listing};
use crate::record::RepoPath;

/// What a look at one path has accounted for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Revisit {
    /// The path that was asked for, or the one above it at which the way ended. What was not among
    /// the entries is not there, at it and below it.
    pub covered: RepoPath,
    /// In git: a tracked file, at it or below it, that differs from git's index by its stat data, or
    /// is absent.
    pub differing: Option<RepoPath>,
}

/// Looks at `path` and all below it, handing the entries to `sink` in batches, in no order. Fails
/// only when the root itself cannot be read.
pub fn revisit(
    policy: &Policy,
    path: &RepoPath,
    sink: &(dyn Fn(Vec<Entry>) + Sync),
) -> Result<Revisit> {
    let (differing, queue) = (OnceLock::new(), Queue::new(Vec::new()));
    let mut visitor = Visitor::new(policy, sink, &queue, &differing);
    let covered = visitor.go_to(open_root(policy)?, path);
    visitor.run();
    let path = |at: &usize| policy.path_of_entry(*at).unwrap_or_else(|| covered.clone());
    let differing = differing.get().map(path);
    Ok(Revisit { covered, differing })
}

impl Visitor<'_> {
    /// Looks at the path, or at the one above it where the way ends, and returns which.
    fn go_to(&mut self, root: OwnedFd, path: &RepoPath) -> RepoPath {
        let dir = self.policy.root(RuleFiles::read(&root, self.policy.in_git()));
        let mut here = Here { dir, fd: Some(Arc::new(root)), depth: 0 };
        let (bytes, mut from) = (path.as_bytes(), 0);
        loop {
            let end = memchr::memchr(b'/', &bytes[from..]).map_or(bytes.len(), |at| from + at);
            let name = &bytes[from..end];
            let below = (end < bytes.len()).then(|| self.go_in(&here, name)).flatten();
            let Some(below) = below else {
                self.look_at(&here, name);
                return RepoPath::new(&bytes[..end]).unwrap_or_else(|| path.clone());
            };
            (here, from) = (below, end + 1);
        }
    }

    /// The directory `name`, when a walk would go in and has nothing to say about it itself.
    fn go_in(&self, here: &Here, name: &[u8]) -> Option<Here> {
        let child = self.policy.child(&here.dir, name);
        let tracked = !child.below.is_empty();
        let ruling = self.policy.judge(&here.dir, name, true, tracked);
        if child.entry.is_some() || matches!(ruling, Ruling::Ignored(_)) {
            return None;
        }
        let fd = listing::open_dir(here.fd.as_ref()?, name).ok()?;
        if !tracked && is_repository(&fd) {
            return None;
        }
        let files = RuleFiles::read(&fd, self.policy.in_git());
        let dir = self.policy.enter(&here.dir, name, child.below, files);
        Some(Here { dir, fd: Some(Arc::new(fd)), depth: here.depth + 1 })
    }

    /// Says what a walk says when it meets the name in its directory, or misses it there.
    fn look_at(&mut self, here: &Here, name: &[u8]) {
        let Some(fd) = &here.fd else { return };
        let child = self.policy.child(&here.dir, name);
        let tracked = child.entry.is_some() || !child.below.is_empty();
        match listing::stat(fd, name) {
            Ok(stat) => self.name(here, name, stat.file_type(), tracked.then_some(&child)),
            Err(code) if is_gone(code) => self.missing(here, &child),
            Err(code) => self.look_in_list(here, name, tracked.then_some(&child), code),
        }
    }

    /// A name that cannot be looked up: a walk knows it from the list of its directory.
    fn look_in_list(&mut self, here: &Here, name: &[u8], child: Option<&Child<'_>>, code: Code) {
        let Some(fd) = &here.fd else { return };
        let listing = Listing::read(fd);
        let listed = listing.iter().find(|(other, _)| *other == name);
        match (listed, child) {
            (Some((_, file_type)), _) => self.name(here, name, file_type, child),
            (None, Some(child)) if listing.error.is_some() => self.unlisted(here, child, code),
            (None, child) => child.into_iter().for_each(|child| self.missing(here, child)),
        }
    }
}
