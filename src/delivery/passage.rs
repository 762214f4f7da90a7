//! A chunk that can be printed: a `body` record, checked.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use crate::record::{Body, ByteRange, LineRange, Read, RepoPath};
use crate::text::{Encoding, Frame, Part, show_lines};

/// No file has more lines or bytes: what is beyond is not a number that other tools read exactly.
const MOST: u64 = 1 << 53;

/// A chunk's place and bytes.
#[derive(Debug, Clone)]
pub struct Passage {
    ack: Read,
    path: RepoPath,
    bytes: ByteRange,
    size: u64,
    lines: LineRange,
    of_lines: u64,
    piece: bool,
    /// Whether it has been read before, as the record says.
    pub complete: bool,
    encoding: Encoding,
    content: Content,
    unterminated: bool,
}

#[derive(Debug, Clone)]
enum Content {
    /// Bytes of the file, in its encoding.
    Bytes(Vec<u8>),
    /// Decoded text that says the bytes exactly. Shown it is the same.
    Text(String),
}

/// The acknowledgement of a body, with what it says of itself as evidence.
fn delivered(body: &Body) -> Read {
    Read {
        path: Some(body.path.clone()),
        path_b64: body.path_b64.clone(),
        bytes: Some(body.bytes),
        body: body.body_hash.clone(),
        file: body.file_hash.clone(),
        head: body.head.clone(),
        clean: body.clean,
        ..Read::of(body.repo.clone(), body.id)
    }
}

impl Passage {
    /// Takes a record.
    ///
    /// # Errors
    /// Says what is wrong with it.
    pub fn new(body: Body) -> Result<Passage, String> {
        let path = body.repo_path()?;
        check_ranges(&body)?;
        let encoding = body.encoding.parse()?;
        let unterminated = body.bytes.to == body.size && !body.text.ends_with('\n');
        let ack = delivered(&body);
        let content = match &body.text_b64 {
            Some(text) => {
                Content::Bytes(STANDARD.decode(text).map_err(|e| format!("bad text_b64: {e}"))?)
            }
            None => Content::Text(body.text),
        };
        Ok(Passage {
            ack,
            path,
            bytes: body.bytes,
            size: body.size,
            lines: body.lines,
            of_lines: body.of_lines,
            piece: body.piece,
            complete: body.complete,
            encoding,
            content,
            unterminated,
        })
    }

    /// The acknowledgement of the chunk.
    pub fn ack(&self) -> Read {
        self.ack.clone()
    }

    /// How many bytes of memory its content takes.
    pub fn weight(&self) -> usize {
        match &self.content {
            Content::Bytes(bytes) => bytes.len(),
            Content::Text(text) => text.len(),
        }
    }

    /// Whether `next` goes on where this ends, under the same frame. A piece of a long line never
    /// shares a frame.
    pub fn is_followed_by(&self, next: &Passage) -> bool {
        !self.piece
            && !next.piece
            && self.bytes.to == next.bytes.from
            && self.path == next.path
            && self.ack.repo == next.ack.repo
    }

    /// The frame of a run from this passage to `last`, with its line end.
    pub fn frame_to(&self, last: &Passage) -> String {
        let part = if self.piece {
            Part::Piece { line: self.lines.first, bytes: self.bytes, of: self.size }
        } else {
            let lines = LineRange { first: self.lines.first, last: last.lines.last };
            Part::Lines { lines, of: self.of_lines }
        };
        let frame = Frame {
            repo: &self.ack.repo,
            path: &self.path,
            encoding: self.encoding,
            part,
            unterminated: last.unterminated,
        };
        frame.render()
    }

    /// Appends its lines as shown.
    pub fn show(&self, out: &mut String) {
        match &self.content {
            Content::Bytes(bytes) => show_lines(out, self.encoding, bytes, self.lines.first),
            Content::Text(text) => {
                show_lines(out, Encoding::UTF_8, text.as_bytes(), self.lines.first);
            }
        }
    }
}

fn check_ranges(body: &Body) -> Result<(), String> {
    let ByteRange { from, to } = body.bytes;
    if from > to || to > body.size || body.size > MOST {
        return Err(format!("bytes {from}-{to} of {} is not a range", body.size));
    }
    let LineRange { first, last } = body.lines;
    if first < 1 || first > last || last > body.of_lines || body.of_lines > MOST {
        return Err(format!("lines {first}-{last} of {} is not a range", body.of_lines));
    }
    Ok(())
}
