//! A chunk's bytes, taken from the file and checked against the index before anybody sees them.

use std::fs::File;
use std::os::unix::fs::FileExt;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use crate::beneath::Root;
use crate::record::Body;
use crate::store::ledger::{Cut, Row};
use crate::text::{self, Encoding};

/// Reads chunks of one repository. It keeps the last file open, since chunks come in file order.
pub struct BodyReader<'a> {
    root: &'a Root,
    name: &'a str,
    open: Option<(i64, File)>,
}

impl<'a> BodyReader<'a> {
    /// A reader of the repository called `name`.
    pub fn new(root: &'a Root, name: &'a str) -> Self {
        BodyReader { root, name, open: None }
    }

    /// The chunk, or `None` when the file does not hold the indexed bytes there any more.
    pub fn read(&mut self, row: &Row, cut: &Cut, complete: bool) -> Option<Body> {
        let encoding: Encoding = row.encoding.as_deref()?.parse().ok()?;
        let mut bytes = vec![0; usize::try_from(cut.bytes.to - cut.bytes.from).ok()?];
        self.file(row)?.read_exact_at(&mut bytes, cut.bytes.from).ok()?;
        if *blake3::hash(&bytes).as_bytes() != cut.body {
            return None;
        }
        let (text, exact) = text::decode(encoding, &bytes);
        let (path, path_b64) = row.path.to_wire();
        Some(Body {
            repo: self.name.to_string(),
            id: cut.id,
            path,
            path_b64,
            bytes: cut.bytes,
            size: row.size.unwrap_or_default(),
            lines: cut.lines,
            of_lines: row.lines,
            piece: cut.piece,
            complete,
            encoding: encoding.to_string(),
            text,
            text_b64: (!exact).then(|| STANDARD.encode(&bytes)),
            body_hash: Some(hex(&cut.body)),
            file_hash: row.hash.as_ref().map(hex),
        })
    }

    fn file(&mut self, row: &Row) -> Option<&File> {
        if self.open.as_ref().is_none_or(|(id, _)| *id != row.id) {
            self.open = Some((row.id, self.root.open_file(&row.path).ok()?));
        }
        self.open.as_ref().map(|(_, file)| file)
    }
}

fn hex(hash: &[u8; 32]) -> String {
    blake3::Hash::from_bytes(*hash).to_hex().to_string()
}
