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
    /// the syntax of a line of an ignore file; `!` before it takes out.
    pub fn new(ops: &[EventOp], globs: &[String]) -> Filter {
        let ops = if ops.is_empty() { EventOp::ALL.to_vec() } else { ops.to_vec() };
        let rest = globs.iter().all(|glob| glob.starts_with('!'));
        let text = globs.join("\n");
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
    fn directories_and_rescans_are_never_lost_to_a_glob() {
        assert!(passes(&["*.rs"], "a", EventKind::Dir));
        assert!(!passes(&["*.rs", "!a/"], "a", EventKind::Dir));
        let none = Filter::new(&[EventOp::Remove], &["x".to_string()]);
        assert!(none.passes(&Change::Rescan(None, RescanReason::Limit)));
    }
}
