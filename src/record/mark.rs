//! Marks: lines with a number that nobody can know who has not seen them.
//!
//! `=== mark 0481297355106`. Like a frame it begins with `=`, which no shown line does.

/// How many digits a mark has: more than 43 bits.
const MARK_DIGITS: usize = 13;

/// What stands before the digits.
const HEAD: &str = "=== mark ";

/// The characters of a mark's line, with its end.
pub const MARK_CHARS: u64 = (HEAD.len() + MARK_DIGITS + 1) as u64;

/// The most tokens that a mark's line costs, by any of our tokenizers: digits cost by their number.
pub const MARK_TOKENS: u64 = 10;

/// The mark that a random number gives.
pub fn mark(random: u64) -> String {
    let digits = u32::try_from(MARK_DIGITS).unwrap_or_default();
    format!("{:0MARK_DIGITS$}", random % 10_u64.pow(digits))
}

/// The line of a mark, with its end.
pub fn mark_line(mark: &str) -> String {
    format!("{HEAD}{mark}\n")
}

/// Whether a word can be a mark.
pub fn is_mark(word: &str) -> bool {
    word.len() == MARK_DIGITS && word.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::text::Tokenizer;

    proptest! {
        #[test]
        fn no_mark_costs_more_than_is_set_aside(random: u64, before in "[ -~]{0,20}") {
            let line = mark_line(&mark(random));
            prop_assert_eq!(line.chars().count() as u64, MARK_CHARS);
            let (before, after) = (format!("7\t{before}\n"), "8\tx\n");
            for tokenizer in [Tokenizer::O200k, Tokenizer::Cl100k, Tokenizer::Bytes] {
                let without = tokenizer.count(&format!("{before}{after}"));
                let with = tokenizer.count(&format!("{before}{line}{after}"));
                prop_assert!(with <= without + MARK_TOKENS, "{with} {without}");
            }
        }
    }
}
