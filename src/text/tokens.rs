//! Counting tokens: exact, offline, and additive over shown lines.
//!
//! The counts of frames and shown lines add up to the count of the page that they make, because a
//! line begins with digits and a frame with `=`, and neither joins a token across the `\n` before
//! it. A number costs one token for every three digits.

use std::fmt;
use std::str::FromStr;

use super::vocabulary::{self, Vocabulary};

/// How tokens are counted. The vocabulary (33 MB) is loaded at the first count.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum Tokenizer {
    /// `o200k_base`.
    #[default]
    O200k,
    /// `cl100k_base`.
    Cl100k,
    /// `bytes/4`: a quarter of the bytes of each line or frame, rounded up.
    Bytes,
}

impl Tokenizer {
    /// All of them, the default first.
    pub const ALL: [Tokenizer; 3] = [Tokenizer::O200k, Tokenizer::Cl100k, Tokenizer::Bytes];

    /// The name on the command line and in records.
    pub fn as_str(self) -> &'static str {
        match self {
            Tokenizer::O200k => "o200k_base",
            Tokenizer::Cl100k => "cl100k_base",
            Tokenizer::Bytes => "bytes/4",
        }
    }

    /// The tokens of `text`. What looks like a special token (`<|endoftext|>`) is plain text.
    pub fn count(self, text: &str) -> u64 {
        match self.vocabulary() {
            Some(vocabulary) => vocabulary.count(text),
            None => quarter(text),
        }
    }

    /// The same for a shown line without its number, or a part of one: faster.
    pub(super) fn count_line(self, line: &str) -> u64 {
        match self.vocabulary() {
            Some(vocabulary) => vocabulary.count_line(line),
            None => quarter(line),
        }
    }

    /// Loads the vocabulary now, so that the first count need not wait for it.
    pub fn load(self) {
        let _ = self.vocabulary();
    }

    fn vocabulary(self) -> Option<&'static Vocabulary> {
        match self {
            Tokenizer::O200k => vocabulary::o200k(),
            Tokenizer::Cl100k => vocabulary::cl100k(),
            Tokenizer::Bytes => None,
        }
    }
}

fn quarter(text: &str) -> u64 {
    text.len().div_ceil(4) as u64
}

impl fmt::Display for Tokenizer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for Tokenizer {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Self::ALL.into_iter().find(|tokenizer| tokenizer.as_str() == text).ok_or_else(|| {
            format!("not a tokenizer: '{text}' (o200k_base, cl100k_base or bytes/4)")
        })
    }
}

/// The tokens of a line number: one for every three digits, or part of three.
pub fn number_tokens(line: u64) -> u64 {
    u64::from(line.max(1).ilog10() / 3 + 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::{LineRange, RepoPath};
    use crate::text::{Encoding, Frame, Part, show_lines};
    use proptest::prelude::*;

    fn oracle(tokenizer: Tokenizer, text: &str) -> u64 {
        let other = match tokenizer {
            Tokenizer::O200k => bpe_openai::o200k_base(),
            _ => bpe_openai::cl100k_base(),
        };
        other.count(text) as u64
    }

    /// Text that tokenizers split in unusual places.
    fn hard_text() -> impl Strategy<Value = String> {
        let part = prop_oneof![
            "\\PC{0,6}",
            "[ \t\r\n/=\\\\'a-zA-Z0-9é,;(){}|<>_-]{0,24}",
            "(\\n|\\r|/|=| |\t|0|')\\PC{0,2}",
            Just("<|endoftext|>".to_string()),
            Just("'s'LL don't".to_string()),
            "[0-9]{1,9}",
        ];
        prop::collection::vec(part, 0..8).prop_map(|parts| parts.concat())
    }

    #[test]
    fn names_parse_back() {
        for tokenizer in Tokenizer::ALL {
            assert_eq!(tokenizer.as_str().parse(), Ok(tokenizer));
        }
        assert!("gpt2".parse::<Tokenizer>().is_err());
    }

    #[test]
    fn a_special_token_is_plain_text() {
        assert!(Tokenizer::O200k.count("<|endoftext|>") > 1);
        assert_eq!(Tokenizer::Bytes.count("12345"), 2);
    }

    #[test]
    fn numbers_cost_by_their_digits() {
        for line in [1, 9, 10, 99, 100, 999, 1000, 99_999, 999_999, 1_000_000, 123_456_789] {
            for tokenizer in [Tokenizer::O200k, Tokenizer::Cl100k] {
                assert_eq!(number_tokens(line), oracle(tokenizer, &line.to_string()), "{line}");
            }
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(1000))]

        #[test]
        fn counts_are_those_of_another_tokenizer(text in hard_text()) {
            for tokenizer in [Tokenizer::O200k, Tokenizer::Cl100k] {
                prop_assert_eq!(tokenizer.count(&text), oracle(tokenizer, &text));
            }
        }

        #[test]
        fn parts_add_up_to_the_page(
            runs in prop::collection::vec((hard_text(), 1..2_000_000u64, "[a-z/ .\"\n\\\\]{1,9}"), 1..4),
        ) {
            for tokenizer in [Tokenizer::O200k, Tokenizer::Cl100k] {
                let (mut page, mut sum) = (String::new(), 0);
                for (text, first, path) in &runs {
                    let Some(path) = RepoPath::new(path.as_str()) else { continue };
                    let lines = LineRange { first: *first, last: first + 10 };
                    let part = Part::Lines { lines, of: first + 99 };
                    let encoding = Encoding::UTF_8;
                    let frame = Frame { repo: "r", path: &path, encoding, part, unterminated: true };
                    page += &frame.render();
                    sum += tokenizer.count(&frame.render());
                    let start = page.len();
                    show_lines(&mut page, encoding, text.as_bytes(), *first);
                    for line in page[start..].split_inclusive('\n') {
                        let (number, text) = line.split_at(line.find('\t').unwrap());
                        sum += number_tokens(number.parse().unwrap()) + tokenizer.count(text);
                    }
                }
                prop_assert_eq!(oracle(tokenizer, &page), sum, "{}", page);
            }
        }
    }
}
