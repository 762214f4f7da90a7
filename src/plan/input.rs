//! The stream that a plan is made from, held to its promises: per repository, by name, one `repo`
//! record and its `chunk` records in path-component byte order and by place in the file; at last
//! one `end` record with the number of all chunks.

use std::collections::HashSet;

use crate::counted::{count, thousands};
use crate::record::{Chunk, ChunkId, End, PlanRepo, Record, Repo, RepoPath};

/// Ids of one file that are remembered at once, so that memory is bounded whatever a file's size.
/// An id that comes twice further apart than this is left to `adopt`, which knows all of them.
const REMEMBERED_IDS: usize = 1 << 16;

/// What has come so far.
#[derive(Debug, Default)]
pub struct Input {
    repos: Vec<PlanRepo>,
    file: Option<FileSoFar>,
    chunks: u64,
    ended: bool,
}

/// The file that the last chunk belonged to.
#[derive(Debug)]
struct FileSoFar {
    path: RepoPath,
    wire: (String, Option<String>),
    ord: u64,
    ids: HashSet<ChunkId>,
}

impl Input {
    /// Takes the next record, and hands it back if it is a chunk to plan. The error says what is
    /// wrong with it, without its place. Types that are not about chunks are passed over.
    pub fn take(&mut self, record: Record) -> Result<Option<Chunk>, String> {
        match record {
            Record::Unknown => Ok(None),
            _ if self.ended => Err("a record after the end record".to_string()),
            Record::Repo(repo) => self.take_repo(&repo).map(|()| None),
            Record::Chunk(chunk) => self.take_chunk(&chunk).map(|()| Some(chunk)),
            Record::End(end) => self.take_end(&end).map(|()| None),
            _ => Ok(None),
        }
    }

    /// Whether the `end` record has come.
    pub fn ended(&self) -> bool {
        self.ended
    }

    /// The repositories and the number of their chunks.
    pub fn into_repos(self) -> Vec<PlanRepo> {
        self.repos
    }

    fn take_repo(&mut self, repo: &Repo) -> Result<(), String> {
        if self.repos.iter().any(|before| before.name == repo.name) {
            return Err(format!("repository '{}' comes twice", repo.name));
        }
        if let Some(before) = self.repos.last().filter(|before| before.name > repo.name) {
            return Err(format!(
                "repository '{}' after '{}': not in order",
                repo.name, before.name
            ));
        }
        self.repos.push(PlanRepo {
            name: repo.name.clone(),
            chunks: 0,
            fingerprint: repo.fingerprint.clone(),
        });
        self.file = None;
        Ok(())
    }

    fn take_chunk(&mut self, chunk: &Chunk) -> Result<(), String> {
        match self.repos.last_mut() {
            Some(repo) if repo.name == chunk.repo => repo.chunks += 1,
            _ => return Err(format!("a chunk of '{}' outside its repository", chunk.repo)),
        }
        self.chunks += 1;
        match &mut self.file {
            Some(file) if file.holds(chunk) => file.go_on(chunk),
            before => {
                *before = Some(FileSoFar::after(before.as_ref(), chunk)?);
                Ok(())
            }
        }
    }

    fn take_end(&mut self, end: &End) -> Result<(), String> {
        if end.of != "chunk" {
            return Err(format!("the end of a stream of '{}' records, not of 'chunk'", end.of));
        }
        if end.count != self.chunks {
            return Err(format!(
                "the end record counts {}, but {} came",
                count(end.count, "chunk"),
                thousands(self.chunks)
            ));
        }
        self.ended = true;
        Ok(())
    }
}

impl FileSoFar {
    /// The file of `chunk`, which must come after `before`.
    fn after(before: Option<&FileSoFar>, chunk: &Chunk) -> Result<Self, String> {
        let path = chunk.repo_path()?;
        if let Some(before) = before.filter(|before| before.path >= path) {
            return Err(format!(
                "'{}' after '{}': not in order",
                path.display(),
                before.path.display()
            ));
        }
        let wire = (chunk.path.clone(), chunk.path_b64.clone());
        Ok(FileSoFar { path, wire, ord: chunk.ord, ids: HashSet::from([chunk.id]) })
    }

    fn holds(&self, chunk: &Chunk) -> bool {
        self.wire.0 == chunk.path && self.wire.1 == chunk.path_b64
    }

    fn go_on(&mut self, chunk: &Chunk) -> Result<(), String> {
        if chunk.ord <= self.ord {
            let (path, now, before) = (self.path.display(), chunk.ord, self.ord);
            return Err(format!("'{path}': chunk number {now} after {before}: not in order"));
        }
        if self.ids.len() == REMEMBERED_IDS {
            self.ids.clear();
        }
        if !self.ids.insert(chunk.id) {
            return Err(format!("'{}': chunk '{}' comes twice", self.path.display(), chunk.id));
        }
        self.ord = chunk.ord;
        Ok(())
    }
}
