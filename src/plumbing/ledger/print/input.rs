//! The stream of `body` records that is printed.

use std::io::BufRead;

use crate::cli::parse::is_name;
use crate::delivery::Passage;
use crate::error::Result;
use crate::record::{Body, End, Reader, Record};

/// What else can be done with a stream that was cut off.
const PARTIAL: &str = "or print what came: `auwai-ledger print --partial`";

/// A stream of bodies, up to its `end` record.
pub(super) struct Bodies<R> {
    reader: Reader<R>,
    partial: bool,
    came: u64,
    withheld: u64,
    cut: bool,
    ended: bool,
}

/// A whole input.
pub(super) struct Collected {
    /// What is to be printed.
    pub(super) passages: Vec<Passage>,
    /// How many chunks could not be shown, since they are not any more what they were.
    pub(super) withheld: u64,
    /// Whether the stream was cut off.
    pub(super) cut: bool,
}

impl<R: BufRead> Bodies<R> {
    /// Reads `input`. With `partial` a stream that was cut off ends where it was cut.
    pub(super) fn new(input: R, partial: bool) -> Self {
        let reader = Reader::new(input, "-");
        Bodies { reader, partial, came: 0, withheld: 0, cut: false, ended: false }
    }

    /// The next one; `None` after the last.
    ///
    /// # Errors
    /// `bad-input`; `cut-off` without `partial`.
    pub(super) fn next_passage(&mut self) -> Result<Option<Passage>> {
        while !self.ended {
            match self.next_record()? {
                Some(Record::Body(body)) => return self.passage(body).map(Some),
                Some(Record::End(end)) => self.end(&end)?,
                // What could not be shown: its writer tells it, and its exit status says so.
                Some(Record::Unread(_)) => self.withheld += 1,
                Some(Record::Repo(_) | Record::Problem(_) | Record::Unknown) => {}
                Some(_) => return Err(self.reader.bad("not a body record")),
                None => (self.cut, self.ended) = (true, true),
            }
        }
        Ok(None)
    }

    /// All of it.
    pub(super) fn collect(mut self) -> Result<Collected> {
        let mut passages = Vec::new();
        while let Some(passage) = self.next_passage()? {
            passages.push(passage);
        }
        Ok(Collected { passages, withheld: self.withheld, cut: self.cut })
    }

    /// A record; `None` where a stream was cut that may be.
    fn next_record(&mut self) -> Result<Option<Record>> {
        match self.reader.next_or_cut(self.partial, PARTIAL)? {
            None if !self.partial => Err(self.reader.cut_off().hint(PARTIAL)),
            record => Ok(record),
        }
    }

    fn passage(&mut self, body: Body) -> Result<Passage> {
        self.came += 1;
        if !is_name(&body.repo) {
            let what = format!("not a body record: not a repository's name: '{}'", body.repo);
            return Err(self.reader.bad(&what));
        }
        Passage::new(body).map_err(|e| self.reader.bad(&format!("not a body record: {e}")))
    }

    fn end(&mut self, end: &End) -> Result<()> {
        self.ended = true;
        if end.of != "body" {
            return Err(self.reader.bad(&format!("the end of '{}', not of 'body'", end.of)));
        }
        if end.count != self.came {
            let what = format!("the end record counts {}, and {} came", end.count, self.came);
            return Err(self.reader.bad(&what));
        }
        Ok(())
    }
}
