//! For how long a reader has a segment, and by which clock that is judged.
//!
//! Clocks jump. So a lease knows its end by two of them: the time of day, and the time since the
//! machine was started, which no one sets and which runs on while the machine sleeps. Who looks in the
//! same run of the machine goes by the second; after a restart, in another place, or where there is no
//! such clock, the time of day decides. Whatever it says, no lease lasts longer than its length from
//! the moment at which it is looked at.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// How long a reader has a segment without being heard of; `None`: until it is given back.
pub type Term = Option<Duration>;

/// A moment, by the clocks of this machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Moment {
    /// The time of day.
    pub day: SystemTime,
    /// The time since the machine was started, where that can be told.
    pub up: Option<Uptime>,
}

/// A time since a start of a machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Uptime {
    /// Which start: equal in all processes that see the same clock, and in no others.
    pub boot: String,
    /// How long ago that was.
    pub for_so_long: Duration,
}

impl Moment {
    /// As the ledger writes it: RFC 3339 in UTC with whole seconds.
    pub fn timestamp(&self) -> String {
        humantime::format_rfc3339_seconds(self.day).to_string()
    }

    /// The same, so much later.
    pub(super) fn after(&self, wait: Duration) -> String {
        let day = self.day.checked_add(wait).unwrap_or(self.day);
        humantime::format_rfc3339_seconds(day).to_string()
    }

    fn since_1970(&self) -> i64 {
        millis(self.day.duration_since(UNIX_EPOCH).unwrap_or_default())
    }
}

/// A lease as the ledger keeps it; times in milliseconds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Lease {
    pub length: i64,
    /// When it ends, by the time of day.
    pub until: i64,
    /// Which start of the machine, and when it ends by the time since then.
    pub boot: Option<(String, i64)>,
}

impl Lease {
    /// One that begins now.
    pub fn begin(length: Duration, now: &Moment) -> Lease {
        let length = millis(length);
        let until = now.since_1970().saturating_add(length);
        let boot = now.up.as_ref();
        let boot = boot.map(|up| (up.boot.clone(), millis(up.for_so_long).saturating_add(length)));
        Lease { length, until, boot }
    }

    /// How long it still lasts; zero when it has run out.
    pub fn left(&self, now: &Moment) -> Duration {
        let left = self.by_its_clock(now).clamp(0, self.length);
        Duration::from_millis(left.cast_unsigned())
    }

    /// The lease as it must be kept from now on, where the clock says that it lasts longer than it was
    /// given for: the clock has been set back, and what it says later would move the end again.
    pub fn cut_short(&self, now: &Moment) -> Option<Lease> {
        let length = Duration::from_millis(self.length.cast_unsigned());
        (self.by_its_clock(now) > self.length).then(|| Lease::begin(length, now))
    }

    fn by_its_clock(&self, now: &Moment) -> i64 {
        match (&self.boot, &now.up) {
            (Some((boot, until)), Some(up)) if *boot == up.boot => {
                until.saturating_sub(millis(up.for_so_long))
            }
            _ => self.until.saturating_sub(now.since_1970()),
        }
    }
}

fn millis(span: Duration) -> i64 {
    i64::try_from(span.as_millis()).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const HALF_AN_HOUR: Duration = Duration::from_secs(1800);

    fn at(day: u64, up: Option<(&str, u64)>) -> Moment {
        let up = up.map(|(boot, seconds)| Uptime {
            boot: boot.to_string(),
            for_so_long: Duration::from_secs(seconds),
        });
        Moment { day: UNIX_EPOCH + Duration::from_secs(day), up }
    }

    fn left(lease: &Lease, now: &Moment) -> u64 {
        lease.left(now).as_secs()
    }

    #[test]
    fn a_clock_that_is_set_changes_nothing_in_one_run_of_the_machine() {
        let lease = Lease::begin(HALF_AN_HOUR, &at(1_000_000, Some(("a", 50))));
        for day in [0, 1_000_100, 9_000_000] {
            assert_eq!(left(&lease, &at(day, Some(("a", 150)))), 1700);
            assert_eq!(left(&lease, &at(day, Some(("a", 1850)))), 0);
        }
    }

    #[test]
    fn after_a_restart_the_time_of_day_decides() {
        let lease = Lease::begin(HALF_AN_HOUR, &at(1_000_000, Some(("a", 5000))));
        for up in [None, Some(("b", 3))] {
            assert_eq!(left(&lease, &at(1_000_600, up)), 1200);
            assert_eq!(left(&lease, &at(1_001_800, up)), 0);
        }
    }

    #[test]
    fn a_clock_that_is_before_the_lease_gives_it_its_length_once() {
        let lease = Lease::begin(HALF_AN_HOUR, &at(1_000_000, None));
        let look = at(500, None);
        assert_eq!(left(&lease, &look), 1800);
        let kept = lease.cut_short(&look).unwrap();
        assert_eq!(left(&kept, &at(500 + 1799, None)), 1);
        assert_eq!(left(&kept, &at(500 + 1800, None)), 0);
        assert_eq!(kept.cut_short(&look), None);
    }

    proptest! {
        #[test]
        fn no_lease_lasts_longer_than_its_length_whoever_looks(
            length in 1u64..10_000, begun in 0u64..100_000, up in 0u64..10_000,
            looks in prop::collection::vec((0u64..200_000, 0u64..20_000, 0u8..3), 1..9),
        ) {
            let length = Duration::from_secs(length);
            let mut lease = Lease::begin(length, &at(begun, Some(("a", up))));
            for (day, up, boot) in looks {
                let up = [None, Some(("a", up)), Some(("b", up))][usize::from(boot)];
                let now = at(day, up);
                prop_assert!(lease.left(&now) <= length);
                lease = lease.cut_short(&now).unwrap_or(lease);
                let later = at(day + length.as_secs(), up.map(|(b, s)| (b, s + length.as_secs())));
                prop_assert_eq!(lease.left(&later), Duration::ZERO);
            }
        }
    }
}
