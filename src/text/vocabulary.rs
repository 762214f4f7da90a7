//! Counting shown lines fast.
//!
//! The tokenizers first split text into pieces by a pattern; tiktoken does most of that by hand but
//! hands every run of white space to a regex engine, which then takes a fifth of the time. In a
//! shown line those runs are easy: here they are split off and counted from a table. The pieces
//! stay the same, so the count does; tests hold it against another tokenizer.

use std::ops::Range;
use std::sync::OnceLock;

use tiktoken::CoreBpe;

/// Longer runs of blanks are counted one by one.
const TABLE: usize = 64;

/// A vocabulary, with the counts of common runs of blanks.
pub(super) struct Vocabulary {
    bpe: &'static CoreBpe,
    /// Runs of so many spaces.
    spaces: [u64; TABLE],
    /// Runs of so many tabs.
    tabs: [u64; TABLE],
    /// A tab and so many spaces.
    tab_spaces: [u64; TABLE],
    /// The shown text of an empty line.
    empty_line: u64,
}

/// The vocabulary of this name, loaded on first use; `None` if there is none.
pub(super) fn o200k() -> Option<&'static Vocabulary> {
    static LOADED: OnceLock<Option<Vocabulary>> = OnceLock::new();
    LOADED.get_or_init(|| Vocabulary::load("o200k_base")).as_ref()
}

/// As [`o200k`].
pub(super) fn cl100k() -> Option<&'static Vocabulary> {
    static LOADED: OnceLock<Option<Vocabulary>> = OnceLock::new();
    LOADED.get_or_init(|| Vocabulary::load("cl100k_base")).as_ref()
}

impl Vocabulary {
    fn load(name: &str) -> Option<Self> {
        let bpe = tiktoken::get_encoding(name)?;
        let table = |text: &dyn Fn(usize) -> String| {
            std::array::from_fn(|n| if n == 0 { 0 } else { bpe.count(&text(n)) as u64 })
        };
        Some(Vocabulary {
            spaces: table(&|n| " ".repeat(n)),
            tabs: table(&|n| "\t".repeat(n)),
            tab_spaces: table(&|n| format!("\t{}", " ".repeat(n))),
            empty_line: bpe.count("\t\n") as u64,
            bpe,
        })
    }

    /// The tokens of any text.
    pub(super) fn count(&self, text: &str) -> u64 {
        self.bpe.count(text) as u64
    }

    /// The tokens of a shown line without its number, or of a part of one: the same as
    /// [`Vocabulary::count`] for text whose only line breaks are at its end.
    pub(super) fn count_line(&self, line: &str) -> u64 {
        if line == "\t\n" {
            return self.empty_line;
        }
        let (line, mut sum) = match line.strip_suffix('\n') {
            // After a letter or digit, `\n` is a piece, and a token.
            Some(text) if text.ends_with(|c: char| c.is_ascii_alphanumeric()) => (text, 1),
            _ => (line, 0),
        };
        let (bytes, mut from, mut at) = (line.as_bytes(), 0, 0);
        while let Some(run) = next_blanks(bytes, at) {
            at = run.end;
            let is_joined = joins(bytes[run.end - 1], bytes.get(run.end));
            if run.len() == 1 && is_joined || !stands_in_ascii(bytes, &run) {
                continue;
            }
            let last = run.end - 1;
            sum += self.count_words(&line[from..run.start])
                + self.count_blanks(&line[run.start..last]);
            // A last blank that joins nothing is a piece, and a token.
            sum += u64::from(!is_joined);
            from = if is_joined { last } else { run.end };
        }
        sum + self.count_words(&line[from..])
    }

    fn count_words(&self, text: &str) -> u64 {
        if text.is_empty() { 0 } else { self.count(text) }
    }

    /// The tokens of a piece of nothing but spaces and tabs.
    fn count_blanks(&self, run: &str) -> u64 {
        let spaces = run.trim_start_matches('\t');
        let tabs = run.len() - spaces.len();
        let known = match (tabs, spaces.len()) {
            (tabs, 0) => self.tabs.get(tabs),
            _ if spaces.contains('\t') => None,
            (0, spaces) => self.spaces.get(spaces),
            (1, spaces) => self.tab_spaces.get(spaces),
            _ => None,
        };
        known.copied().unwrap_or_else(|| self.count(run))
    }
}

/// The next run of spaces and tabs at or after `from`.
fn next_blanks(bytes: &[u8], from: usize) -> Option<Range<usize>> {
    let is_blank = |byte: &u8| matches!(byte, b' ' | b'\t');
    let start = from + bytes[from..].iter().position(is_blank)?;
    let len = bytes[start..].iter().position(|byte| !is_blank(byte));
    Some(start..len.map_or(bytes.len(), |len| start + len))
}

/// Whether the pattern takes a blank and what follows it as one piece.
fn joins(blank: u8, next: Option<&u8>) -> bool {
    next.is_some_and(|next| {
        next.is_ascii_alphabetic() || (blank == b' ' && next.is_ascii_punctuation())
    })
}

/// Whether the pattern is sure to see exactly this run as white space before something else.
fn stands_in_ascii(bytes: &[u8], run: &Range<usize>) -> bool {
    let is_after_ascii = run.start == 0 || bytes[run.start - 1].is_ascii_graphic();
    is_after_ascii && bytes.get(run.end).is_some_and(u8::is_ascii_graphic)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn lines() -> impl Strategy<Value = String> {
        let part = prop_oneof![
            "[ \t]{1,9}",
            " {1,90}",
            "\t{1,70}",
            "[!-~]{1,4}",
            "[a-zA-Z0-9'_/]{1,6}",
            "\\PC{1,3}",
            "[\u{a0}\u{3000}\u{2003}] *",
        ];
        let end = prop::sample::select(vec!["\n", "\r\n", " \n", "\t\r\n", ""]);
        (prop::collection::vec(part, 0..9), end).prop_map(|(parts, end)| parts.concat() + end)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(5000))]

        #[test]
        fn lines_count_as_with_another_tokenizer(line in lines()) {
            for line in [format!("\t{line}"), line] {
                let other = bpe_openai::o200k_base().count(line.as_str()) as u64;
                prop_assert_eq!(o200k().unwrap().count_line(&line), other, "{:?}", line);
                let other = bpe_openai::cl100k_base().count(line.as_str()) as u64;
                prop_assert_eq!(cl100k().unwrap().count_line(&line), other, "{:?}", line);
            }
        }
    }
}
