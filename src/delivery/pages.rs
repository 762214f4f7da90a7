//! A segment in pages: whole chunks, at most so many characters.

use std::ops::Range;

use super::passage::Passage;
use super::sheet::Sheet;

/// Divides passages, in order, into pages of at most `max_chars` characters as printed, frames
/// included and `reserve` characters (of the last line) kept free, and `each` more for every passage
/// (its mark). A passage that is alone too
/// long has a page of its own.
///
/// The same passages and limits give the same pages, whatever has been read.
pub fn divide(passages: &[Passage], max_chars: u64, reserve: u64, each: u64) -> Vec<Range<usize>> {
    let room = max_chars.saturating_sub(reserve);
    let (mut pages, mut from) = (Vec::new(), 0);
    let mut page = Fill::default();
    for (at, passage) in passages.iter().enumerate() {
        let before = at.checked_sub(1).filter(|before| *before >= from).map(|i| &passages[i]);
        let chars = chars(passage) + each;
        let grown = page.with(before, passage, chars);
        if before.is_some() && grown.total() > room {
            pages.push(from..at);
            from = at;
            page = Fill::default().with(None, passage, chars);
        } else {
            page = grown;
        }
    }
    if from < passages.len() {
        pages.push(from..passages.len());
    }
    pages
}

/// How many of `passages`, from the first, fit a page together: at least one, if there is one.
pub fn fit(passages: &[&Passage], max_chars: u64, reserve: u64, each: u64) -> usize {
    let room = max_chars.saturating_sub(reserve);
    let fits =
        |count: &usize| Sheet::of(&passages[..*count]).chars() + *count as u64 * each <= room;
    let least = passages.len().min(1);
    (least..=passages.len()).rev().find(fits).unwrap_or(least)
}

/// What a page holds so far, in characters.
#[derive(Clone, Copy, Default)]
struct Fill<'a> {
    /// Everything before the open run, and the lines of the open run.
    settled: u64,
    /// The frame of the open run; it grows with the run's line numbers.
    frame: u64,
    /// Where the open run began.
    first: Option<&'a Passage>,
}

impl<'a> Fill<'a> {
    /// The page with one more passage, after `before` when that is on the page too.
    fn with(self, before: Option<&Passage>, passage: &'a Passage, lines: u64) -> Fill<'a> {
        let goes_on = before.is_some_and(|before| before.is_followed_by(passage));
        let (first, closed) = match self.first.filter(|_| goes_on) {
            Some(first) => (first, 0),
            None => (passage, self.frame),
        };
        let frame = first.frame_to(passage).chars().count() as u64;
        Fill { settled: self.settled + closed + lines, frame, first: Some(first) }
    }

    fn total(self) -> u64 {
        self.settled + self.frame
    }
}

fn chars(passage: &Passage) -> u64 {
    let mut shown = String::new();
    passage.show(&mut shown);
    shown.chars().count() as u64
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::record::{ByteRange, ChunkId, LineRange};

    /// Chunks as (starts another file, lines, length of a line, is a piece, complete).
    type Shape = (bool, u64, usize, bool, bool);

    fn passages(shapes: &[Shape]) -> Vec<Passage> {
        let (mut file, mut byte, mut line) = (0, 0, 1);
        let made = shapes.iter().zip(0..).map(|((new, lines, length, piece, complete), id)| {
            if *new {
                (file, byte, line) = (file + 1, 0, 1);
            }
            let text = format!("{}\n", "é".repeat(*length)).repeat(*lines as usize);
            let bytes = ByteRange { from: byte, to: byte + text.len() as u64 };
            let last = line + lines - 1;
            let body = serde_json::json!({
                "repo": "r", "id": ChunkId(id), "path": format!("file-{file}"),
                "bytes": bytes, "size": 1 << 20,
                "lines": LineRange { first: line, last }, "of_lines": 99_999,
                "piece": piece, "complete": complete, "encoding": "utf-8", "text": text,
            });
            let body = serde_json::from_value(body).unwrap();
            (byte, line) = (bytes.to, last + 1);
            Passage::new(body).unwrap()
        });
        made.collect()
    }

    fn shapes() -> impl Strategy<Value = Vec<Shape>> {
        let one = (any::<bool>(), 1..9_u64, 0..40_usize, prop::bool::weighted(0.2), any::<bool>());
        prop::collection::vec(one, 0..60)
    }

    fn printed(passages: &[Passage]) -> u64 {
        Sheet::of(&passages.iter().collect::<Vec<_>>()).chars()
    }

    proptest! {
        #[test]
        fn pages_hold_every_chunk_once_within_the_limit(
            shapes in shapes(), limit in 1..2000_u64, reserve in 0..100_u64,
        ) {
            let all = passages(&shapes);
            let pages = divide(&all, limit, reserve, 0);
            let joined: Vec<usize> = pages.iter().cloned().flatten().collect();
            prop_assert_eq!(joined, (0..all.len()).collect::<Vec<_>>());
            for page in &pages {
                prop_assert!(page.len() == 1 || printed(&all[page.clone()]) + reserve <= limit);
            }
            // Full, too: a page ends only where the next chunk would not fit.
            for page in pages.iter().filter(|page| page.end < all.len()) {
                prop_assert!(printed(&all[page.start..=page.end]) + reserve > limit);
            }
        }

        #[test]
        fn pages_do_not_depend_on_what_was_read(shapes in shapes(), limit in 1..2000_u64) {
            let mut unread = shapes.clone();
            unread.iter_mut().for_each(|shape| shape.4 = false);
            prop_assert_eq!(
                divide(&passages(&shapes), limit, 50, 0),
                divide(&passages(&unread), limit, 50, 0)
            );
        }

        #[test]
        fn what_fits_is_within_the_limit(shapes in shapes(), limit in 1..2000_u64) {
            let all = passages(&shapes);
            let unread: Vec<&Passage> = all.iter().filter(|p| !p.complete).collect();
            let count = fit(&unread, limit, 50, 0);
            prop_assert!(count <= 1 || Sheet::of(&unread[..count]).chars() + 50 <= limit);
            prop_assert_eq!(count == 0, unread.is_empty());
        }
    }
}
