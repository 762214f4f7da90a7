//! How good a place for a cut the boundary before a line is.

use super::window::Strength;

/// Classes of the boundary before a line, best last.
///
/// A line *begins something* when it starts in column 0 and is no closer.
mod class {
    /// Before a blank line or a closer: those belong to what stands before.
    pub const NONE: u8 = 0;
    /// Before any other line.
    pub const LINE: u8 = 1;
    /// After a closer, before an indented line.
    pub const AFTER_CLOSER: u8 = 2;
    /// After a blank line, before an indented line.
    pub const AFTER_BLANK: u8 = 3;
    /// Before a line that begins something, after another such line.
    pub const BEGINS_NEXT: u8 = 4;
    /// Before a line that begins something, after an indented line or a closer.
    pub const BEGINS: u8 = 5;
    /// After a blank line, before a line that begins something.
    pub const BEGINS_AFTER_BLANK: u8 = 6;
}

/// What a line is, as far as cuts go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Blank,
    Closer,
    Indented,
    Begins,
}

/// Ranks the boundaries of a file's lines in order.
#[derive(Debug)]
pub(super) struct Ranker {
    last: Kind,
    /// Hashes of the last lines that are not blank, oldest first.
    before: [u64; CONTEXT],
}

/// How many lines before a boundary its strength may depend on.
const CONTEXT: usize = 4;

impl Ranker {
    /// At the start of a file.
    pub(super) fn new() -> Self {
        Ranker { last: Kind::Blank, before: [0; CONTEXT] }
    }

    /// The strength of the boundary before the next line; `text` is the line as shown.
    pub(super) fn next(&mut self, text: &str) -> Strength {
        let kind = kind(text);
        let last = std::mem::replace(&mut self.last, kind);
        let hash = hash(text.as_bytes());
        let context = self.before.iter().fold(0, |sum, line| mix(sum ^ line));
        if kind != Kind::Blank {
            self.before.rotate_left(1);
            self.before[CONTEXT - 1] = hash;
        }
        Strength { class: class_of(last, kind), hash, context }
    }
}

fn class_of(last: Kind, next: Kind) -> u8 {
    match (last, next) {
        (_, Kind::Blank | Kind::Closer) => class::NONE,
        (Kind::Blank, Kind::Indented) => class::AFTER_BLANK,
        (Kind::Closer, Kind::Indented) => class::AFTER_CLOSER,
        (_, Kind::Indented) => class::LINE,
        (Kind::Blank, Kind::Begins) => class::BEGINS_AFTER_BLANK,
        (Kind::Begins, Kind::Begins) => class::BEGINS_NEXT,
        (_, Kind::Begins) => class::BEGINS,
    }
}

fn kind(text: &str) -> Kind {
    let content = text.trim_start();
    if content.is_empty() {
        Kind::Blank
    } else if closes(content) {
        Kind::Closer
    } else if content.len() == text.len() {
        Kind::Begins
    } else {
        Kind::Indented
    }
}

/// Whether a line, without its indentation, only goes on or ends what stands before it.
fn closes(content: &str) -> bool {
    match content.as_bytes()[0] {
        b'}' | b')' | b']' | b'{' => true,
        b'#' | b'*' | b'e' | b'd' | b'f' => {
            const WORDS: [&str; 9] =
                ["#else", "#elif", "#endif", "*/", "else", "elif", "end", "done", "fi"];
            WORDS.iter().any(|word| is_first_word(content, word))
        }
        _ => false,
    }
}

fn is_first_word(content: &str, word: &str) -> bool {
    content.strip_prefix(word).is_some_and(|rest| {
        !rest.starts_with(|c: char| c.is_alphanumeric() || matches!(c, '_' | '-'))
    })
}

/// A fast hash that is the same on every machine. It need not withstand an attacker: the worst
/// that chosen hashes can do is make chunks small.
pub(super) fn hash(bytes: &[u8]) -> u64 {
    let (words, rest) = bytes.as_chunks::<8>();
    let mut last = [0; 8];
    last[..rest.len()].copy_from_slice(rest);
    let seed = bytes.len() as u64;
    let sum = words.iter().fold(seed, |sum, word| mix(sum ^ u64::from_le_bytes(*word)));
    mix(mix(sum ^ u64::from_le_bytes(last)))
}

fn mix(x: u64) -> u64 {
    let wide = u128::from(x ^ 0x9e37_79b9_7f4a_7c15) * 0xd6e8_feb8_6659_fd93;
    (wide as u64) ^ ((wide >> 64) as u64)
}
