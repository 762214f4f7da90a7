//! One path of the walk becomes one row of the ledger: a file is opened and read here.

use std::io;

use super::content::ContentReader;
use super::stat::{self, Young};
use crate::beneath::Root;
use crate::record::Fate;
use crate::regular;
use crate::store::ledger::{Content, FileRow, StatBytes};
use crate::walk::{Entry, Errno, Kind, Stat, errno_text};

/// How often a file that changes under the reader is read before it is left for the next scan.
const TRIES: usize = 3;

/// What became of an entry.
pub enum Outcome {
    /// A row for the ledger.
    Row(Box<FileRow>),
    /// It was gone, or no file any more, when it was to be read.
    Gone,
    /// This process, or the system, has not enough to open it: nothing is known of it.
    Starved(Errno),
}

/// Reads what the walk found.
pub fn read_entry(root: &Root, entry: Entry, young: Young, reader: &mut ContentReader) -> Outcome {
    match entry.kind {
        Kind::File => read_file(root, entry, young, reader),
        _ => Outcome::Row(Box::new(row(entry))),
    }
}

/// The fate of what was found, as far as the walk can tell: a file may prove binary.
pub fn fate(kind: &Kind) -> Fate {
    match kind {
        Kind::File => Fate::Text,
        Kind::Symlink => Fate::Symlink,
        Kind::Repository => Fate::Repository,
        Kind::Special => Fate::Special,
        Kind::Absent => Fate::Absent,
        Kind::Unreadable(_) => Fate::Unreadable,
        Kind::Ignored(_) => Fate::Ignored,
    }
}

/// The rule or the errno of what was found, as the ledger keeps it.
pub fn detail(kind: &Kind) -> Option<String> {
    match kind {
        Kind::Unreadable(errno) => Some(errno.to_string()),
        Kind::Ignored(rule) => Some(rule.to_string()),
        _ => None,
    }
}

fn row(entry: Entry) -> FileRow {
    let (fate, detail) = (fate(&entry.kind), detail(&entry.kind));
    FileRow { path: entry.path, fate, detail, stat: None, racy: false, content: None }
}

fn read_file(root: &Root, entry: Entry, young: Young, reader: &mut ContentReader) -> Outcome {
    match read_still(root, &entry, reader) {
        Ok((content, stat, still)) => {
            let fate = if content.encoding.is_some() { Fate::Text } else { Fate::Binary };
            let racy = !still || young.is_racy(&stat);
            let stat = Some(stat::to_bytes(&stat));
            let content = Some(content);
            Outcome::Row(Box::new(FileRow { fate, stat, racy, content, ..row(entry) }))
        }
        Err(errno) if Errno(errno).is_starved() => Outcome::Starved(Errno(errno)),
        Err(errno) if is_gone(errno) && !entry.tracked => Outcome::Gone,
        Err(errno) if is_gone(errno) => {
            Outcome::Row(Box::new(row(Entry { kind: Kind::Absent, ..entry })))
        }
        Err(errno) => {
            let detail = Some(errno_text(&errno.into()));
            Outcome::Row(Box::new(FileRow { fate: Fate::Unreadable, detail, ..row(entry) }))
        }
    }
}

type Still = (Content, Stat, bool);

/// Reads a file between two equal `fstat`s; after some tries as it was, and says so.
fn read_still(
    root: &Root,
    entry: &Entry,
    reader: &mut ContentReader,
) -> Result<Still, rustix::io::Errno> {
    let mut tries = TRIES;
    loop {
        tries -= 1;
        let mut file = root.open_file(&entry.path).map_err(|e| errno(&e))?;
        let before = Stat::from(&rustix::fs::fstat(&file)?);
        let content = reader.read(&entry.path, &mut file).map_err(|e| errno(&e))?;
        let after = Stat::from(&rustix::fs::fstat(&file)?);
        let still = before == after && after.size == content.size;
        if still || tries == 0 {
            return Ok((content, after, still));
        }
    }
}

/// What took a file's place while it was looked at counts as not there: the next scan finds it.
fn errno(e: &io::Error) -> rustix::io::Errno {
    if regular::is_other(e) {
        return rustix::io::Errno::NOENT;
    }
    rustix::io::Errno::from_io_error(e).unwrap_or(rustix::io::Errno::IO)
}

fn is_gone(errno: rustix::io::Errno) -> bool {
    use rustix::io::Errno as E;
    matches!(errno, E::NOENT | E::LOOP | E::NOTDIR | E::NXIO)
}

/// The stat data of an entry as the ledger keeps it.
pub fn stat_bytes(entry: &Entry) -> Option<StatBytes> {
    entry.stat.as_ref().map(stat::to_bytes)
}
