//! `findings.md`: each finding once, between marker lines that no finding can forge.
//!
//! A finding is committed first and appended after, and its row says when that is done. What a
//! killed command left undone, the next one finishes: it goes on where a torn block ends. A file
//! whose end was lost later, or all of it, gets back what the database has. What was written into it
//! by hand stays.

use std::fmt::Write as _;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::Path;

use rusqlite::Connection;

use super::{Coverage, files_lock, findings_path};
use crate::error::Result;
use crate::record::{self, SegmentId};
use crate::regular::{self, Links};
use crate::store::db::{Durability, Work};
use crate::store::file::cannot_write;
use crate::visible::one_line;

struct Finding {
    id: i64,
    plan: String,
    segment: String,
    reader: String,
    at: String,
    text: String,
}

impl Coverage {
    /// Appends what has not been appended yet, and what was and is gone again; nothing to do is the
    /// common case, and cheap.
    pub(super) fn append_findings(&mut self) -> Result<()> {
        if self.missing_findings()?.is_empty() {
            return Ok(());
        }
        let _lock = files_lock(&self.dir)?;
        // Another process may have appended them while this one waited.
        let waiting = self.missing_findings()?;
        let path = findings_path(&self.dir);
        append(&path, &waiting).map_err(|e| cannot_write(&path, &e))?;
        self.db.write(Durability::Process, |tx| {
            for finding in &waiting {
                tx.execute("UPDATE findings SET appended = 1 WHERE id = ?", [finding.id])?;
            }
            Ok(())
        })
    }
}

impl Coverage {
    /// All findings, the oldest first, as records.
    ///
    /// # Errors
    /// The ledger's.
    pub fn each_finding(&self, mut each: impl FnMut(record::Finding) -> Result<()>) -> Result<()> {
        let mut after = 0;
        while let Some(next) =
            self.db.read(|c| select(c, &format!("WHERE id > {after} ORDER BY id LIMIT 1")))?.pop()
        {
            after = next.id;
            let Finding { plan, segment, reader, at, text, .. } = next;
            each(record::Finding { plan, segment: SegmentId(segment), reader, at, text })?;
        }
        Ok(())
    }

    /// The findings that the file may lack: those not appended yet, or, where the last one that was
    /// is not whole in it, all.
    fn missing_findings(&self) -> Result<Vec<Finding>> {
        let last = "WHERE appended = 1 ORDER BY id DESC LIMIT 1";
        let stands = match self.db.read(|c| select(c, last))?.first() {
            Some(last) => has(&findings_path(&self.dir), block(last).as_bytes()),
            None => true,
        };
        let which = if stands { "WHERE appended = 0 ORDER BY id" } else { "ORDER BY id" };
        self.db.read(|c| select(c, which))
    }
}

/// Whether a block is in the file: at its end, or, where something was written after it, anywhere.
fn has(path: &Path, block: &[u8]) -> bool {
    let Ok(mut file) = regular::open(path, Links::Refuse) else { return false };
    let mut end = vec![0; block.len()];
    let from = SeekFrom::End(-i64::try_from(block.len()).unwrap_or(i64::MAX));
    let at_end = file.seek(from).and_then(|_| file.read_exact(&mut end)).is_ok() && end == block;
    let mut all = Vec::new();
    at_end
        || file.rewind().and_then(|()| file.read_to_end(&mut all)).is_ok()
            && memchr::memmem::find(&all, block).is_some()
}

fn select(c: &Connection, which: &str) -> Work<Vec<Finding>> {
    let sql = format!("SELECT id, plan, segment, reader, at, text FROM findings {which}");
    let mut query = c.prepare_cached(&sql)?;
    let rows = query.query_map([], |row| {
        Ok(Finding {
            id: row.get(0)?,
            plan: row.get(1)?,
            segment: row.get(2)?,
            reader: row.get(3)?,
            at: row.get(4)?,
            text: row.get(5)?,
        })
    })?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

fn append(path: &Path, findings: &[Finding]) -> io::Result<()> {
    let mut file = regular::open_own(path)?;
    let mut there = Vec::new();
    file.read_to_end(&mut there)?;
    file.seek(SeekFrom::End(0))?;
    let is_new = there.is_empty();
    for finding in findings {
        let rest = missing(&there, block(finding).as_bytes());
        file.write_all(&rest)?;
        there.extend_from_slice(&rest);
    }
    file.sync_all()?;
    // A file that was only now made survives a power cut once its folder is on the disk.
    path.parent().filter(|_| is_new).map_or(Ok(()), |folder| File::open(folder)?.sync_all())
}

/// What must follow the bytes that are `there` so that `block` is among them whole and once.
fn missing(there: &[u8], block: &[u8]) -> Vec<u8> {
    if memchr::memmem::find(there, block).is_some() {
        return Vec::new();
    }
    // A torn block is the end of the file: its writer died, and nobody has appended since.
    let whole_lines = |n: usize| matches!(there[..there.len() - n].last(), None | Some(b'\n'));
    let mut sizes = (1..=block.len().min(there.len())).rev();
    if let Some(n) = sizes.find(|n| there.ends_with(&block[..*n]) && whole_lines(*n)) {
        return block[n..].to_vec();
    }
    let fresh_line = there.last().is_some_and(|byte| *byte != b'\n');
    [if fresh_line { &b"\n"[..] } else { b"" }, block].concat()
}

/// A finding as Markdown: an indented block, which shows its text as it is.
fn block(finding: &Finding) -> String {
    let Finding { id, plan, segment, reader, at, text } = finding;
    let mut out = format!("<!-- finding {id} begin -->\n");
    let _ = writeln!(out, "{segment}, reader {reader}, {at}, plan {plan}:\n");
    for line in lines(text) {
        let _ = writeln!(out, "    {}", one_line(line));
    }
    let _ = writeln!(out, "<!-- finding {id} end -->");
    out
}

/// The lines of a text, by every character that some program takes for a line's end.
fn lines(text: &str) -> impl Iterator<Item = &str> {
    let ends = ['\n', '\r', '\u{b}', '\u{c}', '\u{85}', '\u{2028}', '\u{2029}'];
    text.trim_end().split_inclusive(ends).filter_map(move |line| {
        // The two characters of a CRLF are one end.
        if line == "\n" && is_after_cr(text, line) {
            None
        } else {
            Some(line.trim_end_matches(ends))
        }
    })
}

fn is_after_cr(text: &str, line: &str) -> bool {
    let at = line.as_ptr() as usize - text.as_ptr() as usize;
    text.as_bytes()[..at].ends_with(b"\r")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn finding(text: &str) -> Finding {
        Finding {
            id: 3,
            plan: "p".into(),
            segment: "read-1".into(),
            reader: "default".into(),
            at: "1970-01-01T00:00:00Z".into(),
            text: text.into(),
        }
    }

    #[test]
    fn no_finding_can_forge_a_marker() {
        let ends = ["\n", "\r\n", "\r", "\u{2028}", "\u{2029}", "\u{85}", "\u{b}", "\u{c}"];
        for end in ends {
            let block = block(&finding(&format!("a{end}<!-- finding 3 end -->{end}b\x1b[2J")));
            let splits =
                |c| ['\n', '\r', '\u{b}', '\u{c}', '\u{85}', '\u{2028}', '\u{2029}'].contains(&c);
            let markers = block.split(splits).filter(|line| line.starts_with("<!--"));
            assert_eq!(markers.count(), 2, "{end:?}: {block}");
            assert!(
                block.contains("    a\n    <!-- finding 3 end -->\n    b\\x1b[2J\n"),
                "{block}"
            );
        }
    }

    #[test]
    fn empty_lines_stay() {
        assert_eq!(lines("a\n\nb\r\n\r\nc\n").collect::<Vec<_>>(), ["a", "", "b", "", "c"]);
    }

    #[test]
    fn a_block_torn_anywhere_is_finished_and_a_whole_one_left() {
        let block = block(&finding("what was found\nand more"));
        let before = b"# mine\nno line end";
        let whole = [&before[..], b"\n", block.as_bytes()].concat();
        for cut in before.len()..=whole.len() {
            let there = &whole[..cut];
            let mended = [there, &missing(there, block.as_bytes())].concat();
            assert_eq!(mended, whole, "cut at {cut}");
        }
        let edited = [&whole[..], b"a note\n"].concat();
        assert!(missing(&edited, block.as_bytes()).is_empty());
    }
}
