//! The lock of a folder: whoever holds an inbox's alone takes pointers out of it.
//!
//! It is flock(2) on the file `.lock`, so a shell holds it too (`flock deliveries/ann/.lock …`), and
//! the death of its holder releases it.

use std::fs::File;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::time::{Duration, Instant};

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;

use super::dir::{Dir, cannot};
use crate::error::Result;
use crate::visible::quote;

/// The file.
const NAME: &str = ".lock";

/// After so long somebody is told for what this process waits.
const PATIENCE: Duration = Duration::from_millis(500);

/// Told when another process holds a lock for long.
pub type Waiting<'a> = &'a mut dyn FnMut(&str);

/// A folder whose lock this process holds, while this lives.
#[derive(Debug)]
pub struct Held {
    dir: Dir,
    _file: File,
}

impl Held {
    /// Makes sure that there is a lock to take.
    ///
    /// # Errors
    /// As [`Held::take`].
    pub(super) fn prepare(dir: &Dir) -> Result<()> {
        dir.open_own(NAME).map(drop)
    }

    /// Takes the lock of a folder; waits for whoever has it.
    ///
    /// # Errors
    /// When the file cannot be opened, or is no regular one.
    pub(super) fn take(dir: Dir, waiting: Waiting<'_>) -> Result<Held> {
        loop {
            let file = dir.open_own(NAME)?;
            let locked = wait(&file, || {
                waiting(&format!("waiting for the lock '{}'", quote(&dir.at(NAME))));
            });
            locked.map_err(|e| cannot("lock", &dir.at(NAME), &e))?;
            // Somebody may have taken the file away meanwhile: then others lock another one.
            if is_at(&file, &dir)? {
                return Ok(Held { dir, _file: file });
            }
        }
    }

    /// The folder.
    pub(super) fn dir(&self) -> &Dir {
        &self.dir
    }
}

fn wait(file: &File, long: impl FnOnce()) -> io::Result<()> {
    let begun = Instant::now();
    while begun.elapsed() < PATIENCE {
        match flock(file, FlockOperation::NonBlockingLockExclusive) {
            Err(Errno::WOULDBLOCK) => std::thread::sleep(Duration::from_millis(5)),
            other => return Ok(other?),
        }
    }
    long();
    Ok(rustix::io::retry_on_intr(|| flock(file, FlockOperation::LockExclusive))?)
}

fn is_at(file: &File, dir: &Dir) -> Result<bool> {
    let own = file.metadata().map_err(|e| cannot("look at", &dir.at(NAME), &e))?;
    let there = dir.stat(NAME)?;
    Ok(there.is_some_and(|there| (there.dev, there.ino) == (own.dev(), own.ino())))
}
