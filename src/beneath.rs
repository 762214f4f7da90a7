//! Opening a file below a root and nowhere else: no component may be a symbolic link, and a path
//! may be longer than the system's PATH_MAX.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;

use rustix::fs::{CWD, Mode, OFlags, openat};
use rustix::io::Errno;

use crate::record::RepoPath;

/// Not blocking: opening a FIFO that took a file's place must not wait for a writer.
const READ: OFlags =
    OFlags::RDONLY.union(OFlags::CLOEXEC).union(OFlags::NOFOLLOW).union(OFlags::NONBLOCK);

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
    /// `ELOOP` or `ENOTDIR` when a component is a symbolic link; else as open(2).
    pub fn open_file(&self, path: &RepoPath) -> io::Result<File> {
        let opened = match self.at_once(path) {
            Err(Errno::NOSYS | Errno::NAMETOOLONG | Errno::PERM) => self.step_by_step(path),
            other => other,
        };
        Ok(File::from(opened?))
    }

    /// One call, with the kernel's word that no link was followed (Linux 5.6).
    #[cfg(target_os = "linux")]
    fn at_once(&self, path: &RepoPath) -> Result<OwnedFd, Errno> {
        use rustix::fs::{ResolveFlags, openat2};
        let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS;
        openat2(&self.0, path.as_bytes(), READ, Mode::empty(), resolve)
    }

    #[cfg(not(target_os = "linux"))]
    fn at_once(&self, _: &RepoPath) -> Result<OwnedFd, Errno> {
        Err(Errno::NOSYS)
    }

    fn step_by_step(&self, path: &RepoPath) -> Result<OwnedFd, Errno> {
        let bytes = path.as_bytes();
        let Some(last) = bytes.iter().rposition(|b| *b == b'/') else {
            return openat(&self.0, bytes, READ, Mode::empty());
        };
        let folder = self.folder(&bytes[..last])?;
        openat(&folder, &bytes[last + 1..], READ, Mode::empty())
    }

    fn folder(&self, path: &[u8]) -> Result<OwnedFd, Errno> {
        let flags = READ | OFlags::DIRECTORY;
        let mut at: Option<OwnedFd> = None;
        for name in path.split(|b| *b == b'/') {
            let parent = at.as_ref().map_or(self.0.as_fd(), AsFd::as_fd);
            at = Some(openat(parent, name, flags, Mode::empty())?);
        }
        at.ok_or(Errno::NOENT)
    }
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
    }
}
