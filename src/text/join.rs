//! Small leaves of the tree of cuts are joined with a neighbour.
//!
//! A cut beside a small leaf is dropped if both sides fit together and it is weaker than the cuts
//! next to it that could be dropped too. So no leaf is joined twice, the weakest cuts go, and
//! whether a cut stays depends only on the two leaves before it and the two after it.

use std::collections::VecDeque;

use super::window::{Height, Leaf, Limit};

/// Leaves of fewer tokens are small.
const SMALL: u64 = 192;

/// Takes leaves and gives chunks, two leaves later.
#[derive(Debug)]
pub(super) struct Joiner {
    limit: Limit,
    waiting: VecDeque<Leaf>,
    /// The height of the cut before the first waiting leaf, if it could have been dropped.
    before: Option<Height>,
}

impl Joiner {
    pub(super) fn new(limit: Limit) -> Self {
        Joiner { limit, waiting: VecDeque::new(), before: None }
    }

    /// The first byte that waits.
    pub(super) fn start(&self) -> Option<u64> {
        self.waiting.front().map(|leaf| leaf.from.byte)
    }

    /// Takes the next leaf; gives a chunk once it is certain.
    pub(super) fn push(&mut self, leaf: Leaf) -> Option<Leaf> {
        self.waiting.push_back(leaf);
        if self.waiting.len() < 3 { None } else { self.pop() }
    }

    /// The next chunk, when no more leaves will come.
    pub(super) fn pop(&mut self) -> Option<Leaf> {
        let (this, next) = (self.loose_end(0), self.loose_end(1));
        let first = self.waiting.pop_front()?;
        let is_weakest =
            |height: Height| [self.before, next].into_iter().flatten().all(|other| height < other);
        if !this.is_some_and(is_weakest) {
            self.before = this;
            return Some(first);
        }
        self.before = next;
        let second = self.waiting.pop_front()?;
        Some(Leaf { from: first.from, ..second })
    }

    /// The height of the cut after a waiting leaf, if it may be dropped.
    fn loose_end(&self, at: usize) -> Option<Height> {
        let (left, right) = (self.waiting.get(at)?, self.waiting.get(at + 1)?);
        let is_small =
            |leaf: &Leaf| Limit { tokens: SMALL, ..self.limit }.holds(&leaf.from, &leaf.to);
        let may = (is_small(left) || is_small(right)) && self.limit.holds(&left.from, &right.to);
        left.end.filter(|_| may)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::window::{Mark, Strength};
    use proptest::prelude::*;

    const LIMIT: Limit = Limit { tokens: 1000, bytes: u64::MAX };

    fn join(leaves: &[(u64, u64)]) -> Vec<(u64, u64)> {
        let mut joiner = Joiner::new(LIMIT);
        let mut byte = 0;
        let mark = |byte| Mark { byte, line: 1, tokens: byte, shown: 0 };
        let mut chunks = Vec::new();
        for (tokens, hash) in leaves {
            let (from, to) = (mark(byte), mark(byte + tokens));
            let end = Some((Strength { class: 0, hash: *hash, context: 0 }, 0));
            chunks.extend(joiner.push(Leaf { from, to, end }));
            byte += tokens;
        }
        chunks.extend(std::iter::from_fn(|| joiner.pop()));
        chunks.iter().map(|chunk| (chunk.from.byte, chunk.to.byte)).collect()
    }

    #[test]
    fn the_weakest_cut_beside_a_small_leaf_goes() {
        assert_eq!(join(&[(500, 9), (10, 2), (500, 5)]), [(0, 500), (500, 1010)]);
        assert_eq!(join(&[(500, 1), (10, 2), (500, 5)]), [(0, 510), (510, 1010)]);
        assert_eq!(join(&[(995, 1), (10, 2), (995, 5)]), [(0, 995), (995, 1005), (1005, 2000)]);
        assert_eq!(join(&[(10, 1)]), [(0, 10)]);
    }

    proptest! {
        #[test]
        fn chunks_are_one_leaf_or_two_that_fit(
            leaves in prop::collection::vec((1..1000u64, any::<u64>()), 0..60),
        ) {
            let ends: Vec<u64> = leaves.iter().scan(0, |sum, (len, _)| { *sum += len; Some(*sum) }).collect();
            let mut at = 0;
            for (from, to) in join(&leaves) {
                prop_assert_eq!(from, at);
                let inside = ends.iter().filter(|end| **end > from && **end <= to).count();
                prop_assert!(ends.contains(&to) && inside <= 2 && (inside == 1 || to - from <= 1000));
                at = to;
            }
            prop_assert_eq!(at, ends.last().copied().unwrap_or(0));
        }
    }
}
