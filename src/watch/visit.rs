//! One directory: opened below its parent, listed, and each name judged.

use std::ops::Range;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;

use rustix::fs::FileType;
use rustix::io::{Errno, Result};

use crate::admit::{Dir, GIT_RULES, OWN_RULES, Policy, RuleFiles, Ruling, Stat, is_repository};
use crate::listing::{self, HELD_DEPTH, Listing};
use crate::record::{EventKind, RepoPath};

/// Where a directory is.
#[derive(Debug, Clone)]
pub struct Place {
    /// The directory above, and its rules; `None` for the root.
    pub above: Option<Above>,
    /// Its name there.
    pub name: Vec<u8>,
    /// What git tracks below it.
    pub below: Range<usize>,
}

/// A directory that another one is in.
#[derive(Debug, Clone)]
pub struct Above {
    /// Open, unless it is deep down.
    pub fd: Option<Arc<OwnedFd>>,
    /// Its rules.
    pub dir: Dir,
    /// How far below the root it is.
    pub depth: usize,
}

impl Place {
    /// The root.
    pub fn root() -> Place {
        Place { above: None, name: Vec::new(), below: 0..0 }
    }

    /// Opens the directory; a link in its place is an error.
    pub fn open(&self, policy: &Policy) -> Result<OwnedFd> {
        let Some(above) = &self.above else { return listing::open_root(policy.root_path()) };
        match &above.fd {
            Some(fd) => listing::open_dir(fd, &self.name),
            None => {
                let path = policy.path_of_dir(&above.dir);
                let fd = listing::open_below(policy.root_path(), path.as_ref())?;
                listing::open_dir(&fd, &self.name)
            }
        }
    }

    /// Opens a directory that may not be listed, to look up names in it.
    pub fn open_to_search(&self, policy: &Policy) -> Result<OwnedFd> {
        match self.path(policy) {
            Some(path) => listing::open_below_to_search(policy.root_path(), &path),
            None => Err(Errno::ACCESS),
        }
    }

    /// Its path; `None` for the root.
    pub fn path(&self, policy: &Policy) -> Option<RepoPath> {
        policy.path_of(&self.above.as_ref()?.dir, &self.name)
    }

    /// Opens the directory on the way to another one, without listing it; `None` when it is not
    /// there, or is the top of another repository.
    pub fn pass(&self, policy: &Policy) -> Option<(Arc<OwnedFd>, Above)> {
        let fd = self.open(policy).ok()?;
        if self.may_nest(policy) && is_repository(&fd) {
            return None;
        }
        let files = match policy.has_rules() {
            true => RuleFiles::read(&fd, policy.in_git()),
            false => RuleFiles::default(),
        };
        let fd = Arc::new(fd);
        let above = Above::held(&fd, self.dir(policy, files), self.depth());
        Some((fd, above))
    }

    fn may_nest(&self, policy: &Policy) -> bool {
        self.above.is_some() && policy.has_rules() && self.below.is_empty()
    }

    fn dir(&self, policy: &Policy, files: RuleFiles) -> Dir {
        match &self.above {
            None => policy.root(files),
            Some(above) => policy.enter(&above.dir, &self.name, self.below.clone(), files),
        }
    }

    fn depth(&self) -> usize {
        self.above.as_ref().map_or(0, |above| above.depth + 1)
    }
}

impl Above {
    fn held(fd: &Arc<OwnedFd>, dir: Dir, depth: usize) -> Above {
        let fd = (depth < HELD_DEPTH).then(|| Arc::clone(fd));
        Above { fd, dir, depth }
    }
}

/// A directory that has been listed.
pub struct Listed {
    fd: Arc<OwnedFd>,
    depth: usize,
    listing: Listing,
    /// Its rules.
    pub dir: Dir,
    /// Whether it is the top of another repository, which is not gone into.
    pub nested: bool,
    /// What its ignore files say, to see a change.
    pub rules: Option<blake3::Hash>,
}

/// What a name is.
#[derive(Debug)]
pub enum Entry {
    /// A directory to go into.
    Dir(Place, Stat),
    /// Anything that is told and not gone into; a submodule is a directory.
    Leaf(EventKind, Option<Stat>),
}

impl Listed {
    /// Lists the directory at `place`, which is open as `fd`.
    pub fn read(policy: &Policy, place: &Place, fd: OwnedFd) -> Listed {
        let mut listing = Listing::read(&fd);
        if let (Some(above), Some(_)) = (&place.above, listing.error) {
            // It may not be listed; but what git tracks can be looked up.
            let prefix = above.dir.prefix() + place.name.len() + 1;
            let known = policy.tracked().children(place.below.clone(), prefix);
            listing.add(known.iter().map(|child| child.name));
        }
        let nested = place.may_nest(policy) && listing.has(".git") && is_repository(&fd);
        let any = policy.has_rules() && (listing.has(GIT_RULES) || listing.has(OWN_RULES));
        let files = match any {
            true => RuleFiles::read(&fd, policy.in_git()),
            false => RuleFiles::default(),
        };
        let rules = any.then(|| hash(&files));
        let (dir, depth) = (place.dir(policy, files), place.depth());
        Listed { fd: Arc::new(fd), depth, listing, dir, nested, rules }
    }

    /// The directory, open.
    pub fn fd(&self) -> &OwnedFd {
        &self.fd
    }

    /// Whether all names in it could be listed.
    pub fn is_whole(&self) -> bool {
        self.listing.error.is_none()
    }

    /// Whether a name is in it.
    pub fn has(&self, name: &str) -> bool {
        self.listing.has(name)
    }

    /// As the directory above others.
    pub fn above(&self) -> Above {
        Above::held(&self.fd, self.dir.clone(), self.depth)
    }

    /// Every name that is in, with what it is; without `leaves`, only directories to go into.
    pub fn entries(&self, policy: &Policy, leaves: bool) -> Vec<(Vec<u8>, Entry)> {
        if self.nested {
            return Vec::new();
        }
        let above = self.above();
        let names = self
            .listing
            .iter()
            .filter(|(_, kind)| leaves || matches!(kind, FileType::Directory | FileType::Unknown));
        names
            .filter_map(|(name, _)| Some((name.to_vec(), entry(policy, &above, &self.fd, name)?)))
            .collect()
    }
}

fn hash(files: &RuleFiles) -> blake3::Hash {
    let mut hasher = blake3::Hasher::new();
    for file in [&files.git, &files.own] {
        hasher.update(&[u8::from(file.is_some())]);
        let bytes = file.as_deref().unwrap_or_default();
        hasher.update(&(bytes.len() as u64).to_le_bytes()).update(bytes);
    }
    hasher.finalize()
}

/// What `name` is now, if it is there and in.
pub fn entry(policy: &Policy, above: &Above, fd: impl AsFd, name: &[u8]) -> Option<Entry> {
    let stat = listing::stat(fd, name);
    match &stat {
        Err(Errno::NOENT | Errno::NOTDIR) => None,
        Ok(stat) if stat.file_type() == FileType::Directory => {
            directory(policy, above, name, *stat)
        }
        _ => is_in(policy, &above.dir, name).then(|| {
            let kind = stat.as_ref().map_or(EventKind::Other, kind);
            Entry::Leaf(kind, stat.ok())
        }),
    }
}

fn directory(policy: &Policy, above: &Above, name: &[u8], stat: Stat) -> Option<Entry> {
    let (entry, below) = policy.tracked_at(&above.dir, name);
    let is_submodule =
        below.is_empty() && entry.is_some_and(|at| policy.tracked().is_submodule(at));
    match policy.judge(&above.dir, name, true, is_submodule || !below.is_empty()) {
        Ruling::Ignored(_) => None,
        _ if is_submodule => Some(Entry::Leaf(EventKind::Dir, Some(stat))),
        _ => {
            let place = Place { above: Some(above.clone()), name: name.to_vec(), below };
            Some(Entry::Dir(place, stat))
        }
    }
}

/// Whether `name` would be in as anything but a directory.
pub fn is_in(policy: &Policy, dir: &Dir, name: &[u8]) -> bool {
    let (entry, _) = policy.tracked_at(dir, name);
    !matches!(policy.judge(dir, name, false, entry.is_some()), Ruling::Ignored(_))
}

/// Whether `name` would be in as a directory.
pub fn is_in_as_dir(policy: &Policy, dir: &Dir, name: &[u8]) -> bool {
    let (entry, below) = policy.tracked_at(dir, name);
    let tracked = entry.is_some() || !below.is_empty();
    !matches!(policy.judge(dir, name, true, tracked), Ruling::Ignored(_))
}

/// What a thing is by its type.
pub fn kind(stat: &Stat) -> EventKind {
    match stat.file_type() {
        FileType::RegularFile => EventKind::File,
        FileType::Directory => EventKind::Dir,
        FileType::Symlink => EventKind::Symlink,
        _ => EventKind::Other,
    }
}

/// Everything that is in at `place` and below, told to `sink` with its path: what a consumer would
/// find; with `ways`, also directories that are only the way to something. Ends early when `sink`
/// says so.
pub fn survey(
    policy: &Policy,
    place: Place,
    ways: bool,
    sink: &mut dyn FnMut(RepoPath, EventKind, Option<Stat>) -> bool,
) {
    let mut places = vec![place];
    while let Some(place) = places.pop() {
        let Ok(fd) = place.open(policy) else { continue };
        let listed = Listed::read(policy, &place, fd);
        let nested = place.path(policy).filter(|_| listed.nested);
        let stat = || listing::stat_open(listed.fd()).ok();
        if nested.is_some_and(|path| !sink(path, EventKind::Dir, stat())) {
            return;
        }
        for (name, entry) in listed.entries(policy, true) {
            let (kind, stat) = match entry {
                Entry::Dir(place, stat) => {
                    places.push(place);
                    if !ways {
                        continue;
                    }
                    (EventKind::Dir, Some(stat))
                }
                Entry::Leaf(kind, stat) => (kind, stat),
            };
            let path = policy.path_of(&listed.dir, &name);
            if path.is_some_and(|path| !sink(path, kind, stat)) {
                return;
            }
        }
    }
}
