//! What somebody asked to read and cannot: it is there, and has no text, or none that is planned.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

use super::source::Source;
use crate::error::Error;
use crate::record::Fate;
use crate::store::ledger::Row;
use crate::visible::quote_path;

/// A path of the index without chunks.
pub(super) fn no_text(word: &OsStr, row: &Row) -> Error {
    let what = match row.fate {
        Fate::Text => "is an empty file",
        Fate::Binary => "is binary",
        Fate::Symlink => "is a symbolic link, and links are not followed",
        Fate::Repository => "is a repository of its own",
        Fate::Special => "is no regular file",
        Fate::Unreadable => "cannot be read",
        Fate::Absent => "is tracked by git and not there",
        Fate::Ignored => "is ignored",
    };
    error(word, what)
}

/// A path that the index does not have.
pub(super) fn unseen(word: &OsStr, source: &Source, is_folder: bool) -> Error {
    if !is_folder {
        return error(word, "is not in the index: it is ignored, or new")
            .hint("or take in what is new: `auwai replan`");
    }
    let shown = quote_path(word.as_bytes());
    Error::failed("folder", format!("'{shown}' is a folder, and only files have text"))
        .hint(format!("name a file in it: `auwai-ledger files --repo {}`", source.shown_root()))
}

fn error(word: &OsStr, what: &str) -> Error {
    let shown = quote_path(word.as_bytes());
    Error::failed("no-text", format!("there is nothing to read: '{shown}' {what}"))
        .hint(format!("see what becomes of it and why: `auwai why {shown}`"))
}

/// Text that came after the plan.
pub(super) fn not_planned(word: &OsStr, source: &Source) -> Error {
    let (shown, name, root) = (quote_path(word.as_bytes()), &source.name, source.shown_root());
    Error::failed("not-planned", format!("'{shown}' is not in the plan, so it cannot be marked"))
        .hint(super::CHANGED_HINT)
        .hint(format!(
            "or see it without a mark: `auwai-ledger show --repo {name}={root} {shown} | auwai-ledger print`"
        ))
}
