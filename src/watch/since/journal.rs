//! What is about to be told, behind the snapshot in the same file: one `write()` a batch, before the
//! batch goes out. So a watcher that is killed before its next snapshot knows whom it told of what.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::Path;

use super::file::{put, shown, take, take_path};
use crate::error::{Error, Result};
use crate::record::{EventKind, EventOp, RepoPath};
use crate::watch::change::Change;

/// A longer journal says no more than that everything may have been told.
const LONGEST: usize = 1 << 20;

/// So much of an entry's hash stands behind it, to know a torn one.
const CHECK: usize = 8;

/// What was told: a path, and whether as a directory whose whole content is to be looked at. The
/// empty path is the root's.
pub type Told = (Vec<u8>, bool);

/// The journal of a file whose snapshot stands.
#[derive(Debug, Default)]
pub struct Journal {
    file: Option<File>,
    length: usize,
}

impl Journal {
    /// Goes on behind what the file has, without the last `torn` bytes of it: what stands behind a torn
    /// entry is not read. One that cannot be opened will be replaced first.
    pub fn open(file: &Path, torn: u64) -> Journal {
        let open = || -> std::io::Result<File> {
            let file = OpenOptions::new().append(true).open(file)?;
            if torn > 0 {
                file.set_len(file.metadata()?.len().saturating_sub(torn))?;
            }
            Ok(file)
        };
        Journal { file: open().ok(), length: 0 }
    }

    /// Notes what is about to be told.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn note(&mut self, changes: &[Change], name: &Path) -> Result<()> {
        let Some(file) = &mut self.file else { return Ok(()) };
        let told: BTreeMap<&[u8], bool> = changes.iter().filter_map(told).collect();
        if told.is_empty() || self.length > LONGEST {
            return Ok(());
        }
        let mut bytes = Vec::new();
        for (path, whole) in told {
            entry(&mut bytes, path, whole);
        }
        if self.length + bytes.len() > LONGEST {
            bytes.clear();
            entry(&mut bytes, b"", true);
            self.length = LONGEST;
        }
        self.length += bytes.len();
        file.write_all(&bytes).map_err(|e| Error::io("write", shown(name), &e))
    }
}

/// What a change leaves with who is told. What has gone leaves nothing: the snapshot still has it.
fn told(change: &Change) -> Option<(&[u8], bool)> {
    match change {
        Change::Event { op: EventOp::Remove, .. } => None,
        Change::Event { kind, path, .. } => Some((path.as_bytes(), *kind == EventKind::Dir)),
        Change::Rescan(dir, _) => Some((dir.as_ref().map_or(b"", RepoPath::as_bytes), true)),
    }
}

fn entry(out: &mut Vec<u8>, path: &[u8], whole: bool) {
    let start = out.len();
    put(out, path);
    out.push(u8::from(whole));
    let hash = blake3::hash(&out[start..]);
    out.extend(&hash.as_bytes()[..CHECK]);
}

/// The entries up to the first that is torn, and how many bytes are left from there.
pub fn parse(mut bytes: &[u8]) -> (Vec<Told>, u64) {
    let mut entries = Vec::new();
    let mut torn = bytes.len();
    while let Some(entry) = take_entry(&mut bytes) {
        entries.push(entry);
        torn = bytes.len();
    }
    (entries, torn as u64)
}

fn take_entry(rest: &mut &[u8]) -> Option<Told> {
    let start = *rest;
    let path = take_path(rest)?;
    let [whole] = take(rest)?;
    let hash = blake3::hash(&start[..start.len() - rest.len()]);
    (take::<CHECK>(rest)? == hash.as_bytes()[..CHECK]).then_some((path, whole != 0))
}
