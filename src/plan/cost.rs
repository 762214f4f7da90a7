//! What a chunk costs a segment, twice over: in the text that `read` prints, and in the brief that
//! `next` prints. Both are upper bounds, so both budgets are real.

use std::rc::Rc;

use super::part::{File, Files, Part};
use crate::record::{Chunk, Tokens};

/// Tokens set aside in every segment for the last line that `read` prints (`page 3/7 of read-3`
/// and how to go on).
pub const LAST_LINE_TOKENS: u64 = 64;

/// Tokens set aside in every brief for its own words: place in the plan, what to do, commands.
pub const BRIEF_TOKENS: u64 = 512;

/// What a line of the brief about one part of a file may cost beyond the frame before that part,
/// which also names repository, path and lines.
pub const BRIEF_LINE_TOKENS: u64 = 8;

/// The `:` and the line end of a qualified id.
const ID_SEPARATORS: u64 = 2;

/// Tokens of a segment, or of a part of one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Cost {
    /// In the text that `read` prints; held to the segment budget.
    pub shown: u64,
    /// In the brief and its list of ids; held to `fixed_prompt`.
    pub listed: u64,
}

impl Cost {
    /// A segment that holds nothing yet.
    pub const EMPTY: Cost = Cost { shown: LAST_LINE_TOKENS, listed: BRIEF_TOKENS };

    /// The sum; it saturates, since the numbers come from outside.
    pub fn plus(self, other: Cost) -> Cost {
        Cost {
            shown: self.shown.saturating_add(other.shown),
            listed: self.listed.saturating_add(other.listed),
        }
    }

    /// Whether both are within `limits`.
    pub fn within(self, limits: Cost) -> bool {
        self.shown <= limits.shown && self.listed <= limits.listed
    }

    /// The larger of each.
    pub fn max(self, other: Cost) -> Cost {
        Cost { shown: self.shown.max(other.shown), listed: self.listed.max(other.listed) }
    }
}

/// What stands last in a segment.
#[derive(Debug, Clone)]
pub(super) struct Last {
    file: Rc<File>,
    to: u64,
    piece: bool,
}

impl Last {
    /// After `part` of `file`.
    pub fn new(file: &Rc<File>, part: &Part) -> Self {
        Last { file: Rc::clone(file), to: part.bytes.to, piece: part.piece }
    }

    /// Whether `part` goes on where this one ended, so that one entry of `files` names both.
    pub fn joins(&self, file: &Rc<File>, part: &Part) -> bool {
        Rc::ptr_eq(&self.file, file) && self.to == part.bytes.from
    }
}

/// What `part` of `file` adds to a segment that ends with `last`.
///
/// A frame is printed where a run begins: at another file, at a gap, and on either side of a piece
/// of a long line.
pub(super) fn cost(last: Option<&Last>, file: &Rc<File>, part: &Part) -> Cost {
    let before = last.filter(|last| last.joins(file, part));
    let frame = if before.is_none_or(|last| last.piece || part.piece) { part.frame } else { 0 };
    let line = if before.is_none() { part.frame.saturating_add(BRIEF_LINE_TOKENS) } else { 0 };
    let id = file.name_bound + ID_SEPARATORS + part.id_bound;
    Cost { shown: part.tokens.saturating_add(frame), listed: line.saturating_add(id) }
}

/// The tokens of a segment of these chunks as it is printed, at the most: frames and last line
/// included. Chunks of one file stand together.
pub fn printed(chunks: &[Chunk]) -> Tokens {
    let (mut files, mut last, mut sum) = (Files::default(), None, Cost::EMPTY);
    for chunk in chunks {
        let (file, part) = files.part(chunk);
        sum = sum.plus(cost(last.as_ref(), &file, &part));
        last = Some(Last::new(&file, &part));
    }
    Tokens(sum.shown)
}

/// An upper bound of the tokens of an id's 16 hex digits.
pub(super) fn id_bound(id: u64) -> u64 {
    let digits = (0..16).map(|at| id >> (60 - 4 * at) & 15);
    bound(digits.map(|digit| digit < 10))
}

/// An upper bound of the tokens of a repository's name.
pub(super) fn name_bound(name: &str) -> u64 {
    bound(name.bytes().map(|byte| byte.is_ascii_digit()))
}

/// The bound of a text, given for each byte whether it is a digit: runs of digits cost one token
/// for three, and anything else at most one a byte.
///
/// Both vocabularies of bytes and pairs cut digits off from the rest, in groups of three from the
/// left, and know every group; no token is shorter than a byte.
fn bound(digits: impl Iterator<Item = bool>) -> u64 {
    let (mut total, mut run) = (0u64, 0u64);
    for digit in digits {
        run = if digit { run + 1 } else { 0 };
        total += u64::from(!digit || run % 3 == 1);
    }
    total
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_bound_of_an_id_counts_runs_of_digits() {
        assert_eq!(id_bound(0x1111_1111_1111_1111), 6);
        assert_eq!(id_bound(0xaaaa_aaaa_aaaa_aaaa), 16);
        assert_eq!(id_bound(0x1234_a123_bc11_1111), 2 + 1 + 1 + 2 + 2);
        assert_eq!(name_bound("linux-6.1"), 5 + 1 + 1 + 1 + 1);
    }

    proptest! {
        /// Held against another implementation of both tokenizers.
        #[test]
        fn a_list_of_ids_costs_at_most_its_bound(
            names in prop::collection::vec("[A-Za-z0-9._-]{1,24}", 1..8), ids in prop::collection::vec(any::<u64>(), 8),
        ) {
            let pairs: Vec<_> = names.iter().zip(&ids).collect();
            let text: String = pairs.iter().map(|(name, id)| format!("{name}:{id:016x}\n")).collect();
            let bound: u64 =
                pairs.iter().map(|(name, id)| name_bound(name) + ID_SEPARATORS + id_bound(**id)).sum();
            prop_assert!(bpe_openai::o200k_base().count(&text) as u64 <= bound);
            prop_assert!(bpe_openai::cl100k_base().count(&text) as u64 <= bound);
            prop_assert!(text.len().div_ceil(4) as u64 <= bound);
        }
    }
}
