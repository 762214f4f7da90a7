//! A folder that is held open, and the few things that are done to files in it: no link is followed, and
//! nothing waits.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::fs::{AtFlags, FileType, Mode, OFlags, openat, renameat, unlinkat};
use rustix::io::Errno;

use crate::admit::Stat;
use crate::error::{Error, Result};
use crate::listing::{self, Listing};
use crate::regular::{self, Links};
use crate::visible::quote;

/// An open folder, with the path that messages name.
#[derive(Debug)]
pub struct Dir {
    fd: OwnedFd,
    path: PathBuf,
}

impl Dir {
    /// The folder that is open.
    pub(super) fn new(fd: OwnedFd, path: PathBuf) -> Dir {
        Dir { fd, path }
    }

    /// The path of a name in it, for messages.
    pub(super) fn at(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    /// What is at a name, a link itself; `None`: nothing.
    pub(super) fn stat(&self, name: &str) -> Result<Option<Stat>> {
        match listing::stat(&self.fd, name.as_bytes()) {
            Ok(stat) => Ok(Some(stat)),
            Err(Errno::NOENT) => Ok(None),
            Err(e) => Err(cannot("look at", &self.at(name), &e.into())),
        }
    }

    /// Whether something of this type is at a name.
    pub(super) fn is(&self, name: &str, wanted: FileType) -> bool {
        self.stat(name).is_ok_and(|stat| stat.is_some_and(|stat| stat.file_type() == wanted))
    }

    /// Whether a regular file is at a name.
    pub(super) fn has_file(&self, name: &str) -> Result<bool> {
        Ok(self.stat(name)?.is_some_and(|stat| stat.file_type() == FileType::RegularFile))
    }

    /// Opens a regular file for reading; never waits.
    pub(super) fn open(&self, name: &str) -> io::Result<File> {
        regular::open_at(&self.fd, name, Links::Refuse)
    }

    /// Opens a file of our own, and makes it when there is none; never waits.
    pub(super) fn open_own(&self, name: &str) -> Result<File> {
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::CLOEXEC | OFlags::NOFOLLOW;
        let opened = openat(&self.fd, name, flags | OFlags::NONBLOCK, Mode::from_raw_mode(0o666));
        let checked = opened.map_err(io::Error::from).and_then(regular::checked);
        checked.map_err(|e| cannot("open", &self.at(name), &e))
    }

    /// The bytes of a file, at most `most`.
    pub(super) fn read(&self, name: &str, most: u64) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        self.open(name)?.take(most).read_to_end(&mut bytes)?;
        Ok(bytes)
    }

    /// The names in it.
    pub(super) fn list(&self) -> Result<Listing> {
        let listing = Listing::read(&self.fd);
        match listing.error {
            Some(e) => Err(cannot("list", &self.path, &e.into())),
            None => Ok(listing),
        }
    }

    /// Moves what is at a name, whatever it is, over what is at the other; `false` when nothing is
    /// there.
    pub(super) fn rename(&self, name: &str, into: &Dir, to: &str) -> Result<bool> {
        match renameat(&self.fd, name, &into.fd, to) {
            Ok(()) => Ok(true),
            Err(Errno::NOENT) => Ok(false),
            Err(e) => Err(self.cannot_move(name, e)),
        }
    }

    /// The same to a name that is free.
    pub(super) fn rename_to_free(&self, name: &str, into: &Dir, to: &str) -> Result<Moved> {
        match rename_to_free(&self.fd, name, &into.fd, to) {
            Ok(()) => Ok(Moved::Done),
            Err(Errno::NOENT) => Ok(Moved::NothingThere),
            Err(Errno::EXIST) => Ok(Moved::Taken),
            Err(e) => Err(self.cannot_move(name, e)),
        }
    }

    fn cannot_move(&self, name: &str, e: Errno) -> Error {
        cannot("move", &self.at(name), &e.into())
    }

    /// Puts a whole file at a name, over what is there, or only where the name is free: `None` when it
    /// is not.
    pub(super) fn put(&self, name: &str, bytes: &[u8], over: bool) -> Result<Option<Stat>> {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let fresh = format!(".{name}.{}-{number}.new", std::process::id());
        let filled = self.fill(&fresh, bytes).map_err(|e| cannot("write", &self.at(name), &e));
        let put = filled.and_then(|stat| match over {
            true => self.rename(&fresh, self, name).map(|_| Some(stat)),
            false => {
                let moved = self.rename_to_free(&fresh, self, name)?;
                Ok((moved == Moved::Done).then_some(stat))
            }
        });
        if !matches!(put, Ok(Some(_))) {
            let _ = unlinkat(&self.fd, &fresh, AtFlags::empty());
        }
        put
    }

    fn fill(&self, fresh: &str, bytes: &[u8]) -> io::Result<Stat> {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
        // Of a process with this number that was killed.
        let _ = unlinkat(&self.fd, fresh, AtFlags::empty());
        let fd = openat(&self.fd, fresh, flags | OFlags::NOFOLLOW, Mode::from_raw_mode(0o666))?;
        let mut file = File::from(fd);
        file.write_all(bytes)?;
        Ok(listing::stat_open(&file)?)
    }
}

/// What came of a move to a name that had to be free.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Moved {
    /// It is there.
    Done,
    /// Something is there already.
    Taken,
    /// There was nothing to move.
    NothingThere,
}

#[cfg(all(target_os = "linux", not(auwai_portable)))]
fn rename_to_free(from: &OwnedFd, name: &str, into: &OwnedFd, to: &str) -> rustix::io::Result<()> {
    use rustix::fs::{RenameFlags, renameat_with};
    match renameat_with(from, name, into, to, RenameFlags::NOREPLACE) {
        // The file system has no such thing.
        Err(Errno::INVAL | Errno::NOSYS) => look_and_rename(from, name, into, to),
        other => other,
    }
}

#[cfg(not(all(target_os = "linux", not(auwai_portable))))]
fn rename_to_free(from: &OwnedFd, name: &str, into: &OwnedFd, to: &str) -> rustix::io::Result<()> {
    look_and_rename(from, name, into, to)
}

fn look_and_rename(from: &OwnedFd, name: &str, into: &OwnedFd, to: &str) -> rustix::io::Result<()> {
    match listing::stat(into, to.as_bytes()) {
        Ok(_) => Err(Errno::EXIST),
        Err(_) => renameat(from, name, into, to),
    }
}

/// The error of a file or folder, with the way out.
pub(super) fn cannot(what: &str, path: &Path, e: &io::Error) -> Error {
    let error = regular::cannot(what, path, e);
    let above = || quote(path.parent().unwrap_or(path));
    match error.code() {
        "disk-full" => error.hint("make room and run the command again; nothing is half done"),
        "no-permission" => error.hint(format!("see whose it is: `ls -la {}`", above())),
        "io" => error.hint(format!("see what is there: `ls -la {}`", above())),
        _ => error,
    }
}
