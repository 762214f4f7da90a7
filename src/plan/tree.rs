//! The tree as it is now: every chunk in reading order, and each to be found by its id.
//!
//! A plan that is revised is held against all of it, so all of it is in memory, about 110 bytes a
//! chunk.

use std::rc::Rc;

use super::cost::{BRIEF_LINE_TOKENS, Cost, Last, cost};
use super::order::Order;
use super::pack::Open;
use super::part::{File, Files, Part};
use crate::error::{Error, Result};
use crate::record::{Chunk, ChunkId, Policy, RepoPath};

/// A result whose error is a sentence without its place.
type Said<T> = std::result::Result<T, String>;

/// A BLAKE3 hash.
pub type Hash = [u8; 32];

/// The chunks of a stream. What stands in it is found by its place in reading order.
#[derive(Debug, Default)]
pub struct Tree {
    names: Files,
    repos: Vec<String>,
    files: Vec<Entry>,
    leaves: Vec<Leaf>,
    /// The places by repository and id.
    by_id: Vec<u32>,
    /// Whether the chunks are in another order than that of the tree.
    sorted: bool,
}

#[derive(Debug)]
struct Entry {
    file: Rc<File>,
    repo: u32,
    hash: Hash,
    rank: usize,
}

#[derive(Debug)]
struct Leaf {
    part: Part,
    body: Hash,
    file: u32,
}

impl Tree {
    /// Takes the next chunk of a stream that [`super::Input`] has let pass.
    ///
    /// # Errors
    /// A sentence for a chunk without its hashes.
    pub fn push(&mut self, chunk: &Chunk) -> Said<()> {
        let body = hash(chunk, chunk.body_hash.as_deref())?;
        let (file, part) = self.names.part(chunk);
        if self.files.last().is_none_or(|last| !Rc::ptr_eq(&last.file, &file)) {
            let hash = hash(chunk, chunk.file_hash.as_deref())?;
            if self.repos.last() != Some(&chunk.repo) {
                self.repos.push(chunk.repo.clone());
            }
            let repo = number(self.repos.len() - 1)?;
            self.files.push(Entry { file, repo, hash, rank: 0 });
        }
        number(self.leaves.len())?;
        self.leaves.push(Leaf { part, body, file: number(self.files.len() - 1)? });
        Ok(())
    }

    /// Brings the chunks into the reading order of `policy`, and makes them ready to be found; again,
    /// with another policy, it forgets the first.
    ///
    /// # Errors
    /// Usage for a glob of its order that is not one.
    pub fn settle(&mut self, policy: &Policy) -> Result<()> {
        if !policy.order.is_empty() || self.sorted {
            self.sort(&Order::new(&policy.order)?)?;
        }
        self.sorted = !policy.order.is_empty();
        self.by_id = (0u32..).take(self.leaves.len()).collect();
        let (leaves, files) = (&self.leaves, &self.files);
        self.by_id.sort_unstable_by_key(|at| {
            let leaf = &leaves[*at as usize];
            (files[leaf.file as usize].repo, leaf.part.id)
        });
        Ok(())
    }

    /// By rank; files of one rank stay in the order of the tree.
    fn sort(&mut self, order: &Order) -> Result<()> {
        for entry in &mut self.files {
            let path = RepoPath::from_wire(&entry.file.path, entry.file.path_b64.as_deref());
            entry.rank = order.rank(&path.map_err(|e| Error::failed("bad-input", e))?);
        }
        let files = &self.files;
        self.leaves.sort_by_key(|leaf| (files[leaf.file as usize].rank, leaf.file));
        Ok(())
    }

    /// How many chunks there are.
    pub fn len(&self) -> usize {
        self.leaves.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.leaves.is_empty()
    }

    /// The number of a repository that has chunks.
    pub fn repo(&self, name: &str) -> Option<u32> {
        (0u32..).zip(&self.repos).find(|(_, known)| *known == name).map(|(at, _)| at)
    }

    /// The place of a chunk.
    pub fn find(&self, repo: u32, id: ChunkId) -> Option<u32> {
        let key = |at: &u32| (self.entry(*at).repo, self.leaf(*at).part.id);
        let found = self.by_id.binary_search_by_key(&(repo, id), key);
        found.ok().map(|found| self.by_id[found])
    }

    /// A chunk as evidence of a read.
    pub fn leaf_at(&self, at: u32) -> Found<'_> {
        let (leaf, entry) = (self.leaf(at), self.entry(at));
        Found {
            repo: entry.repo,
            name: &entry.file.repo,
            path: (&entry.file.path, entry.file.path_b64.as_deref()),
            part: &leaf.part,
            body: leaf.body,
            file: entry.hash,
        }
    }

    /// The number of a chunk's file.
    pub(super) fn file(&self, at: u32) -> u32 {
        self.leaf(at).file
    }

    pub(super) fn part(&self, at: u32) -> (&Rc<File>, &Part) {
        (&self.entry(at).file, &self.leaf(at).part)
    }

    /// What a segment of these chunks costs.
    pub(super) fn cost(&self, list: &[u32]) -> Cost {
        Cost::EMPTY.plus(self.block(list))
    }

    /// Whether a segment of this cost may have room for one more chunk of a file that it has. Where it
    /// fills a gap, it saves a frame and a line of the brief.
    pub(super) fn may_join(&self, sum: Cost, at: u32, limits: Cost) -> bool {
        let (_, part) = self.part(at);
        let saved = part.frame.saturating_add(BRIEF_LINE_TOKENS).saturating_mul(2);
        let shown = sum.shown.saturating_add(part.tokens);
        shown <= limits.shown.saturating_add(saved)
            && sum.listed <= limits.listed.saturating_add(saved)
    }

    /// What these chunks cost in a segment that has nothing of their files.
    pub(super) fn block(&self, list: &[u32]) -> Cost {
        let (mut sum, mut last) = (Cost { shown: 0, listed: 0 }, None);
        for at in list {
            let (file, part) = self.part(*at);
            sum = sum.plus(cost(last.as_ref(), file, part));
            last = Some(Last::new(file, part));
        }
        sum
    }

    /// How many of these chunks, from the first, fit a segment together.
    pub(super) fn fitting(&self, list: &[u32], limits: Cost) -> usize {
        let (mut sum, mut last) = (Cost::EMPTY, None);
        for (count, at) in list.iter().enumerate() {
            let (file, part) = self.part(*at);
            sum = sum.plus(cost(last.as_ref(), file, part));
            if !sum.within(limits) {
                return count;
            }
            last = Some(Last::new(file, part));
        }
        list.len()
    }

    /// A segment of these chunks, in the making.
    pub(super) fn open(&self, list: &[u32]) -> Open {
        let mut open = Open::default();
        for at in list {
            let (file, part) = self.part(*at);
            open.add(file, part);
        }
        open
    }

    fn leaf(&self, at: u32) -> &Leaf {
        &self.leaves[at as usize]
    }

    fn entry(&self, at: u32) -> &Entry {
        &self.files[self.leaf(at).file as usize]
    }
}

/// A chunk of the tree, as far as others need to know it.
#[derive(Debug, Clone, Copy)]
pub struct Found<'a> {
    /// The number of its repository.
    pub repo: u32,
    /// Its repository.
    pub name: &'a str,
    /// Its file, as on the wire.
    pub path: (&'a str, Option<&'a str>),
    part: &'a Part,
    /// The hash of its bytes.
    pub body: Hash,
    /// The hash of its file's bytes.
    pub file: Hash,
}

impl Found<'_> {
    /// Its id.
    pub fn id(&self) -> ChunkId {
        self.part.id
    }

    /// The bytes of the file that it holds.
    pub fn bytes(&self) -> crate::record::ByteRange {
        self.part.bytes
    }

    /// Its tokens as shown.
    pub fn tokens(&self) -> u64 {
        self.part.tokens
    }
}

fn hash(chunk: &Chunk, hex: Option<&str>) -> Said<Hash> {
    let hex = hex.ok_or_else(|| format!("chunk '{}' comes without its hashes", chunk.id))?;
    let hash = blake3::Hash::from_hex(hex)
        .map_err(|_| format!("chunk '{}' has a hash that is none", chunk.id))?;
    Ok(*hash.as_bytes())
}

fn number(count: usize) -> Said<u32> {
    u32::try_from(count).map_err(|_| "more chunks than can be counted".to_string())
}

#[cfg(test)]
mod tests {
    use super::super::PolicyOptions;
    use super::super::tests::stream;
    use super::*;

    #[test]
    fn a_tree_that_is_settled_again_forgets_its_first_order() {
        let file = |tokens| (20, vec![(tokens, false), (tokens + 1, false)]);
        let chunks: Vec<Chunk> = stream(&[vec![file(10), file(20), file(30)]])
            .into_iter()
            .map(|chunk| {
                let hash = blake3::hash(chunk.path.as_bytes()).to_hex().to_string();
                Chunk { body_hash: Some(hash.clone()), file_hash: Some(hash), ..chunk }
            })
            .collect();
        let settled = |orders: &[&[&str]]| {
            let mut tree = Tree::default();
            chunks.iter().for_each(|chunk| tree.push(chunk).unwrap());
            for order in orders {
                let order = order.iter().map(|glob| glob.to_string()).collect();
                let policy = PolicyOptions { order, ..PolicyOptions::default() }.resolve();
                tree.settle(&policy).unwrap();
            }
            (0..6).map(|at| tree.leaf_at(at).tokens()).collect::<Vec<_>>()
        };
        let (last, middle): (&[&str], &[&str]) = (&["*2.c"], &["*1.c"]);
        assert_eq!(settled(&[middle]), [20, 21, 10, 11, 30, 31]);
        assert_eq!(settled(&[last, middle]), settled(&[middle]));
        assert_eq!(settled(&[last, &[]]), settled(&[&[]]));
    }
}
