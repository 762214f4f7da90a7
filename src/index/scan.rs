//! One scan: the whole tree against the whole ledger.

use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::time::SystemTime;

use super::refresh::{Met, Work, refresh};
use super::stat::Young;
use super::write::{Writer, note_git};
use crate::admit::Policy;
use crate::beneath::Root;
use crate::error::{Error, Result};
use crate::record::{Progress, Sync, SyncMode};
use crate::store::ledger::{Extent, Ledger, Turn};
use crate::text::{CHUNKER_VERSION, Tokenizer};
use crate::visible::quote_path;
use crate::walk;

/// How to scan.
pub struct Options<'a> {
    /// The repository's name, for the record.
    pub name: &'a str,
    /// Threads that walk, and threads that read.
    pub threads: usize,
    /// The tokenizer; `None`: the one of the last scan, else the default.
    pub tokenizer: Option<Tokenizer>,
    /// The time that the scan begins.
    pub now: SystemTime,
    /// The same, RFC 3339.
    pub at: &'a str,
}

/// Makes the ledger say what the tree is. `policy` must be no older than the turn, and bounded to the
/// same subtrees as the ledger; `progress` is called now and then.
///
/// # Errors
/// The ledger's, and `not-found` for a root that is not there. A path that cannot be read is a row
/// with its errno, not an error.
pub fn scan(
    root: &Path,
    policy: &Policy,
    ledger: &mut Ledger,
    _turn: &Turn,
    options: &Options<'_>,
    progress: &mut dyn FnMut(Progress),
) -> Result<Sync> {
    let folder = open_root(root)?;
    let (tokenizer, anew) = settle_tokenizer(ledger, options.tokenizer)?;
    let young = Young::at(options.now);
    let work = Work { root: &folder, tokenizer, young, anew, met: Met::default() };
    let mut writer = Writer::new(ledger, anew, progress);
    let source = |sink: &(dyn Fn(Vec<walk::Entry>) + std::marker::Sync)| {
        walk::walk(policy, options.threads, sink)
    };
    // Cut by other rules, rows that are not looked at would be of two kinds: they go.
    let known = if anew { Ledger::known_of_all } else { Ledger::known };
    let summary = refresh(&work, options.threads, source, known, &mut writer)?;
    note_git(writer.ledger_mut(), policy, policy.head(), summary.dirty)?;
    writer.finish(SyncMode::Full, options)
}

/// Opens the root of a repository.
pub fn open_root(root: &Path) -> Result<Root> {
    Root::open(root).map_err(|e| Error::io("open", quote_path(root.as_os_str().as_bytes()), &e))
}

/// The tokenizer to count with, and whether every file must be cut anew for it. Both are noted at
/// once, so that a first scan that is killed goes on where it stopped, and one that cuts anew
/// begins again instead of leaving two kinds of chunks.
fn settle_tokenizer(ledger: &mut Ledger, asked: Option<Tokenizer>) -> Result<(Tokenizer, bool)> {
    let noted = ledger.meta("tokenizer")?;
    let last = noted.as_deref().and_then(|name| name.parse().ok());
    let (tokenizer, chunker) = (asked.or(last).unwrap_or_default(), CHUNKER_VERSION.to_string());
    let same = last == Some(tokenizer) && ledger.meta("chunker")?.as_deref() == Some(&chunker);
    let anew = noted.is_some() && (!same || ledger.is_half_anew()?);
    if noted.is_none() || anew {
        ledger.begin_cutting(tokenizer.as_str(), &chunker, anew)?;
    }
    Ok((tokenizer, anew))
}

/// The tokenizer that a finished scan counted with.
pub fn settled_tokenizer(ledger: &Ledger) -> Result<Tokenizer> {
    let noted = ledger.meta("tokenizer")?;
    Ok(noted.as_deref().and_then(|name| name.parse().ok()).unwrap_or_default())
}

/// Whether the ledger knows all that is looked at, cut by the rules of this version.
pub fn is_whole(ledger: &Ledger) -> Result<bool> {
    let chunker = ledger.meta("chunker")?;
    Ok(ledger.extent()? == Extent::Known
        && chunker.is_some_and(|noted| noted == CHUNKER_VERSION.to_string()))
}
