//! Directory in, entries with stat out: every path below a root, each with exactly one fate.
//!
//! Directories are walked in parallel and handed to a sink in batches, in no order. Nothing follows
//! a symbolic link: each directory is opened by one name relative to the one above, so a tracked
//! path that now lies beyond a link counts as absent, and a path may be longer than `PATH_MAX`. A
//! directory that cannot be read becomes one entry, and its tracked files are looked up one by one;
//! it never ends the walk. Empty directories have no entry, as in git.
//!
//! Whether a file is text is not known here: that is the index's to say.

mod job;
mod queue;
mod revisit;
mod visit;

use std::sync::OnceLock;

use crate::admit::{Policy, Rule};
use crate::error::Result;
use crate::record::RepoPath;

pub use crate::admit::Stat;
pub use revisit::{Revisit, revisit};

use job::Job;
use visit::Visitor;

/// One path and what was found there.
#[derive(Debug, Clone)]
pub struct Entry {
    /// The path, relative to the root.
    pub path: RepoPath,
    /// What is there.
    pub kind: Kind,
    /// Whether git tracks exactly this path.
    pub tracked: bool,
    /// What `lstat` said, for files, links and special files.
    pub stat: Option<Stat>,
}

/// What a path is, as far as a walk can tell.
#[derive(Debug, Clone)]
pub enum Kind {
    /// A regular file: text or binary.
    File,
    /// A symbolic link, not followed.
    Symlink,
    /// The top of another repository, or a submodule, populated or not.
    Repository,
    /// A FIFO, a socket or a device.
    Special,
    /// A path that could not be looked at, with the system's error.
    Unreadable(Errno),
    /// Tracked, and not in the tree: deleted, beyond a link, or left out by a sparse checkout (then
    /// it may be a directory that stands for all below).
    Absent,
    /// Kept out by a rule; a directory stands for all below it.
    Ignored(Rule),
}

/// A system error; its text is the name and the words: `EACCES: Permission denied`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Errno(pub rustix::io::Errno);

impl Errno {
    /// Whether it tells of this process, or of the system, that has not enough of something, and not of
    /// what was to be opened.
    pub fn is_starved(self) -> bool {
        use rustix::io::Errno as E;
        matches!(self.0, E::MFILE | E::NFILE | E::NOMEM | E::NOBUFS)
    }
}

/// The text of a system error as [`Errno`] has it.
pub fn errno_text(error: &std::io::Error) -> String {
    match rustix::io::Errno::from_io_error(error) {
        Some(code) => Errno(code).to_string(),
        None => crate::error::plain(error),
    }
}

impl std::fmt::Display for Errno {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        use rustix::io::Errno as E;
        let name = match self.0 {
            E::ACCESS => "EACCES",
            E::PERM => "EPERM",
            E::IO => "EIO",
            E::LOOP => "ELOOP",
            E::MFILE => "EMFILE",
            E::NFILE => "ENFILE",
            E::NOMEM => "ENOMEM",
            E::NAMETOOLONG => "ENAMETOOLONG",
            E::STALE => "ESTALE",
            E::OVERFLOW => "EOVERFLOW",
            E::NOTCONN => "ENOTCONN",
            E::TIMEDOUT => "ETIMEDOUT",
            other => return write!(f, "errno {}: {}", other.raw_os_error(), words(other)),
        };
        write!(f, "{name}: {}", words(self.0))
    }
}

fn words(errno: rustix::io::Errno) -> String {
    crate::error::plain(&errno.into())
}

/// What a walk has learnt beside its entries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Summary {
    /// In git: whether a tracked file differs from git's index by its stat data, or is absent.
    pub dirty: bool,
}

/// Walks the whole root of `policy` with `threads` threads (at least one), handing batches of
/// entries to `sink`, which those threads call, in no order. Fails only when the root itself cannot
/// be read.
pub fn walk(
    policy: &Policy,
    threads: usize,
    sink: &(dyn Fn(Vec<Entry>) + Sync),
) -> Result<Summary> {
    let differing = OnceLock::new();
    let queue = queue::Queue::new(vec![Job::root(policy)?]);
    std::thread::scope(|scope| {
        for _ in 1..threads {
            scope.spawn(|| Visitor::new(policy, sink, &queue, &differing).run());
        }
        Visitor::new(policy, sink, &queue, &differing).run();
    });
    Ok(Summary { dirty: differing.get().is_some() })
}
