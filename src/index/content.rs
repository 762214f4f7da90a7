//! What is in one file: its hash, its encoding, its chunks.
//!
//! A file of up to [`BLOCK`] bytes is read once; a larger one streams, once to find its encoding
//! and once to cut it, so memory does not grow with it.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, Read, Seek};

use crate::record::RepoPath;
use crate::store::ledger::{Content, Cut};
use crate::text::{self, Class, Cutter, Detector, Encoding, Tokenizer, chunk_id, shown_tokens};

/// How much of a file is in memory at once.
const BLOCK: usize = 1 << 20;

/// Reads files, one after the other, through one buffer.
pub struct ContentReader {
    tokenizer: Tokenizer,
    buffer: Vec<u8>,
}

impl ContentReader {
    /// A reader that counts with this tokenizer.
    pub fn new(tokenizer: Tokenizer) -> ContentReader {
        ContentReader { tokenizer, buffer: vec![0; BLOCK] }
    }

    /// Reads an open file from its start to its end.
    pub fn read(&mut self, path: &RepoPath, file: &mut File) -> io::Result<Content> {
        let first = fill(file, &mut self.buffer)?;
        if first < BLOCK {
            let bytes = &self.buffer[..first];
            return Ok(match text::detect(bytes) {
                Class::Text(encoding) => self.whole(path, bytes, encoding),
                Class::Binary => binary(bytes),
            });
        }
        match self.detect(file)? {
            Class::Text(encoding) => self.stream(path, file, encoding),
            Class::Binary => self.stream_binary(file),
        }
    }

    fn whole(&self, path: &RepoPath, bytes: &[u8], encoding: Encoding) -> Content {
        let mut builder = Builder::new(path, encoding, self.tokenizer);
        builder.push(bytes, true);
        builder.finish()
    }

    fn detect(&mut self, file: &mut File) -> io::Result<Class> {
        let mut detector = Detector::new();
        loop {
            file.rewind()?;
            loop {
                let read = fill(file, &mut self.buffer)?;
                if !detector.feed(&self.buffer[..read]) || read < BLOCK {
                    break;
                }
            }
            if let Some(class) = detector.finish() {
                return Ok(class);
            }
        }
    }

    fn stream(
        &mut self,
        path: &RepoPath,
        file: &mut File,
        encoding: Encoding,
    ) -> io::Result<Content> {
        file.rewind()?;
        let mut builder = Builder::new(path, encoding, self.tokenizer);
        loop {
            let read = fill(file, &mut self.buffer)?;
            builder.push(&self.buffer[..read], read < BLOCK);
            if read < BLOCK {
                return Ok(builder.finish());
            }
        }
    }

    fn stream_binary(&mut self, file: &mut File) -> io::Result<Content> {
        file.rewind()?;
        let mut hasher = blake3::Hasher::new();
        let mut size = 0;
        loop {
            let read = fill(file, &mut self.buffer)?;
            hasher.update(&self.buffer[..read]);
            size += read as u64;
            if read < BLOCK {
                let hash = hasher.finalize().into();
                return Ok(Content { size, hash, ..Content::default() });
            }
        }
    }
}

/// Fills the buffer as far as the file goes.
fn fill(file: &mut File, buffer: &mut [u8]) -> io::Result<usize> {
    let mut filled = 0;
    while filled < buffer.len() {
        match file.read(&mut buffer[filled..]) {
            Ok(0) => break,
            Ok(read) => filled += read,
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(e) => return Err(e),
        }
    }
    Ok(filled)
}

fn binary(bytes: &[u8]) -> Content {
    let hash = blake3::hash(bytes).into();
    Content { size: bytes.len() as u64, hash, ..Content::default() }
}

/// Collects the content of a text file block by block.
struct Builder<'a> {
    path: &'a RepoPath,
    encoding: Encoding,
    cutter: Cutter,
    hasher: blake3::Hasher,
    size: u64,
    tail: [u8; 2],
    cuts: Vec<text::Cut>,
}

impl<'a> Builder<'a> {
    fn new(path: &'a RepoPath, encoding: Encoding, tokenizer: Tokenizer) -> Self {
        Builder {
            path,
            encoding,
            cutter: Cutter::new(encoding, tokenizer),
            hasher: blake3::Hasher::new(),
            size: 0,
            tail: [0; 2],
            cuts: Vec::new(),
        }
    }

    fn push(&mut self, bytes: &[u8], last: bool) {
        self.hasher.update(bytes);
        self.size += bytes.len() as u64;
        match bytes {
            [.., a, b] => self.tail = [*a, *b],
            [b] => self.tail = [self.tail[1], *b],
            [] => {}
        }
        self.cutter.push(bytes, last, &mut |cut| self.cuts.push(cut));
    }

    fn finish(self) -> Content {
        let cuts = name(self.path, &self.cuts);
        Content {
            size: self.size,
            hash: self.hasher.finalize().into(),
            encoding: Some(self.encoding.to_string()),
            unterminated: self.size > 0 && !self.encoding.ends_line(self.size, self.tail),
            lines: self.cuts.last().map_or(0, |cut| cut.lines.last),
            tokens: self.cuts.iter().map(|cut| shown_tokens(cut.tokens, cut.lines)).sum(),
            cuts,
        }
    }
}

/// Gives the chunks of a file their ids: path, body, and for equal bodies the occurrence.
fn name(path: &RepoPath, cuts: &[text::Cut]) -> Vec<Cut> {
    let mut seen: HashMap<blake3::Hash, u32> = HashMap::with_capacity(cuts.len());
    let named = cuts.iter().map(|cut| {
        let count = seen.entry(cut.body).or_insert(0);
        let occurrence = *count;
        *count += 1;
        Cut {
            id: chunk_id(path, &cut.body, occurrence),
            bytes: cut.bytes,
            lines: cut.lines,
            tokens: cut.tokens,
            occurrence,
            piece: cut.piece,
            body: cut.body.into(),
        }
    });
    named.collect()
}
