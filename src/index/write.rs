//! How outcomes get into the ledger: batch by batch, and at the end the reads that move.

use super::open::Outcome;
use super::refresh::Done;
use super::scan::Options;
use crate::admit::Policy;
use crate::error::Result;
use crate::record::{Progress, RepoPath, Sync, SyncMode};
use crate::store::ledger::{Batch, Changes, Extent, Ledger, RowId};
use crate::text::chunk_id;

/// How many files a transaction takes, and how many chunks: they bound the write-ahead log, the
/// memory, and what a crash undoes. Chunk ids are random keys, so that every transaction dirties
/// most pages of their table: fewer and larger ones write less.
const BATCH: (usize, usize) = (16_384, 131_072);

/// How many files go by between two words of progress.
const TELL: u64 = 1000;

/// Collects outcomes and writes them batch by batch.
pub struct Writer<'a> {
    ledger: &'a mut Ledger,
    batch: Batch,
    sum: Changes,
    files: u64,
    of_files: Option<u64>,
    bytes: u64,
    chunks: usize,
    /// The ledger has been given memory for bulk work.
    roomy: bool,
    progress: &'a mut dyn FnMut(Progress),
}

impl<'a> Writer<'a> {
    /// Writes into the ledger.
    pub fn new(ledger: &'a mut Ledger, anew: bool, progress: &'a mut dyn FnMut(Progress)) -> Self {
        let batch = Batch { anew, ..Batch::default() };
        let sum = Changes::default();
        let (files, bytes, chunks, of_files) = (0, 0, 0, None);
        Writer { ledger, batch, sum, files, of_files, bytes, chunks, roomy: false, progress }
    }

    /// What is being written.
    pub fn ledger(&self) -> &Ledger {
        self.ledger
    }

    /// The same, to note facts in.
    pub fn ledger_mut(&mut self) -> &mut Ledger {
        self.ledger
    }

    /// Notes how many paths the last scan found, if it came to its end: about as many as there are.
    pub fn expect(&mut self, known: usize) -> Result<()> {
        self.of_files = self.ledger.meta("scanned")?.map(|_| known as u64);
        Ok(())
    }

    /// Counts one more path, and says now and then how far the scan is.
    pub fn tell(&mut self, unchanged: u64) {
        self.files += 1;
        if self.files.is_multiple_of(TELL) {
            let files = self.files + unchanged;
            (self.progress)(Progress { files, bytes: self.bytes, of_files: self.of_files });
        }
    }

    /// Takes what came of one path.
    pub fn take(&mut self, done: Done) -> Result<()> {
        match done.outcome {
            Outcome::Row(row) => {
                if let Some(content) = &row.content {
                    self.bytes += content.size;
                    self.chunks += content.cuts.len();
                }
                self.batch.rows.push(*row);
            }
            Outcome::Gone => self.batch.gone.extend(done.known),
            // The scan fails of it in the end.
            Outcome::Starved(_) => {}
        }
        if self.batch.rows.len() < BATCH.0 && self.chunks < BATCH.1 {
            return Ok(());
        }
        // There is more than one: the tables' pages are worth keeping.
        self.roomy = true;
        self.ledger.make_room()?;
        self.write()
    }

    /// Takes out rows, and writes what is left to write.
    pub fn forget(&mut self, gone: Vec<RowId>) -> Result<()> {
        self.batch.gone.extend(gone);
        self.write()
    }

    fn write(&mut self) -> Result<()> {
        if !self.batch.is_empty() {
            let changes = self.ledger.apply(&self.batch, &name_chunk)?;
            self.sum += changes;
            self.batch.clear();
            self.chunks = 0;
        }
        Ok(())
    }

    /// Moves the reads of what has vanished, and tells what was done.
    pub fn finish(self, mode: SyncMode, options: &Options<'_>) -> Result<Sync> {
        // Also when nothing has changed: the last scan may have been killed before this.
        let kept_reads = self.ledger.move_reads(options.at)?;
        let full = mode == SyncMode::Full;
        let news = self.sum != Changes::default() || full && self.ledger.extent()? != Extent::Known;
        if news && full {
            self.ledger.end_scan(options.at)?;
        }
        // Cut anew, what lies outside has gone with the rest.
        self.ledger.keep_fingerprint((!self.batch.anew).then_some(&self.sum))?;
        if self.roomy || news && full {
            self.ledger.checkpoint()?;
        }
        Ok(Sync {
            repo: options.name.to_string(),
            files: self.sum.files,
            chunks_added: self.sum.added,
            chunks_removed: self.sum.removed,
            kept_reads,
            mode,
            batch: None,
        })
    }
}

fn name_chunk(path: &RepoPath, body: &[u8; 32], occurrence: u32) -> crate::record::ChunkId {
    chunk_id(path, &blake3::Hash::from_bytes(*body), occurrence)
}

/// Notes the state of git, for the records that carry it.
pub fn note_git(
    ledger: &mut Ledger,
    policy: &Policy,
    head: Option<&str>,
    dirty: bool,
) -> Result<()> {
    let dirty = if policy.in_git() { dirty.to_string() } else { String::new() };
    note_head(ledger, head)?;
    match ledger.meta_of_part("dirty")?.as_deref() == Some(&dirty) {
        true => Ok(()),
        false => ledger.set_meta_of_part("dirty", &dirty),
    }
}

/// Notes where git's head is.
pub fn note_head(ledger: &mut Ledger, head: Option<&str>) -> Result<()> {
    let head = head.unwrap_or_default();
    match ledger.meta("head")?.as_deref() == Some(head) {
        true => Ok(()),
        false => ledger.set_meta(&[("head", head)]),
    }
}
