//! JSON whose strings hold no character that [`visible`] would not send: such a character is
//! written as `\uXXXX`, so a line is one line to every reader and no terminal obeys it.

use std::io;

use serde::Serialize;
use serde_json::ser::{Formatter, Serializer};

use crate::visible;

/// One value as compact JSON, without a newline.
pub fn to_json<T: Serialize + ?Sized>(value: &T) -> serde_json::Result<String> {
    let mut out = Vec::new();
    write_json(&mut out, value)?;
    // The formatter writes whole characters only.
    String::from_utf8(out).map_err(<serde_json::Error as serde::ser::Error>::custom)
}

/// Writes one value as compact JSON, without a newline.
pub(super) fn write_json<W: io::Write, T: Serialize + ?Sized>(
    out: W,
    value: &T,
) -> serde_json::Result<()> {
    value.serialize(&mut Serializer::with_formatter(out, Visible))
}

/// serde_json's compact form, with hidden characters escaped. serde_json itself escapes `"`, `\`
/// and C0 controls and hands the rest over as fragments.
struct Visible;

impl Formatter for Visible {
    fn write_string_fragment<W: io::Write + ?Sized>(
        &mut self,
        out: &mut W,
        fragment: &str,
    ) -> io::Result<()> {
        if fragment.bytes().all(|b| b < 0x7f) {
            return out.write_all(fragment.as_bytes());
        }
        let mut sent = 0;
        for (at, c) in fragment.char_indices().filter(|(_, c)| visible::is_hidden(*c)) {
            out.write_all(&fragment.as_bytes()[sent..at])?;
            for unit in c.encode_utf16(&mut [0; 2]) {
                write!(out, "\\u{unit:04x}")?;
            }
            sent = at + c.len_utf8();
        }
        out.write_all(&fragment.as_bytes()[sent..])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hidden_characters_are_escaped_and_read_back() {
        let text = "a\u{2028}\u{202e}\u{9b}\u{e0041}\u{7f}é\n\x1b";
        let json = to_json(text).unwrap();
        assert!(!json.chars().any(visible::is_hidden), "{json}");
        assert_eq!(serde_json::from_str::<String>(&json).unwrap(), text);
    }
}
