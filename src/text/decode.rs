//! Bytes to characters, without losing a byte, and where lines and characters end.
//!
//! Every encoding here decodes line by line: U+000A is the byte 0A (in UTF-16 the unit 000A) and
//! nothing else, so a chunk decodes alone exactly as it does inside its file.

use std::char::decode_utf16;

use super::encoding::{Encoding, Form};

/// A part of decoded bytes. Two `Text` parts never follow each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Part<'a> {
    /// Characters; encoding them again gives the same bytes.
    Text(&'a str),
    /// Bytes of 80 to ff that are no character, or not the one spelling of theirs.
    Bytes(&'a [u8]),
    /// In UTF-16: a surrogate without its other half.
    Surrogate(u16),
    /// In UTF-16: half a code unit, at the end of the file.
    Half(u8),
}

/// Decodes `bytes`, which begin and end between characters, and hands the parts to `sink` in order.
pub(super) fn each_part(encoding: Encoding, bytes: &[u8], sink: &mut dyn FnMut(Part)) {
    match encoding.form() {
        Form::Utf8 => utf8_parts(bytes, sink),
        Form::Utf16Le => utf16_parts(bytes, u16::from_le_bytes, sink),
        Form::Utf16Be => utf16_parts(bytes, u16::from_be_bytes, sink),
        Form::SingleByte | Form::MultiByte => table_parts(encoding, bytes, sink),
    }
}

/// The decoded text of a chunk, and whether the text alone says its bytes exactly.
///
/// Bytes that are no character are U+FFFD in the text, and then it does not.
pub fn decode(encoding: Encoding, bytes: &[u8]) -> (String, bool) {
    let (mut text, mut exact) = (String::with_capacity(bytes.len()), true);
    each_part(encoding, bytes, &mut |part| match part {
        Part::Text(run) => text.push_str(run),
        _ => {
            text.push('\u{fffd}');
            exact = false;
        }
    });
    (text, exact)
}

fn utf8_parts(bytes: &[u8], sink: &mut dyn FnMut(Part)) {
    for part in bytes.utf8_chunks() {
        if !part.valid().is_empty() {
            sink(Part::Text(part.valid()));
        }
        if !part.invalid().is_empty() {
            sink(Part::Bytes(part.invalid()));
        }
    }
}

fn utf16_parts(bytes: &[u8], unit: fn([u8; 2]) -> u16, sink: &mut dyn FnMut(Part)) {
    let (units, half) = bytes.as_chunks::<2>();
    let mut run = String::with_capacity(units.len());
    for decoded in decode_utf16(units.iter().map(|pair| unit(*pair))) {
        match decoded {
            Ok(c) => run.push(c),
            Err(lone) => {
                flush(&mut run, sink);
                sink(Part::Surrogate(lone.unpaired_surrogate()));
            }
        }
    }
    flush(&mut run, sink);
    if let [half] = half {
        sink(Part::Half(*half));
    }
}

fn table_parts(encoding: Encoding, bytes: &[u8], sink: &mut dyn FnMut(Part)) {
    if let Some(text) = exact_text(encoding, bytes) {
        if !text.is_empty() {
            sink(Part::Text(&text));
        }
        return;
    }
    let (mut run, mut rest) = (String::with_capacity(bytes.len()), bytes);
    while !rest.is_empty() {
        let (unit, after) = rest.split_at(char_len(encoding, rest));
        match exact_text(encoding, unit) {
            Some(text) => run.push_str(&text),
            None => raw_unit(unit, &mut run, sink),
        }
        rest = after;
    }
    flush(&mut run, sink);
}

/// The characters of `bytes`, if encoding them gives the same bytes again. Some characters have
/// two spellings (Shift_JIS, Big5, GBK); only one of them is text here, so that it can be undone.
fn exact_text(encoding: Encoding, bytes: &[u8]) -> Option<std::borrow::Cow<'_, str>> {
    let text = encoding.table().decode_without_bom_handling_and_without_replacement(bytes)?;
    let same = text.is_ascii() || *encoding.inverse_table().encode(&text).0 == *bytes;
    same.then_some(text)
}

/// A unit without text: its high bytes as bytes, its trail bytes below 80 as ASCII.
fn raw_unit(unit: &[u8], run: &mut String, sink: &mut dyn FnMut(Part)) {
    for byte in unit {
        if byte.is_ascii() {
            run.push(char::from(*byte));
        } else {
            flush(run, sink);
            sink(Part::Bytes(&[*byte]));
        }
    }
}

fn flush(run: &mut String, sink: &mut dyn FnMut(Part)) {
    if !run.is_empty() {
        sink(Part::Text(run));
        run.clear();
    }
}

/// The length in bytes of the first character of `bytes` (not empty): a cut may stand after it.
/// A byte that begins no character is one alone. Needs at most the first four bytes.
pub(super) fn char_len(encoding: Encoding, bytes: &[u8]) -> usize {
    match encoding.form() {
        Form::Utf8 => utf8_char_len(bytes),
        Form::Utf16Le => utf16_char_len(bytes, u16::from_le_bytes),
        Form::Utf16Be => utf16_char_len(bytes, u16::from_be_bytes),
        Form::SingleByte => 1,
        Form::MultiByte => table_char_len(encoding, bytes),
    }
}

fn utf8_char_len(bytes: &[u8]) -> usize {
    let width = match bytes[0] {
        0xc2..=0xdf => 2,
        0xe0..=0xef => 3,
        0xf0..=0xf4 => 4,
        _ => return 1,
    };
    match bytes.get(..width) {
        Some(sequence) if std::str::from_utf8(sequence).is_ok() => width,
        _ => 1,
    }
}

fn utf16_char_len(bytes: &[u8], unit: fn([u8; 2]) -> u16) -> usize {
    let at = |i: usize| Some(unit([*bytes.get(i)?, *bytes.get(i + 1)?]));
    match (at(0), at(2)) {
        (Some(0xd800..=0xdbff), Some(0xdc00..=0xdfff)) => 4,
        (Some(_), _) => 2,
        (None, _) => 1,
    }
}

fn table_char_len(encoding: Encoding, bytes: &[u8]) -> usize {
    if bytes[0].is_ascii() {
        return 1;
    }
    let is_char = |len: &usize| {
        let table = encoding.table();
        table.decode_without_bom_handling_and_without_replacement(&bytes[..*len]).is_some()
    };
    (1..=bytes.len().min(4)).find(is_char).unwrap_or(1)
}

/// The offset after the first line end at or after `from`, or `None`. In UTF-16 `bytes` must begin
/// on a code unit.
pub(super) fn line_end(encoding: Encoding, bytes: &[u8], from: usize) -> Option<usize> {
    match encoding.form() {
        Form::Utf16Le => utf16_line_end(bytes, from, [b'\n', 0]),
        Form::Utf16Be => utf16_line_end(bytes, from, [0, b'\n']),
        _ => memchr::memchr(b'\n', bytes.get(from..)?).map(|at| from + at + 1),
    }
}

fn utf16_line_end(bytes: &[u8], from: usize, newline: [u8; 2]) -> Option<usize> {
    let from = from & !1;
    let at = bytes.get(from..)?.as_chunks::<2>().0.iter().position(|unit| *unit == newline)?;
    Some(from + 2 * at + 2)
}

/// The lines of `bytes`, each with its end; the last may lack one.
pub(super) fn lines(encoding: Encoding, mut bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    std::iter::from_fn(move || {
        let end = line_end(encoding, bytes, 0).unwrap_or(bytes.len());
        let (line, rest) = bytes.split_at(end);
        bytes = rest;
        (!line.is_empty()).then_some(line)
    })
}

/// Splits a line into what is shown escaped and its end: `\n` or `\r\n` in the encoding, or none.
pub(super) fn split_end(encoding: Encoding, line: &[u8]) -> (&[u8], &[u8]) {
    let (crlf, lf): (&[u8], &[u8]) = match encoding.form() {
        Form::Utf16Le => (b"\r\0\n\0", b"\n\0"),
        Form::Utf16Be => (b"\0\r\0\n", b"\0\n"),
        _ => (b"\r\n", b"\n"),
    };
    let whole = |end: &[u8]| line.ends_with(end) && (lf.len() == 1 || line.len().is_multiple_of(2));
    let end = if whole(crlf) {
        crlf.len()
    } else if whole(lf) {
        lf.len()
    } else {
        0
    };
    line.split_at(line.len() - end)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn parts(encoding: Encoding, bytes: &[u8]) -> Vec<String> {
        let mut all = Vec::new();
        each_part(encoding, bytes, &mut |part| all.push(format!("{part:?}")));
        all
    }

    #[test]
    fn bytes_that_are_no_character_stand_alone() {
        assert_eq!(
            parts(Encoding::UTF_8, b"a\xffb"),
            ["Text(\"a\")", "Bytes([255])", "Text(\"b\")"]
        );
        assert_eq!(
            parts(Encoding::UTF_16LE, b"a\0\0\xd8b"),
            ["Text(\"a\")", "Surrogate(55296)", "Half(98)"]
        );
        let euro_twice = "gbk".parse().unwrap();
        assert_eq!(parts(euro_twice, b"\xa2\xe3\x80"), ["Text(\"€\")", "Bytes([128])"]);
    }

    #[test]
    fn a_newline_byte_inside_a_utf16_unit_ends_no_line() {
        let text: Vec<u8> = "\u{0a00}\u{000a}x".encode_utf16().flat_map(u16::to_le_bytes).collect();
        assert_eq!(line_end(Encoding::UTF_16LE, &text, 0), Some(4));
        assert_eq!(split_end(Encoding::UTF_16LE, &text[..4]), (&text[..2], &text[2..4]));
    }

    fn encodings() -> impl Strategy<Value = Encoding> {
        let names = [
            "utf-8",
            "utf-16le",
            "utf-16be",
            "gbk",
            "big5",
            "shift_jis",
            "euc-kr",
            "euc-jp",
            "windows-1252",
        ];
        prop::sample::select(names.to_vec()).prop_map(|name| name.parse().unwrap())
    }

    proptest! {
        #[test]
        fn cuts_between_characters_change_no_part(
            encoding in encodings(),
            bytes in prop::collection::vec(prop_oneof![any::<u8>(), 0x80..=0xffu8, 0x30..=0x5cu8], 0..40),
            skip in 0..40usize,
        ) {
            let (mut at, mut seen) = (0, 0);
            while at < bytes.len() && seen < skip {
                at += char_len(encoding, &bytes[at..]);
                seen += 1;
            }
            let flat = |bytes: &[u8]| {
                let mut all = String::new();
                each_part(encoding, bytes, &mut |part| match part {
                    Part::Text(text) => all.push_str(text),
                    Part::Bytes(bytes) => bytes.iter().for_each(|b| all.push_str(&format!("<{b}>"))),
                    other => all.push_str(&format!("{other:?}")),
                });
                all
            };
            prop_assert_eq!(flat(&bytes[..at]) + &flat(&bytes[at..]), flat(&bytes));
        }
    }
}
