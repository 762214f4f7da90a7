//! Values on command lines that several tools take.

use std::path::PathBuf;
use std::time::Duration;

use crate::record::is_mark;
pub use crate::record::is_name;
use crate::visible::one_line;

/// A repository on a command line: `PATH`, or `NAME=PATH` to give it a name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamedRepo {
    /// The name; by default the folder's.
    pub name: Option<String>,
    /// The path as typed.
    pub path: PathBuf,
}

/// Parses a name for clap.
///
/// # Errors
/// Says what a name may hold.
pub fn name(text: &str) -> Result<String, String> {
    match is_name(text) {
        true => Ok(text.to_string()),
        false => Err("a name is 1 to 100 of the characters A-Z a-z 0-9 . _ -".to_string()),
    }
}

/// Parses a span of time for clap: `50ms`, `2s`, `1m 30s`, or a plain number of seconds.
///
/// # Errors
/// Says what is understood.
pub fn span(text: &str) -> Result<Duration, String> {
    let plain = text.parse::<f64>().ok().map(Duration::try_from_secs_f64);
    let span = plain.map_or_else(|| humantime::parse_duration(text).ok(), Result::ok);
    // A year of waiting is for ever; longer spans would overflow the clock.
    span.map(|span| span.min(Duration::from_secs(365 * 86_400)))
        .ok_or_else(|| "not a span of time, such as 50ms, 2s or 0.5 (seconds)".to_string())
}

/// Marks as a reader gives them back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Marks(pub Vec<String>);

/// Parses marks for clap: numbers with space or commas between them, or lines as they were printed.
///
/// # Errors
/// Names what is no mark.
pub fn marks(text: &str) -> Result<Marks, String> {
    let words = text.split(|c: char| c.is_whitespace() || c == ',');
    let words = words.filter(|word| !matches!(*word, "" | "===" | "mark"));
    let marks: Vec<String> = words.map(str::to_string).collect();
    match marks.iter().find(|word| !is_mark(word)) {
        None if marks.is_empty() => {
            Err("no marks: they are the numbers of lines `=== mark …`".into())
        }
        None => Ok(Marks(marks)),
        Some(odd) => Err(format!("not a mark: '{}'", one_line(odd))),
    }
}

/// For how long a segment is handed out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lease(pub Option<Duration>);

impl std::fmt::Display for Lease {
    /// As it is typed.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.0 {
            Some(length) => write!(f, "{}", length.as_secs_f64()),
            None => f.write_str("never"),
        }
    }
}

/// Parses the length of a lease for clap: a span of time, or `never` for one that does not run out.
///
/// # Errors
/// Says what is understood.
pub fn lease(text: &str) -> Result<Lease, String> {
    match text {
        "never" => Ok(Lease(None)),
        _ => match span(text) {
            Ok(span) if span.as_millis() > 0 => Ok(Lease(Some(span))),
            _ => Err("not the length of a lease, such as 90s, 30m or never".to_string()),
        },
    }
}

/// Parses `PATH` or `NAME=PATH` for clap; a path that holds `=` is given as `NAME=PATH` or `./…`.
///
/// # Errors
/// Never for a plain path; says so when it is empty.
pub fn named_repo(text: &std::ffi::OsStr) -> Result<NamedRepo, String> {
    use std::os::unix::ffi::OsStrExt;
    let bytes = text.as_bytes();
    if bytes.is_empty() {
        return Err("the path is empty".to_string());
    }
    let named = bytes.iter().position(|b| *b == b'=').and_then(|at| {
        let name = std::str::from_utf8(&bytes[..at]).ok().filter(|name| is_name(name))?;
        Some(NamedRepo {
            name: Some(name.to_string()),
            path: PathBuf::from(std::ffi::OsStr::from_bytes(&bytes[at + 1..])),
        })
    });
    Ok(named.unwrap_or_else(|| NamedRepo { name: None, path: PathBuf::from(text) }))
}

/// A clap value parser for [`named_repo`], which takes paths that are not UTF-8.
pub fn repo_parser() -> impl clap::builder::TypedValueParser<Value = NamedRepo> {
    use clap::builder::TypedValueParser;
    clap::builder::OsStringValueParser::new().try_map(|text| named_repo(&text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_repository_may_be_named() {
        let plain = named_repo("a/b=c".as_ref()).unwrap();
        assert_eq!((plain.name, plain.path), (None, PathBuf::from("a/b=c")));
        let named = named_repo("core=../x".as_ref()).unwrap();
        assert_eq!((named.name.as_deref(), named.path), (Some("core"), PathBuf::from("../x")));
    }

    #[test]
    fn a_span_has_a_unit_or_is_in_seconds() {
        for (text, millis) in
            [("50ms", 50), ("0", 0), ("1", 1_000), ("0.25", 250), ("1m 2s", 62_000)]
        {
            assert_eq!(span(text), Ok(Duration::from_millis(millis)), "{text}");
        }
        for bad in ["", "-1", "x", "1parsec", "NaN"] {
            assert!(span(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn names_cannot_leave_a_folder() {
        for bad in ["", ".", "..", "a/b", "a b", "é", "a:b"] {
            assert!(!is_name(bad), "{bad}");
        }
        assert!(is_name("lib-1.0_x"));
    }
}
