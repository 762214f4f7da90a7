//! A chunk's bytes, taken from the file and checked against the index before anybody sees them.

use std::fs::File;
use std::os::unix::fs::FileExt;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use crate::admit::{Policy, Stat};
use crate::beneath::Root;
use crate::record::Body;
use crate::store::ledger::{Cut, Row};
use crate::text::{self, Encoding};

/// Reads chunks of one repository. It keeps the last file open, since chunks come in file order.
pub struct BodyReader<'a> {
    root: &'a Root,
    name: &'a str,
    git: Option<&'a Policy>,
    open: Option<Open>,
}

/// The file that chunks come from.
struct Open {
    row: i64,
    file: File,
    size: u64,
    clean: Option<bool>,
}

impl<'a> BodyReader<'a> {
    /// A reader of the repository called `name`. With `git` the records say what git has.
    pub fn new(root: &'a Root, name: &'a str, git: Option<&'a Policy>) -> Self {
        BodyReader { root, name, git, open: None }
    }

    /// The chunk, or `None` when the file does not hold the indexed bytes there any more.
    pub fn read(&mut self, row: &Row, cut: &Cut, complete: bool) -> Option<Body> {
        let encoding: Encoding = row.encoding.as_deref()?.parse().ok()?;
        let Open { file, clean, size, .. } = self.open(row)?;
        // A damaged ledger can name any length; no more is made room for than the file can fill.
        let len = cut.bytes.to.checked_sub(cut.bytes.from).filter(|_| cut.bytes.to <= *size)?;
        let mut bytes = vec![0; usize::try_from(len).ok()?];
        file.read_exact_at(&mut bytes, cut.bytes.from).ok()?;
        let clean = *clean;
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
            head: self.git.and_then(Policy::head).map(str::to_string),
            clean,
        })
    }

    fn open(&mut self, row: &Row) -> Option<&Open> {
        if self.open.as_ref().is_none_or(|open| open.row != row.id) {
            let file = self.root.open_file(&row.path).ok()?;
            let stat = Stat::from(&rustix::fs::fstat(&file).ok()?);
            let clean = self.git.and_then(|git| git.is_clean(&row.path, &stat));
            self.open = Some(Open { row: row.id, file, size: stat.size, clean });
        }
        self.open.as_ref()
    }
}

fn hex(hash: &[u8; 32]) -> String {
    blake3::Hash::from_bytes(*hash).to_hex().to_string()
}
