//! Which events are told: by what happened, and by globs. Rescans always are.

use std::sync::Arc;

use super::change::Change;
use crate::admit::RuleList;
use crate::record::{EventKind, EventOp};

/// What to tell.
#[derive(Debug, Clone)]
pub struct Filter {
    ops: Vec<EventOp>,
    globs: Arc<RuleList>,
    /// What no glob matches is told.
    rest: bool,
}

impl Filter {
    /// Events of these kinds (none: all), whose path the last glob that matches selects. A glob has
    /// the syntax of a line of an ignore file, with `{a,b}` for either and `./` for the root; `!`
    /// before it takes out.
    pub fn new(ops: &[EventOp], globs: &[String]) -> Filter {
        let ops = if ops.is_empty() { EventOp::ALL.to_vec() } else { ops.to_vec() };
        let rest = globs.iter().all(|glob| glob.starts_with('!'));
        let lines: Vec<String> = globs.iter().flat_map(|glob| lines(glob)).collect();
        let text = lines.join("\n");
        Filter { ops, globs: RuleList::parse(text.as_bytes(), Vec::new(), 0, false), rest }
    }

    /// Whether a change is told. A directory that no glob takes out is: what is in it may match.
    pub fn passes(&self, change: &Change) -> bool {
        let Change::Event { op, kind, path, .. } = change else { return true };
        let is_dir = *kind == EventKind::Dir;
        self.ops.contains(op)
            && self.selects(path.as_bytes(), is_dir).unwrap_or(self.rest || is_dir)
    }

    /// What the last glob says that matches the path or a directory above it.
    fn selects(&self, path: &[u8], is_dir: bool) -> Option<bool> {
        let above = memchr::memrchr_iter(b'/', path).map(|end| (&path[..end], true));
        let levels = std::iter::once((path, is_dir)).chain(above);
        let found = levels.filter_map(|(path, is_dir)| self.globs.last_line(path, is_dir)).max();
        found.map(|(_, selects)| selects)
    }
}

/// A glob as lines of an ignore file, which know no `{a,b}` and whose paths begin at the root with
/// `/`.
fn lines(glob: &str) -> Vec<String> {
    let (out, body) = match glob.strip_prefix('!') {
        Some(body) => ("!", body),
        None => ("", glob),
    };
    let line = |body: String| match body.strip_prefix("./") {
        Some(path) if !path.is_empty() => format!("{out}/{path}"),
        _ => format!("{out}{body}"),
    };
    alternatives(body).into_iter().map(line).collect()
}

/// What `{a,b}` stands for, in every combination; braces without a comma, or escaped, are
/// characters. More than [`MOST`] are not taken apart.
fn alternatives(glob: &str) -> Vec<String> {
    let (mut done, mut open) = (Vec::new(), vec![glob.to_string()]);
    while let Some(glob) = open.pop() {
        match split(&glob) {
            Some((before, parts, after)) if open.len() + done.len() + parts.len() <= MOST => {
                open.extend(parts.iter().rev().map(|part| format!("{before}{part}{after}")));
            }
            _ => done.push(glob),
        }
    }
    done
}

/// As many lines as a glob may stand for.
const MOST: usize = 1000;

/// The first group of a glob that is one: what stands before it, its parts, and what is after it.
fn split(glob: &str) -> Option<(&str, Vec<&str>, &str)> {
    (0..glob.len()).filter(|at| glob.as_bytes()[*at] == b'{' && !is_escaped(glob, *at)).find_map(
        |at| {
            let (parts, length) = group(&glob[at + 1..])?;
            Some((&glob[..at], parts, &glob[at + 1 + length..]))
        },
    )
}

fn is_escaped(glob: &str, at: usize) -> bool {
    glob[..at].bytes().rev().take_while(|byte| *byte == b'\\').count() % 2 == 1
}

/// The parts of the group whose `{` stands before `text`, two at least, and its length with the `}`.
fn group(text: &str) -> Option<(Vec<&str>, usize)> {
    let (mut depth, mut from, mut parts) = (0, 0, Vec::new());
    for (at, byte) in text.bytes().enumerate().filter(|(at, _)| !is_escaped(text, *at)) {
        match byte {
            b'{' => depth += 1,
            b',' if depth == 0 => {
                parts.push(&text[from..at]);
                from = at + 1;
            }
            b'}' if depth > 0 => depth -= 1,
            b'}' => {
                parts.push(&text[from..at]);
                return (parts.len() > 1).then_some((parts, at + 1));
            }
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::{RepoPath, RescanReason};

    fn passes(globs: &[&str], path: &str, kind: EventKind) -> bool {
        let globs: Vec<String> = globs.iter().map(|glob| glob.to_string()).collect();
        let path = RepoPath::new(path).unwrap();
        let event = Change::Event { op: EventOp::Modify, kind, path, stat: None };
        Filter::new(&[], &globs).passes(&event)
    }

    #[test]
    fn the_last_glob_that_matches_decides() {
        let file = EventKind::File;
        assert!(passes(&[], "a/b.rs", file));
        assert!(passes(&["*.rs"], "a/b.rs", file) && !passes(&["*.rs"], "a/b.c", file));
        assert!(!passes(&["!*.rs"], "a/b.rs", file) && passes(&["!*.rs"], "a/b.c", file));
        assert!(!passes(&["*.rs", "!b.rs"], "a/b.rs", file));
        assert!(passes(&["a/"], "a/b/c", file) && !passes(&["/b/"], "a/b/c", file));
        // Also when it matches a directory above.
        for sub in ["!sub/", "!sub", "!/sub", "!sub/**"] {
            assert!(!passes(&["*.rs", sub], "sub/deep/d.rs", file), "{sub}");
            assert!(passes(&["*.rs", sub], "a.rs", file), "{sub}");
            assert!(passes(&[sub, "*.rs"], "sub/d.rs", file), "{sub}");
        }
    }

    #[test]
    fn braces_stand_for_either() {
        let of = |glob: &str| lines(glob).join(" ");
        assert_eq!(of("*.{rs,toml}"), "*.rs *.toml");
        assert_eq!(of("!./{a,b{1,2}}/x"), "!/a/x !/b1/x !/b2/x");
        assert_eq!(of("{a,b}{,c}"), "a ac b bc");
        for plain in ["{a}", "{a,b", "a,b}", r"\{a,b}", "{}", "a{b}c"] {
            assert_eq!(of(plain), plain);
        }
        assert_eq!(of("{a}{b,c}"), "{a}b {a}c");
        assert_eq!(lines(&"{a,b}".repeat(40)).len(), MOST);
        let file = EventKind::File;
        assert!(passes(&["*.{rs,toml}"], "a/b.toml", file) && !passes(&["*.{rs,c}"], "b.h", file));
        assert!(passes(&["./b.rs"], "b.rs", file) && !passes(&["./b.rs"], "a/b.rs", file));
        assert!(!passes(&["!*.{rs,c}"], "b.c", file));
    }

    #[test]
    fn directories_and_rescans_are_never_lost_to_a_glob() {
        assert!(passes(&["*.rs"], "a", EventKind::Dir));
        assert!(!passes(&["*.rs", "!a/"], "a", EventKind::Dir));
        let none = Filter::new(&[EventOp::Remove], &["x".to_string()]);
        assert!(none.passes(&Change::Rescan(None, RescanReason::Limit)));
    }
}
