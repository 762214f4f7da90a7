//! What a reader sees: a line is its number, a tab, its text and `\n`, with nothing hidden in it.
//!
//! Raw are tab, the final `\n` and the CR of a CRLF. All else that is hidden is escaped, so that it
//! can be undone: `\x1b` for controls below 80, `\u{202e}` for other hidden characters and for lone
//! surrogates, `\xe9` for bytes that are no character, `\x{41}` for the odd last byte of UTF-16. A
//! backslash of the file is shown as `\x5c` only where it would look like one of these.

use std::fmt::Write;

use super::decode::{Part, each_part, lines, split_end};
use super::encoding::{Encoding, Form};
use crate::visible::{is_hidden, push_escape};

/// Appends the lines of a chunk as shown; `bytes` are the chunk's file bytes and `first_line` is
/// the number of its first line. A piece of a long line, or a last line without its end, is shown
/// as one line too: the frame says so.
pub fn show_lines(out: &mut String, encoding: Encoding, bytes: &[u8], first_line: u64) {
    for (line, number) in lines(encoding, bytes).zip(first_line..) {
        let _ = write!(out, "{number}\t");
        push_line(out, encoding, line);
    }
}

/// Appends one line, or a piece of one, as shown: its text and `\n`.
pub(super) fn push_line(out: &mut String, encoding: Encoding, line: &[u8]) {
    let (content, end) = split_end(encoding, line);
    push_content(out, encoding, content);
    let is_crlf = end.len() == if is_utf16(encoding) { 4 } else { 2 };
    out.push_str(if is_crlf { "\r\n" } else { "\n" });
}

fn is_utf16(encoding: Encoding) -> bool {
    matches!(encoding.form(), Form::Utf16Le | Form::Utf16Be)
}

/// Appends a part of a line as shown, without its end.
pub(super) fn push_content(out: &mut String, encoding: Encoding, content: &[u8]) {
    let readable = encoding == Encoding::UTF_8 || (content.is_ascii() && !is_utf16(encoding));
    match std::str::from_utf8(content) {
        Ok(text) if readable => push_text(out, text),
        _ => each_part(encoding, content, &mut |part| push_part(out, part)),
    }
}

fn push_part(out: &mut String, part: Part) {
    // Writing to a String cannot fail.
    let _ = match part {
        Part::Text(text) => return push_text(out, text),
        Part::Bytes(bytes) => bytes.iter().try_for_each(|byte| write!(out, "\\x{byte:02x}")),
        Part::Surrogate(unit) => write!(out, "\\u{{{unit:x}}}"),
        Part::Half(byte) => write!(out, "\\x{{{byte:02x}}}"),
    };
}

/// Bytes at which a character may have to be escaped: controls, the backslash, DEL, and what the
/// hidden characters beyond ASCII begin with in UTF-8.
const SUSPECT: [bool; 256] = {
    let mut table = [false; 256];
    let mut byte = 0;
    while byte < 256 {
        table[byte] = matches!(byte as u8,
            0..=8 | 10..=0x1f | b'\\' | 0x7f | 0xc2 | 0xd8 | 0xe2 | 0xef | 0xf3);
        byte += 1;
    }
    table
};

fn push_text(out: &mut String, text: &str) {
    let (mut clean_from, mut at) = (0, 0);
    while let Some(step) = text.as_bytes()[at..].iter().position(|b| SUSPECT[*b as usize]) {
        at += step;
        // The suspects are ASCII or lead bytes, so a character begins here.
        let Some(c) = text[at..].chars().next() else { break };
        let after = at + c.len_utf8();
        if must_escape(c, &text[at..]) {
            out.push_str(&text[clean_from..at]);
            push_escape(out, c);
            clean_from = after;
        }
        at = after;
    }
    out.push_str(&text[clean_from..]);
}

fn must_escape(c: char, rest: &str) -> bool {
    if c == '\\' { escape_len(rest).is_some() } else { is_hidden(c) && c != '\t' }
}

/// The length of the escape that `text` begins with, if it is one that this module writes.
fn escape_len(text: &str) -> Option<usize> {
    let (form, value) = match text.strip_prefix("\\u{") {
        Some(rest) => ("\\u{}", rest.split_once('}')?.0),
        None => match text.strip_prefix("\\x{") {
            Some(rest) => ("\\x{}", rest.split_once('}')?.0),
            None => ("\\x", text.strip_prefix("\\x")?.get(..2)?),
        },
    };
    let code = lower_hex(value)?;
    let written = match form {
        "\\u{}" => value == format!("{code:x}") && is_escaped_code(code),
        "\\x{}" => value.len() == 2,
        _ => is_escaped_byte(code),
    };
    written.then_some(form.len() + value.len())
}

fn lower_hex(digits: &str) -> Option<u32> {
    let plain = !digits.is_empty()
        && digits.len() <= 6
        && digits.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'));
    plain.then(|| u32::from_str_radix(digits, 16).ok())?
}

fn is_escaped_code(code: u32) -> bool {
    match char::from_u32(code) {
        Some(c) => code >= 0x80 && is_hidden(c),
        None => matches!(code, 0xd800..=0xdfff),
    }
}

fn is_escaped_byte(code: u32) -> bool {
    matches!(code, 0..=8 | 0x0b..=0x1f | 0x5c | 0x7f..=0xff)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn shown(encoding: Encoding, bytes: &[u8]) -> String {
        let mut out = String::new();
        show_lines(&mut out, encoding, bytes, 1);
        out
    }

    /// The bytes of one escape, if `text` begins with one.
    fn unescape(text: &str, encoding: Encoding) -> Option<(usize, Vec<u8>)> {
        let len = escape_len(text)?;
        let digits: String = text[2..len].chars().filter(char::is_ascii_hexdigit).collect();
        let code = u32::from_str_radix(&digits, 16).unwrap();
        let bytes = match char::from_u32(code) {
            _ if text.starts_with("\\x{") => vec![code as u8],
            Some(c) if text.starts_with("\\u") || code < 0x80 => encode(encoding, &c.to_string()),
            Some(_) => vec![code as u8],
            None if encoding == Encoding::UTF_16LE => (code as u16).to_le_bytes().to_vec(),
            None => (code as u16).to_be_bytes().to_vec(),
        };
        Some((len, bytes))
    }

    fn encode(encoding: Encoding, text: &str) -> Vec<u8> {
        match encoding.form() {
            Form::Utf16Le => text.encode_utf16().flat_map(u16::to_le_bytes).collect(),
            Form::Utf16Be => text.encode_utf16().flat_map(u16::to_be_bytes).collect(),
            _ => encoding.inverse_table().encode(text).0.into_owned(),
        }
    }

    /// The inverse of showing: the file's bytes, but for a newline that the file may lack at its end.
    fn hide(page: &str, encoding: Encoding) -> Vec<u8> {
        let mut bytes = Vec::new();
        for (line, number) in page.split_inclusive('\n').zip(1..) {
            let mut rest = line.strip_prefix(&format!("{number}\t")).unwrap();
            while let Some(c) = rest.chars().next() {
                let (len, part) = unescape(rest, encoding)
                    .unwrap_or_else(|| (c.len_utf8(), encode(encoding, &c.to_string())));
                bytes.extend(part);
                rest = &rest[len..];
            }
        }
        bytes
    }

    #[test]
    fn only_tabs_and_line_ends_are_raw() {
        let page = shown(
            Encoding::UTF_8,
            "a\tb\r\n\x1b[0m\rx\u{2028}\u{202e}\u{feff}\u{e0041}".as_bytes(),
        );
        assert_eq!(page, "1\ta\tb\r\n2\t\\x1b[0m\\x0dx\\u{2028}\\u{202e}\\u{feff}\\u{e0041}\n");
    }

    #[test]
    fn a_backslash_is_escaped_only_where_it_would_lie() {
        for harmless in ["C:\\x", "\\n", "\\xzz", "\\x1B", "\\x09", "\\u{41}", "\\u{02028}", "\\"] {
            assert_eq!(shown(Encoding::UTF_8, harmless.as_bytes()), format!("1\t{harmless}\n"));
        }
        for lie in ["\\x1b", "\\x5c", "\\xff", "\\u{2028}", "\\u{d800}", "\\x{41}"] {
            let page = format!("1\t\\x5c{}\n", &lie[1..]);
            assert_eq!(shown(Encoding::UTF_8, lie.as_bytes()), page);
        }
    }

    #[test]
    fn bytes_that_are_no_character_are_shown() {
        assert_eq!(shown(Encoding::UTF_8, b"J\xf6rg\xe2\x82"), "1\tJ\\xf6rg\\xe2\\x82\n");
        assert_eq!(shown(Encoding::UTF_16LE, b"\0\xd8a\0\n\0b"), "1\t\\u{d800}a\n2\t\\x{62}\n");
    }

    #[test]
    fn a_gbk_page_reads_as_chinese() {
        let gbk: Encoding = "gbk".parse().unwrap();
        assert_eq!(shown(gbk, b"\xc4\xe3\xba\xc3\n\x80"), "1\t你好\n2\t\\x80\n");
    }

    fn names() -> impl Strategy<Value = Encoding> {
        let names = [
            "utf-8",
            "utf-16le",
            "utf-16be",
            "gbk",
            "gb18030",
            "big5",
            "shift_jis",
            "euc-kr",
            "euc-jp",
            "windows-1252",
            "windows-1253",
            "windows-1256",
            "iso-8859-8-i",
            "koi8-u",
        ];
        prop::sample::select(names.to_vec()).prop_map(|name| name.parse().unwrap())
    }

    fn bytes() -> impl Strategy<Value = Vec<u8>> {
        let part = prop_oneof![
            prop::collection::vec(any::<u8>(), 0..8),
            "(\\\\|x|u|\\{|\\}|[0-9a-f]|\n|\r|\u{2028}|\u{feff}|é){0,12}"
                .prop_map(String::into_bytes),
            "\\\\(x[0-9a-f]{2}|u\\{[0-9a-f]{1,6}\\}|x\\{[0-9a-f]{2}\\})"
                .prop_map(String::into_bytes),
            "(\\\\|x|u|\\{|\\}|[0-9a-f]|\n|\r|\u{2028}|\u{10ffff}){0,12}"
                .prop_map(|text| text.encode_utf16().flat_map(u16::to_le_bytes).collect()),
        ];
        prop::collection::vec(part, 0..6).prop_map(|parts| parts.concat())
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]

        #[test]
        fn showing_can_be_undone(encoding in names(), bytes in bytes()) {
            let page = shown(encoding, &bytes);
            let mut back = hide(&page, encoding);
            if back.len() > bytes.len() {
                let newline = encode(encoding, "\n");
                back.truncate(back.len() - newline.len());
            }
            prop_assert_eq!(back, bytes, "{}", page);
        }

        #[test]
        fn nothing_hidden_is_raw(encoding in names(), bytes in bytes()) {
            let page = shown(encoding, &bytes);
            for line in page.split_terminator('\n') {
                let text = line.strip_suffix('\r').unwrap_or(line);
                prop_assert!(!text.chars().any(|c| is_hidden(c) && c != '\t'), "{page:?}");
            }
        }
    }

    /// Python breaks lines at every character that Unicode calls a line break.
    #[test]
    fn python_sees_the_same_lines() {
        use std::io::Write as _;
        use std::process::{Command, Stdio};
        let every: String = (0..=0x10ffff).filter_map(char::from_u32).collect();
        let page = shown(Encoding::UTF_8, every.as_bytes());
        let script = "import sys; t = sys.stdin.buffer.read().decode('utf-8');\
                      print(len(t.splitlines()), t.count('\\n'))";
        let spawned = Command::new("python3")
            .args(["-c", script])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn();
        let Ok(mut python) = spawned else {
            eprintln!("SKIPPED: python3 is not here");
            return;
        };
        python.stdin.take().unwrap().write_all(page.as_bytes()).unwrap();
        let answer = python.wait_with_output().unwrap();
        assert_eq!(String::from_utf8(answer.stdout).unwrap(), "2 2\n");
    }
}
