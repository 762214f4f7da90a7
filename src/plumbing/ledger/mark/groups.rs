//! Deliveries committed in groups: soon after they came, and never one transaction for each.

use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::time::{Duration, Instant};

use crate::cli::Signals;
use crate::error::{Error, Result};
use crate::record::Read;

/// How long a group waits for more; the commit itself has the rest of the 100 ms.
const GATHER: Duration = Duration::from_millis(50);

/// How often a quiet input looks for a signal.
const LOOK: Duration = Duration::from_millis(100);

/// The most deliveries in a group.
const GROUP: usize = 4096;

/// A delivered chunk, and the error for its line if it is not planned.
pub(super) struct Arrived {
    pub read: Read,
    pub unknown: Error,
}

/// Takes deliveries from `next` until it ends and hands them to `commit` in groups, in order.
///
/// `commit` works on a thread of its own, so that a group is committed while `next` waits for its
/// input, and before a signal ends the process. What `next` gave before it failed is committed.
pub(super) fn commit_in_groups(
    mut next: impl FnMut() -> Result<Option<Arrived>>,
    commit: impl FnMut(Vec<Arrived>) -> Result<()> + Send,
    signals: &Signals,
) -> Result<()> {
    std::thread::scope(|scope| {
        let (sender, receiver) = sync_channel(GROUP);
        let committer = scope.spawn(move || commit_all(&receiver, commit, signals));
        let fed = feed(&mut next, sender);
        let committed = committer
            .join()
            .unwrap_or_else(|_| Err(Error::failed("bug", "the committing thread died")));
        committed.and(fed)
    })
}

/// Sends until the input ends; the sender is dropped then, which ends the last group.
fn feed(
    next: &mut impl FnMut() -> Result<Option<Arrived>>,
    sender: SyncSender<Arrived>,
) -> Result<()> {
    while let Some(delivery) = next()? {
        // The committer has failed, and says why.
        if sender.send(delivery).is_err() {
            break;
        }
    }
    Ok(())
}

fn commit_all(
    receiver: &Receiver<Arrived>,
    mut commit: impl FnMut(Vec<Arrived>) -> Result<()>,
    signals: &Signals,
) -> Result<()> {
    loop {
        let first = match receiver.recv_timeout(LOOK) {
            Ok(first) => first,
            Err(RecvTimeoutError::Disconnected) => {
                signals.obey();
                return Ok(());
            }
            Err(RecvTimeoutError::Timeout) => {
                signals.obey();
                continue;
            }
        };
        // Under a signal the group is all that was there: the queue holds no more than one.
        commit(group(first, receiver, signals))?;
        signals.obey();
    }
}

/// A group: the first, and what comes soon after. Under a signal only what is there.
fn group(first: Arrived, receiver: &Receiver<Arrived>, signals: &Signals) -> Vec<Arrived> {
    let until = Instant::now() + GATHER;
    let mut group = vec![first];
    while group.len() < GROUP {
        let left = until.saturating_duration_since(Instant::now());
        let patience = if signals.any() { Duration::ZERO } else { left };
        match receiver.recv_timeout(patience) {
            Ok(delivery) => group.push(delivery),
            Err(_) => break,
        }
    }
    group
}
