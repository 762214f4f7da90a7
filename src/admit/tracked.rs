//! Git's index: which paths are tracked, and with what stat data.
//!
//! Entries are sorted by path, so that the tracked files of a directory are one range of them;
//! a walk narrows that range as it goes down and never searches the whole.

use std::ops::Range;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use gix_index::entry::{Flags, Mode};
use rustix::fs::FileType;

use super::Stat;
use super::config::Trust;
use crate::error::{Error, Result};
use crate::regular::{self, Links};
use crate::visible;

/// The tracked paths, relative to the top of the work tree; empty outside git.
#[derive(Debug, Default)]
pub struct Tracked {
    index: Option<gix_index::File>,
}

/// A name in one directory that git tracks, or that has something tracked below.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Child<'a> {
    /// The name.
    pub name: &'a [u8],
    /// The entry of exactly this path, when there is one.
    pub entry: Option<usize>,
    /// The entries below it, when it is a directory.
    pub below: Range<usize>,
}

impl Tracked {
    /// Reads the index; a repository may have none yet.
    pub fn open(path: &Path, hash: gix_hash::Kind) -> Result<Self> {
        check_files(path).map_err(|e| bad_index(path, &e))?;
        let options = gix_index::decode::Options::default();
        // Git does not check the index's own hash when reading either.
        let skip_hash = true;
        match gix_index::File::at_or_default(path, hash, skip_hash, options) {
            Ok(index) => Ok(Tracked { index: Some(index) }),
            Err(cause) => Err(bad_index(path, &cause)),
        }
    }

    fn entries(&self) -> &[gix_index::Entry] {
        self.index.as_ref().map_or(&[], |index| index.entries())
    }

    /// All of them.
    pub fn all(&self) -> Range<usize> {
        0..self.entries().len()
    }

    /// The path of an entry; a directory that a sparse index has collapsed ends in `/`.
    pub fn path(&self, at: usize) -> &[u8] {
        self.index.as_ref().map_or(b"", |index| index.entry(at).path(index))
    }

    /// The entry of exactly `path`, and those below it.
    pub fn find(&self, path: &[u8]) -> (Option<usize>, Range<usize>) {
        let first = |key: &[u8]| self.first_at(self.all(), |path| path < key);
        let at = first(path);
        let entry = (at < self.all().end && self.path(at) == path).then_some(at);
        let mut key = [path, b"/"].concat();
        let start = first(&key);
        if start < self.all().end && self.path(start) == key {
            return (Some(start), start..start);
        }
        if let Some(last) = key.last_mut() {
            *last += 1;
        }
        (entry, start..first(&key))
    }

    /// What is tracked directly in a directory: `within` are the entries below it, and `prefix` is
    /// the length of its path with the final `/`. Sorted by name, each name once.
    pub fn children(&self, within: Range<usize>, prefix: usize) -> Vec<Child<'_>> {
        let mut found = Vec::new();
        let mut at = within.start;
        while at < within.end {
            let child = self.child(at, within.end, prefix);
            at = child.below.end.max(at + 1);
            found.push(child);
        }
        // Git sorts `a/b` after `a.c`; here `a` comes first.
        found.sort_by(|a, b| a.name.cmp(b.name));
        found.dedup_by(|later, kept| later.name == kept.name && kept.merge(later));
        found
    }

    fn child(&self, at: usize, end: usize, prefix: usize) -> Child<'_> {
        let rest = &self.path(at)[prefix..];
        let Some(slash) = memchr::memchr(b'/', rest) else {
            return Child { name: rest, entry: Some(at), below: 0..0 };
        };
        let name = &rest[..slash];
        if slash + 1 == rest.len() {
            return Child { name, entry: Some(at), below: 0..0 };
        }
        let inside = &rest[..=slash];
        let below = at..self.first_at(at..end, |path| path[prefix..].starts_with(inside));
        Child { name, entry: None, below }
    }

    fn first_at(&self, within: Range<usize>, before: impl Fn(&[u8]) -> bool) -> usize {
        let Some(index) = &self.index else { return 0 };
        let entries = &index.entries()[within.clone()];
        within.start + entries.partition_point(|entry| before(entry.path(index)))
    }

    /// Whether an entry is a submodule.
    pub fn is_submodule(&self, at: usize) -> bool {
        self.entries()[at].mode == Mode::COMMIT
    }

    /// Whether an entry stands for a directory: a submodule, or what a sparse index has collapsed.
    pub fn is_directory(&self, at: usize) -> bool {
        matches!(self.entries()[at].mode, Mode::COMMIT | Mode::DIR)
    }

    /// Whether the file now at an entry's path (`None`: nothing) differs from it by its stat data.
    /// What git was told not to look at never differs; a submodule is looked at no further.
    pub(super) fn differs(&self, at: usize, now: Option<&Stat>, trust: Trust) -> bool {
        let entry = &self.entries()[at];
        if entry.flags.intersects(Flags::SKIP_WORKTREE | Flags::ASSUME_VALID) {
            return false;
        }
        let Some(now) = now else { return true };
        entry.stage_raw() != 0
            || entry.flags.contains(Flags::INTENT_TO_ADD)
            || !same_mode(entry.mode, now, trust)
            || entry.mode != Mode::COMMIT && !same_stat(&entry.stat, now, trust)
    }
}

impl Child<'_> {
    /// One name, two entries: a conflict's stages, or a file and a directory in conflict.
    fn merge(&mut self, other: &Self) -> bool {
        self.entry = self.entry.or(other.entry);
        if self.below.is_empty() {
            self.below = other.below.clone();
        }
        true
    }
}

fn same_mode(mode: Mode, now: &Stat, trust: Trust) -> bool {
    let executable = now.mode & 0o100 != 0;
    match now.file_type() {
        FileType::RegularFile if !trust.file_mode => {
            matches!(mode, Mode::FILE | Mode::FILE_EXECUTABLE)
        }
        FileType::RegularFile if executable => mode == Mode::FILE_EXECUTABLE,
        FileType::RegularFile => mode == Mode::FILE,
        FileType::Symlink => mode == Mode::SYMLINK,
        FileType::Directory => mode == Mode::COMMIT,
        _ => false,
    }
}

/// Git keeps the low 32 bits of each number.
fn same_stat(entry: &gix_index::entry::Stat, now: &Stat, trust: Trust) -> bool {
    if entry.size != now.size as u32 {
        return false;
    }
    if trust.minimal {
        return now.mtime_ns.div_euclid(1_000_000_000) as u32 == entry.mtime.secs;
    }
    entry.ino == now.ino as u32
        && Stat::same_time(now.mtime_ns, entry.mtime.secs, entry.mtime.nsecs)
        && (!trust.ctime || Stat::same_time(now.ctime_ns, entry.ctime.secs, entry.ctime.nsecs))
}

/// The index, and those that a split index shares, are opened by their names: nothing may be there
/// that has to be waited for.
fn check_files(index: &Path) -> std::io::Result<()> {
    let shared = index.parent().map(std::fs::read_dir).into_iter().flatten().flatten().flatten();
    let shared = shared.filter(|entry| entry.file_name().as_bytes().starts_with(b"sharedindex."));
    for path in shared.map(|entry| entry.path()).chain([index.to_owned()]) {
        match regular::open(&path, Links::Follow) {
            Err(e) if regular::is_other(&e) => return Err(e),
            _ => {}
        }
    }
    Ok(())
}

fn bad_index(path: &Path, cause: &dyn std::fmt::Display) -> Error {
    let shown = visible::quote_path(path.as_os_str().as_bytes());
    let cause = cause.to_string();
    Error::failed("git-index", format!("cannot read git's index '{shown}'"))
        .because(visible::one_line(cause.lines().next().unwrap_or_default()))
        .hint("`git status` says whether git can read it; `git reset` writes it anew")
}
