//! Which segment a worker of a run takes next.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::cli::Io;
use crate::cli::parse::Lease;
use crate::error::{Error, Kind, Result};
use crate::porcelain::pipeline::collect_records;
use crate::porcelain::signals::Forward;
use crate::porcelain::target::Target;
use crate::record::{Record, Segment, SegmentId};

/// The name under which a run's worker reads.
pub fn worker(number: u16) -> String {
    format!("run-{number}")
}

/// Whether a reader's name is that of a run's worker. No other reader may be called so: a run takes
/// back what a reader of such a name has.
pub fn is_worker(reader: &str) -> bool {
    let number = reader.strip_prefix("run-").unwrap_or_default();
    !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit())
}

/// Hands out segments to the workers of one run.
pub struct Queue<'a> {
    target: &'a Target,
    signals: &'a Forward,
    /// Segments that the command left unread, not to be handed out again in this run.
    left: &'a Mutex<Vec<String>>,
    /// Segments of which something has changed, not to be handed out before the plan has followed.
    changed: Mutex<Vec<String>>,
    stop: AtomicBool,
    /// For how long a segment is handed out.
    pub lease: Lease,
}

impl<'a> Queue<'a> {
    /// A queue over the plan, but for the segments that are `left`.
    pub fn new(
        target: &'a Target,
        signals: &'a Forward,
        left: &'a Mutex<Vec<String>>,
        lease: Lease,
    ) -> Self {
        let (changed, stop) = (Mutex::default(), AtomicBool::new(false));
        Queue { target, signals, left, changed, stop, lease }
    }

    /// What passes signals on to the run's commands.
    pub fn signals(&self) -> &Forward {
        self.signals
    }

    /// Gives back what a killed run had active. The caller holds the lock of the run.
    pub fn release_stale(&self, io: &mut Io<'_>) -> Result<()> {
        let holders = self.target.status(io)?.active;
        for holder in holders.into_iter().filter(|holder| is_worker(&holder.reader)) {
            self.release(&holder.segment, &holder.reader, io)?;
        }
        Ok(())
    }

    /// The next segment for this reader; `None` when there is nothing more for it, or when the run
    /// is to stop.
    pub fn next(&self, reader: &str, io: &mut Io<'_>) -> Result<Option<Segment>> {
        if self.stop.load(Ordering::Relaxed) || self.signals.caught().is_some() {
            return Ok(None);
        }
        let claim = self.target.ledger("claim").arg("--reader").arg(reader);
        let claim = claim.arg("--lease").arg(self.lease.to_string());
        let mut left = self.left.lock().map_err(|_| poisoned())?.clone();
        left.extend(self.changed.lock().map_err(|_| poisoned())?.iter().cloned());
        let claim = left.iter().fold(claim, |claim, id| claim.arg("--except").arg(id));
        match collect_records(&[claim], io) {
            Ok(records) => Ok(records.into_iter().find_map(|record| match record {
                Record::Segment(segment) => Some(segment),
                _ => None,
            })),
            Err(error) if error.kind() == Kind::No => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Leaves a segment unread, and does not hand it out again.
    pub fn leave(&self, segment: &SegmentId, reader: &str, io: &mut Io<'_>) -> Result<()> {
        self.left.lock().map_err(|_| poisoned())?.push(segment.to_string());
        self.release(segment, reader, io)
    }

    /// Gives back a segment that is not any more what was planned.
    pub fn pass_over(&self, segment: &SegmentId, reader: &str, io: &mut Io<'_>) -> Result<()> {
        self.changed.lock().map_err(|_| poisoned())?.push(segment.to_string());
        self.release(segment, reader, io)
    }

    /// Lets no worker begin another segment.
    pub fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }

    /// Gives a segment back that `reader` has; what somebody else has by now is not the run's.
    pub fn release(&self, segment: &SegmentId, reader: &str, io: &mut Io<'_>) -> Result<()> {
        let release = self.target.ledger("release").arg("--reader").arg(reader);
        let release = release.arg("--segment").arg(segment.to_string());
        match collect_records(&[release], io) {
            Err(error) if error.code() != "held" => Err(error),
            _ => Ok(()),
        }
    }
}

fn poisoned() -> Error {
    Error::failed("bug", "a worker of the run panicked")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn workers_are_known_by_their_names_and_nobody_else_is() {
        assert!(is_worker(&worker(1)) && is_worker(&worker(256)));
        for reader in ["run-", "run-alice", "run-1a", "run1", "rerun-1", "run--1", "default"] {
            assert!(!is_worker(reader), "{reader}");
        }
    }
}
