//! How soon to sweep again: a storm of overflows must not become a storm of sweeps.

use std::time::{Duration, Instant};

use crate::doubling::delay;

/// So many at once.
const AT_ONCE: u32 = 3;
const SHORTEST: Duration = Duration::from_millis(100);
const LONGEST: Duration = Duration::from_secs(10);
/// After this much quiet it begins anew.
const QUIET: Duration = Duration::from_secs(10);

/// The first three at once, then 100 ms, doubling to 10 s.
#[derive(Debug, Default)]
pub struct Backoff {
    asked: u32,
    last: Option<Instant>,
}

impl Backoff {
    /// When to do it, asked for at `now`.
    pub fn next(&mut self, now: Instant) -> Instant {
        if self.last.is_some_and(|last| now.duration_since(last) >= QUIET) {
            self.asked = 0;
        }
        self.last = Some(now);
        self.asked += 1;
        match self.asked.checked_sub(AT_ONCE + 1) {
            None => now,
            Some(over) => now + delay(SHORTEST, LONGEST, over),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Elsewhere a sweep asked for a sweep, 14,459 times in 19 minutes.
    #[test]
    fn sweeps_become_rare_in_a_storm_and_prompt_after_it() {
        let (mut backoff, start) = (Backoff::default(), Instant::now());
        let waits: Vec<u128> = (0..12).map(|_| (backoff.next(start) - start).as_millis()).collect();
        assert_eq!(waits, [0, 0, 0, 100, 200, 400, 800, 1600, 3200, 6400, 10_000, 10_000]);
        let later = start + QUIET;
        assert_eq!(backoff.next(later), later);
    }
}
