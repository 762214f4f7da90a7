//! What a backend has found out: events and rescans, in order, each once.

use rustc_hash::{FxHashMap, FxHashSet};

use crate::admit::Stat;
use crate::record::{EventKind, EventOp, RepoPath, RescanReason};

/// Something to tell.
#[derive(Debug, Clone, PartialEq)]
pub enum Change {
    /// Something happened to a path.
    Event {
        /// What.
        op: EventOp,
        /// To what.
        kind: EventKind,
        /// Where.
        path: RepoPath,
        /// What `lstat` said, where it was asked.
        stat: Option<Stat>,
    },
    /// All in a directory (`None`: the root) may have changed.
    Rescan(Option<RepoPath>, RescanReason),
}

/// A warning for people: a message and a hint with what to run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Warning {
    /// What is wrong.
    pub message: String,
    /// What to do.
    pub hint: Option<String>,
}

/// What one look, or one batch of events, came to.
#[derive(Debug, Default)]
pub struct Changes {
    /// What changed, in an order in which it can be told.
    pub changed: Vec<Change>,
    /// Whether one of git's own files changed, with or without effect.
    pub touched: bool,
    /// What people should know.
    pub warnings: Vec<Warning>,
    /// The last event of each path.
    last: FxHashMap<RepoPath, EventOp>,
    /// The rescans.
    rescans: FxHashSet<(Option<RepoPath>, RescanReason)>,
}

impl Changes {
    /// Adds an event. A path that is there is told once, and so is one that has gone.
    pub fn event(&mut self, op: EventOp, kind: EventKind, path: RepoPath, stat: Option<Stat>) {
        let gone = |op: &EventOp| *op == EventOp::Remove;
        let told = self.last.get(&path).is_some_and(|last| gone(last) == gone(&op));
        if !told {
            self.last.insert(path.clone(), op);
            self.changed.push(Change::Event { op, kind, path, stat });
        }
    }

    /// Adds a rescan, once. That of other rules, or of another root, stands behind all that was told
    /// before it: who looks at a path alone does not see that it is not in any more.
    pub fn rescan(&mut self, dir: Option<RepoPath>, reason: RescanReason) {
        let change = Change::Rescan(dir.clone(), reason);
        let last = matches!(reason, RescanReason::Rules | RescanReason::Root);
        match self.rescans.insert((dir, reason)) {
            true => self.changed.push(change),
            false if last => {
                self.changed.retain(|known| *known != change);
                self.changed.push(change);
            }
            false => {}
        }
    }

    /// Adds a warning.
    pub fn warn(&mut self, message: String, hint: Option<String>) {
        self.warnings.push(Warning { message, hint });
    }

    /// Whether there is nothing to tell.
    pub fn is_empty(&self) -> bool {
        self.changed.is_empty() && !self.touched && self.warnings.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What was told under rules that hold no longer stayed with a consumer that looked at it alone.
    #[test]
    fn other_rules_are_told_behind_what_was_told_before() {
        let mut changes = Changes::default();
        let path = RepoPath::new("a").unwrap();
        changes.rescan(None, RescanReason::Overflow);
        changes.rescan(None, RescanReason::Rules);
        changes.event(EventOp::Create, EventKind::File, path, None);
        changes.rescan(None, RescanReason::Overflow);
        changes.rescan(None, RescanReason::Rules);
        let rescan = |change: &Change| matches!(change, Change::Rescan(..));
        let rescans: Vec<bool> = changes.changed.iter().map(rescan).collect();
        assert_eq!(rescans, [true, false, true]);
    }

    #[test]
    fn a_path_is_told_once_but_its_going_and_coming_both() {
        let mut changes = Changes::default();
        let path = RepoPath::new("a").unwrap();
        for op in [EventOp::Create, EventOp::Modify, EventOp::Remove, EventOp::Create] {
            changes.event(op, EventKind::File, path.clone(), None);
        }
        let ops: Vec<EventOp> = changes
            .changed
            .iter()
            .filter_map(|change| match change {
                Change::Event { op, .. } => Some(*op),
                Change::Rescan(..) => None,
            })
            .collect();
        assert_eq!(ops, [EventOp::Create, EventOp::Remove, EventOp::Create]);
    }
}
