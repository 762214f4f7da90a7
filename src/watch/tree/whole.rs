//! A directory in which too much has changed to know the names: it is told as a whole, and every
//! directory in it is held against its node. One that is still the same keeps its watches, and all
//! below it, since what happens there has watches of its own: a crowd of files beside a thousand
//! directories must not cost a visit to each, again and again.

use std::os::fd::OwnedFd;

use super::{Changes, How, Id, Job, Role, Told, Tree};
use crate::admit::Stat;
use crate::listing;
use crate::record::RescanReason;
use crate::watch::visit::{Entry, Listed, Place};

impl Tree {
    /// Tells a directory, which is open, as a whole, and finds out which directories are in it now.
    pub(super) fn look_over(&mut self, id: Id, fd: &OwnedFd, out: &mut Changes) {
        let path = self.nodes.get(&id).and_then(|node| self.policy.path_of_dir(&node.dir));
        out.rescan(path, RescanReason::Limit);
        match self.list_again(id, fd) {
            Some(listed) => self.hold_against(id, &listed, out),
            None => self.retake(id, out),
        }
    }

    /// What is in the directory of a node now; `None` when it is to be judged anew.
    fn list_again(&self, id: Id, fd: &OwnedFd) -> Option<Listed> {
        let node = self.nodes.get(&id).filter(|node| node.role == Role::Open && !node.blind)?;
        let place = match node.parent {
            Some(parent) => self.place(parent, &node.name),
            None => Place::root(),
        };
        let listed = Listed::read(&self.policy, &place, fd.try_clone().ok()?);
        let same = listed.rules == node.rules && !listed.nested && self.has_same_git(id, &listed);
        (same && listed.is_whole()).then_some(listed)
    }

    /// Whether the `.git` that decides what the directory is, if any, is the one that stood there.
    fn has_same_git(&self, id: Id, listed: &Listed) -> bool {
        let known = self.nodes.get(&id).and_then(|node| node.children.get(&b".git"[..]));
        match known {
            _ if !self.policy.has_rules() => true,
            None => !listed.has(".git"),
            Some(git) => {
                listing::stat(listed.fd(), b".git").is_ok_and(|stat| self.stands(*git, &stat))
            }
        }
    }

    fn hold_against(&mut self, id: Id, listed: &Listed, out: &mut Changes) {
        let entries = listed.entries(&self.policy, false);
        if entries.iter().any(|(_, entry)| matches!(entry, Entry::Leaf(_, None))) {
            return self.retake(id, out);
        }
        let mut gone = self.nodes.get(&id).map(|node| node.children.clone()).unwrap_or_default();
        if self.policy.has_rules() {
            gone.remove(&b".git"[..]);
        }
        for (name, entry) in entries {
            let Entry::Dir(place, stat) = entry else { continue };
            match gone.remove(&name) {
                Some(child) if self.stands(child, &stat) => {}
                Some(child) => self.retake(child, out),
                None => {
                    self.grow(Job { place, parent: Some(id), as_git: false, told: Told::All }, out);
                }
            }
        }
        gone.into_values().for_each(|child| self.let_go(child));
        self.left_out.tell(self.site.limit, out);
    }

    /// Whether a node stands for this very directory, all of which could be looked at, and has had
    /// its watch all the time.
    fn stands(&self, id: Id, stat: &Stat) -> bool {
        self.nodes.get(&id).is_some_and(|node| {
            let How::Watched(watch) = node.how else { return false };
            let owns = self.by_watch.get(&watch).is_some_and(|ids| ids.contains(&id));
            node.inode == (stat.dev, stat.ino) && owns && !node.blind
        })
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;
    use std::fs;
    use std::os::fd::{AsFd, BorrowedFd};
    use std::path::Path;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::sync::{Arc, Mutex};

    use rustc_hash::FxHashMap;
    use rustix::io::Errno;

    use super::*;
    use crate::watch::change::Change;
    use crate::watch::pending::Dirty;
    use crate::watch::tree::{Inode, Site, Watches};

    /// Numbers directories as the system does, and counts how often it is asked.
    #[derive(Default)]
    struct Counted {
        numbers: Mutex<HashMap<Inode, i32>>,
        asked: AtomicUsize,
    }

    impl Counted {
        fn asked(&self) -> usize {
            self.asked.swap(0, Ordering::Relaxed)
        }
    }

    impl Watches for Counted {
        fn add(&self, dir: BorrowedFd<'_>) -> Result<i32, Errno> {
            let stat = listing::stat_open(dir)?;
            self.asked.fetch_add(1, Ordering::Relaxed);
            let mut numbers = self.numbers.lock().unwrap();
            let next = numbers.len() as i32;
            Ok(*numbers.entry((stat.dev, stat.ino)).or_insert(next))
        }

        fn add_control(&self, dir: &Path) -> Result<i32, Errno> {
            self.add(fs::File::open(dir).map_err(|_| Errno::NOENT)?.as_fd())
        }

        fn add_above(&self, dir: &Path) -> Result<i32, Errno> {
            self.add_control(dir)
        }

        fn file_system(&self, _: BorrowedFd<'_>) -> Option<u64> {
            None
        }

        fn remove(&self, _: i32) {}
    }

    fn tree(root: &Path, watches: &Arc<Counted>) -> Tree {
        let site = Site { rules: false, ..crate::watch::tests::site(root) };
        Tree::open(site, Some(Arc::clone(watches) as Arc<dyn Watches>)).unwrap().0
    }

    fn crowd(tree: &mut Tree) -> Vec<String> {
        let root = tree.root.and_then(|root| tree.nodes.get(&root)).unwrap();
        let How::Watched(watch) = root.how else { panic!("the root is polled") };
        let mut out = Changes::default();
        let dirty: FxHashMap<i32, Dirty> = [(watch, Dirty::All)].into_iter().collect();
        tree.process(dirty, &mut out);
        let shown = |change: &Change| match change {
            Change::Event { op, path, .. } => format!("{} {}", op.as_str(), path.display()),
            Change::Rescan(path, _) => format!("rescan {}", path.is_none()),
        };
        out.changed.iter().map(shown).collect()
    }

    #[test]
    fn a_crowd_costs_no_visit_to_directories_that_are_the_same() {
        let root = tempfile::tempdir().unwrap();
        let dir = |name: &str| root.path().join(name);
        (0..100).for_each(|n| fs::create_dir_all(dir(&format!("d{n}/sub"))).unwrap());
        let watches = Arc::new(Counted::default());
        let mut tree = tree(root.path(), &watches);
        assert!(watches.asked() > 200);
        assert_eq!(crowd(&mut tree), ["rescan true"]);
        assert_eq!((watches.asked(), tree.watched()), (0, 201));
    }

    #[test]
    fn directories_that_came_went_or_were_exchanged_are_found_in_a_crowd() {
        let root = tempfile::tempdir().unwrap();
        let dir = |name: &str| root.path().join(name);
        (0..10).for_each(|n| fs::create_dir_all(dir(&format!("d{n}/sub"))).unwrap());
        let watches = Arc::new(Counted::default());
        let mut tree = tree(root.path(), &watches);
        watches.asked();
        fs::remove_dir_all(dir("d0")).unwrap();
        fs::create_dir_all(dir("new/deep")).unwrap();
        fs::rename(dir("d1"), dir("d2/sub/d1")).unwrap();
        fs::rename(dir("d3"), dir("d4/was")).unwrap();
        fs::rename(dir("d5"), dir("d3")).unwrap();
        let told = crowd(&mut tree);
        assert_eq!(told[0], "rescan true");
        for path in ["create new", "create new/deep", "create d3"] {
            assert!(told.contains(&path.to_string()), "{path}: {told:?}");
        }
        // The two new ones, and the two that have another's name now.
        assert_eq!((watches.asked(), tree.watched()), (4, 1 + 2 * 6 + 2 + 2));
    }
}
