//! Directories without a watch: looked at again and again, and compared with the look before.

use std::collections::BTreeMap;
use std::time::{SystemTime, UNIX_EPOCH};

use rustc_hash::FxHashMap;

use super::touch::Of;
use super::{Changes, How, Id, Told, Tree};
use crate::admit::Stat;
use crate::record::EventKind;
use crate::watch::pending::{Dirty, Hint};
use crate::watch::visit::{self, Entry, Listed, Place};

/// The clock of a file system may be this coarse, in nanoseconds: of two changes within it the
/// second may leave no trace in the stat data.
const COARSE_NS: i64 = 2_000_000_000;

/// That of one which notes fractions of a millisecond: its clock ticks a hundred times a second at
/// the least, and may be late.
const FINE_NS: i64 = 100_000_000;

/// A look that goes on finding new directories leaves the rest for the next.
const ROUNDS: usize = 4;

/// Whether a file's times are so new that it may have changed since without a trace.
pub fn is_fresh(stat: &Stat, now: SystemTime) -> bool {
    let now = now.duration_since(UNIX_EPOCH).map_or(0, |d| d.as_nanos() as i64);
    let newest = stat.mtime_ns.max(stat.ctime_ns);
    let tick = if newest % 1_000_000 == 0 { COARSE_NS } else { FINE_NS };
    newest > now.saturating_sub(tick)
}

/// The names of a directory at one time, with their stat data and whether that was fresh.
#[derive(Debug, Default)]
pub struct Snapshot(BTreeMap<Vec<u8>, (Stat, bool)>);

impl Snapshot {
    fn of(entries: &[(Vec<u8>, Entry)], now: SystemTime) -> Snapshot {
        let one = |(name, entry): &(Vec<u8>, Entry)| match entry {
            // What happens in a directory changes its times, and is told by the names in it.
            Entry::Dir(_, stat) => {
                let stat =
                    Stat { dev: stat.dev, ino: stat.ino, mode: stat.mode, ..Stat::default() };
                (name.clone(), (stat, false))
            }
            Entry::Leaf(_, stat) => {
                let stat = stat.unwrap_or_default();
                (name.clone(), (stat, is_fresh(&stat, now)))
            }
        };
        Snapshot(entries.iter().map(one).collect())
    }

    /// What differs now. An entry that was fresh is told once more when it no longer is.
    fn compare(&self, now: &Snapshot) -> FxHashMap<Vec<u8>, Hint> {
        let mut hints = FxHashMap::default();
        for (name, (stat, fresh)) in &now.0 {
            let hint = match self.0.get(name) {
                None => Hint { dir: is_dir(stat), ..Hint::CREATED },
                Some((old, _)) if (old.dev, old.ino) != (stat.dev, stat.ino) => {
                    Hint { dir: is_dir(old) || is_dir(stat), ..Hint::CREATED }
                }
                Some((old, was_fresh)) if old != stat || *was_fresh && !fresh => {
                    Hint { dir: is_dir(stat), ..Hint::CHANGED }
                }
                Some(_) => continue,
            };
            hints.insert(name.clone(), hint);
        }
        let gone = self.0.iter().filter(|(name, _)| !now.0.contains_key(*name));
        let hint = |stat: &Stat| Hint { dir: is_dir(stat), ..Hint::CREATED };
        hints.extend(gone.map(|(name, (stat, _))| (name.clone(), hint(stat))));
        hints
    }
}

fn is_dir(stat: &Stat) -> bool {
    visit::kind(stat) == EventKind::Dir
}

impl Tree {
    /// The snapshot of the directory that a node stood for, if it is to be looked at yet: the node
    /// that takes its place goes on from there.
    pub(super) fn unlooked(&mut self, told: Told) -> Option<Snapshot> {
        let Told::Unlike(old) = told else { return None };
        let node = self.nodes.get_mut(&old)?;
        match &mut node.how {
            How::Polled(snapshot) => Some(std::mem::take(snapshot)),
            How::Watched(_) => None,
        }
    }

    /// Keeps the snapshot of a directory: the one that it had, or the first.
    pub(super) fn keep_snapshot(
        &mut self,
        id: Id,
        old: Option<Snapshot>,
        entries: &[(Vec<u8>, Entry)],
    ) {
        let snapshot = old.unwrap_or_else(|| Snapshot::of(entries, (self.site.now)()));
        if let Some(node) = self.nodes.get_mut(&id) {
            node.how = How::Polled(snapshot);
        }
    }

    /// Looks at every directory that has no watch, and at git's own files when nothing has one.
    pub fn look(&mut self, out: &mut Changes) {
        // They may be where no watch hears of changes.
        if self.controls.differ() || self.stale {
            self.check_policy(out);
        }
        self.check_repository(out);
        let (mut retry, mut from) = (self.watches.is_some(), 0);
        // What is taken anew by a look has new nodes, and they are looked at too.
        for _ in 0..ROUNDS {
            let mut ids: Vec<Id> = self.polled.iter().copied().filter(|id| *id >= from).collect();
            from = self.next;
            // Parents first, so that what has gone is told by the highest directory.
            ids.sort_unstable();
            for id in ids {
                self.look_once(id, &mut retry, out);
            }
        }
        if self.polled.iter().all(|id| self.is_barred(*id)) {
            self.left_out.forget_no_room();
        }
    }

    fn is_barred(&self, id: Id) -> bool {
        self.nodes.get(&id).is_some_and(|node| node.barred)
    }

    fn look_once(&mut self, id: Id, retry: &mut bool, out: &mut Changes) {
        let Some(fd) = self.reach(id) else {
            return self.work_off(vec![(Of::Node(id), Dirty::Names(FxHashMap::default()))], out);
        };
        let tried = *retry && !self.is_barred(id);
        let watch = tried.then(|| self.watch_polled(&fd)).flatten();
        *retry &= !tried || watch.is_some();
        let Some(node) = self.nodes.get(&id) else { return };
        let place = match node.parent {
            Some(parent) => self.place(parent, &node.name),
            None => Place::root(),
        };
        let now = (self.site.now)();
        let listed = Listed::read(&self.policy, &place, fd);
        let nested = node.role == super::Role::Nested;
        if listed.rules != node.rules || listed.nested != nested {
            // No node has the watch yet; the new one goes on from the last look, without one.
            watch.into_iter().for_each(|watch| self.unwatch(watch, id));
            return self.retake(id, out);
        }
        watch.into_iter().for_each(|watch| self.promote(id, watch));
        let snapshot = Snapshot::of(&listed.entries(&self.policy, true), now);
        let hints = self.exchange(id, snapshot, watch);
        if !hints.is_empty() {
            self.work_off(vec![(Of::Node(id), Dirty::Names(hints))], out);
        }
    }

    /// Compares with the last look, and keeps this one.
    fn exchange(&mut self, id: Id, now: Snapshot, watch: Option<i32>) -> FxHashMap<Vec<u8>, Hint> {
        let Some(node) = self.nodes.get_mut(&id) else { return FxHashMap::default() };
        let How::Polled(old) = &node.how else { return FxHashMap::default() };
        let hints = old.compare(&now);
        node.how = watch.map_or(How::Polled(now), How::Watched);
        hints
    }

    /// Tries to get a watch for a directory that has none. The look that follows is its last.
    fn watch_polled(&mut self, fd: impl std::os::fd::AsFd) -> Option<i32> {
        let watch = self.watches.as_ref()?.add(fd.as_fd()).ok()?;
        self.by_watch.entry(watch).or_default();
        Some(watch)
    }

    /// Makes a watch that of a node.
    fn promote(&mut self, id: Id, watch: i32) {
        self.by_watch.entry(watch).or_default().push(id);
        self.polled.remove(&id);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    fn snapshot(entries: &[(&str, Stat, bool)]) -> Snapshot {
        Snapshot(entries.iter().map(|(n, s, f)| (n.as_bytes().to_vec(), (*s, *f))).collect())
    }

    /// `rsync -t` and `cp -p` set times back.
    #[test]
    fn an_older_time_is_a_change() {
        let old = Stat { ino: 1, mtime_ns: 500, ..Stat::default() };
        let now = Stat { mtime_ns: 400, ..old };
        let hints = snapshot(&[("f", old, false)]).compare(&snapshot(&[("f", now, false)]));
        assert_eq!(hints[&b"f"[..]], Hint::CHANGED);
    }

    /// Two writes within the clock's tick leave equal stat data.
    #[test]
    fn a_fresh_file_is_told_once_more() {
        let stat = Stat { ino: 1, ..Stat::default() };
        let (fresh, old) = (snapshot(&[("f", stat, true)]), snapshot(&[("f", stat, false)]));
        assert!(fresh.compare(&fresh).is_empty());
        assert_eq!(fresh.compare(&old).len(), 1);
        assert!(old.compare(&old).is_empty());
    }

    #[test]
    fn fresh_is_two_seconds_or_a_tenth_of_one_where_times_are_fine() {
        let at = |ns: u64| UNIX_EPOCH + Duration::from_nanos(ns);
        let stat = Stat { mtime_ns: 5_000_000_000, ..Stat::default() };
        assert!(is_fresh(&stat, at(6_999_999_999)));
        assert!(!is_fresh(&stat, at(7_000_000_000)));
        let fine = Stat { ctime_ns: 5_000_000_001, ..stat };
        assert!(is_fresh(&fine, at(5_100_000_000)) && !is_fresh(&fine, at(5_100_000_001)));
    }
}
