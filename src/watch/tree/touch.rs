//! Names that are dirty: what is there now decides what is told.

use std::os::fd::OwnedFd;

use rustc_hash::FxHashMap;
use rustix::io::Errno;

use super::{Changes, Id, Job, Role, Told, Tree};
use crate::admit::{GIT_NAMES, GIT_RULES, OWN_RULES, Stat};
use crate::listing;
use crate::record::{EventKind, EventOp, RescanReason};
use crate::watch::pending::{Dirty, Hint};
use crate::watch::visit::{self, Above, Entry};

/// Work that is left, by directory.
pub(super) type Work = Vec<(Of, Dirty)>;

/// Which directory is dirty.
pub(super) enum Of {
    /// The one that has this watch by then.
    Watch(i32),
    /// This one.
    Node(Id),
}

impl Tree {
    /// Looks at everything that is dirty.
    pub fn process(&mut self, dirs: FxHashMap<i32, Dirty>, out: &mut Changes) {
        if dirs.iter().any(|(watch, dirty)| self.controls.hit(*watch, dirty)) {
            self.check_policy(out);
        }
        let work = dirs.into_iter().map(|(watch, dirty)| (Of::Watch(watch), dirty)).collect();
        self.work_off(work, out);
    }

    pub(super) fn work_off(&mut self, mut work: Work, out: &mut Changes) {
        while let Some((of, dirty)) = work.pop() {
            // Found only now: what was done before may have put a new node in the old one's place.
            let ids = match of {
                Of::Watch(watch) => self.by_watch.get(&watch).cloned().unwrap_or_default(),
                Of::Node(id) => vec![id],
            };
            for id in ids {
                self.work_at(id, &dirty, &mut work, out);
            }
        }
    }

    fn work_at(&mut self, id: Id, dirty: &Dirty, work: &mut Work, out: &mut Changes) {
        let Some(node) = self.nodes.get(&id) else { return };
        let (parent, name) = (node.parent, node.name.clone());
        match (node.role, self.reach(id)) {
            (Role::Git, Some(_)) => self.git_changed(parent, dirty, out),
            (_, Some(fd)) => self.look_at(id, &fd, dirty, out),
            // It is not where it was: its parent knows more.
            (_, None) => match parent {
                Some(parent) => work.push((Of::Node(parent), Dirty::one(&name, Hint::ANOTHER))),
                None => self.check_root(out),
            },
        }
    }

    /// Opens the directory of a node, if it is still there.
    pub(super) fn reach(&self, id: Id) -> Option<OwnedFd> {
        let node = self.nodes.get(&id)?;
        let path = self.policy.path_of_dir(&node.dir);
        let (root, path) = (self.policy.root_path(), path.as_ref());
        let fd = match listing::open_below(root, path) {
            Err(Errno::ACCESS) if node.blind => listing::open_below_to_search(root, path?).ok()?,
            opened => opened.ok()?,
        };
        let stat = listing::stat_open(&fd).ok()?;
        ((stat.dev, stat.ino) == node.inode).then_some(fd)
    }

    fn look_at(&mut self, id: Id, fd: &OwnedFd, dirty: &Dirty, out: &mut Changes) {
        let Dirty::Names(names) = dirty else { return self.look_over(id, fd, out) };
        let mut anew = false;
        for (name, hint) in names {
            anew |= self.is_ruling(id, name, out);
            self.touch(id, fd, name, *hint, out);
        }
        if anew {
            self.retake(id, out);
        }
    }

    /// Whether a name decides how its directory is judged.
    fn is_ruling(&mut self, id: Id, name: &[u8], out: &mut Changes) -> bool {
        if !self.policy.has_rules() {
            return false;
        }
        if name == b".git" && self.root == Some(id) {
            self.check_policy(out);
        }
        name == b".git"
            || name == OWN_RULES.as_bytes()
            || name == GIT_RULES.as_bytes() && self.policy.in_git()
    }

    fn git_changed(&mut self, parent: Option<Id>, dirty: &Dirty, out: &mut Changes) {
        let matters = match dirty {
            Dirty::All => true,
            Dirty::Names(names) => names.keys().any(|name| GIT_NAMES.contains(&&name[..])),
        };
        match parent {
            Some(parent) if matters && self.root == Some(parent) => self.check_policy(out),
            Some(parent) if matters => self.retake(parent, out),
            _ => {}
        }
    }

    /// Looks at one name in a directory that is open.
    fn touch(&mut self, id: Id, fd: &OwnedFd, name: &[u8], hint: Hint, out: &mut Changes) {
        let Some(node) = self.nodes.get(&id).filter(|node| node.role == Role::Open) else { return };
        let above = Above { fd: None, dir: node.dir.clone(), depth: node.depth };
        let child = node.children.get(name).copied();
        let child =
            child.filter(|child| self.nodes.get(child).is_some_and(|c| c.role != Role::Git));
        match visit::entry(&self.policy, &above, fd, name) {
            Some(Entry::Dir(place, stat)) => {
                let job = Job { place, parent: Some(id), as_git: false, told: Told::All };
                self.touch_dir(child, job, hint, stat, out);
            }
            Some(Entry::Leaf(kind, stat)) => {
                self.lose(child, out);
                if let Some(node) = self.nodes.get_mut(&id).filter(|_| stat.is_none()) {
                    node.blind = true;
                }
                let op = if hint.created { EventOp::Create } else { EventOp::Modify };
                if let Some(path) = self.policy.path_of(&above.dir, name) {
                    out.event(op, kind, path, stat);
                }
            }
            None => {
                let told = self.touch_nothing(child, &above, name, hint, out);
                // Who looks at the path alone would take in what is there: an ignored file.
                let stat = listing::stat(fd, name).ok().map(|stat| visit::kind(&stat));
                if told && stat.is_some_and(|kind| kind != EventKind::Dir) {
                    out.rescan(self.policy.path_of_dir(&above.dir), RescanReason::Rules);
                }
            }
        }
    }

    fn touch_dir(
        &mut self,
        child: Option<Id>,
        job: Job,
        hint: Hint,
        stat: Stat,
        out: &mut Changes,
    ) {
        let known = child.and_then(|child| self.nodes.get(&child));
        let same = known.is_some_and(|node| node.inode == (stat.dev, stat.ino));
        if same && !hint.created {
            if let Some(path) = job.place.path(&self.policy) {
                out.event(EventOp::Modify, EventKind::Dir, path, Some(stat));
            }
            if let Some(child) = child.filter(|_| known.is_some_and(|node| node.blind)) {
                self.retake(child, out);
            }
            return;
        }
        match same {
            // It may have been away, or be a new one with the old one's number.
            true => {
                self.grow(job, out);
                if let Some(child) = child {
                    self.let_go(child);
                }
            }
            false => {
                self.lose(child, out);
                self.grow(job, out);
            }
        }
        self.left_out.tell(self.site.limit, out);
    }

    /// Nothing is there now, or nothing that is in. Whether there may have been.
    fn touch_nothing(
        &mut self,
        child: Option<Id>,
        above: &Above,
        name: &[u8],
        hint: Hint,
        out: &mut Changes,
    ) -> bool {
        if child.is_some() {
            self.lose(child, out);
            return true;
        }
        // Our own state comes and goes; a file of that name is one as any other.
        if hint.dir && name == b".auwai" {
            return false;
        }
        let as_dir = visit::is_in_as_dir(&self.policy, &above.dir, name);
        // What was no directory was in only if it was in as what it was.
        let was_in = hint.dir && as_dir || visit::is_in(&self.policy, &above.dir, name);
        let kind = if hint.dir && as_dir { EventKind::Dir } else { EventKind::Other };
        if let (true, Some(path)) = (was_in, self.policy.path_of(&above.dir, name)) {
            out.event(EventOp::Remove, kind, path, None);
        }
        was_in
    }

    /// Lets go of a directory that stood, and tells it.
    fn lose(&mut self, child: Option<Id>, out: &mut Changes) {
        let Some(child) = child else { return };
        let node = self.nodes.get(&child);
        if let Some(path) = node.and_then(|node| self.policy.path_of_dir(&node.dir)) {
            out.event(EventOp::Remove, EventKind::Dir, path, None);
        }
        self.let_go(child);
    }
}
