//! Moves: reads whose chunk has left the tree, and the chunks that take them over.
//!
//! A chunk that is back takes its own read. Else one read goes to one chunk with the same body, in a
//! file with the same content first, then in tree order. Only a chunk that came into the plan after
//! the read can take it, so a copy of what is read inherits nothing.

use std::collections::{HashMap, HashSet};

use super::tree::{Hash, Tree};
use crate::record::{ChunkId, RepoPath};

/// How a chunk of the tree stood in the plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stand {
    /// The segment that has it, by its place among the old ones.
    pub segment: Option<u32>,
    /// Whether it is read.
    pub complete: bool,
    /// The revision in which it came into the plan; of one that only comes now, one that is later
    /// than any.
    pub added: u64,
}

impl Stand {
    /// Of a chunk that is not planned yet.
    pub const NEW: Stand = Stand { segment: None, complete: false, added: u64::MAX };
}

/// A read whose chunk left the plan, and that no other chunk has taken.
#[derive(Debug, Clone, PartialEq)]
pub struct Freed {
    /// The number of its repository in the tree.
    pub repo: u32,
    /// Its chunk.
    pub id: ChunkId,
    /// The hash of what was read.
    pub body: Hash,
    /// The hash of the file that it was in.
    pub file: Option<Hash>,
    /// The revision in force when it was read.
    pub since: u64,
    /// The path of the file then.
    pub path: RepoPath,
    /// The segment that had it, by its place among the old ones, if that still exists.
    pub segment: Option<u32>,
}

/// A chunk and the read that it takes over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Taken {
    /// The chunk's place in the tree.
    pub to: u32,
    /// The read's place among the freed ones.
    pub from: usize,
}

/// Who takes over which read; those that are back first.
pub(super) fn takers(tree: &Tree, stands: &[Stand], freed: &[Freed]) -> Vec<Taken> {
    let own = |read: &Freed| {
        tree.find(read.repo, read.id).filter(|at| tree.leaf_at(*at).body == read.body)
    };
    let (mut taken, mut left) = (Vec::new(), Vec::new());
    for (from, read) in freed.iter().enumerate() {
        match own(read) {
            Some(to) => taken.push(Taken { to, from }),
            None => left.push(from),
        }
    }
    let place = |at: &usize| (freed[*at].repo, &freed[*at].path, freed[*at].id);
    left.sort_by(|a, b| place(a).cmp(&place(b)));
    let mut candidates = Candidates::of(tree, stands, freed, &taken);
    left.retain(|from| match candidates.in_the_same_file(&freed[*from]) {
        Some(to) => {
            taken.push(Taken { to, from: *from });
            false
        }
        None => true,
    });
    for from in left {
        let to = candidates.first(&freed[from]);
        taken.extend(to.map(|to| Taken { to, from }));
    }
    taken
}

/// The unread chunks that have the body of some freed read, in reading order.
struct Candidates<'a> {
    tree: &'a Tree,
    stands: &'a [Stand],
    by_body: HashMap<(u32, Hash), Vec<u32>>,
}

impl<'a> Candidates<'a> {
    fn of(tree: &'a Tree, stands: &'a [Stand], freed: &[Freed], taken: &[Taken]) -> Self {
        let bodies = freed.iter().map(|read| ((read.repo, read.body), Vec::new()));
        let mut by_body: HashMap<(u32, Hash), Vec<u32>> = bodies.collect();
        let back: HashSet<u32> = taken.iter().map(|taken| taken.to).collect();
        for (at, _) in (0u32..).zip(stands).filter(|(_, stand)| !stand.complete && stand.added > 1)
        {
            let found = tree.leaf_at(at);
            if let Some(list) =
                by_body.get_mut(&(found.repo, found.body)).filter(|_| !back.contains(&at))
            {
                list.push(at);
            }
        }
        Candidates { tree, stands, by_body }
    }

    fn in_the_same_file(&mut self, read: &Freed) -> Option<u32> {
        let tree = self.tree;
        self.take(read, |at| read.file == Some(tree.leaf_at(at).file))
    }

    fn first(&mut self, read: &Freed) -> Option<u32> {
        self.take(read, |_| true)
    }

    /// The first that came after the read and is fit.
    fn take(&mut self, read: &Freed, fit: impl Fn(u32) -> bool) -> Option<u32> {
        let stands = self.stands;
        let list = self.by_body.get_mut(&(read.repo, read.body))?;
        let later = |at: u32| stands[at as usize].added > read.since;
        let found = list.iter().position(|at| later(*at) && fit(*at))?;
        Some(list.remove(found))
    }
}
