//! Waiting twice as long each time, up to a limit.

use std::time::Duration;

/// How long to wait after `times` times before: `first`, doubled each time, at most `longest`.
pub fn delay(first: Duration, longest: Duration, times: u32) -> Duration {
    first.saturating_mul(2u32.saturating_pow(times)).min(longest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_doubles_up_to_the_limit() {
        let (first, longest) = (Duration::from_millis(100), Duration::from_secs(10));
        let waits: Vec<u128> = (0..9).map(|n| delay(first, longest, n).as_millis()).collect();
        assert_eq!(waits, [100, 200, 400, 800, 1600, 3200, 6400, 10_000, 10_000]);
        assert_eq!(delay(first, longest, u32::MAX), longest);
    }
}
