//! Where to cut: the rule, apart from what is cut.
//!
//! Text is a row of atoms (lines, or small parts of a long line) with boundaries between them. Each
//! boundary has a strength that depends on the text beside it alone. A span that does not fit in a
//! chunk is cut at its strongest boundary, and so are its parts: the leaves of that tree are the
//! chunks. Whether a boundary is a cut depends only on the span around it that holds no stronger
//! one, so an edit moves the cuts next to it and no others.
//!
//! The tree is never built. Reading forward, the text after the last cut is kept while it fits; when
//! it no longer does, its strongest boundary is a cut of that tree whatever follows. So the window
//! is at most one chunk and one atom, and the work is linear.

use std::collections::VecDeque;

/// How good a place for a cut is, from the text beside it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Strength {
    /// The kind of break; a higher one always wins.
    pub class: u8,
    /// A hash of the text after it: decides within a class.
    pub hash: u64,
    /// A hash of the text before it: decides where the text after is the same, as before many a
    /// `#[test]`. An edit before a boundary can matter to it only there.
    pub context: u64,
}

/// A place in a file, with sums over all text before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Mark {
    /// The offset in the file's bytes.
    pub byte: u64,
    /// The line that begins, or goes on, here.
    pub line: u64,
    /// Tokens of the lines before, without their numbers.
    pub tokens: u64,
    /// Bytes of the lines before as shown, without their numbers.
    pub shown: u64,
}

/// What fits in a chunk.
#[derive(Debug, Clone, Copy)]
pub(super) struct Limit {
    /// Tokens, numbers included.
    pub tokens: u64,
    /// Bytes as shown, numbers included.
    pub bytes: u64,
}

/// What the number of each line is taken to cost, so that no cut depends on a line's number:
/// seven digits.
pub(super) const NUMBER: Limit = Limit { tokens: 3, bytes: 7 };

impl Limit {
    pub(super) fn holds(&self, from: &Mark, to: &Mark) -> bool {
        let lines = to.line - from.line;
        to.tokens - from.tokens + NUMBER.tokens * lines <= self.tokens
            && to.shown - from.shown + NUMBER.bytes * lines <= self.bytes
    }
}

/// What orders boundaries: strength, and then the ruler (see [`Peak`]).
pub(super) type Height = (Strength, u32);

/// What was cut off.
#[derive(Debug, Clone, Copy)]
pub(super) struct Leaf {
    /// Where it begins.
    pub from: Mark,
    /// Where it ends.
    pub to: Mark,
    /// The height of the cut at its end; `None` where the text ends.
    pub end: Option<Height>,
}

/// The text since the last cut: it fits in a chunk, or is just being made to.
#[derive(Debug)]
pub(super) struct Window {
    limit: Limit,
    from: Mark,
    to: Mark,
    /// The boundaries inside, each stronger than all behind it: the first is the strongest.
    ridge: VecDeque<Peak>,
    /// The boundary at `from`, if it was cut by strength.
    last_cut: Option<Peak>,
}

/// A boundary. Equal strengths (repeated lines) are told apart by their ordinal in the row, on the
/// marks of a ruler: the more trailing zeros, the stronger. So a million equal lines are halved
/// again and again, not peeled off one by one.
#[derive(Debug, Clone, Copy)]
struct Peak {
    strength: Strength,
    ordinal: u64,
    mark: Mark,
}

impl Peak {
    fn height(&self) -> Height {
        (self.strength, self.ordinal.trailing_zeros())
    }
}

impl Window {
    pub(super) fn new(limit: Limit, at: Mark) -> Self {
        Window { limit, from: at, to: at, ridge: VecDeque::new(), last_cut: None }
    }

    /// The last cut.
    pub(super) fn start(&self) -> Mark {
        self.from
    }

    /// The end of the text so far.
    pub(super) fn end(&self) -> Mark {
        self.to
    }

    /// Adds the atom that ends at `to` and is preceded by a boundary of the given strength. Gives
    /// what was cut off, where that boundary is stronger than the last cut: its span holds that one's.
    pub(super) fn add(&mut self, strength: Strength, to: Mark) -> Option<Leaf> {
        let cut = if self.to == self.from { None } else { self.raise(strength) };
        self.to = to;
        cut
    }

    fn raise(&mut self, strength: Strength) -> Option<Leaf> {
        while self.ridge.back().is_some_and(|peak| peak.strength < strength) {
            self.ridge.pop_back();
        }
        let equal = self.ridge.back().or(self.last_cut.as_ref());
        let before = equal.filter(|peak| peak.strength == strength).map_or(0, |peak| peak.ordinal);
        let peak = Peak { strength, ordinal: before + 1, mark: self.to };
        while self.ridge.back().is_some_and(|other| other.height() <= peak.height()) {
            self.ridge.pop_back();
        }
        if self.ridge.is_empty() && self.last_cut.is_some_and(|cut| cut.height() < peak.height()) {
            return Some(self.cut_at(peak));
        }
        self.ridge.push_back(peak);
        None
    }

    fn cut_at(&mut self, peak: Peak) -> Leaf {
        let from = std::mem::replace(&mut self.from, peak.mark);
        self.last_cut = Some(peak);
        Leaf { from, to: peak.mark, end: Some(peak.height()) }
    }

    /// While the text does not fit: cuts at the strongest boundary, and gives what was cut off.
    pub(super) fn overflow(&mut self) -> Option<Leaf> {
        if self.limit.holds(&self.from, &self.to) {
            return None;
        }
        let peak = self.ridge.pop_front()?;
        Some(self.cut_at(peak))
    }

    /// Ends the text here, cuts, and goes on at `at`: gives what was left, if anything.
    pub(super) fn restart(&mut self, at: Mark) -> Option<Leaf> {
        let rest = Leaf { from: self.from, to: self.to, end: None };
        let rest = (self.from != self.to).then_some(rest);
        *self = Window::new(self.limit, at);
        rest
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const LIMIT: Limit = Limit { tokens: 100, bytes: u64::MAX };

    fn mark(byte: u64) -> Mark {
        Mark { byte, line: 1, tokens: byte, shown: 0 }
    }

    fn strength(class: u8, hash: u64) -> Strength {
        Strength { class, hash, context: 0 }
    }

    fn stream(atoms: &[(Strength, u64)]) -> Vec<u64> {
        let mut window = Window::new(LIMIT, mark(0));
        let mut cuts = Vec::new();
        for (strength, len) in atoms {
            let end = mark(window.end().byte + len);
            cuts.extend(window.add(*strength, end).map(|leaf| leaf.to.byte));
            while let Some(leaf) = window.overflow() {
                cuts.push(leaf.to.byte);
            }
        }
        cuts.extend(window.restart(mark(0)).map(|leaf| leaf.to.byte));
        cuts
    }

    /// The rule as it is meant: split what does not fit at its strongest boundary.
    fn tree(atoms: &[(Strength, u64)], from: u64, cuts: &mut Vec<u64>) {
        let len: u64 = atoms.iter().map(|(_, len)| len).sum();
        if len <= LIMIT.tokens {
            return cuts.push(from + len);
        }
        let strongest = (1..atoms.len()).max_by_key(|at| atoms[*at].0).unwrap();
        let (left, right) = atoms.split_at(strongest);
        tree(left, from, cuts);
        tree(right, from + left.iter().map(|(_, len)| len).sum::<u64>(), cuts);
    }

    proptest! {
        #[test]
        fn the_stream_gives_the_leaves_of_the_tree(
            atoms in prop::collection::vec((0..4u8, any::<u64>(), 1..60u64), 1..200),
        ) {
            let atoms: Vec<_> = atoms.iter().map(|(c, h, len)| (strength(*c, *h), *len)).collect();
            let mut leaves = Vec::new();
            tree(&atoms, 0, &mut leaves);
            prop_assert_eq!(stream(&atoms), leaves);
        }

        #[test]
        fn equal_boundaries_leave_no_small_chunks(lens in prop::collection::vec(1..4u64, 1..900)) {
            let atoms: Vec<_> = lens.iter().map(|len| (strength(1, 1), *len)).collect();
            let cuts = stream(&atoms);
            let total: u64 = lens.iter().sum();
            prop_assert!(cuts.len() as u64 <= total / 16 + 1, "{cuts:?}");
        }
    }
}
