//! Marks in a sheet, at places that cannot be foreseen, and which of them prove a chunk.
//!
//! There is one in each chunk, or in each few where only so many may be put in, and one at the end. A
//! chunk is proven by all marks within it, the last one before it and the first one after it. So what is
//! cut out of a sheet, and takes a mark with it, leaves nothing proven of which it took anything.

use super::sheet::Sheet;
use crate::record::{mark, mark_line};

/// Random numbers from a seed.
pub struct Random(blake3::OutputReader);

impl Random {
    /// Numbers that nobody can foresee who does not know the seed.
    pub fn of(seed: &[u8; 32]) -> Random {
        Random(blake3::Hasher::new_keyed(seed).finalize_xof())
    }

    fn next(&mut self) -> u64 {
        let mut bytes = [0; 8];
        self.0.fill(&mut bytes);
        u64::from_le_bytes(bytes)
    }

    fn below(&mut self, limit: usize) -> usize {
        usize::try_from(self.next() % limit.max(1) as u64).unwrap_or_default()
    }
}

/// A mark and where it stands.
struct Placed {
    at: usize,
    mark: String,
}

/// Puts at most `most` marks, of which there must be two, into a sheet of chunks, and tells with each
/// chunk which of them prove it.
pub fn prove(sheet: Sheet, most: u64, random: &mut Random) -> Sheet {
    if sheet.marks.is_empty() {
        return sheet;
    }
    let inner = usize::try_from(most).unwrap_or(usize::MAX).saturating_sub(1).max(1);
    let each = sheet.marks.len().div_ceil(inner);
    let (mut places, mut from) = (Vec::new(), 0);
    for group in sheet.marks.chunks(each) {
        let end = group.last().map_or(from, |last| last.end);
        places.push(place(&sheet.text, from, end, random));
        from = end;
    }
    places.push(sheet.text.len());
    insert(&sheet, &places, random)
}

/// A place behind one of the lines from `from` to `end`, frames aside; not behind the last of all,
/// where another mark is, if there is a choice.
fn place(text: &str, from: usize, end: usize, random: &mut Random) -> usize {
    let mut at = from;
    let mut ends = Vec::new();
    for line in text[from..end].split_inclusive('\n') {
        at += line.len();
        if !line.starts_with('=') {
            ends.push(at);
        }
    }
    if end == text.len() && ends.len() > 1 {
        ends.pop();
    }
    ends.get(random.below(ends.len())).copied().unwrap_or(end)
}

fn insert(sheet: &Sheet, places: &[usize], random: &mut Random) -> Sheet {
    let mut text = String::with_capacity(sheet.text.len() + places.len() * 24);
    let (mut from, mut placed) = (0, Vec::new());
    for at in places {
        text.push_str(&sheet.text[from..*at]);
        let mark = mark(random.next());
        placed.push(Placed { at: text.len(), mark: mark.clone() });
        text.push_str(&mark_line(&mark));
        from = *at;
    }
    text.push_str(&sheet.text[from..]);
    let length = text.len() - sheet.text.len();
    let each = length / places.len().max(1);
    let mut marks = sheet.marks.clone();
    let mut start = 0;
    for chunk in &mut marks {
        // A mark behind the last line of a chunk is the chunk's.
        let before = places.iter().filter(|at| **at <= chunk.end).count();
        chunk.end += before * each;
        chunk.chunk.marks = proving(&placed, start, chunk.end);
        start = chunk.end;
    }
    Sheet { text, marks }
}

/// The marks that prove what stands from `start` to `end`.
fn proving(placed: &[Placed], start: usize, end: usize) -> Vec<String> {
    let first = placed.iter().position(|it| it.at >= start).unwrap_or(placed.len());
    let next = placed.iter().position(|it| it.at >= end).unwrap_or(placed.len());
    let all = &placed[first.saturating_sub(1)..(next + 1).min(placed.len())];
    all.iter().map(|it| it.mark.clone()).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::super::sheet::Mark;
    use super::*;
    use crate::record::{ChunkId, Read};

    /// Chunks of so many lines each, the first of each file behind a frame.
    fn sheet(chunks: &[(bool, usize)]) -> Sheet {
        let mut sheet = Sheet::default();
        for (id, (framed, lines)) in chunks.iter().enumerate() {
            if *framed || id == 0 {
                sheet.text.push_str("=== r:f lines 1-9 of 9\n");
            }
            (1..=*lines).for_each(|n| sheet.text.push_str(&format!("{n}\tline {n} of {id}\n")));
            let chunk = Read::of("r", ChunkId(id as u64));
            sheet.marks.push(Mark { end: sheet.text.len(), chunk });
        }
        sheet
    }

    fn marks_in(text: &str) -> BTreeSet<&str> {
        text.lines().filter_map(|line| line.strip_prefix("=== mark ")).collect()
    }

    proptest! {
        #[test]
        fn what_a_cut_touches_that_takes_a_mark_is_not_proven(
            chunks in prop::collection::vec((any::<bool>(), 1usize..9), 1..20),
            most in 2u64..30, seed: [u8; 32], cut in (0usize..4000, 0usize..4000),
        ) {
            let plain = sheet(&chunks);
            let proven = prove(plain.clone(), most, &mut Random::of(&seed));
            let all = marks_in(&proven.text);
            prop_assert!(all.len() as u64 <= most.max(2) && all.len() >= 2);
            let without: String =
                proven.text.split_inclusive('\n').filter(|l| !l.starts_with("=== mark ")).collect();
            prop_assert_eq!(&without, &plain.text);
            prop_assert!(proven.text.lines().last().unwrap().starts_with("=== mark "));
            let length = proven.text.len();
            let (from, to) = (cut.0.min(cut.1) % length, cut.0.max(cut.1).min(length));
            let (from, to) = (from.min(to), to);
            let rest = format!("{}\n{}", &proven.text[..from], &proven.text[to..]);
            let left: BTreeSet<_> = marks_in(&rest).intersection(&all).copied().collect();
            let mut start = 0;
            for chunk in &proven.marks {
                let touched = chunk.end > from && start < to;
                let told = chunk.chunk.marks.iter().all(|mark| left.contains(mark.as_str()));
                prop_assert!(chunk.chunk.marks.iter().all(|mark| all.contains(mark.as_str())));
                // A cut that took no whole mark may be within two marks, and is not seen.
                prop_assert!(!(touched && told) || left.len() == all.len());
                prop_assert!(touched || told || left.len() < all.len());
                start = chunk.end;
            }
        }

        #[test]
        fn every_chunk_has_a_mark_where_enough_may_be_put_in(
            chunks in prop::collection::vec((any::<bool>(), 1usize..9), 1..20), seed: [u8; 32],
        ) {
            let proven = prove(sheet(&chunks), 1000, &mut Random::of(&seed));
            let mut start = 0;
            for chunk in &proven.marks {
                prop_assert!(!marks_in(&proven.text[start..chunk.end]).is_empty());
                start = chunk.end;
            }
        }
    }
}
