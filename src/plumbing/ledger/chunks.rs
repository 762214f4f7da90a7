//! `auwai-ledger chunks`: every chunk of repositories, in reading order: the input of `auwai-plan`.

use crate::cli::Io;
use crate::error::Result;
use crate::plumbing::ledger::reading::{Reading, ReadingOptions};
use crate::plumbing::ledger::source::Source;
use crate::record::{self, Chunk, End, Fate};
use crate::store::ledger::{Cut, Ledger, Row};
use crate::text::{Encoding, Extent, Tokenizer, frame_tokens, shown_tokens};

/// List every chunk of indexed repositories in reading order, as `chunk` records
///
/// Repositories by name, then paths by component and chunks by their place in the file. With
/// --workspace, `complete` is what the workspace's coverage ledger says, else what each repository's
/// own ledger says. The index is taken as it is: run `auwai-ledger scan` first.
#[derive(Debug, Clone, clap::Args)]
pub struct Args {
    #[command(flatten)]
    of: ReadingOptions,
    /// Write the hashes of each chunk and its file too, by which `auwai-ledger replan` knows what has
    /// moved
    #[arg(long)]
    hashes: bool,
}

/// Runs the verb.
pub fn run(args: Args, io: &mut Io<'_>) -> Result<()> {
    let reading = Reading::open(&args.of, io.world)?;
    let mut count = 0;
    for source in reading.sources() {
        let ledger = source.ledger()?;
        record::write(io.out, &source.record(&ledger)?)?;
        count += write_chunks(source, &ledger, &reading, args.hashes, io)?;
    }
    record::write(io.out, &End { of: "chunk".into(), count })
}

fn write_chunks(
    source: &Source,
    ledger: &Ledger,
    reading: &Reading,
    hashes: bool,
    io: &mut Io<'_>,
) -> Result<u64> {
    let tokenizer = super::tokenizer_of(ledger)?;
    let done = reading.complete(source, ledger)?;
    let mut count = 0;
    ledger.each_file(|row| {
        if row.fate != Fate::Text || row.chunks == 0 {
            return Ok(());
        }
        let cuts = super::cuts(ledger, &row)?;
        let mut costs = FrameCosts::new(tokenizer, &source.name, &row);
        for (ord, cut) in cuts.iter().enumerate() {
            let complete = done.has(cut);
            let frame = costs.of(cut.piece);
            let chunk = chunk(&source.name, &row, ord as u64, cut, frame, complete);
            record::write(io.out, &if hashes { hashed(chunk, &row, cut) } else { chunk })?;
        }
        count += cuts.len() as u64;
        Ok(())
    })?;
    Ok(count)
}

/// What a frame of one file can cost at the most, counted when first asked.
pub(super) struct FrameCosts<'a> {
    tokenizer: Tokenizer,
    repo: &'a str,
    row: &'a Row,
    lines: Option<record::Tokens>,
    piece: Option<record::Tokens>,
}

impl<'a> FrameCosts<'a> {
    pub fn new(tokenizer: Tokenizer, repo: &'a str, row: &'a Row) -> Self {
        FrameCosts { tokenizer, repo, row, lines: None, piece: None }
    }

    pub fn of(&mut self, piece: bool) -> record::Tokens {
        let (tokenizer, repo, row) = (self.tokenizer, self.repo, self.row);
        let slot = if piece { &mut self.piece } else { &mut self.lines };
        *slot.get_or_insert_with(|| {
            let encoding = row.encoding.as_deref().and_then(|name| name.parse().ok());
            let extent = Extent {
                lines: row.lines,
                bytes: row.size.unwrap_or_default(),
                unterminated: row.unterminated,
            };
            let encoding = encoding.unwrap_or(Encoding::UTF_8);
            frame_tokens(tokenizer, repo, &row.path, encoding, extent, piece)
        })
    }
}

/// The record of a chunk.
pub(super) fn chunk(
    repo: &str,
    row: &Row,
    ord: u64,
    cut: &Cut,
    frame_tokens: record::Tokens,
    complete: bool,
) -> Chunk {
    let (path, path_b64) = row.path.to_wire();
    Chunk {
        repo: repo.to_string(),
        id: cut.id,
        path,
        path_b64,
        ord,
        bytes: cut.bytes,
        lines: cut.lines,
        tokens: record::Tokens(shown_tokens(cut.tokens, cut.lines)),
        frame_tokens,
        piece: cut.piece,
        complete,
        body_hash: None,
        file_hash: None,
    }
}

/// A chunk with its hashes.
fn hashed(chunk: Chunk, row: &Row, cut: &Cut) -> Chunk {
    let hex = |hash: [u8; 32]| blake3::Hash::from_bytes(hash).to_hex().to_string();
    Chunk { body_hash: Some(hex(cut.body)), file_hash: row.hash.map(hex), ..chunk }
}
