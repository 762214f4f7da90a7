//! Whether git tracks anything at or below one folder, from as little of its index as says so.
//!
//! The entries stand in the order of their paths, so reading ends where the folder would be: for one
//! whose name begins with a dot that is near the start, whatever the size of the index.

use std::cmp::Ordering;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use gix_config::file::{Metadata, init};
use gix_config::{File as Config, Source};

use super::gitdir::GitDir;
use super::{Tracked, config};
use crate::regular::{self, Links};

/// The stat data of an entry, before the object's id.
const STAT: usize = 40;

/// The flag of an entry that has two more bytes of flags.
const EXTENDED: u16 = 0x4000;

/// Whether the repository around `root` (absolute, without links) has a path at or below `folder` in
/// its index. An index that git could not read has nothing.
pub fn tracks(root: &Path, folder: &Path) -> bool {
    let Some(git) = GitDir::around(root) else { return false };
    let Ok(inside) = folder.strip_prefix(&git.top) else { return false };
    let (index, inside) = (git.own.join("index"), inside.as_os_str().as_bytes());
    let hash = object_hash(&git);
    match quick(&index, inside, hash.len_in_bytes()) {
        Ok(found) if found || !is_split(&git.own) => found,
        Err(e) if e.kind() == io::ErrorKind::NotFound => false,
        _ => whole(&index, inside, hash),
    }
}

/// Reads the index up to where the folder would be.
fn quick(index: &Path, inside: &[u8], hash: usize) -> io::Result<bool> {
    let mut entries = Entries::open(index, hash)?;
    while let Some(path) = entries.next()? {
        match place(path, inside) {
            Ordering::Less => {}
            Ordering::Equal => return Ok(true),
            Ordering::Greater => return Ok(false),
        }
    }
    Ok(false)
}

/// Where a path stands to all that is at or below a folder.
fn place(path: &[u8], inside: &[u8]) -> Ordering {
    match path.strip_prefix(inside) {
        None => path.cmp(inside),
        Some([]) | Some([b'/', ..]) => Ordering::Equal,
        Some(rest) => rest.cmp(b"/"),
    }
}

/// What is in an index that shares entries with another file, or is none that is known here.
fn whole(index: &Path, inside: &[u8], hash: gix_hash::Kind) -> bool {
    Tracked::open(index, hash).is_ok_and(|tracked| {
        let (entry, below) = tracked.find(inside);
        entry.is_some() || !below.is_empty()
    })
}

fn is_split(git: &Path) -> bool {
    let names = std::fs::read_dir(git).into_iter().flatten().flatten();
    names.map(|entry| entry.file_name()).any(|name| name.as_bytes().starts_with(b"sharedindex."))
}

/// The hash of the repository's objects: that setting counts in its own configuration alone.
fn object_hash(git: &GitDir) -> gix_hash::Kind {
    let bytes = regular::read(&git.common.join("config"), Links::Follow).unwrap_or_default();
    let meta = Metadata::from(Source::Local);
    let config = Config::from_bytes_no_includes(&bytes, meta, init::Options::default());
    config.map_or(gix_hash::Kind::Sha1, |config| config::object_hash(&config))
}

/// The paths of an index, one after the other (gitformat-index(5)).
struct Entries {
    file: BufReader<File>,
    left: u32,
    version: u32,
    hash: usize,
    path: Vec<u8>,
}

impl Entries {
    fn open(index: &Path, hash: usize) -> io::Result<Entries> {
        let mut file = BufReader::with_capacity(1 << 16, regular::open(index, Links::Follow)?);
        let magic: [u8; 4] = take(&mut file)?;
        let version = u32::from_be_bytes(take(&mut file)?);
        let left = u32::from_be_bytes(take(&mut file)?);
        match (&magic, version) {
            (b"DIRC", 2..=4) => Ok(Entries { file, left, version, hash, path: Vec::new() }),
            _ => Err(io::ErrorKind::InvalidData.into()),
        }
    }

    fn next(&mut self) -> io::Result<Option<&[u8]>> {
        let Some(left) = self.left.checked_sub(1) else { return Ok(None) };
        self.left = left;
        let mut size = self.skip(STAT + self.hash)?;
        let flags = u16::from_be_bytes(take(&mut self.file)?);
        size += 2;
        if self.version >= 3 && flags & EXTENDED != 0 {
            size += self.skip(2)?;
        }
        match self.version {
            4 => self.rest_of_path()?,
            _ => self.whole_path(size)?,
        }
        Ok(Some(&self.path))
    }

    fn skip(&mut self, size: usize) -> io::Result<usize> {
        let mut left = size;
        while left > 0 {
            let there = self.file.fill_buf()?.len().min(left);
            if there == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            self.file.consume(there);
            left -= there;
        }
        Ok(size)
    }

    /// A path in full, and NULs up to a size of the entry that 8 divides.
    fn whole_path(&mut self, before: usize) -> io::Result<()> {
        self.path.clear();
        self.push_path()?;
        let size = before + self.path.len();
        self.skip(7 - size % 8).map(drop)
    }

    /// What differs from the path before: how many bytes go from its end, and what comes then.
    fn rest_of_path(&mut self) -> io::Result<()> {
        let gone = self.number()?;
        let kept = self.path.len().checked_sub(gone).ok_or(io::ErrorKind::InvalidData)?;
        self.path.truncate(kept);
        self.push_path()
    }

    fn push_path(&mut self) -> io::Result<()> {
        self.file.read_until(0, &mut self.path)?;
        match self.path.pop() {
            Some(0) => Ok(()),
            _ => Err(io::ErrorKind::UnexpectedEof.into()),
        }
    }

    /// A number in seven bits a byte; each further byte counts one more, so that no number can be
    /// written in two ways.
    fn number(&mut self) -> io::Result<usize> {
        let [mut byte] = take(&mut self.file)?;
        let mut number = usize::from(byte & 0x7f);
        while byte & 0x80 != 0 {
            [byte] = take(&mut self.file)?;
            let more = number.checked_add(1).and_then(|n| n.checked_mul(128));
            number = more.ok_or(io::ErrorKind::InvalidData)? + usize::from(byte & 0x7f);
        }
        Ok(number)
    }
}

fn take<const N: usize>(file: &mut impl Read) -> io::Result<[u8; N]> {
    let mut bytes = [0; N];
    file.read_exact(&mut bytes)?;
    Ok(bytes)
}
