//! How the tree was when it was last told of, kept in a file: what differs is told first.
//!
//! The file is a snapshot, replaced after a batch went out, and behind it a journal of what was about
//! to be told since. So a watcher that was killed tells again what it told last, and tells of what it
//! had told and has gone. The snapshot is checked as a whole; of one that is torn, or of another root,
//! nothing is believed. A journal is believed as far as it is whole.

mod file;
mod journal;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use journal::{Journal, Told};
use rustc_hash::FxHashSet;

use super::change::{Change, Changes};
use super::{survey, tree, visit};
use crate::admit::{Policy, Stat};
use crate::error::Result;
use crate::record::{EventKind, EventOp, RepoPath, RescanReason};

/// Writing takes at most this share of the time.
const SHARE: u32 = 10;

/// What is known of a path, and whether its times were fresh then.
type Seen = (Stat, bool);

/// What was last told of.
pub struct Since {
    file: PathBuf,
    /// The same, below the root, if it is there.
    own: Option<RepoPath>,
    root: PathBuf,
    known: BTreeMap<Vec<u8>, Seen>,
    journal: Journal,
    now: fn() -> SystemTime,
    /// Whether the file is behind what is known.
    behind: bool,
    /// Not before then, to leave time for other work.
    next_save: Instant,
}

impl Since {
    /// Reads the file, compares it with the tree as it is, and says what differs.
    ///
    /// # Errors
    /// When the file cannot be read; one that is not there or cannot be used is no error.
    pub fn open(file: &Path, policy: &Policy, now: fn() -> SystemTime) -> Result<(Since, Changes)> {
        let root = policy.root_path().to_owned();
        let mut out = Changes::default();
        let file = &file::place(file)?;
        let read = file::read(file, &root, &mut out)?;
        let journal = read.as_ref().map(|read| Journal::open(file, read.torn)).unwrap_or_default();
        let own = own_path(file, &root);
        let (file, next_save) = (file.to_owned(), Instant::now());
        let mut since = Since {
            file,
            own,
            root,
            known: BTreeMap::new(),
            journal,
            now,
            behind: true,
            next_save,
        };
        since.look(policy, None);
        match read {
            Some(read) => {
                since.compare(read.known, &mut out);
                since.recall(&read.journal, &mut out);
            }
            None => out.rescan(None, RescanReason::Batch),
        }
        Ok((since, out))
    }

    fn compare(&self, mut before: BTreeMap<Vec<u8>, Seen>, out: &mut Changes) {
        for (path, (stat, _)) in &self.known {
            let op = match before.remove(path) {
                Some((known, false)) if known == *stat => continue,
                Some((known, _)) if (known.dev, known.ino) == (stat.dev, stat.ino) => {
                    EventOp::Modify
                }
                Some(_) | None => EventOp::Create,
            };
            event(out, op, path, stat);
        }
        for (path, (stat, _)) in before {
            match self.is_there(&path) {
                // The rules have changed: who looks at the path alone finds it as before.
                true => out.rescan(above(&path), RescanReason::Rules),
                false => event(out, EventOp::Remove, &path, &stat),
            }
        }
    }

    /// Tells what has become of what was told after the snapshot: of what is there and differs from
    /// it, the snapshot has told.
    fn recall(&self, journal: &[Told], out: &mut Changes) {
        for (path, whole) in journal {
            let known = self.known.contains_key(path);
            match (RepoPath::new(path.as_slice()), self.is_there(path)) {
                (None, _) => out.rescan(None, RescanReason::Batch),
                (Some(path), false) => out.event(EventOp::Remove, EventKind::Other, path, None),
                (dir, true) if *whole => out.rescan(dir, RescanReason::Batch),
                (_, true) if !known => out.rescan(above(path), RescanReason::Rules),
                (_, true) => {}
            }
        }
    }

    fn is_there(&self, path: &[u8]) -> bool {
        let path = RepoPath::new(path).map(|path| path.under(&self.root));
        path.is_some_and(|path| path.symlink_metadata().is_ok())
    }

    /// Whether a change is the writing of the file itself.
    pub fn is_own(&self, change: &Change) -> bool {
        let Change::Event { path, .. } = change else { return false };
        self.own.as_ref().is_some_and(|own| path == own || file::is_new(path, own))
    }

    /// Notes what is about to be told, so that it is known to have been.
    ///
    /// # Errors
    /// When that cannot be written.
    pub fn note(&mut self, changes: &[Change]) -> Result<()> {
        self.journal.note(changes, &self.file)
    }

    /// Takes in what is about to be told.
    pub fn apply(&mut self, changes: &[Change], policy: &Arc<Policy>) {
        // A tree that is new is told directory by directory: the first look is at all of it.
        let mut looked = FxHashSet::default();
        for change in changes {
            self.behind = true;
            match change {
                Change::Event { op: EventOp::Remove, path, .. } => {
                    looked.clear();
                    self.forget(Some(path));
                }
                Change::Event { kind: EventKind::Dir, path, .. } => {
                    if !is_within(&looked, path.as_bytes()) {
                        self.look_again(policy, Some(path));
                        looked.insert(path.as_bytes());
                    }
                }
                Change::Event { path, stat, .. } => self.see(path, *stat),
                Change::Rescan(dir, _) => {
                    self.look_again(policy, dir.as_ref());
                    looked.insert(dir.as_ref().map_or(b"", RepoPath::as_bytes));
                }
            }
        }
    }

    fn look_again(&mut self, policy: &Policy, below: Option<&RepoPath>) {
        self.forget(below);
        self.look(policy, below);
    }

    fn see(&mut self, path: &RepoPath, stat: Option<Stat>) {
        let stat = stat.unwrap_or_default();
        if visit::kind(&stat) == EventKind::Dir {
            // What happens in it changes its times, and is told by the names in it.
            let Stat { dev, ino, mode, .. } = stat;
            let stat = Stat { dev, ino, mode, ..Stat::default() };
            self.known.insert(path.as_bytes().to_vec(), (stat, false));
            return;
        }
        let fresh = tree::is_fresh(&stat, (self.now)());
        self.known.insert(path.as_bytes().to_vec(), (stat, fresh));
    }

    fn look(&mut self, policy: &Policy, below: Option<&RepoPath>) {
        let own = self.own.clone();
        survey::below(policy, below, true, &mut |path, _, stat| {
            if own.as_ref() != Some(&path) {
                self.see(&path, stat);
            }
            true
        });
    }

    /// Forgets a path and all below it.
    fn forget(&mut self, path: Option<&RepoPath>) {
        let Some(path) = path else { return self.known.clear() };
        self.known.remove(path.as_bytes());
        let (from, to) = ([path.as_bytes(), b"/"].concat(), [path.as_bytes(), b"0"].concat());
        let below: Vec<Vec<u8>> =
            self.known.range(from..to).map(|(path, _)| path.clone()).collect();
        for path in below {
            self.known.remove(&path);
        }
    }

    /// When the file is to be written.
    pub fn due(&self) -> Option<Instant> {
        self.behind.then_some(self.next_save)
    }

    /// Writes the file if it is behind, and it is time or `must` be.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn save(&mut self, must: bool) -> Result<()> {
        let start = Instant::now();
        if !self.behind || !must && start < self.next_save {
            return Ok(());
        }
        file::write(&self.file, &self.root, &self.known)?;
        self.journal = Journal::open(&self.file, 0);
        self.behind = false;
        self.next_save = Instant::now() + (start.elapsed() * SHARE).max(Duration::from_millis(20));
        Ok(())
    }
}

fn event(out: &mut Changes, op: EventOp, path: &[u8], stat: &Stat) {
    if let Some(path) = RepoPath::new(path) {
        out.event(op, visit::kind(stat), path, Some(*stat));
    }
}

/// Whether a path, or a directory that it is in, is one of these; the empty path is the root's.
fn is_within(dirs: &FxHashSet<&[u8]>, mut path: &[u8]) -> bool {
    loop {
        match (dirs.contains(path), memchr::memrchr(b'/', path)) {
            (true, _) => return true,
            (false, Some(end)) => path = &path[..end],
            (false, None) => return dirs.contains(&b""[..]),
        }
    }
}

/// The directory of a path; `None` for the root.
fn above(path: &[u8]) -> Option<RepoPath> {
    RepoPath::new(&path[..memchr::memrchr(b'/', path)?])
}

/// The file's path below the root.
fn own_path(file: &Path, root: &Path) -> Option<RepoPath> {
    use std::os::unix::ffi::OsStrExt;
    let dir = file.parent()?.canonicalize().ok()?;
    let inside = dir.join(file.file_name()?);
    RepoPath::new(inside.strip_prefix(root).ok()?.as_os_str().as_bytes())
}

#[cfg(test)]
mod tests;
