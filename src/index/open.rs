//! One path of the walk becomes one row of the ledger: a file is opened and read here.

use std::fs::File;
use std::io;

use super::content::ContentReader;
use super::stat::{self, Young};
use crate::beneath::Root;
use crate::record::Fate;
use crate::store::ledger::{FileRow, StatBytes};
use crate::walk::{self, Entry, Kind};

/// How often a file that changes under the reader is read before it is left for the next scan.
const TRIES: usize = 3;

/// What became of an entry.
pub enum Outcome {
    /// A row for the ledger.
    Row(FileRow),
    /// It was gone, or no file any more, when it was to be read.
    Gone,
}

/// Reads what the walk found.
pub fn read_entry(root: &Root, entry: Entry, young: Young, reader: &mut ContentReader) -> Outcome {
    let fate = match &entry.kind {
        Kind::File => return read_file(root, entry, young, reader),
        Kind::Symlink => Fate::Symlink,
        Kind::Repository => Fate::Repository,
        Kind::Special => Fate::Special,
        Kind::Absent => Fate::Absent,
        Kind::Unreadable(_) => Fate::Unreadable,
        Kind::Ignored(_) => Fate::Ignored,
    };
    Outcome::Row(row(entry, fate))
}

/// The rule or the errno of an entry, as the ledger keeps it.
pub fn detail(kind: &Kind) -> Option<String> {
    match kind {
        Kind::Unreadable(errno) => Some(errno.to_string()),
        Kind::Ignored(rule) => Some(rule.to_string()),
        _ => None,
    }
}

fn row(entry: Entry, fate: Fate) -> FileRow {
    let detail = detail(&entry.kind);
    FileRow { path: entry.path, fate, detail, stat: None, racy: false, content: None }
}

fn read_file(root: &Root, entry: Entry, young: Young, reader: &mut ContentReader) -> Outcome {
    match read_still(root, &entry, reader) {
        Ok((content, stat, still)) => {
            let fate = if content.encoding.is_some() { Fate::Text } else { Fate::Binary };
            let racy = !still || young.is_racy(&stat);
            let stat = Some(stat::to_bytes(&stat));
            Outcome::Row(FileRow { stat, racy, content: Some(content), ..row(entry, fate) })
        }
        Err(e) if is_gone(&e) => Outcome::Gone,
        Err(e) => {
            let detail = Some(walk::errno_text(&e));
            Outcome::Row(FileRow { detail, ..row(entry, Fate::Unreadable) })
        }
    }
}

type Still = (crate::store::ledger::Content, walk::Stat, bool);

/// Reads a file between two equal `fstat`s; after some tries as it was, and says so.
fn read_still(root: &Root, entry: &Entry, reader: &mut ContentReader) -> io::Result<Still> {
    let mut tries = TRIES;
    loop {
        tries -= 1;
        let mut file = root.open_file(&entry.path)?;
        let before = regular(&file)?;
        let content = reader.read(&entry.path, &mut file)?;
        let after = regular(&file)?;
        let still = before == after && after.size == content.size;
        if still || tries == 0 {
            return Ok((content, after, still));
        }
    }
}

fn regular(file: &File) -> io::Result<walk::Stat> {
    let stat = rustix::fs::fstat(file)?;
    match rustix::fs::FileType::from_raw_mode(stat.st_mode) {
        rustix::fs::FileType::RegularFile => Ok(walk::Stat::from(&stat)),
        _ => Err(io::ErrorKind::NotFound.into()),
    }
}

/// What took the file's place is found by the next scan.
fn is_gone(e: &io::Error) -> bool {
    let errno = rustix::io::Errno::from_io_error(e);
    e.kind() == io::ErrorKind::NotFound
        || matches!(errno, Some(rustix::io::Errno::LOOP | rustix::io::Errno::NOTDIR))
}

/// The stat data as the ledger keeps it.
pub fn stat_bytes(entry: &Entry) -> Option<StatBytes> {
    entry.stat.as_ref().map(stat::to_bytes)
}
