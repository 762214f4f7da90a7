//! What may not leave this program raw, and how it is shown instead.
//!
//! One rule for page bodies, JSON strings, paths and messages: no control character, no line
//! separator that only some programs know, no character that reorders or hides its neighbours.
//! Such a character could forge a frame, a line or a terminal escape (CVE-2021-42574 is the kind).

use std::borrow::Cow;
use std::fmt::Write;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// Whether `c` must be escaped wherever it would be shown.
///
/// These are: C0 and C1 controls and DEL; U+2028 and U+2029 (line breaks to some); U+061C, U+200E,
/// U+200F, U+202A to U+202E and U+2066 to U+2069 (bidirectional controls); U+FEFF (invisible, and a
/// byte-order mark at the start of a stream); U+E0000 to U+E007F (tags: invisible ASCII). Tab and
/// newline are controls here; who may send them raw decides so first.
pub fn is_hidden(c: char) -> bool {
    matches!(c,
        '\0'..='\u{1f}' | '\u{7f}'..='\u{9f}'
        | '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}'
        | '\u{feff}' | '\u{e0000}'..='\u{e007f}')
}

/// Appends the visible form of a hidden character: `\x1b` below U+0080, else `\u{202e}`.
pub fn push_escape(out: &mut String, c: char) {
    // Writing to a String cannot fail.
    let _ = if (c as u32) < 0x80 {
        write!(out, "\\x{:02x}", c as u32)
    } else {
        write!(out, "\\u{{{:x}}}", c as u32)
    };
}

/// A path as shown to people: raw when harmless, else in double quotes with C escapes, bytes that
/// are not UTF-8 as three octal digits (git's `core.quotePath=false` form).
pub fn quote_path(path: &[u8]) -> Cow<'_, str> {
    match std::str::from_utf8(path) {
        Ok(text) if !text.chars().any(|c| is_hidden(c) || c == '"' || c == '\\') => text.into(),
        _ => quoted(path).into(),
    }
}

/// A path of this system as [`quote_path`] shows it.
pub fn quote(path: &Path) -> String {
    quote_path(path.as_os_str().as_bytes()).into_owned()
}

fn quoted(path: &[u8]) -> String {
    let mut out = String::from("\"");
    for part in path.utf8_chunks() {
        for c in part.valid().chars() {
            push_quoted_char(&mut out, c);
        }
        push_octal(&mut out, part.invalid());
    }
    out.push('"');
    out
}

fn push_quoted_char(out: &mut String, c: char) {
    match c {
        '"' => out.push_str("\\\""),
        '\\' => out.push_str("\\\\"),
        '\n' => out.push_str("\\n"),
        '\t' => out.push_str("\\t"),
        '\r' => out.push_str("\\r"),
        c if is_hidden(c) => push_octal(out, c.encode_utf8(&mut [0; 4]).as_bytes()),
        c => out.push(c),
    }
}

fn push_octal(out: &mut String, bytes: &[u8]) {
    for byte in bytes {
        let _ = write!(out, "\\{byte:03o}");
    }
}

/// `text` with every hidden character escaped, for messages: one line, whatever it holds.
pub fn one_line(text: &str) -> Cow<'_, str> {
    if !text.chars().any(is_hidden) {
        return text.into();
    }
    let mut out = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        if is_hidden(c) { push_escape(&mut out, c) } else { out.push(c) }
    }
    out.into()
}

/// ` within A, B`, for a message about a part; nothing where no folders bound it.
pub fn within(folders: &[String]) -> String {
    if folders.is_empty() { String::new() } else { format!(" within {}", folders.join(", ")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_quoted_as_git_quotes_them() {
        assert_eq!(quote_path(b"a b/caf\xc3\xa9"), "a b/café");
        assert_eq!(quote_path(b"a\nb\"\\"), "\"a\\nb\\\"\\\\\"");
        assert_eq!(quote_path(b"\xff\x1b"), "\"\\377\\033\"");
    }

    #[test]
    fn messages_stay_on_one_line() {
        assert_eq!(one_line("a\u{2028}b\x1b"), "a\\u{2028}b\\x1b");
    }
}
