//! Ignore files: their patterns, where they came from, and the rule that a path met.

use std::fmt;
use std::io::Read;
use std::os::fd::AsFd;
use std::sync::Arc;

use super::pattern::Pattern;
use crate::regular::{self, Links};
use crate::visible;

/// The name of git's ignore files.
pub const GIT_RULES: &str = ".gitignore";
/// The name of our own, stronger than all of git's.
pub const OWN_RULES: &str = ".auwai-ignore";

/// Git does not read larger pattern files either.
const LARGEST: u64 = 100 * 1024 * 1024;

/// The patterns of one ignore file.
#[derive(Debug)]
pub struct RuleList {
    source: Vec<u8>,
    /// How many bytes of a path (relative to the top) lie before this file's directory ends.
    base: usize,
    lines: Vec<(usize, Pattern)>,
}

impl RuleList {
    /// Reads the bytes of an ignore file. `source` names it in rules; `base` is the length of its
    /// directory's path relative to the top, with the final `/`. With `fold` the case of ASCII
    /// letters does not matter.
    pub fn parse(bytes: &[u8], source: Vec<u8>, base: usize, fold: bool) -> Arc<Self> {
        let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
        let lines = bytes
            .split(|b| *b == b'\n')
            .map(|line| line.strip_suffix(b"\r").unwrap_or(line))
            .enumerate()
            .filter_map(|(at, line)| Some((at + 1, Pattern::parse(line, fold)?)))
            .collect();
        Arc::new(RuleList { source, base, lines })
    }

    /// The name of the file, as rules show it.
    pub fn source(&self) -> &[u8] {
        &self.source
    }

    /// The lines that hold a pattern.
    pub fn texts(&self) -> impl Iterator<Item = &[u8]> {
        self.lines.iter().map(|(_, pattern)| pattern.text())
    }

    /// The last pattern that matches `path` (relative to the top), if any.
    pub fn last_match(self: &Arc<Self>, path: &[u8], is_dir: bool) -> Option<Match> {
        let (at, excludes) = self.last_line(path, is_dir)?;
        Some(Match { excludes, rule: Rule::Line { list: Arc::clone(self), at } })
    }

    /// The same as its place among the patterns, and whether it excludes.
    pub fn last_line(&self, path: &[u8], is_dir: bool) -> Option<(usize, bool)> {
        let path = path.get(self.base..)?;
        let name_at = memchr::memrchr(b'/', path).map_or(0, |at| at + 1);
        let at = self.lines.iter().rposition(|(_, p)| p.matches(path, name_at, is_dir))?;
        Some((at, !self.lines[at].1.is_negative()))
    }
}

/// Whether a line that somebody has typed is one pattern, and one that can match something: an
/// ignore file may have others, which git passes over in silence.
pub fn is_pattern(line: &str) -> bool {
    !line.contains('\n') && Pattern::parse(line.as_bytes(), false).is_some_and(|p| p.can_match())
}

/// A pattern that matched.
#[derive(Debug, Clone)]
pub struct Match {
    /// False for a `!` pattern.
    pub excludes: bool,
    /// Which one.
    pub rule: Rule,
}

/// Why a path is ignored. Its text is `source:line:pattern`, `builtin` or `scope`; a source is
/// relative to the top of the work tree, or absolute when it lies outside, and C-quoted.
#[derive(Debug, Clone)]
pub enum Rule {
    /// Git's own directory, our state, or outside git a tool's cache.
    Builtin,
    /// Outside the subtrees asked for.
    Scope,
    /// A line of an ignore file.
    Line {
        /// The file.
        list: Arc<RuleList>,
        /// Its pattern, as an index.
        at: usize,
    },
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (list, at) = match self {
            Rule::Builtin => return f.write_str("builtin"),
            Rule::Scope => return f.write_str("scope"),
            Rule::Line { list, at } => (list, *at),
        };
        let (line, pattern) = &list.lines[at];
        write!(f, "{}:{line}:", visible::quote_path(&list.source))?;
        match std::str::from_utf8(pattern.text()) {
            Ok(text) => f.write_str(&visible::one_line(text)),
            Err(_) => f.write_str(&visible::quote_path(pattern.text())),
        }
    }
}

/// The bytes of the two ignore files of one directory.
#[derive(Debug, Default)]
pub struct RuleFiles {
    /// Of `.gitignore`.
    pub git: Option<Vec<u8>>,
    /// Of `.auwai-ignore`.
    pub own: Option<Vec<u8>>,
}

impl RuleFiles {
    /// Reads both from an open directory.
    pub fn read(dir: impl AsFd, in_git: bool) -> Self {
        let git = if in_git { read_rules(&dir, GIT_RULES) } else { None };
        RuleFiles { git, own: read_rules(&dir, OWN_RULES) }
    }
}

/// The bytes of a rule file, or `None` when there is none to read. A symbolic link is not followed,
/// as in git since 2.32; what is not a regular file, cannot be read or is huge holds no rules.
pub fn read_rules(dir: impl AsFd, name: &str) -> Option<Vec<u8>> {
    read_file(regular::open_at(dir, name, Links::Refuse).ok()?)
}

/// Like [`read_rules`] for a file outside the tree, where links are followed.
pub fn read_outside(path: &std::path::Path) -> Option<Vec<u8>> {
    read_file(regular::open(path, Links::Follow).ok()?)
}

fn read_file(mut file: std::fs::File) -> Option<Vec<u8>> {
    let meta = file.metadata().ok()?;
    if meta.len() > LARGEST {
        return None;
    }
    let mut bytes = Vec::with_capacity(meta.len() as usize);
    file.read_to_end(&mut bytes).ok()?;
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_match_counts_and_is_named() {
        let list =
            RuleList::parse(b"\xef\xbb\xbf*.o\r\n!a.o\r\n", b"d/.gitignore".to_vec(), 2, false);
        let found = |path: &[u8]| list.last_match(path, false).unwrap();
        assert!(found(b"d/x/b.o").excludes);
        assert!(!found(b"d/a.o").excludes);
        assert_eq!(found(b"d/b.o").rule.to_string(), "d/.gitignore:1:*.o");
    }

    #[test]
    fn a_rule_stays_on_one_line() {
        let list = RuleList::parse(b"\x1b[2J*\n\xff*", b"a\nb".to_vec(), 0, false);
        let rule = |at| Rule::Line { list: Arc::clone(&list), at }.to_string();
        assert_eq!(rule(0), "\"a\\nb\":1:\\x1b[2J*");
        assert_eq!(rule(1), "\"a\\nb\":2:\"\\377*\"");
    }
}
