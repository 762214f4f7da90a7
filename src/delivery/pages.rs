//! A segment in pages: whole chunks, at most so many characters.

use std::ops::Range;

use super::passage::Passage;
use super::sheet::Sheet;

/// Divides passages, in order, into pages of at most `max_chars` characters as printed, frames
/// included and `reserve` characters (of the last line) kept free. A passage that is alone too
/// long has a page of its own.
///
/// The same passages and limits give the same pages, whatever has been read.
pub fn divide(passages: &[Passage], max_chars: u64, reserve: u64) -> Vec<Range<usize>> {
    let room = max_chars.saturating_sub(reserve);
    let (mut pages, mut from) = (Vec::new(), 0);
    let mut page = Fill::default();
    for (at, passage) in passages.iter().enumerate() {
        let before = at.checked_sub(1).filter(|before| *before >= from).map(|i| &passages[i]);
        let grown = page.with(before, passage, chars(passage));
        if before.is_some() && grown.total() > room {
            pages.push(from..at);
            from = at;
            page = Fill::default().with(None, passage, chars(passage));
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
pub fn fit(passages: &[&Passage], max_chars: u64, reserve: u64) -> usize {
    let room = max_chars.saturating_sub(reserve);
    let fits = |count: &usize| Sheet::of(&passages[..*count]).chars() <= room;
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
