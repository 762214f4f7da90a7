//! The part of a repository that is looked at: subtrees, or all of it. Rows outside stand in the
//! ledger as they were and are seen by nobody who is bounded.

use crate::record::RepoPath;

/// The subtrees, as keys of paths; none: all.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct View(Vec<Vec<u8>>);

impl View {
    /// What lies within these subtrees, and above them.
    pub(super) fn of(only: &[RepoPath]) -> View {
        let mut all: Vec<Vec<u8>> = only.iter().map(RepoPath::to_key).collect();
        all.sort();
        all.dedup_by(|next, kept| within(next, kept));
        View(all)
    }

    /// What lies in the subtrees, as ranges of keys: from the first to before the last.
    pub(super) fn ranges(&self) -> impl Iterator<Item = [Vec<u8>; 2]> {
        self.0.iter().map(|dir| [[dir, &b"\0"[..]].concat(), [dir, &b"\x01"[..]].concat()])
    }

    /// Whether nothing is left out.
    pub(super) fn is_whole(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether all that the other sees is seen.
    pub(super) fn covers(&self, other: &View) -> bool {
        let held = |dir: &Vec<u8>| self.0.iter().any(|only| within(dir, only));
        self.is_whole() || !other.is_whole() && other.0.iter().all(held)
    }

    /// What this or the other sees.
    pub(super) fn with(self, other: &View) -> View {
        if self.covers(other) || other.is_whole() {
            return if other.is_whole() { View::default() } else { self };
        }
        let kept = self.0.into_iter().filter(|dir| !other.0.iter().any(|only| within(dir, only)));
        let mut all: Vec<Vec<u8>> = kept.chain(other.0.iter().cloned()).collect();
        all.sort();
        View(all)
    }

    /// It as text, for a row of facts: the keys in hex.
    pub(super) fn to_text(&self) -> String {
        let hex = |key: &Vec<u8>| key.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
        self.0.iter().map(hex).collect::<Vec<_>>().join(" ")
    }

    /// Back from [`View::to_text`]; `None` for what it cannot have made.
    pub(super) fn from_text(text: &str) -> Option<View> {
        let byte = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok();
        let key = |hex: &str| hex.as_bytes().chunks(2).map(byte).collect::<Option<Vec<u8>>>();
        text.split_ascii_whitespace().map(key).collect::<Option<_>>().map(View)
    }

    /// The name of a fact about what is seen.
    pub(super) fn key(&self, fact: &str) -> String {
        match self.is_whole() {
            true => fact.to_string(),
            false => format!("{fact} {}", self.to_text()),
        }
    }

    /// Whether the row of this key is seen. One above a subtree stands for it: what is there is no
    /// folder, or one that is not gone into.
    pub(super) fn has(&self, key: &[u8]) -> bool {
        self.is_whole() || self.0.iter().any(|only| within(key, only) || within(only, key))
    }
}

/// Whether the subtrees `outer` hold all that the subtrees `inner` do; none are all.
pub fn covers(outer: &[RepoPath], inner: &[RepoPath]) -> bool {
    View::of(outer).covers(&View::of(inner))
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

    #[test]
    fn views_add_up_and_survive_as_text() {
        let view = |texts: &[&str]| {
            let paths = texts.iter().map(|text| RepoPath::new(*text).unwrap());
            View::of(&paths.collect::<Vec<_>>())
        };
        for (one, other, both) in [
            (&["a"][..], &["a/b"][..], &["a"][..]),
            (&["a/b", "c"], &["a"], &["a", "c"]),
            (&["a/b"], &["a.b"], &["a/b", "a.b"]),
            (&["a"], &[], &[]),
            (&[], &["a"], &[]),
            (&["c", "a", "a/b"], &["b"], &["a", "b", "c"]),
        ] {
            assert_eq!(view(one).with(&view(other)), view(both));
            assert!(view(both).covers(&view(one)) && view(both).covers(&view(other)));
            assert_eq!(View::from_text(&view(both).to_text()), Some(view(both)));
        }
        assert!(!view(&["a/b"]).covers(&view(&["a"])) && !view(&["a"]).covers(&View::default()));
        assert_eq!(View::from_text("zz"), None);
    }
}
