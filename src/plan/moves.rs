//! Moves: reads whose chunk has left the plan, and the chunks of the tree that take them over.
//!
//! A chunk that is back takes its own read. All others go by the rule of [`crate::moves`], where the
//! changes are the revisions of the plan.

use std::collections::{HashMap, HashSet};

use super::tree::{Hash, Tree};
use crate::moves::{Came, Left, pairs};
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
    let moved = moved(tree, stands, freed, &left, &taken);
    taken.extend(moved.into_iter().map(|(at, to)| Taken { to, from: left[at] }));
    taken
}

/// The reads and the chunks that have one body.
#[derive(Default)]
struct Group {
    /// Places among those that are left.
    reads: Vec<usize>,
    chunks: Vec<u32>,
}

/// Who takes over the reads that are `left`, in their order.
fn moved(
    tree: &Tree,
    stands: &[Stand],
    freed: &[Freed],
    left: &[usize],
    back: &[Taken],
) -> Vec<(usize, u32)> {
    let mut groups: HashMap<(u32, Hash), Group> = HashMap::new();
    for (at, read) in left.iter().map(|from| &freed[*from]).enumerate() {
        groups.entry((read.repo, read.body)).or_default().reads.push(at);
    }
    let back: HashSet<u32> = back.iter().map(|taken| taken.to).collect();
    let unread = (0u32..).zip(stands).filter(|(_, stand)| !stand.complete && stand.added > 1);
    for (at, _) in unread.filter(|(at, _)| !back.contains(at)) {
        let found = tree.leaf_at(at);
        if let Some(group) = groups.get_mut(&(found.repo, found.body)) {
            group.chunks.push(at);
        }
    }
    let read = |at: &usize| {
        let Freed { file, since, .. } = freed[left[*at]];
        Left { file, since }
    };
    let chunk = |at: &u32| Came { file: tree.leaf_at(*at).file, added: stands[*at as usize].added };
    let mut moved = Vec::new();
    for Group { reads, chunks } in groups.into_values() {
        let all: Vec<Left> = reads.iter().map(read).collect();
        let came: Vec<Came> = chunks.iter().map(chunk).collect();
        moved.extend(pairs(&all, &came).into_iter().map(|(from, to)| (reads[from], chunks[to])));
    }
    moved.sort_unstable();
    moved
}
