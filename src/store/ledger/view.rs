//! The part of a repository that is looked at: subtrees, or all of it. Rows outside stand in the
//! ledger as they were and are seen by nobody who is bounded.

use crate::record::RepoPath;

/// The subtrees, as keys of paths; none: all.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct View(Vec<Vec<u8>>);

impl View {
    /// What lies within these subtrees, and above them.
    pub(super) fn of(only: &[RepoPath]) -> View {
        View(only.iter().map(RepoPath::to_key).collect())
    }

    /// Whether nothing is left out.
    pub(super) fn is_whole(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether the row of this key is seen. One above a subtree stands for it: what is there is no
    /// folder, or one that is not gone into.
    pub(super) fn has(&self, key: &[u8]) -> bool {
        self.is_whole() || self.0.iter().any(|only| within(key, only) || within(only, key))
    }
}

fn within(key: &[u8], dir: &[u8]) -> bool {
    key.strip_prefix(dir).is_some_and(|rest| rest.first().is_none_or(|end| *end == 0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_lies_in_the_subtrees_and_above_them_is_seen() {
        let path = |text: &str| RepoPath::new(text).unwrap();
        let view = View::of(&[path("a/b"), path("c")]);
        let has = |text: &str| view.has(&path(text).to_key());
        for seen in ["a", "a/b", "a/b/x", "a/b/x/y", "c", "c/x"] {
            assert!(has(seen), "{seen}");
        }
        for unseen in ["a/bb", "a/x", "cc", "x", "x/c"] {
            assert!(!has(unseen), "{unseen}");
        }
        assert!(View::default().has(b"x") && View::of(&[]).is_whole());
    }
}
