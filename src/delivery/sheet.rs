//! Text with the places in it where chunks end.

use super::passage::Passage;
use crate::record::Read;

/// Where a chunk ends on a sheet.
#[derive(Debug, Clone, PartialEq)]
pub struct Mark {
    /// The byte after its last one.
    pub end: usize,
    /// The chunk.
    pub chunk: Read,
}

/// A part of the output.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Sheet {
    /// The text as printed.
    pub text: String,
    /// The chunks on it, in order.
    pub marks: Vec<Mark>,
}

impl Sheet {
    /// The passages as printed: for each run of contiguous ones a frame, then its lines.
    pub fn of(passages: &[&Passage]) -> Sheet {
        let mut sheet = Sheet::default();
        for run in passages.chunk_by(|a, b| a.is_followed_by(b)) {
            sheet.push_run(run);
        }
        sheet
    }

    fn push_run(&mut self, run: &[&Passage]) {
        let (Some(first), Some(last)) = (run.first(), run.last()) else { return };
        self.text.push_str(&first.frame_to(last));
        for passage in run {
            passage.show(&mut self.text);
            self.marks.push(Mark { end: self.text.len(), chunk: passage.ack() });
        }
    }

    /// Adds a line that belongs to no chunk; `line` has no line end.
    pub fn push_line(&mut self, line: &str) {
        self.text.push_str(line);
        self.text.push('\n');
    }

    /// Its length in characters (Unicode scalar values).
    pub fn chars(&self) -> u64 {
        self.text.chars().count() as u64
    }
}
