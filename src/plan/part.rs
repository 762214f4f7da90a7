//! A chunk as the packer sees it: small, and its file shared.

use std::rc::Rc;

use super::cost::{id_bound, name_bound};
use crate::record::{ByteRange, Chunk, ChunkId, LineRange};

/// A file that chunks belong to. Two files are the same one when they are the same allocation.
#[derive(Debug)]
pub(super) struct File {
    pub repo: String,
    pub path: String,
    pub path_b64: Option<String>,
    /// The most tokens that the repository's name can cost.
    pub name_bound: u64,
}

impl File {
    fn of(chunk: &Chunk) -> Self {
        File {
            repo: chunk.repo.clone(),
            path: chunk.path.clone(),
            path_b64: chunk.path_b64.clone(),
            name_bound: name_bound(&chunk.repo),
        }
    }

    fn holds(&self, chunk: &Chunk) -> bool {
        self.path == chunk.path && self.repo == chunk.repo && self.path_b64 == chunk.path_b64
    }
}

/// What packing needs to know of a chunk.
#[derive(Debug, Clone)]
pub(super) struct Part {
    pub id: ChunkId,
    /// The most tokens that the id's digits can cost.
    pub id_bound: u64,
    pub bytes: ByteRange,
    pub lines: LineRange,
    pub tokens: u64,
    pub frame: u64,
    pub piece: bool,
}

/// Gives the chunks of one file, as long as they come together, the same [`File`].
#[derive(Debug, Default)]
pub(super) struct Files {
    current: Option<Rc<File>>,
}

impl Files {
    /// The file and the part that a chunk record describes.
    pub fn part(&mut self, chunk: &Chunk) -> (Rc<File>, Part) {
        let file = match self.current.take() {
            Some(file) if file.holds(chunk) => file,
            _ => Rc::new(File::of(chunk)),
        };
        self.current = Some(Rc::clone(&file));
        let part = Part {
            id: chunk.id,
            id_bound: id_bound(chunk.id.0),
            bytes: chunk.bytes,
            lines: chunk.lines,
            tokens: chunk.tokens.0,
            frame: chunk.frame_tokens.0,
            piece: chunk.piece,
        };
        (file, part)
    }
}
