//! Files that have several names. A change through one name is told of that name alone, and is a
//! change of all of them.

use std::collections::BTreeSet;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use rustc_hash::FxHashSet;

use super::stat;
use crate::error::Result;
use crate::record::RepoPath;
use crate::store::ledger::{Known, KnownRows, Ledger};
use crate::walk::{Entry, Kind};

/// Device and inode.
type Inode = (u64, u64);

/// The files that several paths of a ledger lead to, or once did.
#[derive(Debug, Default)]
pub struct Links(FxHashSet<Inode>);

impl Links {
    /// Those of a ledger.
    ///
    /// # Errors
    /// The ledger's.
    pub fn of(ledger: &Ledger) -> Result<Links> {
        let (mut once, mut links) = (FxHashSet::default(), Links::default());
        for inode in ledger.known()?.iter().filter_map(|(_, row)| inode(row)) {
            if !once.insert(inode) {
                links.0.insert(inode);
            }
        }
        Ok(links)
    }

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
        let inodes = known.iter().filter_map(|(_, row)| inode(row));
        let mut wanted: FxHashSet<Inode> = inodes.filter(|inode| self.0.contains(inode)).collect();
        wanted.extend(entries.iter().filter_map(|entry| linked(root, entry)));
        if wanted.is_empty() {
            return Ok(BTreeSet::new());
        }
        self.0.extend(&wanted);
        let rows = ledger.known()?;
        let rows = rows.iter().filter(|(key, _)| known.get(key).is_none());
        let rows = rows.filter(|(_, row)| inode(row).is_some_and(|inode| wanted.contains(&inode)));
        Ok(rows.filter_map(|(key, _)| RepoPath::from_key(key)).collect())
    }
}

fn inode(row: &Known) -> Option<Inode> {
    let stat = stat::from_bytes(row.stat.as_ref()?);
    Some((stat.dev, stat.ino))
}

/// The file at a path, if it has other names.
fn linked(root: &Path, entry: &Entry) -> Option<Inode> {
    let stat = entry.stat.filter(|_| matches!(entry.kind, Kind::File))?;
    let links = entry.path.under(root).symlink_metadata().ok()?.nlink();
    (links > 1).then_some((stat.dev, stat.ino))
}
