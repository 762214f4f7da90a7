//! `auwai-ledger coverage`: every planned chunk, read or not.

use super::outdated::{Others, other_bytes};
use super::segments::{PAGE, pages};
use super::target::FullReadOptions;
use crate::cli::Io;
use crate::error::Result;
use crate::record::{self, End, Read, SegmentStatus, Unread, Why};
use crate::store::coverage::{Placed, PlannedChunk};

/// List the chunks of the plan, read or not
///
/// In reading order, one record a chunk: `read`, or `unread` with its segment and whether a reader
/// has that; then `end`, which counts the unread ones. This asks what the plan has; verify asks the
/// tree as it is. A chunk of which other bytes were read than the index has now is unread.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    target: FullReadOptions,
    /// Only those that are not read
    #[arg(long)]
    unread: bool,
}

/// Runs the verb.
pub fn run(args: Args, io: &mut Io<'_>) -> Result<()> {
    let (workspace, coverage) = args.target.open(io)?;
    let (others, mut count) = (other_bytes(&coverage, &workspace)?, 0);
    pages(&coverage, |seq| {
        let page = coverage.progress_after(seq, PAGE)?;
        for progress in &page {
            let mut chunks = progress.chunks()?;
            chunks.iter_mut().for_each(|chunk| chunk.complete &= !others.contains(chunk.id));
            count += chunks.iter().filter(|chunk| !chunk.complete).count() as u64;
            let mut wanted = chunks.iter().filter(|chunk| !(args.unread && chunk.complete));
            wanted.try_for_each(|chunk| put(chunk, &progress.placed, &others, io))?;
        }
        Ok(page.last().map(|progress| progress.placed.seq))
    })?;
    record::write(io.out, &End { of: "unread".into(), count })
}

fn put(chunk: &PlannedChunk<'_>, placed: &Placed, others: &Others, io: &mut Io<'_>) -> Result<()> {
    match chunk.complete {
        true => record::write(io.out, &read(chunk)),
        false if others.contains(chunk.id) => {
            record::write(io.out, &Unread { why: Why::Changed, ..unread(chunk, placed) })
        }
        false => record::write(io.out, &unread(chunk, placed)),
    }
}

fn read(chunk: &PlannedChunk<'_>) -> Read {
    Read {
        path: Some(chunk.file.path.clone()),
        path_b64: chunk.file.path_b64.clone(),
        ..Read::of(chunk.id.repo.clone(), chunk.id.id)
    }
}

/// The record of a planned chunk that is not read.
fn unread(chunk: &PlannedChunk<'_>, placed: &Placed) -> Unread {
    let segment = &placed.segment;
    let leased = segment.status == SegmentStatus::Active;
    Unread {
        repo: chunk.id.repo.clone(),
        path: chunk.file.path.clone(),
        path_b64: chunk.file.path_b64.clone(),
        lines: None,
        id: Some(chunk.id.id),
        bytes: None,
        tokens: chunk.tokens,
        segment: Some(segment.id.clone()),
        reader: segment.reader.clone(),
        why: if leased { Why::Leased } else { Why::Pending },
    }
}
