//! The rules that hold in one directory: its own ignore files and those of every directory above.
//!
//! A directory that a rule excludes takes all below with it, whatever patterns say there; but git's
//! rules never keep a tracked file out, so such a directory stands open for those alone.

use std::ops::Range;
use std::sync::{Arc, OnceLock};

use super::rules::{Match, Rule, RuleList};

/// What the rules say about a name in a directory.
#[derive(Debug, Clone)]
pub enum Ruling {
    /// It is in. For a directory: go in.
    Admitted,
    /// A directory that is ignored but for the tracked files in it.
    TrackedOnly(Rule),
    /// It is out, and so is all below it.
    Ignored(Rule),
}

/// A directory on the way down, with the rules that hold in it. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Dir(Arc<Node>);

#[derive(Debug)]
struct Node {
    parent: Option<Dir>,
    path: Vec<u8>,
    tracked: Range<usize>,
    git: Option<Arc<RuleList>>,
    own: Option<Arc<RuleList>>,
    any_own: bool,
    standing: OnceLock<Ruling>,
}

impl Dir {
    pub(super) fn new(
        parent: Option<&Dir>,
        path: Vec<u8>,
        tracked: Range<usize>,
        git: Option<Arc<RuleList>>,
        own: Option<Arc<RuleList>>,
    ) -> Self {
        let any_own = own.is_some() || parent.is_some_and(Dir::has_own_rules);
        let parent = parent.cloned();
        let standing = OnceLock::new();
        Dir(Arc::new(Node { parent, path, tracked, git, own, any_own, standing }))
    }

    pub(super) fn parent(&self) -> Option<&Dir> {
        self.0.parent.as_ref()
    }

    /// The path relative to the top of the work tree; empty for the top.
    pub(super) fn path(&self) -> &[u8] {
        &self.0.path
    }

    /// The length of the path with its final `/`.
    pub fn prefix(&self) -> usize {
        match self.0.path.len() {
            0 => 0,
            length => length + 1,
        }
    }

    /// The tracked entries below it.
    pub fn tracked(&self) -> Range<usize> {
        self.0.tracked.clone()
    }

    /// The path of a name in it, relative to the top.
    pub(super) fn join(&self, name: &[u8]) -> Vec<u8> {
        let mut path = Vec::with_capacity(self.prefix() + name.len());
        path.extend_from_slice(&self.0.path);
        if !path.is_empty() {
            path.push(b'/');
        }
        path.extend_from_slice(name);
        path
    }

    /// Whether `.auwai-ignore` files hold here, so that tracked paths are to be judged too.
    pub(super) fn has_own_rules(&self) -> bool {
        self.0.any_own
    }

    /// This directory and those above it that have not been judged yet, each with its parent, the
    /// deepest first. Judging is put off until asked for: most directories never are.
    pub(super) fn unjudged(&self) -> Vec<(&Dir, &Dir)> {
        let mut found = Vec::new();
        let mut dir = self;
        while let (None, Some(parent)) = (dir.standing(), dir.parent()) {
            found.push((parent, dir));
            dir = parent;
        }
        found
    }

    /// How it stands itself, once judged.
    pub(super) fn standing(&self) -> Option<&Ruling> {
        self.0.standing.get()
    }

    /// Records how it stands; the first time counts.
    pub(super) fn stand(&self, ruling: Ruling) {
        self.0.standing.get_or_init(|| ruling);
    }

    /// Declares it admitted whatever stands above, since it was named.
    pub(super) fn named(self) -> Self {
        self.stand(Ruling::Admitted);
        self
    }

    /// The last match in `.auwai-ignore` files, the deepest file first.
    pub(super) fn own_match(&self, path: &[u8], is_dir: bool) -> Option<Match> {
        self.find(|node| node.own.as_ref(), path, is_dir)
    }

    /// The last match in `.gitignore` files, the deepest file first.
    pub(super) fn git_match(&self, path: &[u8], is_dir: bool) -> Option<Match> {
        self.find(|node| node.git.as_ref(), path, is_dir)
    }

    /// The ignore files here and above, the deepest first.
    pub(super) fn lists(&self) -> Vec<&Arc<RuleList>> {
        let mut found = Vec::new();
        let mut dir = Some(self);
        while let Some(Dir(node)) = dir {
            found.extend(node.own.iter().chain(&node.git));
            dir = node.parent.as_ref();
        }
        found
    }

    fn find(
        &self,
        list: impl Fn(&Node) -> Option<&Arc<RuleList>>,
        path: &[u8],
        is_dir: bool,
    ) -> Option<Match> {
        let mut dir = Some(self);
        while let Some(Dir(node)) = dir {
            if let Some(found) = list(node).and_then(|l| l.last_match(path, is_dir)) {
                return Some(found);
            }
            dir = node.parent.as_ref();
        }
        None
    }
}

impl Drop for Node {
    /// Lets go of the directories above one by one: by recursion a deep tree would end the stack.
    fn drop(&mut self) {
        let mut above = self.parent.take();
        while let Some(Dir(node)) = above {
            above = Arc::into_inner(node).and_then(|mut node| node.parent.take());
        }
    }
}
