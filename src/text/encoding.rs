//! The encodings that a text file can have, by their WHATWG names.

use std::fmt;
use std::str::FromStr;

use encoding_rs::{GB18030, GBK, UTF_8, UTF_16BE, UTF_16LE};

/// A text encoding. Prints as its WHATWG name in lower case, and parses back from it.
///
/// Stateful ISO-2022-JP and the two encodings that are not for text (`replacement`,
/// `x-user-defined`) are left out: in all others a line can be decoded on its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Encoding(&'static encoding_rs::Encoding);

/// How an encoding's code units lie in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// UTF-8.
    Utf8,
    /// UTF-16, least significant byte first.
    Utf16Le,
    /// UTF-16, most significant byte first.
    Utf16Be,
    /// One byte a character; bytes below 80 are ASCII.
    SingleByte,
    /// One to four bytes a character; bytes below 80 are ASCII unless they follow a lead byte.
    MultiByte,
}

impl Encoding {
    /// `utf-8`.
    pub const UTF_8: Encoding = Encoding(UTF_8);
    /// `utf-16le`.
    pub const UTF_16LE: Encoding = Encoding(UTF_16LE);
    /// `utf-16be`.
    pub const UTF_16BE: Encoding = Encoding(UTF_16BE);

    /// Takes one of encoding_rs, unless it is not for text here.
    pub(super) fn new(encoding: &'static encoding_rs::Encoding) -> Option<Self> {
        let unfit = ["ISO-2022-JP", "replacement", "x-user-defined"];
        (!unfit.contains(&encoding.name())).then_some(Encoding(encoding))
    }

    pub(super) fn form(self) -> Form {
        match self.0 {
            table if table == UTF_8 => Form::Utf8,
            table if table == UTF_16LE => Form::Utf16Le,
            table if table == UTF_16BE => Form::Utf16Be,
            table if table.is_single_byte() => Form::SingleByte,
            _ => Form::MultiByte,
        }
    }

    /// Whether a file of `size` bytes that ends with `tail` ends with a line end.
    pub fn ends_line(self, size: u64, tail: [u8; 2]) -> bool {
        match self.form() {
            Form::Utf16Le => size.is_multiple_of(2) && tail == *b"\n\0",
            Form::Utf16Be => size.is_multiple_of(2) && tail == *b"\0\n",
            _ => tail[1] == b'\n',
        }
    }

    /// The decoder's table.
    pub(super) fn table(self) -> &'static encoding_rs::Encoding {
        self.0
    }

    /// The table that encodes all that [`Encoding::table`] decodes: GBK is decoded as GB18030.
    pub(super) fn inverse_table(self) -> &'static encoding_rs::Encoding {
        if self.0 == GBK { GB18030 } else { self.0 }
    }
}

impl fmt::Display for Encoding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.name().to_ascii_lowercase())
    }
}

impl FromStr for Encoding {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        encoding_rs::Encoding::for_label(text.as_bytes())
            .and_then(Encoding::new)
            .filter(|encoding| encoding.to_string() == text)
            .ok_or_else(|| format!("not a text encoding: '{text}'"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_the_whatwg_in_lower_case() {
        for name in ["utf-8", "utf-16le", "utf-16be", "gbk", "shift_jis", "windows-1252", "big5"] {
            assert_eq!(name.parse::<Encoding>().unwrap().to_string(), name);
        }
        for bad in ["UTF-8", "latin1", "iso-2022-jp", "replacement", "x-user-defined", ""] {
            assert!(bad.parse::<Encoding>().is_err(), "{bad}");
        }
    }
}
