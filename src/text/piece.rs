//! Lines that do not fit in a chunk: pieces, by the same rule over small atoms.
//!
//! An atom ends after a separator or where a hash of the last bytes says so, so that most atoms
//! stay the same when the line is edited. It never ends inside a character or before a line end.

use super::decode::{char_len, line_end, split_end};
use super::encoding::Encoding;
use super::rank::hash;
use super::window::Strength;

/// No atom ends before so many bytes, unless the line does.
const MIN: usize = 32;
/// An atom ends at the first character that reaches so many bytes.
const MAX: usize = 128;
/// How many bytes must be there to find an atom's end for certain: the longest atom, a character
/// that crosses its end, and a line end in UTF-16.
pub(super) const SIGHT: usize = MAX + 16;

/// The next atom of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Atom {
    /// Its length in bytes.
    pub len: usize,
    /// Whether the line ends with it.
    pub ends_line: bool,
}

/// The atom at the start of `rest`; `None` when more of the file must be there to tell.
/// `last` says that the file ends with `rest`.
pub(super) fn next_atom(encoding: Encoding, rest: &[u8], last: bool) -> Option<Atom> {
    let sight = &rest[..rest.len().min(SIGHT)];
    let end = match line_end(encoding, sight, 0) {
        Some(end) => Some(end),
        None if sight.len() == SIGHT => None,
        None if last => Some(sight.len()),
        None => return None,
    };
    let content = end.map_or(sight.len(), |end| split_end(encoding, &sight[..end]).0.len());
    let len = atom_len(encoding, &sight[..content]);
    match end {
        Some(end) if len >= content => Some(Atom { len: end, ends_line: true }),
        _ => Some(Atom { len, ends_line: false }),
    }
}

fn atom_len(encoding: Encoding, content: &[u8]) -> usize {
    let mut len = 0;
    while len < content.len() && len < MAX {
        let unit = char_len(encoding, &content[len..]);
        len += unit;
        if len >= MIN && (unit == 1 && separates(content[len - 1]) || chosen(&content[..len])) {
            break;
        }
    }
    len
}

fn separates(byte: u8) -> bool {
    matches!(byte, b';' | b',' | b'}' | b'>' | b' ')
}

/// One place in 32, by the last eight bytes.
fn chosen(content: &[u8]) -> bool {
    content.last_chunk::<8>().is_some_and(|tail| hash(tail) >> 59 == 0)
}

/// The strength of the boundary between two atoms.
pub(super) fn strength(before: &[u8], after: &[u8]) -> Strength {
    let class = u8::from(matches!(before.last(), Some(b';' | b'}' | b'>')));
    let context = before.last_chunk::<MIN>().map_or(0, |tail| hash(tail));
    Strength { class, hash: hash(after), context }
}

/// A place between characters near the middle of `piece`.
pub(super) fn middle(encoding: Encoding, piece: &[u8]) -> usize {
    let mut at = 0;
    while at < piece.len() / 2 {
        at += char_len(encoding, &piece[at..]);
    }
    at
}
