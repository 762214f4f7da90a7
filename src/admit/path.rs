//! The verdict on one path, without a walk: for events and for `why`.

use std::ops::Range;
use std::os::fd::OwnedFd;

use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;

use super::Stat;
use super::chain::{Dir, Ruling};
use super::gitdir::is_repository;
use super::policy::Policy;
use super::rules::{Rule, RuleFiles};
use super::tracked::Child;
use crate::record::RepoPath;

/// What admission says about one path, with all that lies above it.
#[derive(Debug, Clone)]
pub enum Verdict {
    /// It is in.
    Admitted,
    /// It is out by a rule, its own or that of a directory above; for a directory in which tracked
    /// files are in all the same, see [`Ruling::TrackedOnly`].
    Ignored(Rule),
    /// It belongs to the nested repository or submodule at this path.
    Nested(RepoPath),
    /// It lies beyond this symbolic link, or below this file, so it is not in the tree.
    Beyond(RepoPath),
    /// It lies below this directory, which cannot be listed; only what git tracks there is known.
    Closed(RepoPath, Errno),
}

/// What a step down the path led to.
enum Step {
    Down(Dir, Option<OwnedFd>, Option<Errno>),
    Stop(Verdict),
}

impl Policy {
    /// Whether git's index has exactly this path.
    pub fn is_tracked(&self, path: &RepoPath) -> bool {
        self.find(path).0.is_some()
    }

    /// Whether git's index has this path as a file or a link, so that a directory in its place is
    /// something else.
    pub fn is_tracked_file(&self, path: &RepoPath) -> bool {
        self.find(path).0.is_some_and(|at| !self.tracked().is_directory(at))
    }

    /// Whether git's index has this path, or something below it.
    pub fn holds_tracked(&self, path: &RepoPath) -> bool {
        let (entry, below) = self.find(path);
        entry.is_some() || !below.is_empty()
    }

    /// In git: whether the file now at `path` is tracked and, by its stat data, as git's index has
    /// it.
    pub fn is_clean(&self, path: &RepoPath, now: &Stat) -> Option<bool> {
        let clean = |entry| !self.is_dirty(entry, Some(now));
        self.in_git().then(|| self.find(path).0.is_some_and(clean))
    }

    /// Whether what is now at a path that git tracks (`None`: nothing) differs from git's index by
    /// its stat data.
    pub fn differs(&self, path: &RepoPath, now: Option<&Stat>) -> bool {
        self.find(path).0.is_some_and(|entry| self.is_dirty(entry, now))
    }

    /// The path of a tracked entry; a hostile index has entries that have none.
    pub fn path_of_entry(&self, entry: usize) -> Option<RepoPath> {
        let below_top = self.tracked().path(entry).strip_prefix(self.top_path())?;
        let path = below_top.strip_prefix(b"/").unwrap_or(below_top);
        RepoPath::new(path.strip_suffix(b"/").unwrap_or(path))
    }

    /// The entry of exactly this path, and those below it.
    fn find(&self, path: &RepoPath) -> (Option<usize>, Range<usize>) {
        let mut full = self.top_path().to_vec();
        if !full.is_empty() {
            full.push(b'/');
        }
        full.extend_from_slice(path.as_bytes());
        self.tracked().find(&full)
    }

    /// What git tracks of `name` in `dir`: the entry of exactly this path, and those below it.
    pub fn child<'n>(&self, dir: &Dir, name: &'n [u8]) -> Child<'n> {
        let (entry, below) = self.tracked().find(&dir.join(name));
        Child { name, entry, below }
    }

    /// Where `path` stands, whether it exists or not. `is_dir`: a directory and no link to one.
    pub fn verdict(&self, path: &RepoPath, is_dir: bool) -> Verdict {
        let mut names: Vec<&[u8]> = path.as_bytes().split(|b| *b == b'/').collect();
        let last = names.pop().unwrap_or_default();
        let mut fd = open_root(self);
        let mut dir = self.root(read_rules(self, fd.as_ref()));
        let mut closed = None;
        for name in names {
            match self.step(&dir, fd, name) {
                Step::Down(below, its_fd, refused) => {
                    let at = || self.path_of_dir(&below);
                    closed = closed.or_else(|| refused.and_then(|e| Some((at()?, e))));
                    (dir, fd) = (below, its_fd);
                }
                Step::Stop(place) => return place,
            }
        }
        let Child { entry, below, .. } = self.child(&dir, last);
        let is_submodule = entry.is_some_and(|at| self.tracked().is_submodule(at));
        let tracked = if is_dir { !below.is_empty() || is_submodule } else { entry.is_some() };
        match (self.judge_fully(&dir, last, is_dir, tracked), closed) {
            (Ruling::Ignored(rule), _) => Verdict::Ignored(rule),
            (Ruling::TrackedOnly(rule), _) if !is_dir => Verdict::Ignored(rule),
            (_, Some((at, errno))) if !tracked => Verdict::Closed(at, errno),
            _ if is_dir => self.folder(path, fd, last, is_submodule, below.is_empty()),
            _ => Verdict::Admitted,
        }
    }

    /// An admitted directory, by what it is.
    fn folder(
        &self,
        path: &RepoPath,
        above: Option<OwnedFd>,
        name: &[u8],
        is_submodule: bool,
        untracked: bool,
    ) -> Verdict {
        let opened = above.map(|above| open_below(&above, name));
        let is_nested = || opened.as_ref().is_some_and(|fd| fd.as_ref().is_ok_and(is_repository));
        if is_submodule || untracked && is_nested() {
            return Verdict::Nested(path.clone());
        }
        match opened {
            Some(Err(errno)) if errno != Errno::NOENT => Verdict::Closed(path.clone(), errno),
            _ => Verdict::Admitted,
        }
    }

    fn step(&self, dir: &Dir, fd: Option<OwnedFd>, name: &[u8]) -> Step {
        let Child { entry, below, .. } = self.child(dir, name);
        let is_submodule = entry.is_some_and(|at| self.tracked().is_submodule(at));
        let tracked = !below.is_empty() || is_submodule;
        if let Ruling::Ignored(rule) = self.judge_fully(dir, name, true, tracked) {
            return Step::Stop(Verdict::Ignored(rule));
        }
        let here = || self.path_of(dir, name);
        let (fd, refused) = match fd.map(|fd| (open_below(&fd, name), fd)) {
            Some((Err(Errno::NOTDIR | Errno::LOOP), _)) => {
                return stop(here().map(Verdict::Beyond));
            }
            Some((Ok(fd), _)) => (Some(fd), None),
            Some((Err(Errno::NOENT), _)) | None => (None, None),
            Some((Err(e), above)) => (search_below(&above, name), Some(e)),
        };
        let is_nested = || fd.as_ref().is_some_and(is_repository);
        if below.is_empty() && (is_submodule || is_nested()) {
            return stop(here().map(Verdict::Nested));
        }
        let files = read_rules(self, fd.as_ref());
        Step::Down(self.enter(dir, name, below, files), fd, refused)
    }
}

fn stop(place: Option<Verdict>) -> Step {
    // A RepoPath's components are names, so there always is a place.
    Step::Stop(place.unwrap_or(Verdict::Ignored(Rule::Builtin)))
}

fn read_rules(policy: &Policy, fd: Option<&OwnedFd>) -> RuleFiles {
    fd.map(|fd| RuleFiles::read(fd, policy.in_git())).unwrap_or_default()
}

fn open_root(policy: &Policy) -> Option<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    rustix::fs::open(policy.root_path(), flags, Mode::empty()).ok()
}

/// A directory that may not be listed, to look up names in it, where the system has that.
#[cfg(all(target_os = "linux", not(auwai_portable)))]
fn search_below(dir: &OwnedFd, name: &[u8]) -> Option<OwnedFd> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    rustix::fs::openat(dir, name, flags, Mode::empty()).ok()
}

#[cfg(not(all(target_os = "linux", not(auwai_portable))))]
fn search_below(_: &OwnedFd, _: &[u8]) -> Option<OwnedFd> {
    None
}

fn open_below(dir: &OwnedFd, name: &[u8]) -> rustix::io::Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    rustix::fs::openat(dir, name, flags, Mode::empty())
}
