//! A lock that one process at a time holds, and that its death releases.

use std::fs::File;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::Path;
use std::time::Duration;

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;

use crate::error::{Error, Result};
use crate::regular::{self, Links};
use crate::store::db::lock_patiently;
use crate::store::file::cannot_write;
use crate::visible::quote;

/// A held lock; dropped with the value.
#[derive(Debug)]
pub struct Lock(File);

impl Lock {
    /// Takes the lock; `None` when another process has it.
    pub fn try_take(path: &Path) -> Result<Option<Lock>> {
        let shown = || quote(path);
        let file = regular::open_own(path).map_err(|e| cannot_write(path, &e))?;
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => Ok(Some(Lock(file))),
            Err(Errno::WOULDBLOCK) => Ok(None),
            Err(e) => Err(Error::io("lock", shown(), &e.into())),
        }
    }

    /// Takes the lock, waiting for its holder. `waits` is told again and again how long that has
    /// taken so far.
    pub fn take(path: &Path, waits: &mut dyn FnMut(Duration)) -> Result<Lock> {
        lock_patiently(path, waits).map(Lock)
    }

    /// Leaves word in the file of who holds it, for [`Lock::holder`].
    pub fn sign(&mut self, word: &str) -> std::io::Result<()> {
        self.0.set_len(0)?;
        self.0.write_all_at(word.as_bytes(), 0)
    }

    /// What the holder has left word of; `None` when nobody holds the lock.
    pub fn holder(path: &Path) -> Option<String> {
        let file = regular::open(path, Links::Refuse).ok()?;
        match flock(&file, FlockOperation::NonBlockingLockShared) {
            Err(Errno::WOULDBLOCK) => {
                let mut word = vec![0; 256];
                let read = file.read_at(&mut word, 0).unwrap_or(0);
                Some(String::from_utf8_lossy(&word[..read]).into_owned())
            }
            _ => None,
        }
    }

    /// Whether the file at `path` is still the one that is locked.
    pub fn is_at(&self, path: &Path) -> bool {
        let place = |meta: std::fs::Metadata| (meta.dev(), meta.ino());
        let own = self.0.metadata().map(place).ok();
        own.is_some() && own == path.symlink_metadata().map(place).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_at_a_time() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("run.lock");
        let held = Lock::try_take(&path).unwrap();
        assert!(held.is_some());
        assert!(Lock::try_take(&path).unwrap().is_none());
        let mut held = held.unwrap();
        held.sign("who").unwrap();
        assert_eq!(Lock::holder(&path).as_deref(), Some("who"));
        assert!(held.is_at(&path));
        drop(held);
        assert_eq!(Lock::holder(&path), None);
        assert!(Lock::try_take(&path).unwrap().is_some());
    }
}
