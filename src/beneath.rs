//! Opening a file below a root and nowhere else: no component may be a symbolic link, and a path
//! may be longer than the system's PATH_MAX.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;

use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, openat, statat};
use rustix::io::Errno;

use crate::record::RepoPath;
use crate::regular;

/// Not blocking: opening a FIFO that took a file's place must not wait for a writer.
const READ: OFlags =
    OFlags::RDONLY.union(OFlags::CLOEXEC).union(OFlags::NOFOLLOW).union(OFlags::NONBLOCK);

/// How much of a path one call may take; the system's PATH_MAX is 4,096 with the end.
const LONGEST: usize = 4000;

/// A root folder, held open.
#[derive(Debug)]
pub struct Root(OwnedFd);

impl Root {
    /// Opens the folder.
    pub fn open(path: &Path) -> io::Result<Root> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        Ok(Root(openat(CWD, path, flags, Mode::empty())?))
    }

    /// Opens a file below it for reading.
    ///
    /// # Errors
    /// `ELOOP` or `ENOTDIR` when a component is a symbolic link; [`regular::is_other`] when what is
    /// there is no regular file; else as open(2).
    pub fn open_file(&self, path: &RepoPath) -> io::Result<File> {
        let opened = match self.at_once(path) {
            Err(Errno::NOSYS | Errno::NAMETOOLONG | Errno::PERM) => self.step_by_step(path),
            other => other,
        };
        regular::checked(opened?)
    }

    /// What is at a path below it; links on the way are followed, one at its end is not, and a path
    /// longer than PATH_MAX leads through none.
    ///
    /// # Errors
    /// As lstat(2).
    pub fn file_type(&self, path: &RepoPath) -> io::Result<FileType> {
        let look = |dir: BorrowedFd<'_>, name: &[u8]| {
            statat(dir, name, AtFlags::SYMLINK_NOFOLLOW)
                .map(|stat| FileType::from_raw_mode(stat.st_mode))
        };
        let bytes = path.as_bytes();
        let found = look(self.0.as_fd(), bytes);
        match (found, bytes.iter().rposition(|b| *b == b'/')) {
            (Err(Errno::NAMETOOLONG), Some(last)) => {
                let folder = open_folder(&self.0, &bytes[..last])?;
                Ok(look(folder.as_fd(), &bytes[last + 1..])?)
            }
            (found, _) => Ok(found?),
        }
    }

    /// One call, with the kernel's word that no link was followed (Linux 5.6).
    #[cfg(all(target_os = "linux", not(auwai_portable)))]
    fn at_once(&self, path: &RepoPath) -> Result<OwnedFd, Errno> {
        use rustix::fs::{ResolveFlags, openat2};
        let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS;
        openat2(&self.0, path.as_bytes(), READ, Mode::empty(), resolve)
    }

    #[cfg(not(all(target_os = "linux", not(auwai_portable))))]
    fn at_once(&self, _: &RepoPath) -> Result<OwnedFd, Errno> {
        Err(Errno::NOSYS)
    }

    fn step_by_step(&self, path: &RepoPath) -> Result<OwnedFd, Errno> {
        let bytes = path.as_bytes();
        let Some(last) = bytes.iter().rposition(|b| *b == b'/') else {
            return openat(&self.0, bytes, READ, Mode::empty());
        };
        let folder = open_folder(&self.0, &bytes[..last])?;
        openat(&folder, &bytes[last + 1..], READ, Mode::empty())
    }
}

/// Opens the folder at a path below an open one, following no link. A path of any depth takes few
/// calls: as much of it at once as the system allows.
pub fn open_folder(from: impl AsFd, path: &[u8]) -> Result<OwnedFd, Errno> {
    let mut at: Option<OwnedFd> = None;
    let mut rest = path;
    while !rest.is_empty() {
        let (piece, after) = split(rest);
        let parent = at.as_ref().map_or(from.as_fd(), AsFd::as_fd);
        at = Some(match folder_at_once(parent, piece) {
            Err(Errno::NOSYS | Errno::PERM) => folder_step_by_step(parent, piece)?,
            other => other?,
        });
        rest = after;
    }
    at.ok_or(Errno::NOENT)
}

/// As many components as one call takes, and the rest.
fn split(path: &[u8]) -> (&[u8], &[u8]) {
    let Some(within) = path.get(..LONGEST) else { return (path, b"") };
    match within.iter().rposition(|b| *b == b'/') {
        Some(slash) => (&path[..slash], &path[slash + 1..]),
        // One name longer than any can be: opening it says so.
        None => (path, b""),
    }
}

#[cfg(all(target_os = "linux", not(auwai_portable)))]
fn folder_at_once(parent: BorrowedFd<'_>, path: &[u8]) -> Result<OwnedFd, Errno> {
    use rustix::fs::{ResolveFlags, openat2};
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS;
    openat2(parent, path, READ | OFlags::DIRECTORY, Mode::empty(), resolve)
}

#[cfg(not(all(target_os = "linux", not(auwai_portable))))]
fn folder_at_once(_: BorrowedFd<'_>, _: &[u8]) -> Result<OwnedFd, Errno> {
    Err(Errno::NOSYS)
}

fn folder_step_by_step(parent: BorrowedFd<'_>, path: &[u8]) -> Result<OwnedFd, Errno> {
    let flags = READ | OFlags::DIRECTORY;
    let mut at: Option<OwnedFd> = None;
    for name in path.split(|b| *b == b'/') {
        let parent = at.as_ref().map_or(parent, AsFd::as_fd);
        at = Some(openat(parent, name, flags, Mode::empty())?);
    }
    at.ok_or(Errno::NOENT)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;

    fn path(text: &str) -> RepoPath {
        RepoPath::new(text).unwrap()
    }

    #[test]
    fn no_link_is_followed() {
        let (root, outside) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        std::fs::write(outside.path().join("secret"), "x").unwrap();
        std::os::unix::fs::symlink(outside.path(), root.path().join("gate")).unwrap();
        std::os::unix::fs::symlink("f", root.path().join("link")).unwrap();
        std::fs::write(root.path().join("f"), "y").unwrap();
        let open = Root::open(root.path()).unwrap();
        assert!(open.open_file(&path("gate/secret")).is_err());
        assert!(open.open_file(&path("link")).is_err());
        assert!(open.step_by_step(&path("gate/secret")).is_err());
        assert!(open_folder(&open.0, b"gate").is_err());
        assert!(folder_step_by_step(open.0.as_fd(), b"gate").is_err());
        assert!(open.open_file(&path("f")).is_ok());
    }

    #[test]
    fn a_path_may_be_longer_than_path_max() {
        let root = tempfile::tempdir().unwrap();
        let open = Root::open(root.path()).unwrap();
        let name = "n".repeat(250);
        let mut at = openat(CWD, root.path(), OFlags::DIRECTORY, Mode::empty()).unwrap();
        for _ in 0..20 {
            rustix::fs::mkdirat(&at, name.as_str(), Mode::RWXU).unwrap();
            at = openat(&at, name.as_str(), OFlags::DIRECTORY, Mode::empty()).unwrap();
        }
        let flags = OFlags::CREATE | OFlags::WRONLY;
        let file = openat(&at, "f", flags, Mode::RUSR | Mode::WUSR).unwrap();
        rustix::io::write(&file, b"deep").unwrap();
        let deep = path(&format!("{}f", format!("{name}/").repeat(20)));
        let mut text = String::new();
        open.open_file(&deep).unwrap().read_to_string(&mut text).unwrap();
        assert_eq!(text, "deep");
        assert_eq!(open.file_type(&deep).unwrap(), FileType::RegularFile);
        let folder = &deep.as_bytes()[..deep.as_bytes().len() - 2];
        let by_steps = folder_step_by_step(open.0.as_fd(), folder).unwrap();
        let at_once = open_folder(&open.0, folder).unwrap();
        let ino = |fd: &OwnedFd| rustix::fs::fstat(fd).unwrap().st_ino;
        assert_eq!(ino(&at_once), ino(&by_steps));
    }
}
