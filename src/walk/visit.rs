//! One directory: list it, judge every name, hand on what is below.

use std::os::fd::OwnedFd;
use std::sync::{Arc, OnceLock};

use rustix::fs::FileType;
use rustix::io::Errno as Code;

use super::job::{Job, Way};
use super::queue::Queue;
use super::{Entry, Errno, Kind, Stat};
use crate::admit::{
    Child, Dir, GIT_RULES, OWN_RULES, Policy, RuleFiles, Ruling, Tracked, is_repository,
};
use crate::listing::{self, HELD_DEPTH, Listing};

/// Entries are handed on in batches of about this many.
const BATCH: usize = 1024;

/// A directory being visited: open, or known by git's index alone.
pub(super) struct Here {
    pub(super) dir: Dir,
    pub(super) fd: Option<Arc<OwnedFd>>,
    pub(super) depth: usize,
}

/// What one thread of a walk works with.
pub struct Visitor<'a> {
    pub(super) policy: &'a Policy,
    tracked: &'a Tracked,
    sink: &'a (dyn Fn(Vec<Entry>) + Sync),
    queue: &'a Queue<Job>,
    differing: &'a OnceLock<usize>,
    batch: Vec<Entry>,
    jobs: Vec<Job>,
}

impl<'a> Visitor<'a> {
    /// Ready to run; `differing` gets a tracked entry that differs from git's index.
    pub fn new(
        policy: &'a Policy,
        sink: &'a (dyn Fn(Vec<Entry>) + Sync),
        queue: &'a Queue<Job>,
        differing: &'a OnceLock<usize>,
    ) -> Self {
        let tracked = policy.tracked();
        let (batch, jobs) = (Vec::with_capacity(BATCH), Vec::new());
        Visitor { policy, tracked, sink, queue, differing, batch, jobs }
    }

    /// Takes jobs until none is left.
    pub fn run(mut self) {
        self.queue.push(std::mem::take(&mut self.jobs));
        while let Some(mut taken) = self.queue.take() {
            if let Some(job) = taken.job() {
                self.visit(job);
            }
            self.queue.push(std::mem::take(&mut self.jobs));
            if self.batch.len() >= BATCH {
                (self.sink)(std::mem::replace(&mut self.batch, Vec::with_capacity(BATCH)));
            }
        }
        if !self.batch.is_empty() {
            (self.sink)(self.batch);
        }
    }

    fn visit(&mut self, job: Job) {
        let (fd, depth) = match job.way {
            Way::Name(ref fd, depth) => (fd.clone(), depth),
            Way::None(error) => return self.visit_gone(&job, error),
            Way::Root(fd) => {
                let listing = Listing::read(&fd);
                let dir = self.policy.root(self.rule_files(&fd, &listing));
                return self.contents(&Here { dir, fd: Some(Arc::new(fd)), depth: 0 }, &listing);
            }
        };
        match job.open(self.policy, fd) {
            Ok(fd) => self.visit_open(&job, fd, depth),
            Err((code, search)) => self.visit_closed(&job, code, search, depth),
        }
    }

    fn rule_files(&self, fd: &OwnedFd, listing: &Listing) -> RuleFiles {
        let any = listing
            .iter()
            .any(|(name, _)| name == GIT_RULES.as_bytes() || name == OWN_RULES.as_bytes());
        if any { RuleFiles::read(fd, self.policy.in_git()) } else { RuleFiles::default() }
    }

    fn visit_open(&mut self, job: &Job, fd: OwnedFd, depth: usize) {
        let listing = Listing::read(&fd);
        if job.below.is_empty() && listing.has(".git") && is_repository(&fd) {
            return self.emit(&job.parent, &job.name, job.entry.is_some(), Kind::Repository);
        }
        match listing.error {
            Some(code) => self.emit_unreadable(job, code),
            None => self.emit_absent(&job.parent, &job.name, job.entry),
        }
        let files = self.rule_files(&fd, &listing);
        let dir = self.policy.enter(&job.parent, &job.name, job.below.clone(), files);
        self.contents(&Here { dir, fd: Some(Arc::new(fd)), depth }, &listing);
    }

    /// A directory that cannot be listed, or that has gone since its parent was listed.
    fn visit_closed(&mut self, job: &Job, code: Code, search: Option<OwnedFd>, depth: usize) {
        if is_gone(code) {
            self.emit_absent(&job.parent, &job.name, job.entry);
            return self.visit_gone(job, None);
        }
        self.emit_unreadable(job, code);
        let Some(fd) = search else { return self.visit_gone(job, Some(code)) };
        let files = RuleFiles::read(&fd, self.policy.in_git());
        let dir = self.policy.enter(&job.parent, &job.name, job.below.clone(), files);
        let listing = Listing::failed(Some(code));
        self.contents(&Here { dir, fd: Some(Arc::new(fd)), depth }, &listing);
    }

    /// A directory known by what git tracks below it.
    fn visit_gone(&mut self, job: &Job, error: Option<Code>) {
        let files = RuleFiles::default();
        let dir = self.policy.enter(&job.parent, &job.name, job.below.clone(), files);
        let listing = Listing::failed(error);
        self.contents(&Here { dir, fd: None, depth: 0 }, &listing);
    }

    fn contents(&mut self, here: &Here, listing: &Listing) {
        let children = self.tracked.children(here.dir.tracked(), here.dir.prefix());
        let mut seen = vec![false; children.len()];
        for (name, file_type) in listing.iter() {
            let at = children.binary_search_by(|child| child.name.cmp(name)).ok();
            if let Some(at) = at {
                seen[at] = true;
            }
            self.name(here, name, file_type, at.map(|at| &children[at]));
        }
        for (child, _) in children.iter().zip(seen).filter(|(_, seen)| !seen) {
            match listing.error {
                Some(code) => self.unlisted(here, child, code),
                None => self.missing(here, child),
            }
        }
    }

    /// A name that the directory has.
    pub(super) fn name(
        &mut self,
        here: &Here,
        name: &[u8],
        file_type: FileType,
        child: Option<&Child<'_>>,
    ) {
        let Some(fd) = &here.fd else { return };
        match file_type {
            FileType::Directory => self.directory(here, name, child),
            FileType::Unknown => match listing::stat(fd, name) {
                Ok(stat) if stat.file_type() == FileType::Directory => {
                    self.directory(here, name, child);
                }
                stat => self.file(here, name, child, || stat),
            },
            _ => self.file(here, name, child, || listing::stat(fd, name)),
        }
    }

    fn directory(&mut self, here: &Here, name: &[u8], child: Option<&Child<'_>>) {
        let entry = child.and_then(|child| child.entry);
        let below = child.map_or(0..0, |child| child.below.clone());
        let is_submodule =
            below.is_empty() && entry.is_some_and(|at| self.tracked.is_submodule(at));
        let tracked = is_submodule || !below.is_empty();
        if let Ruling::Ignored(rule) = self.policy.judge(&here.dir, name, true, tracked) {
            return self.emit(&here.dir, name, entry.is_some(), Kind::Ignored(rule));
        }
        if is_submodule {
            return self.emit(&here.dir, name, true, Kind::Repository);
        }
        let fd = here.fd.clone().filter(|_| here.depth < HELD_DEPTH);
        let (way, parent) = (Way::Name(fd, here.depth + 1), here.dir.clone());
        self.jobs.push(Job { way, parent, name: name.to_vec(), entry, below });
    }

    /// Anything but a directory.
    fn file(
        &mut self,
        here: &Here,
        name: &[u8],
        child: Option<&Child<'_>>,
        stat: impl FnOnce() -> rustix::io::Result<Stat>,
    ) {
        if let Some(child) = child {
            self.gone_below(here, child, true, None);
        }
        let entry = child.and_then(|child| child.entry);
        match self.policy.judge(&here.dir, name, false, entry.is_some()) {
            Ruling::Admitted | Ruling::TrackedOnly(_) => self.stated(here, name, entry, stat()),
            Ruling::Ignored(rule) => {
                self.emit(&here.dir, name, entry.is_some(), Kind::Ignored(rule));
            }
        }
    }

    /// An admitted file, by what `lstat` says now.
    fn stated(
        &mut self,
        here: &Here,
        name: &[u8],
        entry: Option<usize>,
        stat: rustix::io::Result<Stat>,
    ) {
        let stat = match stat {
            Ok(stat) => stat,
            Err(code) if is_gone(code) => return self.emit_absent(&here.dir, name, entry),
            Err(code) => return self.emit(&here.dir, name, entry.is_some(), unreadable(code)),
        };
        if let Some(at) = entry {
            self.compare(at, Some(&stat));
        }
        let kind = match stat.file_type() {
            FileType::RegularFile => Kind::File,
            FileType::Symlink => Kind::Symlink,
            FileType::Directory => return self.directory_by_surprise(here, name, entry),
            _ => Kind::Special,
        };
        let tracked = entry.is_some();
        self.push(&here.dir, name, tracked, kind, Some(stat));
    }

    /// A directory that was no directory when its parent was listed, or whose parent has no list.
    fn directory_by_surprise(&mut self, here: &Here, name: &[u8], entry: Option<usize>) {
        let child = Child { name, entry, below: 0..0 };
        self.directory(here, name, Some(&child));
    }

    /// A tracked child of a directory that could not be listed whole.
    pub(super) fn unlisted(&mut self, here: &Here, child: &Child<'_>, code: Code) {
        if child.below.is_empty() {
            let stat = || here.fd.as_ref().map_or(Err(code), |fd| listing::stat(fd, child.name));
            return self.file(here, child.name, Some(child), stat);
        }
        match here.fd {
            Some(_) => self.directory(here, child.name, Some(child)),
            None => self.gone_below(here, child, false, Some(code)),
        }
    }

    /// A tracked child that the directory does not have.
    pub(super) fn missing(&mut self, here: &Here, child: &Child<'_>) {
        self.emit_absent(&here.dir, child.name, child.entry);
        self.gone_below(here, child, child.entry.is_some(), None);
    }

    /// Tracked paths below a name that is no directory now, or below one that cannot be reached.
    /// `has_entry`: the name itself has got its entry already.
    fn gone_below(&mut self, here: &Here, child: &Child<'_>, has_entry: bool, error: Option<Code>) {
        if child.below.is_empty() {
            return;
        }
        match self.policy.judge(&here.dir, child.name, true, true) {
            Ruling::Ignored(_) if has_entry => {}
            Ruling::Ignored(rule) => {
                self.emit(&here.dir, child.name, false, Kind::Ignored(rule));
            }
            Ruling::Admitted | Ruling::TrackedOnly(_) => {
                let (parent, name) = (here.dir.clone(), child.name.to_vec());
                let below = child.below.clone();
                self.jobs.push(Job { way: Way::None(error), parent, name, entry: None, below });
            }
        }
    }

    fn emit_absent(&mut self, dir: &Dir, name: &[u8], entry: Option<usize>) {
        let Some(at) = entry else { return };
        self.compare(at, None);
        let kind = match self.policy.judge(dir, name, self.tracked.is_directory(at), true) {
            Ruling::Ignored(rule) => Kind::Ignored(rule),
            Ruling::Admitted | Ruling::TrackedOnly(_) => Kind::Absent,
        };
        self.emit(dir, name, true, kind);
    }

    fn emit_unreadable(&mut self, job: &Job, code: Code) {
        self.emit(&job.parent, &job.name, job.entry.is_some(), unreadable(code));
    }

    fn compare(&self, entry: usize, now: Option<&Stat>) {
        if self.differing.get().is_none() && self.policy.is_dirty(entry, now) {
            let _ = self.differing.set(entry);
        }
    }

    fn emit(&mut self, dir: &Dir, name: &[u8], tracked: bool, kind: Kind) {
        self.push(dir, name, tracked, kind, None);
    }

    fn push(&mut self, dir: &Dir, name: &[u8], tracked: bool, kind: Kind, stat: Option<Stat>) {
        // A hostile index can name what is no path here; the walk has not gone there.
        if let Some(path) = self.policy.path_of(dir, name) {
            self.batch.push(Entry { path, kind, tracked, stat });
        }
    }
}

fn unreadable(code: Code) -> Kind {
    Kind::Unreadable(Errno(code))
}

pub(super) fn is_gone(code: Code) -> bool {
    matches!(code, Code::NOENT | Code::NOTDIR | Code::LOOP)
}
