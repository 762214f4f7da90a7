//! How often the whole tree is scanned: at once at first, ever more rarely when asked again and
//! again, and at once again after a time of quiet. What has failed is tried again ever later, whatever
//! else is asked. What somebody waits for is put off less.

use std::time::{Duration, Instant};

use crate::doubling::delay;

/// So many scans come at once.
const AT_ONCE: u32 = 3;
/// The time to wait after the scan before, when more are asked for; it doubles each time.
const FIRST: Duration = Duration::from_millis(100);
/// It grows no further than this, and this long without a scan is quiet.
const LONGEST: Duration = Duration::from_secs(10);
/// Scans that somebody waits for are this far apart, where they would have been put off.
const WAITED_FOR: Duration = Duration::from_secs(1);

/// After a failure it is tried again, first so soon, then ever later.
const AGAIN: Duration = Duration::from_millis(250);

/// When the next scan may begin.
#[derive(Debug, Default)]
pub struct Backoff {
    scans: u32,
    last: Option<Instant>,
    /// When one was last brought forward.
    forward: Option<Instant>,
    /// How often it has failed since it last went well.
    failures: u32,
    /// When what has failed is tried again.
    again: Option<Instant>,
}

impl Backoff {
    /// A scan is wanted: when it may begin.
    pub fn ask(&mut self, now: Instant) -> Instant {
        let now = self.again.map_or(now, |again| now.max(again));
        let Some(last) = self.last else { return now };
        if now.duration_since(last) >= LONGEST {
            self.scans = 0;
        }
        match self.scans.checked_sub(AT_ONCE) {
            None => now,
            Some(more) => now.max(last + delay(FIRST, LONGEST, more)),
        }
    }

    /// Somebody waits for what is due only at `due`: when it may begin.
    pub fn hurry(&mut self, due: Instant, now: Instant) -> Instant {
        let at = self.forward.map_or(now, |last| now.max(last + WAITED_FOR));
        if at >= due {
            return due;
        }
        self.forward = Some(at);
        at
    }

    /// It has failed: when it is tried again.
    pub fn fail(&mut self, now: Instant) -> Instant {
        let delay = delay(AGAIN, LONGEST, self.failures);
        self.failures = self.failures.saturating_add(1);
        *self.again.insert(now + delay)
    }

    /// It has gone well.
    pub fn succeed(&mut self) {
        (self.failures, self.again) = (0, None);
    }

    /// Whether it has failed, and not gone well since.
    pub fn failing(&self) -> bool {
        self.failures > 0
    }

    /// A scan has ended, well or not.
    pub fn note(&mut self, now: Instant) {
        self.scans = self.scans.saturating_add(1);
        self.last = Some(now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_storm_makes_a_handful_of_scans() {
        let (mut backoff, start) = (Backoff::default(), Instant::now());
        let (mut now, mut begun) = (start, Vec::new());
        while now < start + Duration::from_secs(1) {
            if backoff.ask(now) <= now {
                begun.push(now.duration_since(start).as_millis());
                backoff.note(now);
            }
            now += Duration::from_millis(10);
        }
        assert_eq!(begun, [0, 10, 20, 120, 320, 720]);
    }

    /// A full disk below a busy tree was one scan for every batch.
    #[test]
    fn what_fails_is_tried_ever_more_rarely_whatever_comes_in_between() {
        let (mut backoff, start) = (Backoff::default(), Instant::now());
        let (mut now, mut begun) = (start, Vec::new());
        while now < start + Duration::from_secs(30) {
            if backoff.ask(now) <= now {
                begun.push(now.duration_since(start).as_millis());
                backoff.note(now);
                assert_eq!(backoff.fail(now), backoff.ask(now));
            }
            now += Duration::from_millis(10);
        }
        assert_eq!(begun, [0, 250, 750, 1750, 3750, 7750, 15_750, 25_750]);
        assert!(backoff.failing());
        backoff.succeed();
        assert!(!backoff.failing());
        now += LONGEST;
        assert_eq!(backoff.ask(now), now);
    }

    /// Somebody who waited had to wait out the storm of before.
    #[test]
    fn what_somebody_waits_for_is_not_put_off_but_no_storm_either() {
        let (mut backoff, start) = (Backoff::default(), Instant::now());
        (0..40).for_each(|_| backoff.note(start));
        let (mut now, mut begun, mut due) = (start, Vec::new(), None);
        while now < start + Duration::from_secs(3) {
            let wanted = due.unwrap_or_else(|| backoff.ask(now));
            let at = backoff.hurry(wanted, now);
            due = Some(at).filter(|at| *at > now);
            if due.is_none() {
                begun.push(now.duration_since(start).as_millis());
                backoff.note(now);
            }
            now += Duration::from_millis(10);
        }
        assert_eq!(begun, [0, 1000, 2000]);
    }

    #[test]
    fn it_waits_no_longer_than_ten_seconds_and_forgets_after_quiet() {
        let (mut backoff, start) = (Backoff::default(), Instant::now());
        (0..40).for_each(|_| backoff.note(start));
        assert_eq!(backoff.ask(start), start + LONGEST);
        let later = start + LONGEST;
        assert_eq!(backoff.ask(later), later);
        backoff.note(later);
        assert_eq!(backoff.ask(later), later);
    }
}
