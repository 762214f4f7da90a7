//! What the system allows a user of its watches.

use std::fmt;

/// A limit, by the name that `sysctl` knows it under.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limit {
    /// Its name.
    pub sysctl: &'static str,
    /// How many there may be.
    pub value: u64,
}

impl Limit {
    /// The command that raises it fourfold, at the least to `least`.
    pub fn hint(&self, least: u64) -> String {
        let wanted = self.value.saturating_mul(4).max(least);
        format!("raise it: `sudo sysctl {}={wanted}`", self.sysctl)
    }
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the system's limit {} ({})", self.sysctl, self.value)
    }
}
