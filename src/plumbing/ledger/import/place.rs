//! Where the text of a read from elsewhere is in the tree, by the indices of its repositories.

use std::collections::{BTreeMap, HashMap, HashSet};

use crate::cli::{Io, Tool};
use crate::error::Result;
use crate::moves::{self, Came, Left};
use crate::plumbing::ledger::Ledger as LedgerTool;
use crate::plumbing::ledger::source::Source;
use crate::record::{ChunkId, Read, RepoPath};
use crate::store::coverage::Coverage;
use crate::store::ledger::{Cut, Ledger, Row};
use crate::workspace::Workspace;

type Hash = [u8; 32];

/// A file as the index has it, and its chunks.
type Indexed = (Row, Vec<Cut>);

/// The indices, and the reads whose text is not where it was.
#[derive(Default)]
pub struct Places {
    repos: HashMap<String, Shelf>,
}

/// One repository.
struct Shelf {
    ledger: Ledger,
    /// The file that was asked for last: reads of one file follow each other.
    open: Option<(RepoPath, Option<Indexed>)>,
    lost: BTreeMap<Hash, Vec<Lost>>,
    seen: HashSet<ChunkId>,
}

/// A read whose text is not at its path any more.
struct Lost {
    read: Read,
    path: Vec<u8>,
    file: Option<Hash>,
}

/// An unread chunk of the plan that has the bytes of such a read.
struct Free {
    read: Read,
    path: Vec<u8>,
    file: Hash,
}

impl Places {
    /// The repositories of a workspace that are indexed; of the others it is said that they are not.
    pub fn of(workspace: &Workspace, io: &mut Io<'_>) -> Places {
        let mut repos = HashMap::new();
        for member in workspace.members() {
            let ledger = Source::member(member, workspace.trust()).and_then(|it| it.ledger());
            match ledger {
                Ok(ledger) => {
                    let shelf =
                        Shelf { ledger, open: None, lost: BTreeMap::new(), seen: HashSet::new() };
                    repos.insert(member.name.clone(), shelf);
                }
                Err(error) => {
                    let name = &member.name;
                    io.say(
                        LedgerTool::NAME,
                        &format!("what was read of '{name}' does not count yet: {error}"),
                    );
                }
            }
        }
        Places { repos }
    }

    /// The chunk at the read's path that is the read's own, and has its bytes.
    ///
    /// # Errors
    /// The index's.
    pub fn find(&mut self, read: &Read) -> Result<Option<Read>> {
        let (Some(shelf), Some(body)) = (self.repos.get_mut(&read.repo), hash(&read.body)) else {
            return Ok(None);
        };
        let Ok(Some(path)) = read.repo_path() else { return Ok(None) };
        let Some((row, cuts)) = shelf.file(path)? else { return Ok(None) };
        let cut = cuts.iter().find(|cut| cut.id == read.id && cut.body == body);
        Ok(cut.map(|cut| evidence(&read.repo, row, cut)))
    }

    /// Whether the index of the read's repository is at hand, and its text is known.
    pub fn is_known(&self, read: &Read) -> bool {
        self.repos.contains_key(&read.repo) && read.body.is_some()
    }

    /// Notes a read whose own chunk is not in the tree, once for each chunk.
    pub fn lost(&mut self, read: &Read) {
        let (Some(shelf), Some(body)) = (self.repos.get_mut(&read.repo), hash(&read.body)) else {
            return;
        };
        let Ok(Some(path)) = read.repo_path() else { return };
        if shelf.seen.insert(read.id) {
            let (path, file) = (path.to_key(), hash(&read.file));
            shelf.lost.entry(body).or_default().push(Lost { read: read.clone(), path, file });
        }
    }

    /// Which unread chunk takes over which of the lost reads: one at the same path first, then by the
    /// rule of [`crate::moves`].
    ///
    /// # Errors
    /// The ledgers'.
    pub fn pairs(self, coverage: &Coverage) -> Result<Vec<(Read, Read)>> {
        let mut all = Vec::new();
        for (name, shelf) in self.repos {
            if shelf.lost.is_empty() {
                continue;
            }
            let mut free = shelf.free(&name, coverage)?;
            for (body, lost) in shelf.lost {
                pair(lost, free.remove(&body).unwrap_or_default(), &mut all);
            }
        }
        Ok(all)
    }
}

impl Shelf {
    fn file(&mut self, path: RepoPath) -> Result<Option<(&Row, &[Cut])>> {
        if self.open.as_ref().is_none_or(|(open, _)| *open != path) {
            let row = self.ledger.file(&path)?;
            let file =
                row.map(|row| self.ledger.cuts(row.id).map(|cuts| (row, cuts))).transpose()?;
            self.open = Some((path, file));
        }
        let open = self.open.as_ref().and_then(|(_, file)| file.as_ref());
        Ok(open.map(|(row, cuts)| (row, &cuts[..])))
    }

    /// The unread chunks of the plan that have the bytes of a lost read, in the order of the tree.
    fn free(&self, name: &str, coverage: &Coverage) -> Result<HashMap<Hash, Vec<Free>>> {
        let (planned, mut free) = (coverage.planned(name)?, HashMap::<Hash, Vec<Free>>::new());
        self.ledger.each_file(|row| {
            let cuts = if row.chunks == 0 { Vec::new() } else { self.ledger.cuts(row.id)? };
            for cut in cuts.iter().filter(|cut| self.lost.contains_key(&cut.body)) {
                if planned.get(&cut.id).is_some_and(|planned| !planned.complete) {
                    let (read, path) = (evidence(name, &row, cut), row.path.to_key());
                    let file = row.hash.unwrap_or_default();
                    free.entry(cut.body).or_default().push(Free { read, path, file });
                }
            }
            Ok(())
        })?;
        Ok(free)
    }
}

/// Pairs the lost reads and the free chunks of one body.
fn pair(mut lost: Vec<Lost>, mut free: Vec<Free>, all: &mut Vec<(Read, Read)>) {
    lost.sort_by(|a, b| (&a.path, a.read.id).cmp(&(&b.path, b.read.id)));
    let mut by_path: HashMap<&[u8], Vec<usize>> = HashMap::new();
    for (at, lost) in lost.iter().enumerate().rev() {
        by_path.entry(&lost.path).or_default().push(at);
    }
    let mut taken = vec![false; lost.len()];
    free.retain(|free| {
        let Some(from) = by_path.get_mut(&free.path[..]).and_then(Vec::pop) else { return true };
        taken[from] = true;
        all.push((lost[from].read.clone(), free.read.clone()));
        false
    });
    let mut taken = taken.into_iter();
    lost.retain(|_| taken.next() == Some(false));
    let left: Vec<Left> = lost.iter().map(|lost| Left { file: lost.file, since: 0 }).collect();
    let came: Vec<Came> = free.iter().map(|free| Came { file: free.file, added: 1 }).collect();
    let pairs = moves::pairs(&left, &came).into_iter();
    all.extend(pairs.map(|(from, to)| (lost[from].read.clone(), free[to].read.clone())));
}

/// What is known of a chunk of the index, as a read of it says it.
fn evidence(repo: &str, row: &Row, cut: &Cut) -> Read {
    let (path, path_b64) = row.path.to_wire();
    let hex = |hash: Hash| blake3::Hash::from_bytes(hash).to_hex().to_string();
    Read {
        path: Some(path),
        path_b64,
        bytes: Some(cut.bytes),
        body: Some(hex(cut.body)),
        file: row.hash.map(hex),
        ..Read::of(repo, cut.id)
    }
}

fn hash(hex: &Option<String>) -> Option<Hash> {
    Some(*blake3::Hash::from_hex(hex.as_deref()?).ok()?.as_bytes())
}
