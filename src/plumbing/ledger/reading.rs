//! What the reading verbs work on: sources, what is complete in them, and the chunks that a
//! command line names.

use std::collections::HashSet;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;

use super::source::Source;
use super::{Repos, StateOption, WorkspaceOption};
use crate::cli::World;
use crate::error::{Error, Result};
use crate::record::{ChunkId, RepoPath, SegmentId};
use crate::store::coverage::Coverage;
use crate::store::ledger::{Cut, Ledger, Row};
use crate::visible::quote_path;

/// The fewest digits of an id that may stand for it.
const SHORTEST_PREFIX: usize = 6;

/// Repositories, and the coverage ledger when they are a workspace's.
pub struct Reading {
    sources: Vec<Source>,
    coverage: Option<Coverage>,
}

/// A chunk that somebody wants to see.
pub enum Wanted {
    /// The index has it.
    Here {
        /// Its file.
        row: Row,
        /// Where it is there.
        cut: Cut,
        /// Whether it is complete.
        complete: bool,
    },
    /// It was planned, and the index has it no more.
    Gone(RepoPath, ChunkId),
}

impl Wanted {
    /// Whether it is complete; what is gone is not.
    pub fn complete(&self) -> bool {
        matches!(self, Wanted::Here { complete: true, .. })
    }
}

/// Which chunks of a repository are complete.
pub struct Marked(HashSet<ChunkId>);

impl Marked {
    /// Whether this one is.
    pub fn contains(&self, id: ChunkId) -> bool {
        self.0.contains(&id)
    }
}
