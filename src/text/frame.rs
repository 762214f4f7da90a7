//! The one line that stands before each run of chunks of one file.
//!
//! `=== repo:path lines 12-80 of 340`, or for a piece of a long line
//! `=== repo:path line 3 bytes 8192-16384 of 52428800`; then ` [gbk]` when the encoding is not
//! UTF-8, and ` (no newline at end)` when the run holds the file's last line and that has none.
//! A frame begins with `=`, which no shown line does, and is one line whatever the path holds.

use std::fmt;

use super::encoding::Encoding;
use super::tokens::Tokenizer;
use crate::record::{ByteRange, LineRange, RepoPath, Tokens};

/// What a frame says of a run of chunks.
#[derive(Debug, Clone, Copy)]
pub struct Frame<'a> {
    /// The repository's name.
    pub repo: &'a str,
    /// The file.
    pub path: &'a RepoPath,
    /// The file's encoding.
    pub encoding: Encoding,
    /// Which part of the file follows.
    pub part: Part,
    /// Whether the run holds the file's last line, and that does not end in a newline.
    pub unterminated: bool,
}

/// The part of a file that a frame announces.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// Whole lines.
    Lines {
        /// The lines.
        lines: LineRange,
        /// How many lines the file has.
        of: u64,
    },
    /// A piece of one long line.
    Piece {
        /// The line.
        line: u64,
        /// The bytes of the file that the piece is.
        bytes: ByteRange,
        /// The file's size in bytes.
        of: u64,
    },
}

impl Frame<'_> {
    /// The frame as printed: one line, with its `\n`.
    pub fn render(&self) -> String {
        format!("{self}\n")
    }
}

impl fmt::Display for Frame<'_> {
    /// The frame without its `\n`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.write(f, format_args!("{}", self.part))
    }
}

impl Frame<'_> {
    fn write(&self, out: &mut dyn fmt::Write, part: fmt::Arguments) -> fmt::Result {
        write!(out, "=== {}:{} {part}", self.repo, self.path.display())?;
        if self.encoding != Encoding::UTF_8 {
            write!(out, " [{}]", self.encoding)?;
        }
        out.write_str(if self.unterminated { " (no newline at end)" } else { "" })
    }
}

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Part::Lines { lines, of } if lines.first == lines.last => {
                write!(f, "line {lines} of {of}")
            }
            Part::Lines { lines, of } => write!(f, "lines {lines} of {of}"),
            Part::Piece { line, bytes, of } => {
                write!(f, "line {line} bytes {}-{} of {of}", bytes.from, bytes.to)
            }
        }
    }
}

/// How far a file reaches: what bounds the numbers in its frames.
#[derive(Debug, Clone, Copy)]
pub struct Extent {
    /// Its lines.
    pub lines: u64,
    /// Its size in bytes.
    pub bytes: u64,
    /// Whether its last line does not end in a newline.
    pub unterminated: bool,
}

/// The most tokens that a frame of this file can cost: before a run of whole lines, or with
/// `piece` before a piece of a long line. The same for every chunk, so a caller may keep it.
///
/// Numbers cost by their digits alone, and no line or offset has more digits than the last.
pub fn frame_tokens(
    tokenizer: Tokenizer,
    repo: &str,
    path: &RepoPath,
    encoding: Encoding,
    extent: Extent,
    piece: bool,
) -> Tokens {
    let Extent { lines, bytes, unterminated } = extent;
    let part = Part::Piece { line: lines, bytes: ByteRange { from: bytes, to: bytes }, of: bytes };
    let frame = Frame { repo, path, encoding, part, unterminated };
    let mut widest = String::new();
    // Writing to a String cannot fail.
    let _ = if piece {
        frame.write(&mut widest, format_args!("{part}"))
    } else {
        // A range even in a file of one line: it costs no less than `line 1`.
        frame.write(&mut widest, format_args!("lines {lines}-{lines} of {lines}"))
    };
    widest.push('\n');
    Tokens(tokenizer.count(&widest))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn lines(first: u64, last: u64, of: u64) -> Part {
        Part::Lines { lines: LineRange { first, last }, of }
    }

    #[test]
    fn a_frame_says_what_follows() {
        let path = RepoPath::new("src/a b.rs").unwrap();
        let encoding = Encoding::UTF_8;
        let part = lines(12, 80, 340);
        let mut frame = Frame { repo: "core", path: &path, encoding, part, unterminated: false };
        assert_eq!(frame.render(), "=== core:src/a b.rs lines 12-80 of 340\n");
        frame.part = lines(340, 340, 340);
        frame.encoding = "gbk".parse().unwrap();
        frame.unterminated = true;
        assert_eq!(
            frame.render(),
            "=== core:src/a b.rs line 340 of 340 [gbk] (no newline at end)\n"
        );
        let bytes = ByteRange { from: 8192, to: 16384 };
        frame.part = Part::Piece { line: 3, bytes, of: 52_428_800 };
        assert_eq!(
            frame.to_string(),
            "=== core:src/a b.rs line 3 bytes 8192-16384 of 52428800 [gbk] (no newline at end)"
        );
    }

    proptest! {
        #[test]
        fn a_frame_is_one_line_whatever_the_path(path in prop::collection::vec(1..=255u8, 1..40)) {
            let Some(path) = RepoPath::new(path) else { return Ok(()) };
            let part = lines(1, 2, 3);
            let encoding = Encoding::UTF_8;
            let page = Frame { repo: "r", path: &path, encoding, part, unterminated: false }.render();
            prop_assert!(page.starts_with("=== r:"));
            prop_assert!(!page[..page.len() - 1].chars().any(crate::visible::is_hidden));
            prop_assert!(page.ends_with('\n'));
        }

        #[test]
        fn no_frame_costs_more_than_the_bound(
            sizes in [1..2_000_000u64, 1..2_000_000, 1..2_000_000, 1..10_000_000_000, 0..10_000_000_000],
            path in "[a-z0-9/ .]{1,20}",
            ends in prop::array::uniform2(any::<bool>()),
            small in 0..3u32,
        ) {
            let Some(path) = RepoPath::new(path) else { return Ok(()) };
            let [a, b, c, d, e] = sizes.map(|size| size.isqrt() * u64::from(small == 0) + size % 11 + 1);
            let extent = Extent { lines: a + b + c, bytes: d + e, unterminated: ends[0] };
            let encoding = if ends[1] { "gbk".parse().unwrap() } else { Encoding::UTF_8 };
            let runs = [
                (lines(a, a + b, extent.lines), false),
                (lines(a, a, extent.lines), false),
                (lines(extent.lines, extent.lines, extent.lines), false),
                (Part::Piece { line: a, bytes: ByteRange { from: d - 1, to: d + e }, of: d + e }, true),
            ];
            for (part, piece) in runs {
                for tokenizer in Tokenizer::ALL {
                    let bound = frame_tokens(tokenizer, "r", &path, encoding, extent, piece);
                    let unterminated = extent.unterminated;
                    let frame = Frame { repo: "r", path: &path, encoding, part, unterminated };
                    let cost = match tokenizer {
                        Tokenizer::O200k => bpe_openai::o200k_base().count(frame.render().as_str()) as u64,
                        _ => tokenizer.count(&frame.render()),
                    };
                    prop_assert!(cost <= bound.0, "{} > {}: {}", cost, bound, frame);
                }
            }
        }
    }
}
