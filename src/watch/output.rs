//! Lines out: each in one `write()` that a pipe takes whole, however many write to it.

use std::io::{ErrorKind, Write};

use super::change::Change;
use super::filter::Filter;
use super::wake::Beside;
use crate::error::{Error, Result};
use crate::record::{self, Batch, Event, RepoPath, Rescan, RescanReason, Wire};
use crate::visible::quote_path;

/// The longest line that a pipe takes as a whole (POSIX's PIPE_BUF).
#[cfg(all(target_os = "linux", not(auwai_portable)))]
const LONGEST: usize = 4096;
#[cfg(not(all(target_os = "linux", not(auwai_portable))))]
const LONGEST: usize = 512;

/// What a line is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Format {
    /// A record.
    #[default]
    Jsonl,
    /// A path; a rescan is its directory with a `/` behind it.
    Path,
    /// A number for each batch: of its events and rescans.
    Batch,
}

/// Where changes are told.
pub struct Output<'a> {
    sink: &'a mut dyn Write,
    beside: Beside,
    format: Format,
    /// Paths end with NUL, and are raw.
    nul: bool,
    filter: Filter,
    batches: u64,
}

impl<'a> Output<'a> {
    /// An output; `beside` has its descriptor, for waiting.
    pub fn new(
        sink: &'a mut dyn Write,
        beside: Beside,
        (format, nul): (Format, bool),
        filter: Filter,
    ) -> Output<'a> {
        Output { sink, beside, format, nul, filter, batches: 0 }
    }

    /// The number of the last batch.
    pub fn batches(&self) -> u64 {
        self.batches
    }

    /// Tells a record that is neither an event nor a rescan.
    ///
    /// # Errors
    /// When the reader has gone, or the watcher is to end and nobody takes the line.
    pub fn record(&mut self, record: &impl Wire) -> Result<()> {
        match self.format {
            Format::Jsonl => self.line(&json(record)?),
            Format::Path | Format::Batch => Ok(()),
        }
    }

    /// Tells a batch, and whether there was one; with `touched` also one of nothing. `standing`:
    /// how many directories are watched, and how many polled; `None` when nothing is.
    ///
    /// # Errors
    /// As [`Output::record`].
    pub fn batch(
        &mut self,
        changes: &[Change],
        touched: bool,
        standing: Option<(usize, usize)>,
    ) -> Result<bool> {
        let (mut events, mut rescans) = (0, 0);
        for change in changes {
            if !self.filter.passes(change) {
                continue;
            }
            let (line, is_rescan) = self.fitting(change)?;
            *(if is_rescan { &mut rescans } else { &mut events }) += 1;
            self.change(&line)?;
        }
        let any = events + rescans > 0;
        let told = any || touched && self.format == Format::Jsonl;
        if !told {
            return Ok(false);
        }
        self.batches += 1;
        let watches = standing.map(|(watches, _)| watches as u64);
        let polled = standing.map_or(0, |(_, polled)| polled as u64);
        self.record(&Batch { n: self.batches, events, rescans, watches, polled })?;
        if self.format == Format::Batch {
            self.line(format!("{}\n", events + rescans).as_bytes())?;
        }
        Ok(any)
    }

    fn change(&mut self, line: &[u8]) -> Result<()> {
        match self.format {
            Format::Batch => Ok(()),
            _ => self.line(line),
        }
    }

    /// The line of a change, and whether it is a rescan: of the deepest directory whose line fits,
    /// when the change's own does not.
    fn fitting(&self, change: &Change) -> Result<(Vec<u8>, bool)> {
        let (first, mut dir, reason) = match change {
            Change::Event { path, .. } => {
                (self.shown(change)?, Some(path.clone()), RescanReason::Line)
            }
            Change::Rescan(dir, reason) => (self.shown(change)?, dir.clone(), *reason),
        };
        let mut line = (first, matches!(change, Change::Rescan(..)));
        while line.0.len() > LONGEST {
            let Some(path) = dir else { break };
            dir = path.parent();
            line = (self.shown(&Change::Rescan(dir.clone(), reason))?, true);
        }
        Ok(line)
    }

    fn shown(&self, change: &Change) -> Result<Vec<u8>> {
        match (self.format, change) {
            (Format::Path, Change::Event { path, .. }) => Ok(self.path(path.as_bytes())),
            (Format::Path, Change::Rescan(dir, _)) => {
                let dir = dir.as_ref().map_or(&b"."[..], RepoPath::as_bytes);
                Ok(self.path(&[dir, b"/"].concat()))
            }
            (_, Change::Event { op, kind, path, .. }) => json(&Event::of(*op, *kind, path)),
            (_, Change::Rescan(dir, reason)) => json(&Rescan::of(dir.as_ref(), *reason)),
        }
    }

    fn path(&self, path: &[u8]) -> Vec<u8> {
        match self.nul {
            true => [path, b"\0"].concat(),
            false => format!("{}\n", quote_path(path)).into_bytes(),
        }
    }

    fn line(&mut self, line: &[u8]) -> Result<()> {
        let io = |e: &std::io::Error| Error::io("write to", "standard output", e);
        if !self.beside.wait_writable()? {
            return Err(Error::closed());
        }
        self.sink.write_all(line).map_err(|e| io(&e))?;
        loop {
            match self.sink.flush() {
                Ok(()) => return Ok(()),
                // Another process may have made the pipe non-blocking: the flag is shared.
                Err(e) if e.kind() == ErrorKind::WouldBlock => {
                    if !self.beside.wait_writable()? {
                        return Err(Error::closed());
                    }
                }
                Err(e) => return Err(io(&e)),
            }
        }
    }
}

fn json(record: &impl Wire) -> Result<Vec<u8>> {
    let mut line = Vec::new();
    record::write(&mut line, record)?;
    Ok(line)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::{EventKind, EventOp};

    fn told(format: (Format, bool), changes: &[Change]) -> String {
        let mut sink = Vec::new();
        let filter = Filter::new(&[], &[]);
        let mut output = Output::new(&mut sink, Beside::default(), format, filter);
        assert!(output.batch(changes, false, Some((2, 0))).unwrap());
        String::from_utf8(sink).unwrap()
    }

    fn event(path: &str) -> Change {
        let path = RepoPath::new(path).unwrap();
        Change::Event { op: EventOp::Modify, kind: EventKind::File, path, stat: None }
    }

    fn rescan(path: &str) -> Change {
        Change::Rescan(RepoPath::new(path), RescanReason::Limit)
    }

    #[test]
    fn a_batch_in_each_format() {
        let changes = [event("a\nb"), rescan("c"), rescan(".")];
        assert_eq!(told((Format::Path, false), &changes), "\"a\\nb\"\nc/\n./\n");
        assert_eq!(told((Format::Path, true), &changes), "a\nb\0c/\0./\0");
        assert_eq!(told((Format::Batch, false), &changes), "3\n");
        let lines = told((Format::Jsonl, false), &changes);
        let end = r#""type":"batch","n":1,"events":1,"rescans":2,"watches":2}"#;
        assert!(lines.trim_end().ends_with(end), "{lines}");
    }

    /// 600-byte names in JSON with escapes: six times as long.
    #[test]
    fn a_line_that_no_pipe_takes_whole_is_a_rescan_of_the_deepest_directory_that_fits() {
        let long = "\u{1}".repeat(LONGEST / 6);
        let changes = [event(&format!("a/b/{long}")), rescan(&format!("a/{long}/c"))];
        let lines = told((Format::Jsonl, false), &changes);
        assert!(lines.lines().all(|line| line.len() < LONGEST));
        let rescans: Vec<&str> = lines.lines().take(2).collect();
        assert!(rescans[0].contains(r#""path":"a/b","reason":"line""#), "{rescans:?}");
        assert!(rescans[1].contains(r#""path":"a","reason":"limit""#), "{rescans:?}");
    }
}
