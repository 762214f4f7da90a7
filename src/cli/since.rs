//! A moment on a command line: a time, a day, or a span back from now.

use std::time::{Duration, SystemTime};

use crate::error::{Error, Result};

/// A moment as it was typed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Since {
    /// At this time.
    At(SystemTime),
    /// So long ago.
    Ago(Duration),
}

impl Since {
    /// The moment, RFC 3339 in UTC with whole seconds.
    ///
    /// # Errors
    /// Usage for a span that goes back beyond the clock's first second.
    pub fn resolve(self, now: SystemTime) -> Result<String> {
        let at = match self {
            Since::At(at) => Some(at),
            Since::Ago(span) => now.checked_sub(span),
        };
        let at = at.filter(|at| *at >= SystemTime::UNIX_EPOCH).ok_or_else(|| {
            Error::usage("the time of --since is before 1970")
                .hint("leave it out for all: `auwai log`")
        })?;
        Ok(humantime::format_rfc3339_seconds(at).to_string())
    }
}

/// Parses a moment for clap: `2026-12-01T08:00:00Z`, `2026-12-01` (its first second in UTC), or a
/// span back from now: `2days`, `3h 30m ago`.
///
/// # Errors
/// Says what is understood.
pub fn since(text: &str) -> std::result::Result<Since, String> {
    let text = text.trim();
    let day = || humantime::parse_rfc3339(&format!("{text}T00:00:00Z")).ok();
    if let Some(at) = humantime::parse_rfc3339(text).ok().or_else(day) {
        return Ok(Since::At(at));
    }
    let span = text.strip_suffix("ago").unwrap_or(text).trim_end();
    humantime::parse_duration(span).map(Since::Ago).map_err(|_| {
        "not a time (2026-12-01T08:00:00Z), a day (2026-12-01) or a span back (2days, 3h)"
            .to_string()
    })
}

/// Whether a text is a time as we write it: RFC 3339 in UTC with whole seconds, so that times can be
/// compared as text.
pub fn is_time(text: &str) -> bool {
    let at = humantime::parse_rfc3339(text);
    at.is_ok_and(|at| humantime::format_rfc3339_seconds(at).to_string() == text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moment_is_a_time_a_day_or_a_span_back() {
        let now = humantime::parse_rfc3339("2026-12-07T12:00:00Z").unwrap();
        for (typed, meant) in [
            ("2026-12-01T08:00:00Z", "2026-12-01T08:00:00Z"),
            ("2026-12-01", "2026-12-01T00:00:00Z"),
            ("2days", "2026-12-05T12:00:00Z"),
            ("2 days ago", "2026-12-05T12:00:00Z"),
            ("3h 30m", "2026-12-07T08:30:00Z"),
        ] {
            assert_eq!(since(typed).unwrap().resolve(now).unwrap(), meant, "{typed}");
        }
        for bad in ["", "yesterday", "2026", "2026-13-01", "12", "ago", "-1day"] {
            assert!(since(bad).is_err(), "{bad}");
        }
        assert!(since("100years").unwrap().resolve(now).is_err());
    }

    #[test]
    fn a_time_that_sorts_as_text_is_one_of_ours() {
        assert!(is_time("2026-12-01T08:00:00Z"));
        for bad in ["2026-12-01T08:00:00.5Z", "2026-12-01 08:00:00Z", "2026-12-01", "x", ""] {
            assert!(!is_time(bad), "{bad}");
        }
    }
}
