//! Waiting until there may be something to hand out.
//!
//! SQLite counts the commits of other processes (`PRAGMA data_version`) in memory that they share, so
//! to ask takes microseconds and works wherever the ledger does. Events of the file system would be no
//! sooner: a commit writes into a log that is mapped and reused, what they tell is not when it is over,
//! and the end of a lease is no event at all.

use std::time::{Duration, Instant};

use crate::error::Result;
use crate::store::coverage::{Coverage, Moment};

/// How often one that waits looks.
const LOOK: Duration = Duration::from_millis(100);

/// Patience that comes to an end.
pub(super) struct Wait {
    end: Instant,
}

impl Wait {
    /// Begins to wait for so long.
    pub(super) fn begin(patience: Duration) -> Wait {
        Wait { end: Instant::now() + patience }
    }

    /// Waits until another process has changed the ledger since it was `seen`, a lease has run out, or
    /// `over` says that it is for nothing; `false` when the time is over.
    pub(super) fn for_change(
        &self,
        coverage: &Coverage,
        seen: u64,
        now: &dyn Fn() -> Moment,
        over: &dyn Fn() -> bool,
    ) -> Result<bool> {
        loop {
            let left = self.end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(false);
            }
            std::thread::sleep(left.min(LOOK));
            if over() || coverage.version()? != seen || coverage.is_due(&now())? {
                return Ok(true);
            }
        }
    }
}
