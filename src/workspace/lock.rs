//! A lock that one process at a time holds, and that its death releases.

use std::fs::File;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;

use crate::error::{Error, Result};
use crate::regular;
use crate::store::file::cannot_write;
use crate::visible::quote_path;

/// A held lock; dropped with the value.
#[derive(Debug)]
pub struct Lock(#[allow(dead_code, reason = "its being open is the lock")] File);

impl Lock {
    /// Takes the lock; `None` when another process has it.
    pub fn try_take(path: &Path) -> Result<Option<Lock>> {
        let shown = || quote_path(path.as_os_str().as_bytes()).into_owned();
        let file = regular::open_own(path).map_err(|e| cannot_write(path, &e))?;
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => Ok(Some(Lock(file))),
            Err(Errno::WOULDBLOCK) => Ok(None),
            Err(e) => Err(Error::io("lock", shown(), &e.into())),
        }
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
        drop(held);
        assert!(Lock::try_take(&path).unwrap().is_some());
    }
}
