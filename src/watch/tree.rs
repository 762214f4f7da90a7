//! The directories that are watched, as a tree that follows the one on the disk.
//!
//! A directory is opened, then watched, then listed: what came to be before the watch is in the
//! list, what comes after is an event. An event is a hint: `lstat` decides. Whenever a directory
//! may be another one than before it is taken anew, with all below it, and all that is found in
//! what was not known is told; so the order in which hints come does not matter.

mod controls;
mod left_out;
mod look;
mod root;
mod touch;
mod whole;

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;
use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};
use rustix::io::Errno;

use super::change::Changes;
use super::visit::{Above, Entry, Listed, Place};
use crate::admit::{Dir, Policy};
use crate::listing;
use crate::record::{EventKind, EventOp, RepoPath, RescanReason};

pub use controls::Controls;
use left_out::LeftOut;
pub use look::{Snapshot, is_fresh};
pub use root::Site;

/// What watches directories for the tree.
pub trait Watches {
    /// Watches an open directory. The same directory gets the same number.
    ///
    /// # Errors
    /// `ENOSPC` when there are too many.
    fn add(&self, dir: BorrowedFd<'_>) -> Result<i32, Errno>;

    /// Watches a directory outside the tree for the names in it and its own going.
    ///
    /// # Errors
    /// As open(2).
    fn add_control(&self, dir: &Path) -> Result<i32, Errno>;

    /// Watches a directory for its own going only.
    ///
    /// # Errors
    /// As open(2).
    fn add_above(&self, dir: &Path) -> Result<i32, Errno>;

    /// What kind of file system an open directory is on: its number in statfs(2).
    fn file_system(&self, dir: BorrowedFd<'_>) -> Option<u64>;

    /// Ends a watch.
    fn remove(&self, watch: i32);
}

/// Names a node; never used twice.
type Id = u64;

/// Device and inode.
type Inode = (u64, u64);

/// A directory.
#[derive(Debug)]
struct Node {
    parent: Option<Id>,
    name: Vec<u8>,
    depth: usize,
    inode: Inode,
    dir: Dir,
    children: FxHashMap<Vec<u8>, Id>,
    how: How,
    role: Role,
    rules: Option<blake3::Hash>,
    /// A watch here would be deaf, or is not allowed: none is tried.
    barred: bool,
    /// Something in it could not be looked at. Other permissions make it another directory.
    blind: bool,
}

/// How changes in a directory are learnt.
#[derive(Debug)]
enum How {
    Watched(i32),
    Polled(Snapshot),
}

/// What a directory is to the tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Role {
    /// It is gone into.
    Open,
    /// The top of another repository: only whether it still is one matters.
    Nested,
    /// A `.git` that decides whether its parent is a repository.
    Git,
}

/// A directory to take in.
struct Job {
    place: Place,
    parent: Option<Id>,
    as_git: bool,
    told: Told,
}

/// Whether what is found is told.
#[derive(Clone, Copy)]
enum Told {
    /// No: a consumer looks for itself.
    Nothing,
    /// All of it is news.
    All,
    /// It is news unless the directory is the one of this node.
    Unlike(Id),
}

/// The tree.
pub struct Tree {
    site: Site,
    policy: Arc<Policy>,
    fingerprint: blake3::Hash,
    watches: Option<Arc<dyn Watches>>,
    nodes: FxHashMap<Id, Node>,
    /// What is mounted at several places is several nodes, and has one watch.
    by_watch: FxHashMap<i32, Vec<Id>>,
    /// The watches of the directories above the root.
    above: FxHashSet<i32>,
    controls: Controls,
    root: Option<Id>,
    next: Id,
    polled: FxHashSet<Id>,
    /// How many nodes are a `.git`.
    deciding: usize,
    left_out: LeftOut,
    /// Something could not be looked at for a reason that may pass.
    unsure: bool,
    /// The policy could not be opened: it is to be tried again.
    stale: bool,
}

impl Tree {
    /// The policy now in force.
    pub fn policy(&self) -> &Arc<Policy> {
        &self.policy
    }

    /// How many directories are watched. A `.git` is not among them: it only decides.
    pub fn watched(&self) -> usize {
        self.nodes.len() - self.polled.len() - self.deciding
    }

    /// How many directories are polled.
    pub fn polled(&self) -> usize {
        self.polled.len()
    }

    /// Whether the root is there.
    pub fn is_rooted(&self) -> bool {
        self.root.is_some()
    }

    /// Takes in everything below the root; what stood before is let go. Nothing is told but what
    /// differs in `compare`.
    fn build(&mut self, compare: bool, out: &mut Changes) {
        let old = self.root.take();
        let told = old.filter(|_| compare).map_or(Told::Nothing, Told::Unlike);
        self.grow(Job { place: Place::root(), parent: None, as_git: false, told }, out);
        if let Some(old) = old {
            self.fell(old);
        }
        // Moved away before the watch stood: nothing tells of that.
        self.unsure |= self.root.is_some() && !self.is_at_home();
        self.left_out.tell(self.site.limit, out);
    }

    /// Takes a directory anew, under the rules that hold now; what is in directories that were not
    /// known is told.
    fn retake(&mut self, id: Id, out: &mut Changes) {
        let Some(node) = self.nodes.get(&id) else { return };
        let (role, Some(parent)) = (node.role, node.parent) else { return self.build(true, out) };
        let name = node.name.clone();
        let place = self.place(parent, &name);
        let told = Told::Unlike(id);
        self.grow(Job { place, parent: Some(parent), as_git: role == Role::Git, told }, out);
        self.let_go(id);
        self.left_out.tell(self.site.limit, out);
    }

    /// Lets go of a directory and all below it, and its parent of it, unless that has another one
    /// in its place.
    fn let_go(&mut self, id: Id) {
        let Some(node) = self.nodes.get(&id) else { return };
        let (parent, name) = (node.parent, node.name.clone());
        if let Some(parent) = parent.and_then(|parent| self.nodes.get_mut(&parent))
            && parent.children.get(&name) == Some(&id)
        {
            parent.children.remove(&name);
        }
        self.fell(id);
    }

    /// The place of a name in a directory of the tree, as the policy has it now.
    fn place(&self, parent: Id, name: &[u8]) -> Place {
        let Some(node) = self.nodes.get(&parent) else { return Place::root() };
        let (_, below) = self.policy.tracked_at(&node.dir, name);
        let above = Above { fd: None, dir: node.dir.clone(), depth: node.depth };
        Place { above: Some(above), name: name.to_vec(), below }
    }

    /// Takes in a directory and all below it.
    fn grow(&mut self, job: Job, out: &mut Changes) {
        let mut jobs = vec![job];
        while let Some(job) = jobs.pop() {
            match job.as_git {
                true => self.take_git(&job),
                false => self.take(job, &mut jobs, out),
            }
        }
    }

    fn take(&mut self, job: Job, jobs: &mut Vec<Job>, out: &mut Changes) {
        let path = job.place.path(&self.policy);
        let (fd, searched) = match job.place.open(&self.policy) {
            Ok(fd) => (fd, false),
            Err(code) => match self.closed(&job, path.as_ref(), code, out) {
                Some(fd) => (fd, true),
                None => return,
            },
        };
        let Ok(stat) = listing::stat_open(&fd) else { return };
        let inode = (stat.dev, stat.ino);
        let known = matches!(job.told, Told::Unlike(old) if self.is_polled(old, inode));
        let barred = searched || self.is_remote(job.parent, stat.dev, fd.as_fd(), &path, out);
        // What is polled stays so until it is looked at: only then is nothing missed.
        let watch = if known || barred { None } else { self.watch(fd.as_fd(), path.as_ref()) };
        let listed = Listed::read(&self.policy, &job.place, fd);
        let told = self.compare(job.told, inode, &listed, path.as_ref(), out);
        if let (Told::All, Some(path)) = (told, path) {
            out.event(EventOp::Create, EventKind::Dir, path, Some(stat));
        }
        let id = self.plant(&job, inode, watch, &listed);
        let leaves = watch.is_none() || matches!(told, Told::All);
        let entries = listed.entries(&self.policy, leaves);
        if let Some(node) = self.nodes.get_mut(&id) {
            node.barred = barred;
            let unseen = |(_, entry): &(_, Entry)| matches!(entry, Entry::Leaf(_, None));
            node.blind = !listed.is_whole() || entries.iter().any(unseen);
        }
        if watch.is_none() {
            let old = self.unlooked(told);
            self.keep_snapshot(id, old, &entries);
        }
        self.branch(id, told, &listed, entries, jobs, out);
    }

    fn is_polled(&self, id: Id, inode: Inode) -> bool {
        let node = self.nodes.get(&id).filter(|node| node.inode == inode);
        node.is_some_and(|node| matches!(node.how, How::Polled(_)))
    }

    /// What a directory becomes that cannot be opened. In one that may not be listed, names that git
    /// tracks can be looked up: then it is returned.
    fn closed(
        &mut self,
        job: &Job,
        path: Option<&RepoPath>,
        code: Errno,
        out: &mut Changes,
    ) -> Option<OwnedFd> {
        let mut searched = None;
        match code {
            Errno::NOENT | Errno::NOTDIR | Errno::LOOP => return None,
            Errno::ACCESS | Errno::PERM => {
                self.left_out.unreadable(path);
                let tracked = !job.place.below.is_empty();
                searched = tracked.then(|| job.place.open_to_search(&self.policy).ok()).flatten();
            }
            _ => self.unsure = true,
        }
        if let (Some(path), Told::All | Told::Unlike(_), None) = (path, job.told, &searched) {
            out.event(EventOp::Create, EventKind::Dir, path.clone(), None);
        }
        searched
    }

    /// Whether what is in a directory is news, given what stood there; a change of its rules, or of
    /// whether it is a repository, is told at once.
    fn compare(
        &self,
        told: Told,
        inode: Inode,
        listed: &Listed,
        path: Option<&RepoPath>,
        out: &mut Changes,
    ) -> Told {
        let Told::Unlike(old) = told else { return told };
        let Some(old) = self.nodes.get(&old).filter(|old| old.inode == inode) else {
            return Told::All;
        };
        if old.rules != listed.rules || (old.role == Role::Nested) != listed.nested {
            out.rescan(path.cloned(), RescanReason::Rules);
            return Told::Nothing;
        }
        told
    }

    fn watch(&mut self, fd: BorrowedFd<'_>, path: Option<&RepoPath>) -> Option<i32> {
        match self.watches.as_ref()?.add(fd) {
            Ok(watch) => Some(watch),
            Err(code) => {
                if matches!(code, Errno::NOSPC | Errno::NOMEM) {
                    self.left_out.no_room(path);
                }
                None
            }
        }
    }

    /// Adds the node of a directory.
    fn plant(&mut self, job: &Job, inode: Inode, watch: Option<i32>, listed: &Listed) -> Id {
        let role = if listed.nested { Role::Nested } else { Role::Open };
        let depth = job.place.above.as_ref().map_or(0, |above| above.depth + 1);
        self.add_node(Node {
            parent: job.parent,
            name: job.place.name.clone(),
            depth,
            inode,
            dir: listed.dir.clone(),
            children: FxHashMap::default(),
            how: watch.map_or(How::Polled(Snapshot::default()), How::Watched),
            role,
            rules: listed.rules,
            barred: false,
            blind: false,
        })
    }

    fn add_node(&mut self, node: Node) -> Id {
        let id = self.next;
        self.next += 1;
        match node.how {
            How::Watched(watch) => self.by_watch.entry(watch).or_default().push(id),
            How::Polled(_) => {
                self.polled.insert(id);
            }
        }
        match node.parent.map(|parent| self.nodes.get_mut(&parent)) {
            None => self.root = Some(id),
            Some(None) => {}
            Some(Some(parent)) => {
                parent.children.insert(node.name.clone(), id);
            }
        }
        self.deciding += usize::from(node.role == Role::Git);
        self.nodes.insert(id, node);
        id
    }

    /// What is below a directory: told, or to be taken in too.
    fn branch(
        &self,
        id: Id,
        told: Told,
        listed: &Listed,
        entries: Vec<(Vec<u8>, Entry)>,
        jobs: &mut Vec<Job>,
        out: &mut Changes,
    ) {
        if listed.has(".git") && self.policy.has_rules() {
            let name = b".git".to_vec();
            let place = Place { above: Some(listed.above()), name, below: 0..0 };
            jobs.push(Job { place, parent: Some(id), as_git: true, told: Told::Nothing });
        }
        for (name, entry) in entries {
            match entry {
                Entry::Dir(place, _) => {
                    let told = self.told_below(told, &name);
                    jobs.push(Job { place, parent: Some(id), as_git: false, told });
                }
                Entry::Leaf(kind, stat) if matches!(told, Told::All) => {
                    if let Some(path) = self.policy.path_of(&listed.dir, &name) {
                        out.event(EventOp::Create, kind, path, stat);
                    }
                }
                Entry::Leaf(..) => {}
            }
        }
    }

    fn told_below(&self, told: Told, name: &[u8]) -> Told {
        let Told::Unlike(old) = told else { return told };
        let child = self.nodes.get(&old).and_then(|old| old.children.get(name));
        child.map_or(Told::All, |child| Told::Unlike(*child))
    }

    /// A `.git` directory beside files that are in: when it becomes a repository's, or ceases to be
    /// one, its parent is to be judged again.
    fn take_git(&mut self, job: &Job) {
        let Ok(fd) = job.place.open(&self.policy) else { return };
        let (Ok(stat), Some(above)) = (listing::stat_open(&fd), &job.place.above) else { return };
        let Some(watch) = self.watches.as_ref().and_then(|w| w.add(fd.as_fd()).ok()) else {
            return;
        };
        let rules = crate::admit::RuleFiles::default();
        let dir = self.policy.enter(&above.dir, &job.place.name, 0..0, rules);
        self.add_node(Node {
            parent: job.parent,
            name: job.place.name.clone(),
            depth: above.depth + 1,
            inode: (stat.dev, stat.ino),
            dir,
            children: FxHashMap::default(),
            how: How::Watched(watch),
            role: Role::Git,
            rules: None,
            barred: false,
            blind: false,
        });
    }

    /// Lets go of a directory and all below it. The map of watches is the authority: a watch that
    /// another node has too stays.
    fn fell(&mut self, id: Id) {
        let mut ids = vec![id];
        while let Some(id) = ids.pop() {
            let Some(node) = self.nodes.remove(&id) else { continue };
            ids.extend(node.children.into_values());
            self.deciding -= usize::from(node.role == Role::Git);
            self.polled.remove(&id);
            if let How::Watched(watch) = node.how {
                self.unwatch(watch, id);
            }
        }
    }

    fn unwatch(&mut self, watch: i32, id: Id) {
        let Some(ids) = self.by_watch.get_mut(&watch) else { return };
        ids.retain(|other| *other != id);
        if !ids.is_empty() {
            return;
        }
        self.by_watch.remove(&watch);
        let needed = self.above.contains(&watch) || self.controls.has(watch);
        if let (false, Some(watches)) = (needed, &self.watches) {
            watches.remove(watch);
        }
    }
}
