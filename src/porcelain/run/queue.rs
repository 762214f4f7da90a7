//! Which segment a worker of a run takes next.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::cli::Io;
use crate::error::{Error, Kind, Result};
use crate::porcelain::pipeline::collect_records;
use crate::porcelain::signals::Forward;
use crate::porcelain::target::Target;
use crate::record::{Record, Segment};

/// The prefix of the names under which a run's workers read.
const READER: &str = "run-";

/// Hands out segments to the workers of one run.
pub struct Queue<'a> {
    target: &'a Target,
    signals: &'a Forward,
    /// Segments that the command left unread, not to be handed out again in this run.
    left: Mutex<Vec<String>>,
    stop: AtomicBool,
}

impl<'a> Queue<'a> {
    /// A queue over the plan.
    pub fn new(target: &'a Target, signals: &'a Forward) -> Self {
        Queue { target, signals, left: Mutex::default(), stop: AtomicBool::new(false) }
    }

    /// What passes signals on to the run's commands.
    pub fn signals(&self) -> &Forward {
        self.signals
    }

    /// Gives back what a killed run had active. The caller holds the lock of the run.
    pub fn release_stale(&self, io: &mut Io<'_>) -> Result<()> {
        let holders = self.target.status(io)?.active;
        for holder in holders.into_iter().filter(|holder| holder.reader.starts_with(READER)) {
            self.release(&holder.segment.to_string(), io)?;
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
        let left = self.left.lock().map_err(|_| poisoned())?.clone();
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
    pub fn leave(&self, segment: &str, io: &mut Io<'_>) -> Result<()> {
        self.left.lock().map_err(|_| poisoned())?.push(segment.to_string());
        self.release(segment, io)
    }

    /// Gives a segment back, and lets no worker begin another.
    pub fn stop(&self, segment: &str, io: &mut Io<'_>) -> Result<()> {
        self.stop.store(true, Ordering::Relaxed);
        self.release(segment, io)
    }

    fn release(&self, segment: &str, io: &mut Io<'_>) -> Result<()> {
        let release = self.target.ledger("release").arg("--segment").arg(segment);
        collect_records(&[release], io).map(|_| ())
    }
}

fn poisoned() -> Error {
    Error::failed("bug", "a worker of the run panicked")
}
