//! Errors as values: what kind, what happened, to what, and the command that helps.
//!
//! A message is lower case, has no full stop, says first what failed and quotes its subject. A hint
//! holds the command to run. The kind alone decides the exit status.

use std::borrow::Cow;
use std::fmt;

/// EMFILE and ENFILE: too many open files, of the process or of the system. Linux, the BSDs and
/// macOS have the same numbers.
const OPEN_FILES: [i32; 2] = [24, 23];

/// What an error means to the caller of a tool; each kind has one exit status.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// The answer is no: something is unread, nothing is left, a refusal. Exit status 1.
    No,
    /// The command line is wrong. Exit status 2.
    Usage,
    /// The work could not be done. Exit status 3.
    Failed,
    /// The reader of our output has gone: no failure, and nothing to say. Exit status 0.
    Closed,
}

impl Kind {
    /// The process exit status of this kind.
    pub fn exit_code(self) -> u8 {
        match self {
            Kind::Closed => 0,
            Kind::No => 1,
            Kind::Usage => 2,
            Kind::Failed => 3,
        }
    }
}

/// An error with its kind, a stable code for scripts, a message, its cause and hints.
#[derive(Debug)]
pub struct Error(Box<Inner>);

#[derive(Debug)]
struct Inner {
    kind: Kind,
    code: Cow<'static, str>,
    message: String,
    cause: Option<String>,
    hints: Vec<String>,
}

/// The result of everything that can fail here.
pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    fn new(kind: Kind, code: &'static str, message: impl Into<String>) -> Self {
        let message = message.into();
        let code = Cow::Borrowed(code);
        Error(Box::new(Inner { kind, code, message, cause: None, hints: Vec::new() }))
    }

    /// An error that another process told: its own words.
    pub fn told(kind: Kind, code: String, message: String, hint: Option<String>) -> Self {
        let (code, hints) = (Cow::Owned(code), hint.into_iter().collect());
        Error(Box::new(Inner { kind, code, message, cause: None, hints }))
    }

    /// The answer is no (exit 1). `code` is a stable word such as `unread`, for `error` records.
    pub fn no(code: &'static str, message: impl Into<String>) -> Self {
        Self::new(Kind::No, code, message)
    }

    /// The command line is wrong (exit 2).
    pub fn usage(message: impl Into<String>) -> Self {
        Self::new(Kind::Usage, "usage", message)
    }

    /// The work failed (exit 3).
    pub fn failed(code: &'static str, message: impl Into<String>) -> Self {
        Self::new(Kind::Failed, code, message)
    }

    /// The reader of our output has gone (exit 0, silent).
    pub fn closed() -> Self {
        Self::new(Kind::Closed, "closed", "the reader has gone")
    }

    /// An input or output error on `subject`; a broken pipe becomes [`Kind::Closed`].
    pub fn io(what: &str, subject: impl fmt::Display, cause: &std::io::Error) -> Self {
        if cause.kind() == std::io::ErrorKind::BrokenPipe {
            return Self::closed();
        }
        if cause.raw_os_error().is_some_and(|number| OPEN_FILES.contains(&number)) {
            return Self::failed("too-many-files", format!("cannot {what} '{subject}'"))
                .because(plain(cause))
                .hint("let more files be open: `ulimit -n 4096`, and run the command again");
        }
        let code = match cause.kind() {
            std::io::ErrorKind::NotFound => "not-found",
            std::io::ErrorKind::PermissionDenied => "no-permission",
            std::io::ErrorKind::StorageFull => "disk-full",
            std::io::ErrorKind::ReadOnlyFilesystem => "read-only",
            _ => "io",
        };
        Self::failed(code, format!("cannot {what} '{subject}'")).because(plain(cause))
    }

    /// The same under another code.
    pub fn called(mut self, code: &'static str) -> Self {
        self.0.code = Cow::Borrowed(code);
        self
    }

    /// Adds the cause, shown after the message and a colon.
    pub fn because(mut self, cause: impl fmt::Display) -> Self {
        self.0.cause = Some(cause.to_string());
        self
    }

    /// Adds a hint: one sentence that holds the command to run.
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.0.hints.push(hint.into());
        self
    }

    /// The same with every hint put otherwise.
    pub fn map_hints(mut self, map: impl Fn(&str) -> String) -> Self {
        self.0.hints.iter_mut().for_each(|hint| *hint = map(hint));
        self
    }

    /// The same with no hint but this one.
    pub fn hint_instead(mut self, hint: impl Into<String>) -> Self {
        self.0.hints.clear();
        self.hint(hint)
    }

    /// The kind.
    pub fn kind(&self) -> Kind {
        self.0.kind
    }

    /// The stable code.
    pub fn code(&self) -> &str {
        &self.0.code
    }

    /// The hints, in the order they were added.
    pub fn hints(&self) -> &[String] {
        &self.0.hints
    }
}

impl fmt::Display for Error {
    /// The message and its cause, on one line, without the hints.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.message)?;
        match &self.0.cause {
            Some(cause) => write!(f, ": {cause}"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for Error {}

/// The error of what needs a plan.
pub fn no_plan() -> Error {
    Error::failed("no-plan", "there is no plan yet").hint("make one: `auwai plan`")
}

/// The system's words for an error, without Rust's `(os error 2)`.
pub fn plain(cause: &std::io::Error) -> String {
    let text = cause.to_string();
    match text.find(" (os error") {
        Some(at) => text[..at].to_string(),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_broken_pipe_is_no_failure() {
        let error = Error::io("write", "-", &std::io::ErrorKind::BrokenPipe.into());
        assert_eq!(error.kind().exit_code(), 0);
    }

    #[test]
    fn too_many_open_files_are_told_with_the_limit() {
        let error = Error::io("make", "a pipe", &std::io::Error::from_raw_os_error(24));
        assert_eq!(error.to_string(), "cannot make 'a pipe': Too many open files");
        assert!(error.hints()[0].contains("ulimit -n"), "{:?}", error.hints());
    }

    #[test]
    fn the_cause_follows_the_message() {
        let cause = std::io::Error::from_raw_os_error(2);
        let error = Error::io("open", "x", &cause);
        assert_eq!(error.to_string(), "cannot open 'x': No such file or directory");
        assert_eq!(error.code(), "not-found");
    }
}
