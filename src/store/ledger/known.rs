//! What a ledger knows of many paths, kept so that a scan which looks every one of them up once
//! finds it fast: keys stand in one block, rows in another, and the table between them has
//! numbers alone.

use std::hash::BuildHasher;

use hashbrown::HashTable;
use rustc_hash::FxBuildHasher;

use crate::record::Fate;

/// The stat data of a file, as bytes that are compared and nothing else.
pub type StatBytes = [u8; 48];

/// A row of the ledger: its path's key, and its id.
pub type RowId = (Box<[u8]>, i64);

/// What the ledger knows of a path before a scan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Known {
    /// The row.
    pub id: i64,
    /// The fate.
    pub fate: Fate,
    /// The rule or the errno.
    pub detail: Option<Box<str>>,
    /// The stat data at the last scan.
    pub stat: Option<StatBytes>,
    /// Whether the times were too young to be trusted.
    pub racy: bool,
}

/// Rows by the key of their path, [`crate::record::RepoPath::to_key`]; a key has one row.
#[derive(Debug, Default)]
pub struct KnownRows {
    keys: Vec<u8>,
    rows: Vec<Row>,
    table: HashTable<usize>,
}

#[derive(Debug)]
struct Row {
    /// Where its key ends, which begins where that before ends.
    end: usize,
    known: Known,
    met: bool,
}

impl KnownRows {
    /// Room for so many rows.
    pub fn with_capacity(rows: usize) -> KnownRows {
        KnownRows {
            keys: Vec::with_capacity(rows * 32),
            rows: Vec::with_capacity(rows),
            table: HashTable::with_capacity(rows),
        }
    }

    /// Adds a row.
    pub fn push(&mut self, key: &[u8], known: Known) {
        let at = self.rows.len();
        self.keys.extend_from_slice(key);
        self.rows.push(Row { end: self.keys.len(), known, met: false });
        let (keys, rows) = (&self.keys, &self.rows);
        self.table.insert_unique(hash(key), at, |at| hash(key_at(keys, rows, *at)));
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// The row of a key.
    pub fn get(&self, key: &[u8]) -> Option<&Known> {
        self.find(key).map(|at| &self.rows[at].known)
    }

    /// The same, which has been met then; once met, no more.
    pub fn meet(&mut self, key: &[u8]) -> Option<&Known> {
        let row = self.find(key).map(|at| &mut self.rows[at])?;
        (!std::mem::replace(&mut row.met, true)).then_some(&row.known)
    }

    /// All rows with their keys.
    pub fn iter(&self) -> impl Iterator<Item = (&[u8], &Known)> {
        self.rows.iter().enumerate().map(|(at, row)| (self.key(at), &row.known))
    }

    /// Those that were not met.
    pub fn unmet(&self) -> impl Iterator<Item = RowId> {
        let unmet = self.rows.iter().enumerate().filter(|(_, row)| !row.met);
        unmet.map(|(at, row)| (self.key(at).into(), row.known.id))
    }

    fn key(&self, at: usize) -> &[u8] {
        key_at(&self.keys, &self.rows, at)
    }

    fn find(&self, key: &[u8]) -> Option<usize> {
        self.table.find(hash(key), |at| self.key(*at) == key).copied()
    }
}

fn hash(key: &[u8]) -> u64 {
    FxBuildHasher.hash_one(key)
}

fn key_at<'a>(keys: &'a [u8], rows: &[Row], at: usize) -> &'a [u8] {
    let from = at.checked_sub(1).map_or(0, |before| rows[before].end);
    &keys[from..rows[at].end]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_found_by_their_keys_and_met_once() {
        let known = |id| Known { id, fate: Fate::Text, detail: None, stat: None, racy: false };
        let mut rows = KnownRows::default();
        let key = |id: i64| format!("dir\0{}", "x".repeat(id as usize % 40)) + &id.to_string();
        (0..1000).for_each(|id| rows.push(key(id).as_bytes(), known(id)));
        assert_eq!(rows.len(), 1000);
        for id in 0..1000 {
            assert_eq!(rows.get(key(id).as_bytes()), Some(&known(id)));
        }
        assert_eq!(rows.get(b"dir"), None);
        assert_eq!(rows.meet(b"dir"), None);
        for id in (0..1000).filter(|id| *id != 7) {
            assert_eq!(rows.meet(key(id).as_bytes()), Some(&known(id)));
            assert_eq!(rows.meet(key(id).as_bytes()), None);
        }
        let unmet: Vec<RowId> = rows.unmet().collect();
        assert_eq!(unmet, [(key(7).into_bytes().into(), 7)]);
        assert_eq!(rows.iter().count(), 1000);
    }
}
