//! What can be wrong with a database, in words, with the way out.

use std::path::Path;

use rusqlite::ErrorCode;

use super::db::{Kind, PATIENCE};
use crate::error::Error;
use crate::visible::quote_path;

/// What SQLite says, in our words and with the way out.
pub(super) fn explain(path: &Path, kind: &Kind, cause: &rusqlite::Error) -> Error {
    let subject = quote(path);
    let name = kind.name;
    match cause.sqlite_error_code().map(|code| full_or(cause, code)) {
        Some(ErrorCode::NotADatabase | ErrorCode::DatabaseCorrupt) => {
            damaged(name, &subject, cause)
        }
        Some(ErrorCode::DiskFull) => {
            Error::failed("disk-full", format!("cannot write the {name} '{subject}'"))
                .because("no space left on the device")
                .hint("make room and run the command again; what was committed stands")
        }
        Some(ErrorCode::ReadOnly | ErrorCode::CannotOpen | ErrorCode::PermissionDenied) => {
            not_writable(format!("cannot write the {name} '{subject}'"), cause)
        }
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => busy(path, kind),
        Some(ErrorCode::SystemIoFailure) => {
            Error::failed("io", format!("cannot use the {name} '{subject}'"))
                .because(cause)
                .hint("look for room (`df`) and at the disk, then run the command again")
        }
        _ if is_damage(cause) => damaged(name, &subject, cause),
        _ => Error::failed("ledger", format!("cannot use the {name} '{subject}'"))
            .because(cause)
            .hint("run it again; see the stages with `AUWAI_TRACE=1`"),
    }
}

/// The code, where a full disk does not hide behind it: the log's index is a file that grows by
/// itself, and SQLite calls it a failed device when it cannot.
fn full_or(cause: &rusqlite::Error, code: ErrorCode) -> ErrorCode {
    let extended = cause.sqlite_error().map(|error| error.extended_code);
    match extended == Some(rusqlite::ffi::SQLITE_IOERR_SHMSIZE) {
        true => ErrorCode::DiskFull,
        false => code,
    }
}

/// Whether a file holds what no auwai can have written.
fn is_damage(cause: &rusqlite::Error) -> bool {
    use rusqlite::Error as E;
    let torn = matches!(
        cause,
        E::FromSqlConversionFailure(..) | E::InvalidColumnType(..) | E::Utf8Error(..)
    );
    // Our statements are right: what they do not find is not what a migration made.
    let lacks =
        cause.sqlite_error().is_some_and(|e| e.extended_code == rusqlite::ffi::SQLITE_ERROR);
    torn || lacks || matches!(cause, E::SqlInputError { .. })
}

/// The error for a database that another process holds for too long.
pub(super) fn busy(path: &Path, kind: &Kind) -> Error {
    let message = format!("another process holds the {} '{}'", kind.name, quote(path));
    Error::failed("busy", message)
        .because(format!("waited {} s", PATIENCE.as_secs()))
        .hint("wait for it to end, then run the command again")
}

/// The error for a database that cannot be written.
pub(super) fn not_writable(message: String, cause: &dyn std::fmt::Display) -> Error {
    Error::failed("not-writable", message)
        .because(cause)
        .hint("keep the state elsewhere with `--state-dir DIR` (or AUWAI_STATE_DIR)")
}

/// The error for a damaged database.
pub(super) fn damaged(name: &str, subject: &str, cause: &dyn std::fmt::Display) -> Error {
    Error::failed("damaged", format!("the {name} '{subject}' is damaged")).because(cause).hint(
        format!("it is never rebuilt over reads: restore it from a backup, or move it away (`mv {subject} {subject}.damaged`) and start anew"),
    )
}

/// The error for a database of another program.
pub(super) fn foreign(path: &Path, kind: &Kind) -> Error {
    let message = format!("'{}' is not a {} of auwai", quote(path), kind.name);
    Error::failed("foreign", message).hint("move that file away, then run the command again")
}

/// The error for a database of a later version.
pub(super) fn newer(path: &Path, kind: &Kind, version: usize) -> Error {
    let message = format!(
        "the {} '{}' has schema {version}, this auwai knows {}",
        kind.name,
        quote(path),
        kind.migrations.len()
    );
    Error::failed("newer-schema", message).hint(
        "it was written by a newer auwai: use that one, or `--state-dir` for a state of its own",
    )
}

/// The error for a database of which no copy can be taken.
pub(super) fn cannot_copy(path: &Path, e: &std::io::Error) -> Error {
    match e.kind() {
        std::io::ErrorKind::PermissionDenied => Error::io("open", quote(path), e),
        _ => Error::io("copy", quote(path), e)
            .hint("what cannot be written is read from a copy: set TMPDIR to a folder with room"),
    }
}

/// A path as shown.
pub(super) fn quote(path: &Path) -> std::borrow::Cow<'_, str> {
    quote_path(std::os::unix::ffi::OsStrExt::as_bytes(path.as_os_str()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whatever_sqlite_says_is_told_with_what_to_do() {
        let kind = Kind { name: "ledger", application_id: 0, migrations: &[] };
        for code in 1..=28 {
            let cause = rusqlite::Error::SqliteFailure(rusqlite::ffi::Error::new(code), None);
            let error = explain(Path::new("x"), &kind, &cause);
            assert!(!error.hints().is_empty(), "{code}: {error}");
        }
    }
}
