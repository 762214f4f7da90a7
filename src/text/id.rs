//! A chunk's id: what the file is called, what the chunk says, and which of its equals it is.

use crate::record::{ChunkId, RepoPath};

/// Raised whenever the same bytes would be cut, or named, in another way. A ledger made under
/// another version must be cut again.
pub const CHUNKER_VERSION: u32 = 1;

/// The id of a chunk: the first 64 bits of BLAKE3 over chunker version, path, body and occurrence.
///
/// `body` is the BLAKE3 of the chunk's file bytes; `occurrence` counts, from 0, the chunks before
/// it in the file that have the same body, and is raised where a repository has the id already.
pub fn chunk_id(path: &RepoPath, body: &blake3::Hash, occurrence: u32) -> ChunkId {
    let path = path.as_bytes();
    let mut hasher = blake3::Hasher::new();
    hasher.update(b"auwai chunk id\0");
    hasher.update(&CHUNKER_VERSION.to_le_bytes());
    hasher.update(&(path.len() as u64).to_le_bytes());
    hasher.update(path);
    hasher.update(body.as_bytes());
    hasher.update(&occurrence.to_le_bytes());
    let mut first = [0; 8];
    first.copy_from_slice(&hasher.finalize().as_bytes()[..8]);
    ChunkId(u64::from_be_bytes(first))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn path_body_and_occurrence_each_change_the_id() {
        let (a, b) = (RepoPath::new("a").unwrap(), RepoPath::new("b").unwrap());
        let (x, y) = (blake3::hash(b"x"), blake3::hash(b"y"));
        let id = chunk_id(&a, &x, 0);
        assert_eq!(id, chunk_id(&a, &x, 0));
        for other in [chunk_id(&b, &x, 0), chunk_id(&a, &y, 0), chunk_id(&a, &x, 1)] {
            assert_ne!(id, other);
        }
    }
}
