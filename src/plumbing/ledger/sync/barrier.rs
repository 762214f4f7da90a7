//! Waiting for what a watcher was asked: that all that happened before is in the index.

use std::time::{Duration, Instant};

use super::state::{Place, WatchState};
use crate::cli::Io;
use crate::error::{Error, Result};
use crate::plumbing::ledger::source::Source;
use crate::record::{self, Barrier, Reader, Record};

/// How often the state is looked at.
const LOOK: Duration = Duration::from_millis(2);

/// A failure that stands so long will not go away by itself soon.
const PATIENCE: Duration = Duration::from_secs(2);

/// Reads `barrier` records, up to that of the watcher that is followed, waits, and writes it when it
/// has been reached. Other watchers of the same tree may be slow to answer, and need not be waited for.
///
/// # Errors
/// `not-watched`, and 1, when no process keeps the index; `not-kept` when the one that does fails,
/// or follows another watcher.
pub fn run(source: &Source, io: &mut Io<'_>) -> Result<()> {
    let (mut barriers, mut input) = (Vec::new(), Reader::new(&mut *io.input, "-"));
    while let Some(record) = input.next_record()? {
        let Record::Barrier(barrier) = record else { continue };
        let followed = Place::of(&source.state).live().and_then(|state| state.session);
        let own = followed.as_ref() == Some(&barrier.session);
        barriers.push(barrier);
        if own {
            break;
        }
    }
    if barriers.is_empty() {
        return Err(Error::no("no-barrier", "no watcher has answered")
            .hint(format!("start one: `auwai watch --repo {}`", source.shown_root())));
    }
    let reached = wait(source, &barriers)?;
    record::write(io.out, &reached)
}

fn wait(source: &Source, barriers: &[Barrier]) -> Result<Barrier> {
    let (place, mut failing, mut alone) = (Place::of(&source.state), None, None);
    loop {
        let Some(state) = place.live() else {
            // It may be about to make its state anew, with a root that was replaced.
            if alone.get_or_insert_with(Instant::now).elapsed() > PATIENCE {
                return Err(not_watched(source));
            }
            std::thread::sleep(LOOK);
            continue;
        };
        alone = None;
        let own = own(&state, barriers, source)?;
        if let Some(barrier) = own.filter(|barrier| is_reached(&state, barrier)) {
            return Ok(barrier.clone());
        }
        let since = *failing.get_or_insert_with(Instant::now);
        match &state.last_error {
            Some(error) if since.elapsed() > PATIENCE => return Err(not_kept(source, error)),
            Some(_) => {}
            None => failing = None,
        }
        std::thread::sleep(LOOK);
    }
}

/// The answer of the watcher that is followed; `None` before it has told anything.
fn own<'a>(
    state: &WatchState,
    barriers: &'a [Barrier],
    source: &Source,
) -> Result<Option<&'a Barrier>> {
    let Some(session) = &state.session else { return Ok(None) };
    match barriers.iter().find(|barrier| barrier.session == *session) {
        Some(barrier) => Ok(Some(barrier)),
        None => Err(not_kept(source, "it follows a watcher that did not answer")),
    }
}

fn is_reached(state: &WatchState, barrier: &Barrier) -> bool {
    state.last_batch.as_ref().map_or(0, |last| last.n) >= barrier.batch
}

fn not_watched(source: &Source) -> Error {
    let root = source.shown_root();
    Error::no("not-watched", format!("no process keeps the index of '{root}'"))
        .hint(format!("start one: `auwai watch --repo {root}`"))
}

fn not_kept(source: &Source, why: &str) -> Error {
    let root = source.shown_root();
    Error::failed("not-kept", format!("the index of '{root}' is not up to date"))
        .because(why)
        .hint(format!("bring it up to date: `auwai index --repo {root}`"))
}
