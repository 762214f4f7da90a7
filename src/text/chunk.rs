//! Cutting a file into chunks.
//!
//! Promises: the chunks of a file, in order, are its bytes; each has at most 1,024 tokens and
//! 8,192 bytes as shown with seven-digit line numbers; a chunk is whole lines, or a piece of one
//! line that does not fit; the size of the blocks changes nothing; an edit changes the chunk it is
//! in, and at times its neighbours.

use super::decode::{line_end, split_end};
use super::encoding::Encoding;
use super::frame::Extent;
use super::join::Joiner;
use super::piece::{self, Atom};
use super::rank::Ranker;
use super::shown::{push_content, push_line};
use super::tokens::Tokenizer;
use super::window::{Leaf, Limit, Mark, NUMBER, Window};
use crate::record::{ByteRange, LineRange};

/// The most that a chunk can be, as shown with seven-digit line numbers.
const CHUNK: Limit = Limit { tokens: 1024, bytes: 8192 };
/// The most that the atoms of a piece can be together: its number, tab and newline come to that.
const PIECE: Limit = Limit { tokens: CHUNK.tokens - NUMBER.tokens - 2, bytes: CHUNK.bytes - 9 };
/// A line of more bytes fits in no chunk: two bytes of a file are at least one as shown.
const LONG_LINE: usize = 2 * CHUNK.bytes as usize;
/// Bytes that are done with are dropped when there are so many.
const DROP: usize = 64 * 1024;

/// A chunk, as it is cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cut {
    /// The bytes of the file.
    pub bytes: ByteRange,
    /// The lines that it holds, or holds a piece of.
    pub lines: LineRange,
    /// Its tokens as shown, without the line numbers; see [`shown_tokens`].
    pub tokens: u32,
    /// Whether it is a piece of a longer line.
    pub piece: bool,
    /// BLAKE3 of its bytes.
    pub body: blake3::Hash,
}

/// The tokens of a chunk as shown where its lines have these numbers; `tokens` is what [`Cut`] says.
pub fn shown_tokens(tokens: u32, lines: LineRange) -> u64 {
    // A number costs one token, and one more for every power of 1,000 that it reaches.
    let steps = std::iter::successors(Some(1u64), |step| step.checked_mul(1000));
    let numbers = steps
        .take_while(|step| *step <= lines.last)
        .map(|step| lines.last - lines.first.max(step) + 1)
        .sum::<u64>();
    u64::from(tokens) + numbers
}

/// Cuts one file, which it is given in blocks.
pub struct Cutter {
    encoding: Encoding,
    tokenizer: Tokenizer,
    /// The file from `offset` on, as far as it has been given.
    bytes: Vec<u8>,
    offset: u64,
    /// How much of the current line has been searched for its end.
    searched: usize,
    lines: Window,
    joiner: Joiner,
    /// The atoms of the current line, when it is a long one.
    long_line: Option<Window>,
    ranker: Ranker,
    /// Whether the last line so far has no end.
    is_unterminated: bool,
    /// One line as shown, to count it.
    shown: String,
}

impl Cutter {
    /// At the start of a file.
    pub fn new(encoding: Encoding, tokenizer: Tokenizer) -> Self {
        let start = Mark { byte: 0, line: 1, tokens: 0, shown: 0 };
        Cutter {
            encoding,
            tokenizer,
            bytes: Vec::new(),
            offset: 0,
            searched: 0,
            lines: Window::new(CHUNK, start),
            joiner: Joiner::new(CHUNK),
            long_line: None,
            ranker: Ranker::new(),
            is_unterminated: false,
            shown: String::new(),
        }
    }

    /// Takes the next block, of any size; `last` ends the file. Chunks go to `out` in order.
    pub fn push(&mut self, block: &[u8], last: bool, out: &mut dyn FnMut(Cut)) {
        self.bytes.extend_from_slice(block);
        while self.step(last, out) {}
        if last {
            let end = self.lines.end();
            self.restart_lines(end, out);
        }
        self.drop_done();
    }

    /// How far the file reaches, once its last block has been pushed.
    pub fn extent(&self) -> Extent {
        let Mark { byte, line, .. } = self.lines.end();
        Extent { lines: line - 1, bytes: byte, unterminated: self.is_unterminated }
    }

    /// Takes one line, or one atom of a long line; `false` when more of the file must come first.
    fn step(&mut self, last: bool, out: &mut dyn FnMut(Cut)) -> bool {
        if let Some(atoms) = self.long_line.take() {
            return self.step_atom(atoms, last, out);
        }
        match self.next_line(last) {
            Some(len) => {
                self.searched = 0;
                self.take_line(len, out);
                true
            }
            None => false,
        }
    }

    /// The length of the next line with its end, or more than [`LONG_LINE`] for a longer one.
    fn next_line(&mut self, last: bool) -> Option<usize> {
        let rest = &self.bytes[self.index(self.lines.end().byte)..];
        if let Some(end) = line_end(self.encoding, rest, self.searched) {
            return Some(end);
        }
        self.searched = rest.len();
        let is_known = rest.len() > LONG_LINE || (last && !rest.is_empty());
        is_known.then_some(rest.len())
    }

    fn take_line(&mut self, len: usize, out: &mut dyn FnMut(Cut)) {
        let start = self.lines.end();
        match self.measure(start, len) {
            Some(end) => {
                let strength = self.ranker.next(&self.shown[1..]);
                let mut leaf = self.lines.add(strength, end);
                while let Some(found) = leaf.or_else(|| self.lines.overflow()) {
                    self.join(found, out);
                    leaf = None;
                }
            }
            None => {
                self.restart_lines(start, out);
                self.long_line = Some(Window::new(PIECE, start));
            }
        }
    }

    /// The end of the line at `start`, or `None` if it does not fit in a chunk alone.
    fn measure(&mut self, start: Mark, len: usize) -> Option<Mark> {
        if len > LONG_LINE {
            return None;
        }
        let from = self.index(start.byte);
        let line = &self.bytes[from..from + len];
        self.is_unterminated = split_end(self.encoding, line).1.is_empty();
        self.shown.clear();
        self.shown.push('\t');
        push_line(&mut self.shown, self.encoding, line);
        let shown = self.shown.len() as u64;
        if shown + NUMBER.bytes > CHUNK.bytes {
            return None;
        }
        let end = Mark {
            byte: start.byte + len as u64,
            line: start.line + 1,
            tokens: start.tokens + self.tokenizer.count_line(&self.shown),
            shown: start.shown + shown,
        };
        CHUNK.holds(&start, &end).then_some(end)
    }

    fn step_atom(&mut self, mut atoms: Window, last: bool, out: &mut dyn FnMut(Cut)) -> bool {
        let at = self.index(atoms.end().byte);
        let Some(atom) = piece::next_atom(self.encoding, &self.bytes[at..], last) else {
            self.long_line = Some(atoms);
            return false;
        };
        let mut leaf = self.add_atom(&mut atoms, at, atom);
        while let Some(found) = leaf.or_else(|| atoms.overflow()) {
            self.emit_pieces(found.from, found.to, out);
            leaf = None;
        }
        if atom.ends_line {
            self.end_long_line(atoms, out);
        } else {
            self.long_line = Some(atoms);
        }
        true
    }

    fn add_atom(&mut self, atoms: &mut Window, at: usize, atom: Atom) -> Option<Leaf> {
        let (before, rest) = self.bytes.split_at(at);
        let bytes = &rest[..atom.len];
        self.is_unterminated = split_end(self.encoding, bytes).1.is_empty();
        self.shown.clear();
        push_content(&mut self.shown, self.encoding, bytes);
        let start = atoms.end();
        let end = Mark {
            byte: start.byte + atom.len as u64,
            line: start.line,
            tokens: start.tokens + self.tokenizer.count_line(&self.shown),
            shown: start.shown + self.shown.len() as u64,
        };
        atoms.add(piece::strength(before, bytes), end)
    }

    fn end_long_line(&mut self, mut atoms: Window, out: &mut dyn FnMut(Cut)) {
        let mut end = atoms.end();
        if let Some(last) = atoms.restart(end) {
            self.emit_pieces(last.from, last.to, out);
        }
        end.line += 1;
        self.restart_lines(end, out);
        self.ranker = Ranker::new();
    }

    /// Emits a piece, in halves where its exact count is over the limit: that of its atoms is only
    /// near it.
    fn emit_pieces(&mut self, from: Mark, to: Mark, out: &mut dyn FnMut(Cut)) {
        let range = self.index(from.byte)..self.index(to.byte);
        self.shown.clear();
        self.shown.push('\t');
        push_line(&mut self.shown, self.encoding, &self.bytes[range.clone()]);
        let tokens = self.tokenizer.count_line(&self.shown);
        let bytes = self.shown.len() as u64;
        if tokens + NUMBER.tokens <= CHUNK.tokens && bytes + NUMBER.bytes <= CHUNK.bytes {
            let to = Mark { tokens: from.tokens + tokens, ..to };
            return self.emit(from, to, true, out);
        }
        let half = piece::middle(self.encoding, &self.bytes[range]);
        let middle = Mark { byte: from.byte + half as u64, ..from };
        self.emit_pieces(from, middle, out);
        self.emit_pieces(middle, to, out);
    }

    fn emit(&self, from: Mark, to: Mark, piece: bool, out: &mut dyn FnMut(Cut)) {
        let last = if piece { from.line } else { to.line - 1 };
        out(Cut {
            bytes: ByteRange { from: from.byte, to: to.byte },
            lines: LineRange { first: from.line, last },
            tokens: u32::try_from(to.tokens - from.tokens).unwrap_or(u32::MAX),
            piece,
            body: blake3::hash(&self.bytes[self.index(from.byte)..self.index(to.byte)]),
        });
    }

    /// Cuts at the end of the lines so far, and goes on at `at`.
    fn restart_lines(&mut self, at: Mark, out: &mut dyn FnMut(Cut)) {
        if let Some(last) = self.lines.restart(at) {
            self.join(last, out);
        }
        while let Some(chunk) = self.joiner.pop() {
            self.emit(chunk.from, chunk.to, false, out);
        }
        self.joiner = Joiner::new(CHUNK);
    }

    fn join(&mut self, leaf: Leaf, out: &mut dyn FnMut(Cut)) {
        if let Some(chunk) = self.joiner.push(leaf) {
            self.emit(chunk.from, chunk.to, false, out);
        }
    }

    fn index(&self, byte: u64) -> usize {
        (byte - self.offset) as usize
    }

    /// Drops the bytes before the last cut, now and then, so that each is moved a few times at most.
    fn drop_done(&mut self) {
        let window = self.long_line.as_ref().unwrap_or(&self.lines);
        let needed = self.joiner.start().unwrap_or(window.start().byte);
        let done = self.index(needed);
        if done >= DROP {
            self.bytes.drain(..done);
            self.offset = needed;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::number_tokens;
    use proptest::prelude::*;

    #[test]
    fn memory_does_not_grow_with_the_file() {
        let mut cutter = Cutter::new(Encoding::UTF_8, Tokenizer::Bytes);
        let mut chunks = 0;
        for block in [&b"one line without an end; "[..], b"a short line\n", b"\n"] {
            for _ in 0..200 {
                cutter.push(&block.repeat(1000), false, &mut |_| chunks += 1);
                assert!(cutter.bytes.capacity() < 512 * 1024, "{}", cutter.bytes.capacity());
            }
        }
        assert!(chunks > 1000);
    }

    #[test]
    fn the_extent_tells_whether_the_last_line_ends() {
        let long = "x ".repeat(40_000);
        for (text, lines, unterminated) in [
            ("", 0, false),
            ("a", 1, true),
            ("a\nb\r\n", 2, false),
            (&long, 1, true),
            (&format!("{long}\n"), 1, false),
        ] {
            let mut cutter = Cutter::new(Encoding::UTF_8, Tokenizer::Bytes);
            cutter.push(text.as_bytes(), false, &mut |_| ());
            cutter.push(b"", true, &mut |_| ());
            let extent = cutter.extent();
            assert_eq!(extent.bytes, text.len() as u64);
            assert_eq!((extent.lines, extent.unterminated), (lines, unterminated));
        }
    }

    proptest! {
        #[test]
        fn shown_tokens_are_the_sum_over_the_lines(
            first in prop_oneof![1..2000u64, 990_000..1_001_000u64],
            count in 1..3000u64,
        ) {
            let lines = LineRange { first, last: first + count - 1 };
            let sum: u64 = (lines.first..=lines.last).map(number_tokens).sum();
            prop_assert_eq!(shown_tokens(7, lines), 7 + sum);
        }
    }
}
