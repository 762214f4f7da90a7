//! Which chunk takes over which read, where both have the same bytes: the rule of both ledgers.
//!
//! One read goes to one chunk, in a file with the content that the read's file had first, then in the
//! order of the tree. Only a chunk that came after the read can take it, so a copy of what is read
//! inherits nothing. The work grows with the number of reads and chunks, and not with its square.

use std::collections::{BTreeMap, HashMap, VecDeque};

/// A BLAKE3 hash of a file.
type Hash = [u8; 32];

/// A read whose chunk has gone.
#[derive(Debug, Clone, Copy)]
pub struct Left {
    /// The content of its file then, where that is known.
    pub file: Option<Hash>,
    /// The change after which it was read.
    pub since: u64,
}

/// A chunk that has come and is unread.
#[derive(Debug, Clone, Copy)]
pub struct Came {
    /// The content of its file.
    pub file: Hash,
    /// The change that brought it.
    pub added: u64,
}

/// The pairs of reads and chunks of one body, by their places; the chunks in the order of the tree.
pub fn pairs(left: &[Left], came: &[Came]) -> Vec<(usize, usize)> {
    let (mut all, mut by_file) = (Line::default(), HashMap::<Hash, Line>::new());
    for (at, chunk) in came.iter().enumerate() {
        all.join(chunk.added, at);
        by_file.entry(chunk.file).or_default().join(chunk.added, at);
    }
    let (mut taken, mut pairs, mut rest) = (vec![false; came.len()], Vec::new(), Vec::new());
    for (from, read) in left.iter().enumerate() {
        let line = read.file.and_then(|file| by_file.get_mut(&file));
        match line.and_then(|line| line.take(read.since, &mut taken)) {
            Some(to) => pairs.push((from, to)),
            None => rest.push(from),
        }
    }
    let more = rest.into_iter().map(|from| (from, all.take(left[from].since, &mut taken)));
    pairs.extend(more.filter_map(|(from, to)| Some((from, to?))));
    pairs.sort_unstable();
    pairs
}

/// Chunks in the order of the tree, by the change that brought them.
#[derive(Default)]
struct Line(BTreeMap<u64, VecDeque<usize>>);

impl Line {
    fn join(&mut self, added: u64, at: usize) {
        self.0.entry(added).or_default().push_back(at);
    }

    /// The first of those that came after `since` and are not taken: it is then.
    fn take(&mut self, since: u64, taken: &mut [bool]) -> Option<usize> {
        let mut first: Option<usize> = None;
        for queue in self.0.range_mut(since.checked_add(1)?..).map(|(_, queue)| queue) {
            while queue.front().is_some_and(|at| taken[*at]) {
                queue.pop_front();
            }
            first = first.into_iter().chain(queue.front().copied()).min();
        }
        taken[first?] = true;
        first
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The rule word by word.
    fn slowly(left: &[Left], came: &[Came]) -> Vec<(usize, usize)> {
        let mut pairs: Vec<(usize, usize)> = Vec::new();
        for same in [true, false] {
            for (from, read) in left.iter().enumerate() {
                let is_free = |to: &usize| pairs.iter().all(|pair| pair.0 != from && pair.1 != *to);
                let fits = |to: &usize| {
                    let chunk = &came[*to];
                    chunk.added > read.since && (!same || read.file == Some(chunk.file))
                };
                let to = (0..came.len()).filter(is_free).find(fits);
                pairs.extend(to.map(|to| (from, to)));
            }
        }
        pairs.sort_unstable();
        pairs
    }

    fn left() -> impl Strategy<Value = Left> {
        let file = prop::option::of(0..4u8).prop_map(|file| file.map(|file| [file; 32]));
        (file, 0..4u64).prop_map(|(file, since)| Left { file, since })
    }

    fn came() -> impl Strategy<Value = Came> {
        (0..4u8, 0..5u64).prop_map(|(file, added)| Came { file: [file; 32], added })
    }

    /// With the square of the work this does not end before whoever waits for it.
    #[test]
    fn many_of_one_body_are_no_more_work_each() {
        let file = |at: usize| *blake3::hash(&at.to_le_bytes()).as_bytes();
        const MANY: usize = 100_000;
        let left: Vec<_> = (0..MANY).map(|at| Left { file: Some(file(at)), since: 1 }).collect();
        let came: Vec<_> = (0..MANY).map(|at| Came { file: file(MANY + at), added: 2 }).collect();
        assert_eq!(pairs(&left, &came).len(), MANY);
    }

    proptest! {
        #[test]
        fn the_rule_is_kept(
            left in prop::collection::vec(left(), 0..12), came in prop::collection::vec(came(), 0..12),
        ) {
            prop_assert_eq!(pairs(&left, &came), slowly(&left, &came));
        }
    }
}
