//! A file's chunks as one value: a Linux tree has 950,000 of them, and a row each would make the
//! database, not the reading, the work.
//!
//! For each chunk, as LEB128 numbers: length in bytes; lines since the last chunk's last line (0
//! inside one line, else 1); further lines; tokens without line numbers; occurrence times two, plus
//! one for a piece. Then 8 bytes of id and 32 of the body's hash.

use crate::record::{ByteRange, ChunkId, LineRange};

/// A chunk as the index keeps it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cut {
    /// Its id in the repository.
    pub id: ChunkId,
    /// Its bytes of the file.
    pub bytes: ByteRange,
    /// The lines it holds, or holds a piece of.
    pub lines: LineRange,
    /// Its tokens as shown, without the line numbers.
    pub tokens: u32,
    /// Which of the equal bodies in its file, from 0.
    pub occurrence: u32,
    /// Whether it is a piece of a longer line.
    pub piece: bool,
    /// BLAKE3 of its bytes.
    pub body: [u8; 32],
}

/// Packs the chunks of one file, which must follow each other without gap.
pub(super) fn pack(cuts: &[Cut]) -> Vec<u8> {
    let mut out = Vec::with_capacity(cuts.len() * 48);
    let mut line = 0;
    for cut in cuts {
        push(&mut out, cut.bytes.to - cut.bytes.from);
        push(&mut out, cut.lines.first - line);
        push(&mut out, cut.lines.last - cut.lines.first);
        push(&mut out, u64::from(cut.tokens));
        push(&mut out, u64::from(cut.occurrence) << 1 | u64::from(cut.piece));
        out.extend_from_slice(&cut.id.0.to_be_bytes());
        out.extend_from_slice(&cut.body);
        line = cut.lines.last;
    }
    out
}

/// Unpacks what [`pack`] made; stops at the first thing that it cannot have made.
pub(super) fn unpack(packed: &[u8]) -> Unpack<'_> {
    Unpack { rest: packed, at: 0, line: 0 }
}

/// The iterator of [`unpack`].
pub(super) struct Unpack<'a> {
    rest: &'a [u8],
    at: u64,
    line: u64,
}

impl Unpack<'_> {
    fn number(&mut self) -> Option<u64> {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let (byte, rest) = self.rest.split_first()?;
            self.rest = rest;
            value |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Some(value);
            }
        }
        None
    }

    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (array, rest) = self.rest.split_first_chunk()?;
        self.rest = rest;
        Some(*array)
    }
}

impl Iterator for Unpack<'_> {
    type Item = Cut;

    fn next(&mut self) -> Option<Cut> {
        let to = self.at.checked_add(self.number()?)?;
        let first = self.line.checked_add(self.number()?)?;
        let last = first.checked_add(self.number()?)?;
        let tokens = u32::try_from(self.number()?).ok()?;
        let occurrence = self.number()?;
        let (id, body) = (u64::from_be_bytes(self.array()?), self.array()?);
        let bytes = ByteRange { from: self.at, to };
        (self.at, self.line) = (to, last);
        Some(Cut {
            id: ChunkId(id),
            bytes,
            lines: LineRange { first, last },
            tokens,
            occurrence: u32::try_from(occurrence >> 1).ok()?,
            piece: occurrence & 1 == 1,
            body,
        })
    }
}

fn push(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push((value & 0x7f) as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    prop_compose! {
        fn one()(len in 1u64..9000, step in 0u64..2, more in 0u64..500, tokens: u16, occ in 0u32..9, piece: bool, id: u64, body: [u8; 32])
            -> (u64, u64, u64, Cut) {
            let nothing = [0, 0];
            (len, step, more, Cut { id: ChunkId(id), bytes: nothing.into(), lines: nothing.into(), tokens: tokens.into(), occurrence: occ, piece, body })
        }
    }

    proptest! {
        #[test]
        fn what_is_packed_comes_back(parts in prop::collection::vec(one(), 0..20)) {
            let (mut at, mut line) = (0, 0);
            let cuts: Vec<Cut> = parts.into_iter().map(|(len, step, more, mut cut)| {
                cut.bytes = ByteRange { from: at, to: at + len };
                cut.lines = LineRange { first: line + step, last: line + step + more };
                (at, line) = (cut.bytes.to, cut.lines.last);
                cut
            }).collect();
            prop_assert_eq!(unpack(&pack(&cuts)).collect::<Vec<_>>(), cuts);
        }
    }

    #[test]
    fn a_torn_value_ends_early() {
        let cut = Cut {
            id: ChunkId(1),
            bytes: [0, 9].into(),
            lines: [1, 1].into(),
            tokens: 3,
            occurrence: 0,
            piece: false,
            body: [7; 32],
        };
        let packed = pack(&[cut]);
        assert_eq!(unpack(&packed[..packed.len() - 1]).count(), 0);
    }
}
