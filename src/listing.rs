//! Opening, listing and stating, always relative to an open directory: no link is followed, and a
//! path may be longer than the system's PATH_MAX.

use std::collections::BTreeSet;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;

use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags};
use rustix::io::{Errno, Result};

use crate::admit::Stat;
use crate::beneath::open_folder;
use crate::record::RepoPath;

/// The names in one directory, in one allocation.
#[derive(Debug, Default)]
pub struct Listing {
    bytes: Vec<u8>,
    names: Vec<(usize, FileType)>,
    /// What ended the listing early.
    pub error: Option<Errno>,
}

impl Listing {
    /// Lists an open directory.
    pub fn read(dir: impl AsFd) -> Self {
        let mut listing = Listing::default();
        if let Err(error) = listing.fill(dir) {
            listing.error = Some(error);
        }
        listing
    }

    /// The listing of a directory that cannot be listed, or (`None`) that is not there.
    pub fn failed(error: Option<Errno>) -> Self {
        Listing { error, ..Listing::default() }
    }

    /// Adds names that it has not.
    pub fn add<'a>(&mut self, names: impl Iterator<Item = &'a [u8]>) {
        let known: BTreeSet<Vec<u8>> = self.iter().map(|(name, _)| name.to_vec()).collect();
        for name in names.filter(|name| !known.contains(*name)) {
            self.bytes.extend_from_slice(name);
            self.names.push((self.bytes.len(), FileType::Unknown));
        }
    }

    fn fill(&mut self, dir: impl AsFd) -> Result<()> {
        for entry in Dir::read_from(dir)? {
            let entry = entry?;
            let name = entry.file_name().to_bytes();
            if name != b"." && name != b".." {
                self.bytes.extend_from_slice(name);
                self.names.push((self.bytes.len(), entry.file_type()));
            }
        }
        Ok(())
    }

    /// Name and type; the type is unknown on some file systems.
    pub fn iter(&self) -> impl Iterator<Item = (&[u8], FileType)> {
        let mut start = 0;
        self.names.iter().map(move |(end, file_type)| {
            let name = &self.bytes[start..*end];
            start = *end;
            (name, *file_type)
        })
    }

    /// Whether it has this name.
    pub fn has(&self, name: &str) -> bool {
        self.iter().any(|(other, _)| other == name.as_bytes())
    }
}

/// Deeper directories are reached from the root again instead of holding the one above open: so the
/// number of open files has a bound whatever the tree.
pub const HELD_DEPTH: usize = 64;

const DIRECTORY: OFlags = OFlags::DIRECTORY.union(OFlags::CLOEXEC);

/// Opens the root, which may be given through a link.
pub fn open_root(path: &Path) -> Result<OwnedFd> {
    rustix::fs::open(path, DIRECTORY | OFlags::RDONLY, Mode::empty())
}

/// Opens a directory below a root, following no link on the way; `None`: the root itself.
pub fn open_below(root: &Path, path: Option<&RepoPath>) -> Result<OwnedFd> {
    let root = open_root(root)?;
    match path {
        Some(path) => open_folder(&root, path.as_bytes()),
        None => Ok(root),
    }
}

/// Opens a directory to list it. A link in its place is `ELOOP` or `ENOTDIR`.
pub fn open_dir(dir: impl AsFd, name: &[u8]) -> Result<OwnedFd> {
    let flags = DIRECTORY | OFlags::RDONLY | OFlags::NOFOLLOW;
    rustix::fs::openat(dir, name, flags, Mode::empty())
}

/// Opens a directory that may not be listed, to look up names in it.
#[cfg(all(target_os = "linux", not(auwai_portable)))]
pub fn open_to_search(dir: impl AsFd, name: &[u8]) -> Result<OwnedFd> {
    let flags = DIRECTORY | OFlags::PATH | OFlags::NOFOLLOW;
    rustix::fs::openat(dir, name, flags, Mode::empty())
}

/// Opens a directory that may not be listed, to look up names in it: not possible here.
#[cfg(not(all(target_os = "linux", not(auwai_portable))))]
pub fn open_to_search(_dir: impl AsFd, _name: &[u8]) -> Result<OwnedFd> {
    Err(Errno::ACCESS)
}

/// Opens a directory below a root that may not be listed, to look up names in it.
pub fn open_below_to_search(root: &Path, path: &RepoPath) -> Result<OwnedFd> {
    let bytes = path.as_bytes();
    let root = open_root(root)?;
    match memchr::memrchr(b'/', bytes) {
        // Those above may be no more than searched either; on the way that is enough.
        Some(at) => open_to_search(open_folder(&root, &bytes[..at])?, &bytes[at + 1..]),
        None => open_to_search(&root, bytes),
    }
}

/// `fstat`.
pub fn stat_open(file: impl AsFd) -> Result<Stat> {
    rustix::fs::fstat(file).map(|stat| Stat::from(&stat))
}

/// The device and inode of the directory at a path, which may be given through a link; `None` when
/// there is none.
pub fn inode(dir: &Path) -> Option<(u64, u64)> {
    let stat = stat_open(open_root(dir).ok()?).ok()?;
    Some((stat.dev, stat.ino))
}

/// `lstat`.
pub fn stat(dir: impl AsFd, name: &[u8]) -> Result<Stat> {
    rustix::fs::statat(dir, name, AtFlags::SYMLINK_NOFOLLOW).map(|stat| Stat::from(&stat))
}
