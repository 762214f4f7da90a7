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

/// The files that several paths of a ledger lead to, or once did: read from it when they are first
/// asked for, since a scan after a scan needs none of them.
#[derive(Debug, Default)]
pub struct Links(Option<FxHashSet<Inode>>);

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
        let links = match &mut self.0 {
            Some(links) => links,
            unread => unread.insert(shared(ledger)?),
        };
        let inodes = known.iter().filter_map(|(_, row)| inode(row));
        let mut wanted: FxHashSet<Inode> = inodes.filter(|inode| links.contains(inode)).collect();
        wanted.extend(entries.iter().filter_map(|entry| linked(root, entry)));
        if wanted.is_empty() {
            return Ok(BTreeSet::new());
        }
        links.extend(&wanted);
        let rows = ledger.known()?;
        let rows = rows.iter().filter(|(key, _)| known.get(key).is_none());
        let rows = rows.filter(|(_, row)| inode(row).is_some_and(|inode| wanted.contains(&inode)));
        Ok(rows.filter_map(|(key, _)| RepoPath::from_key(key)).collect())
    }
}

/// The files of a ledger that have several paths in it.
fn shared(ledger: &Ledger) -> Result<FxHashSet<Inode>> {
    let (mut once, mut shared) = (FxHashSet::default(), FxHashSet::default());
    ledger.each_stat(|bytes| {
        let stat = stat::from_bytes(bytes);
        if !once.insert((stat.dev, stat.ino)) {
            shared.insert((stat.dev, stat.ino));
        }
    })?;
    Ok(shared)
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
