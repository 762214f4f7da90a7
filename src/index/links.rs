//! Files that have several names. A change through one name is told of that name alone, and is a
//! change of all of them.
//!
//! The names are read from the ledger once for all files that have several in it, and once more when
//! a file is met that has several, but had not then. Between, the rounds keep them: who looks at a
//! path notes what it leads to.

use std::collections::BTreeSet;
use std::collections::hash_map::Entry::{Occupied, Vacant};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use rustc_hash::{FxHashMap, FxHashSet};
use rustix::fs::{AtFlags, statat};

use super::stat;
use crate::beneath::open_folder;
use crate::error::Result;
use crate::record::RepoPath;
use crate::store::ledger::{Known, KnownRows, Ledger};
use crate::walk::{Entry, Kind};

/// Device and inode.
type Inode = (u64, u64);

/// The keys of the paths that lead to a file.
type Names = FxHashMap<Inode, FxHashSet<Box<[u8]>>>;

/// The names of the files that have several, and perhaps of some that had: read from the ledger
/// when they are first asked for, since a scan after a scan needs none of them.
#[derive(Debug, Default)]
pub struct Links(Option<Names>);

impl Links {
    /// The other paths of the files that were, or are now, at the paths that were looked at.
    ///
    /// # Errors
    /// The ledger's.
    pub fn others(
        &mut self,
        ledger: &Ledger,
        root: &Path,
        known: &KnownRows,
        entries: &[Entry],
    ) -> Result<BTreeSet<RepoPath>> {
        let linked: Vec<(Inode, &Entry)> =
            entries.iter().filter_map(|entry| Some((linked(root, entry)?, entry))).collect();
        let now = linked.iter().map(|(inode, _)| *inode);
        let names = match &mut self.0 {
            None => self.0.insert(read(ledger, &now.clone().collect())?),
            Some(names) => {
                let unmet = now.clone().filter(|inode| !names.contains_key(inode)).collect();
                names.extend(names_of(ledger, &unmet)?);
                names
            }
        };
        let before = known.iter().filter_map(|(_, row)| inode(row));
        let inodes: FxHashSet<Inode> = before.chain(now).collect();
        let all = inodes.iter().filter_map(|inode| names.get(inode)).flatten();
        let others = all.filter(|key| known.get(key).is_none());
        let others = others.filter_map(|key| RepoPath::from_key(key)).collect();
        follow(names, known, &linked);
        Ok(others)
    }
}

/// Takes the names that the rows say out, and those that the entries say in.
fn follow(names: &mut Names, known: &KnownRows, linked: &[(Inode, &Entry)]) {
    let before = || known.iter().filter_map(|(key, row)| Some((inode(row)?, key)));
    for (inode, key) in before() {
        if let Some(keys) = names.get_mut(&inode) {
            keys.remove(key);
        }
    }
    for (inode, entry) in linked {
        names.entry(*inode).or_default().insert(entry.path.to_key().into());
    }
    for (inode, _) in before() {
        if names.get(&inode).is_some_and(FxHashSet::is_empty) {
            names.remove(&inode);
        }
    }
}

/// The names of the files that have several in a ledger, and of those that are `wanted`: its rows are
/// gone through once, and of a file that is met for the first time only its row is kept.
fn read(ledger: &Ledger, wanted: &FxHashSet<Inode>) -> Result<Names> {
    let (mut first, mut names) = (FxHashMap::<Inode, i64>::default(), Names::default());
    ledger.each_stat(|row, key, bytes| {
        let stat = stat::from_bytes(bytes);
        match first.entry((stat.dev, stat.ino)) {
            Vacant(new) => drop(new.insert(row)),
            Occupied(met) => drop(names.entry(*met.key()).or_default().insert(key.into())),
        }
    })?;
    let all: FxHashSet<Inode> = names.keys().chain(wanted).copied().collect();
    for (inode, row) in all.iter().filter_map(|inode| Some((inode, first.get(inode)?))) {
        names.entry(*inode).or_default().extend(ledger.key_of(*row)?);
    }
    Ok(names)
}

/// The paths that a ledger has of these files; of none it asks nothing.
fn names_of(ledger: &Ledger, wanted: &FxHashSet<Inode>) -> Result<Names> {
    let mut names = Names::default();
    if !wanted.is_empty() {
        ledger.each_stat(|_, key, bytes| {
            let stat = stat::from_bytes(bytes);
            let inode = (stat.dev, stat.ino);
            if wanted.contains(&inode) {
                names.entry(inode).or_default().insert(key.into());
            }
        })?;
    }
    Ok(names)
}

fn inode(row: &Known) -> Option<Inode> {
    let stat = stat::from_bytes(row.stat.as_ref()?);
    Some((stat.dev, stat.ino))
}

/// The file at a path, if it has other names.
fn linked(root: &Path, entry: &Entry) -> Option<Inode> {
    let stat = entry.stat.filter(|_| matches!(entry.kind, Kind::File))?;
    has_others(root, &entry.path)?.then_some((stat.dev, stat.ino))
}

/// Whether it has other names.
fn has_others(root: &Path, path: &RepoPath) -> Option<bool> {
    match path.under(root).symlink_metadata() {
        Ok(meta) => Some(meta.nlink() > 1),
        Err(e) if e.kind() == std::io::ErrorKind::InvalidFilename => {
            // Longer than the system takes in one piece.
            let root = std::fs::File::open(root).ok()?;
            let dir = open_folder(root, path.parent()?.as_bytes()).ok()?;
            let stat = statat(dir, path.name(), AtFlags::SYMLINK_NOFOLLOW).ok()?;
            Some(stat.st_nlink > 1)
        }
        Err(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::{ChunkId, Fate};
    use crate::store::ledger::{Batch, FileRow};
    use crate::walk::Stat;

    #[test]
    fn the_names_of_what_has_several_and_of_what_is_wanted_are_read() {
        let dir = tempfile::tempdir().unwrap();
        let mut ledger = Ledger::open_or_create(&dir.path().join("ledger.sqlite")).unwrap();
        let row = |(path, ino): (&str, u64)| FileRow {
            path: RepoPath::new(path).unwrap(),
            fate: Fate::Binary,
            detail: None,
            stat: Some(stat::to_bytes(&Stat { ino, ..Stat::default() })),
            racy: false,
            content: None,
        };
        let files = [("a", 1), ("d/b", 1), ("c", 2), ("d/e", 3), ("f", 1), ("g", 4)];
        let batch = Batch { rows: files.map(row).into(), ..Batch::default() };
        ledger.apply(&batch, &|_, _, _| ChunkId(0)).unwrap();
        let names = read(&ledger, &FxHashSet::from_iter([(0, 2), (0, 9)])).unwrap();
        let mut told: Vec<(u64, Vec<String>)> = Vec::new();
        for ((_, ino), keys) in names {
            let paths = keys.iter().map(|key| RepoPath::from_key(key).unwrap());
            let mut paths: Vec<_> = paths.map(|path| path.display().to_string()).collect();
            paths.sort();
            told.push((ino, paths));
        }
        told.sort();
        assert_eq!(told, [(1, vec!["a".into(), "d/b".into(), "f".into()]), (2, vec!["c".into()])]);
    }
}
