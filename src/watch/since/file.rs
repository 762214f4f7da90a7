//! The file: a line that says what it is, the length of the snapshot, the snapshot (the root, and the
//! paths with their stat data), a hash over all before it; then the journal: what was told since.
//! Numbers are little-endian.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::{ErrorKind, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::Seen;
use super::journal::{self, Told};
use crate::admit::Stat;
use crate::error::{Error, Result};
use crate::record::RepoPath;
use crate::regular::{self, Links};
use crate::visible::quote_path;
use crate::watch::change::Changes;

const HEAD: &[u8] = b"auwai-since 2\n";
/// What such a file begins with in every version: any other is somebody's own.
const KIND: &[u8] = b"auwai-since ";
const HASH: usize = blake3::OUT_LEN;

/// Whether a path is that of `own` while it is written: a name of its own, in the same folder, so that
/// nobody's file, and no link, is in the way of it.
pub fn is_new(path: &RepoPath, own: &RepoPath) -> bool {
    let begins = [b".", own.name(), b"."].concat();
    let is_so_named = path.name().starts_with(&begins) && path.name().ends_with(NEW.as_bytes());
    is_so_named && path.parent() == own.parent()
}

const NEW: &str = ".new";

/// What is known of paths.
pub type Known = BTreeMap<Vec<u8>, Seen>;

pub(super) fn shown(file: &Path) -> String {
    quote_path(file.as_os_str().as_bytes()).into_owned()
}

/// Where the file is, or is to be made: not in the place of a link that leads to it.
///
/// # Errors
/// `not-found` when there is no folder for it.
pub fn place(file: &Path) -> Result<PathBuf> {
    if let Ok(real) = file.canonicalize() {
        return Ok(real);
    }
    let folder = file.parent().unwrap_or(Path::new("/"));
    let there = std::fs::metadata(folder);
    there.map_err(|e| {
        Error::io("make", shown(file), &e).hint("name one in a folder that is there")
    })?;
    Ok(file.to_owned())
}

/// What the file says.
pub struct Read {
    /// What was known.
    pub known: Known,
    /// What was told since.
    pub journal: Vec<Told>,
    /// How many bytes from the first torn entry on.
    pub torn: u64,
}

/// Reads the file. `None` when there is nothing to compare with; a file that cannot be used is
/// warned of.
pub fn read(file: &Path, root: &Path, out: &mut Changes) -> Result<Option<Read>> {
    let bytes = match regular::read(file, Links::Follow) {
        Ok(bytes) => bytes,
        Err(e) if e.kind() == ErrorKind::NotFound => return Ok(None),
        Err(e) => {
            let error = regular::cannot("read", file, &e);
            return Err(error.hint_instead("name a file that is --since's own: `--since seen`"));
        }
    };
    if !bytes.starts_with(&KIND[..KIND.len().min(bytes.len())]) {
        let message = format!("'{}' is not a file that --since has made", shown(file));
        return Err(Error::failed("not-ours", message)
            .hint("it would be written over: name another one, or move it away"));
    }
    let fault = match parse(&bytes) {
        Some((of, read)) if of == root.as_os_str().as_bytes() => return Ok(Some(read)),
        Some((of, _)) => format!("it is of '{}'", quote_path(&of)),
        None => "it is damaged, or of another version".to_string(),
    };
    let message =
        format!("cannot compare with '{}': {fault}; everything is told anew", shown(file));
    out.warn(message, None);
    Ok(None)
}

/// Replaces the file by one with an empty journal.
pub fn write(file: &Path, root: &Path, known: &Known) -> Result<()> {
    let mut bytes = [HEAD, &0_u64.to_le_bytes()].concat();
    put(&mut bytes, root.as_os_str().as_bytes());
    for (path, (stat, fresh)) in known {
        put(&mut bytes, path);
        for number in [stat.dev, stat.ino, stat.size] {
            bytes.extend(number.to_le_bytes());
        }
        for number in [stat.mtime_ns, stat.ctime_ns] {
            bytes.extend(number.to_le_bytes());
        }
        bytes.extend(stat.mode.to_le_bytes());
        bytes.push(u8::from(*fresh));
    }
    let length = (bytes.len() as u64).to_le_bytes();
    bytes[HEAD.len()..HEAD.len() + length.len()].copy_from_slice(&length);
    let hash = blake3::hash(&bytes);
    bytes.extend(hash.as_bytes());
    replace(file, &bytes).map_err(|e| Error::io("write", shown(file), &e))
}

fn replace(file: &Path, bytes: &[u8]) -> std::io::Result<()> {
    let mut begins = OsString::from(".");
    begins.push(file.file_name().unwrap_or_default());
    begins.push(".");
    let dir = file.parent().unwrap_or(Path::new("/"));
    let mut new = tempfile::Builder::new().prefix(&begins).suffix(NEW).tempfile_in(dir)?;
    new.write_all(bytes)?;
    new.as_file().sync_data()?;
    new.persist(file)?;
    Ok(())
}

pub(super) fn put(out: &mut Vec<u8>, bytes: &[u8]) {
    out.extend((bytes.len() as u64).to_le_bytes());
    out.extend(bytes);
}

/// The root and what is known of it; `None` when the bytes are not those that were written.
fn parse(bytes: &[u8]) -> Option<(Vec<u8>, Read)> {
    let mut head = bytes.strip_prefix(HEAD)?;
    let length = usize::try_from(u64::from_le_bytes(take(&mut head)?)).ok()?;
    let (body, rest) = bytes.split_at_checked(length)?;
    let (hash, journal) = rest.split_first_chunk::<HASH>()?;
    if blake3::hash(body) != *hash {
        return None;
    }
    let mut rest = body.get(HEAD.len() + size_of::<u64>()..)?;
    let root = take_path(&mut rest)?;
    let mut known = BTreeMap::new();
    while !rest.is_empty() {
        let path = take_path(&mut rest)?;
        known.insert(path, (take_stat(&mut rest)?, take::<1>(&mut rest)? != [0]));
    }
    let (journal, torn) = journal::parse(journal);
    Some((root, Read { known, journal, torn }))
}

pub(super) fn take<const N: usize>(rest: &mut &[u8]) -> Option<[u8; N]> {
    let (taken, left) = rest.split_first_chunk::<N>()?;
    *rest = left;
    Some(*taken)
}

pub(super) fn take_path(rest: &mut &[u8]) -> Option<Vec<u8>> {
    let length = usize::try_from(u64::from_le_bytes(take(rest)?)).ok()?;
    let (path, left) = rest.split_at_checked(length)?;
    *rest = left;
    Some(path.to_vec())
}

fn take_stat(rest: &mut &[u8]) -> Option<Stat> {
    Some(Stat {
        dev: u64::from_le_bytes(take(rest)?),
        ino: u64::from_le_bytes(take(rest)?),
        size: u64::from_le_bytes(take(rest)?),
        mtime_ns: i64::from_le_bytes(take(rest)?),
        ctime_ns: i64::from_le_bytes(take(rest)?),
        mode: u32::from_le_bytes(take(rest)?),
    })
}
