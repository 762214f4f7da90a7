//! One line of an ignore file, read and matched exactly as git does it.
//!
//! Git's own reading has corners that change which files are ignored: the literal start of a
//! pattern is cut off before the wildcards are looked at (so `a**/b` means `a` and then `**/b`), a
//! line ends at a NUL, `/` alone never matches, and a tab is a name like any other.

use super::glob::Glob;

const SPECIAL: &[u8] = b"*?[\\";

/// A pattern as git understands it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pattern {
    text: Vec<u8>,
    /// Where the part to match begins in `text` (after `!`).
    start: usize,
    /// Where it ends (before a final `/`).
    end: usize,
    /// How many bytes from `start` hold no wildcard.
    literal: usize,
    /// A final `/`: matches directories alone.
    only_dirs: bool,
    /// No `/` inside: matches the last component at any depth.
    any_depth: bool,
    /// `*` and then a literal: the commonest form, matched without the wildcard machine.
    suffix: bool,
    /// What follows the literal start, or all of it when it matches a name alone.
    glob: Glob,
    /// The case of ASCII letters does not matter.
    fold: bool,
}

impl Pattern {
    /// Reads a line without its line end; `None` when it is empty or a comment. With `fold` the case
    /// of ASCII letters does not matter.
    pub fn parse(line: &[u8], fold: bool) -> Option<Self> {
        if line.first() == Some(&b'#') {
            return None;
        }
        let until_nul = line.split(|b| *b == 0).next().unwrap_or_default();
        let text = trim_spaces(until_nul);
        let start = usize::from(text.first() == Some(&b'!'));
        let only_dirs = text.len() > start && text.ends_with(b"/");
        let end = text.len() - usize::from(only_dirs);
        let body = &text[start..end];
        if body.is_empty() {
            return None;
        }
        let any_depth = !body.contains(&b'/');
        let literal = literal_length(body);
        let glob = Glob::new(if any_depth { body } else { &body[literal..] }, fold);
        Some(Pattern {
            start,
            end,
            literal,
            only_dirs,
            any_depth,
            suffix: body[0] == b'*' && literal_length(&body[1..]) == body.len() - 1,
            text: text.to_vec(),
            glob,
            fold,
        })
    }

    /// The line as written, without trailing spaces.
    pub fn text(&self) -> &[u8] {
        &self.text
    }

    /// Whether some path could match: not with a set that does not end.
    pub fn can_match(&self) -> bool {
        self.glob.can_match()
    }

    /// Whether it re-includes (`!`).
    pub fn is_negative(&self) -> bool {
        self.start == 1
    }

    /// Whether it matches `path`, which is relative to the ignore file's directory and whose last
    /// component begins at `name_at`.
    pub fn matches(&self, path: &[u8], name_at: usize, is_dir: bool) -> bool {
        if self.only_dirs && !is_dir {
            return false;
        }
        if self.any_depth { self.matches_name(&path[name_at..]) } else { self.matches_path(path) }
    }

    fn matches_name(&self, name: &[u8]) -> bool {
        let body = &self.text[self.start..self.end];
        if self.literal == body.len() {
            return same(body, name, self.fold);
        }
        if self.suffix {
            let tail = &body[1..];
            let at = name.len().checked_sub(tail.len());
            return at.is_some_and(|at| same(tail, &name[at..], self.fold));
        }
        self.glob.matches(name)
    }

    fn matches_path(&self, path: &[u8]) -> bool {
        let literal = &self.text[self.start..self.start + self.literal];
        let literal = literal.strip_prefix(b"/").unwrap_or(literal);
        path.len() >= literal.len()
            && same(literal, &path[..literal.len()], self.fold)
            && self.glob.matches(&path[literal.len()..])
    }
}

fn same(a: &[u8], b: &[u8], fold: bool) -> bool {
    if fold { a.eq_ignore_ascii_case(b) } else { a == b }
}

fn literal_length(text: &[u8]) -> usize {
    text.iter().position(|b| SPECIAL.contains(b)).unwrap_or(text.len())
}

/// Without trailing spaces, but for one that a backslash protects.
fn trim_spaces(line: &[u8]) -> &[u8] {
    let mut end = 0;
    let mut at = 0;
    while at < line.len() {
        match line[at] {
            b'\\' if at + 1 == line.len() => return line,
            b'\\' => {
                at += 2;
                end = at;
            }
            b' ' => at += 1,
            _ => {
                at += 1;
                end = at;
            }
        }
    }
    &line[..end]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matches(line: &str, path: &str) -> bool {
        let pattern = Pattern::parse(line.as_bytes(), false).unwrap();
        let name_at = path.rfind('/').map_or(0, |at| at + 1);
        pattern.matches(path.as_bytes(), name_at, false)
    }

    #[test]
    fn spaces_at_the_end_count_only_when_escaped() {
        let text = |line: &str| Pattern::parse(line.as_bytes(), false).map(|p| p.text().to_vec());
        assert_eq!(text("a  "), Some(b"a".to_vec()));
        assert_eq!(text("a\\  "), Some(b"a\\ ".to_vec()));
        assert_eq!(text("a b\t"), Some(b"a b\t".to_vec()));
        assert_eq!(text("   "), None);
    }

    #[test]
    fn what_holds_no_name_matches_nothing() {
        for line in ["", "#x", "!", "/", "!/", " "] {
            assert_eq!(Pattern::parse(line.as_bytes(), false), None, "{line:?}");
        }
    }

    #[test]
    fn a_slash_inside_ties_to_the_directory() {
        assert!(matches("x", "a/b/x"));
        assert!(matches("/x", "x") && !matches("/x", "a/x"));
        assert!(matches("a/x", "a/x") && !matches("a/x", "b/a/x"));
        assert!(matches("*.o", "a/b.o") && !matches("a/*.o", "a/b/c.o"));
        assert!(matches("\\#x", "#x") && matches("\\!x", "!x") && !matches("a\\", "a\\"));
    }

    #[test]
    fn the_literal_start_is_cut_off_before_the_stars() {
        assert!(matches("a**/b", "ax/y/b") && matches("a**/b", "a/x/b"));
        assert!(matches("**/b", "b") && matches("a/**/b", "a/b") && !matches("a/**", "a"));
    }
}
