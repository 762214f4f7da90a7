//! The policy: what a plan is made under, as typed and as meant.
//!
//! All arithmetic is on integers; a share is in parts per million, so that no float decides a plan.

use crate::record::{MARK_TOKENS, Policy, Tokens};

/// One, in parts per million.
const MILLION: u64 = 1_000_000;

/// The tokenizers that a plan can be made with, the default first.
pub const TOKENIZERS: [&str; 3] = ["o200k_base", "cl100k_base", "bytes/4"];

/// What was asked for. [`PolicyOptions::default`] holds the defaults; [`PolicyOptions::resolve`]
/// works out the segment budget.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PolicyOptions {
    /// The reader's window, in tokens.
    pub context_window: u64,
    /// What the prompt around a segment may cost, in tokens.
    pub fixed_prompt: u64,
    /// What is left for the answer, in tokens.
    pub reserve: u64,
    /// The margin for other tokenizers, in parts per million, under 1,000,000.
    pub safety_ppm: u64,
    /// One of [`TOKENIZERS`].
    pub tokenizer: String,
    /// The page size in characters.
    pub page: Option<u64>,
    /// Whether what is printed carries marks.
    pub marks: bool,
    /// The globs of `--order`, first first.
    pub order: Vec<String>,
    /// The subtrees that the plan is bounded to, as `name/dir`; recorded sorted, each once.
    pub scope: Vec<String>,
}

impl Default for PolicyOptions {
    fn default() -> Self {
        PolicyOptions {
            context_window: 65_536,
            fixed_prompt: 4_096,
            reserve: 8_192,
            safety_ppm: 100_000,
            tokenizer: TOKENIZERS[0].to_string(),
            page: None,
            marks: false,
            order: Vec::new(),
            scope: Vec::new(),
        }
    }
}

impl PolicyOptions {
    /// What was asked for when this policy was made.
    pub fn of(policy: &Policy) -> Self {
        PolicyOptions {
            context_window: policy.context_window.0,
            fixed_prompt: policy.fixed_prompt.0,
            reserve: policy.reserve.0,
            safety_ppm: policy.safety_ppm,
            tokenizer: policy.tokenizer.clone(),
            page: policy.page,
            marks: policy.marks,
            order: policy.order.clone(),
            scope: policy.scope.clone(),
        }
    }

    /// The policy: `segment_budget = floor((context_window - fixed_prompt - reserve) * (1 -
    /// safety))`, 0 when the window does not even hold prompt and reserve.
    ///
    /// A budget that is too small is no error here: only who has seen the largest chunk can name
    /// the smallest window that works.
    pub fn resolve(&self) -> Policy {
        let mut scope = self.scope.clone();
        scope.sort();
        scope.dedup();
        let room =
            self.context_window.saturating_sub(self.fixed_prompt.saturating_add(self.reserve));
        Policy {
            context_window: Tokens(self.context_window),
            fixed_prompt: Tokens(self.fixed_prompt),
            reserve: Tokens(self.reserve),
            safety_ppm: self.safety_ppm,
            segment_budget: Tokens(budget(room, self.safety_ppm)),
            tokenizer: self.tokenizer.clone(),
            scope,
            order: self.order.clone(),
            page: self.page,
            marks: self.marks,
        }
    }
}

/// `floor(room * (1 - safety))`.
fn budget(room: u64, safety_ppm: u64) -> u64 {
    let kept = u128::from(MILLION.saturating_sub(safety_ppm));
    to_u64(u128::from(room) * kept / u128::from(MILLION))
}

/// The share of a segment that its marks may take: one token in so many.
const MARKS_SHARE: u64 = 32;

/// The tokens that the marks of the smallest segment may take.
const MARKS_LEAST: u64 = 4 * MARK_TOKENS;

/// The tokens by which the last line is longer where it names marks.
const MARKS_NAMED: u64 = 16;

/// The tokens of a segment that are kept for marks.
fn for_marks(policy: &Policy) -> u64 {
    match policy.marks {
        true => (policy.segment_budget.0 / MARKS_SHARE).max(MARKS_LEAST),
        false => 0,
    }
}

/// How many marks a segment, or a page, may carry; none without `--marks`.
pub fn most_marks(policy: &Policy) -> Option<u64> {
    policy.marks.then(|| for_marks(policy) / MARK_TOKENS)
}

/// The tokens of a segment that its text may take, frames and last line included: all of its budget,
/// but for what the marks take.
pub fn text_budget(policy: &Policy) -> Tokens {
    let named = if policy.marks { MARKS_NAMED } else { 0 };
    Tokens(policy.segment_budget.0.saturating_sub(for_marks(policy) + named))
}

/// The smallest segment budget in which so much text has room.
fn budget_for(policy: &Policy, text: u64) -> u64 {
    let room = |budget| {
        text_budget(&Policy { segment_budget: Tokens(budget), ..policy.clone() }).0 >= text
    };
    let (mut low, mut high) = (text, text.saturating_mul(2).saturating_add(1024));
    while low < high {
        let middle = low + (high - low) / 2;
        if room(middle) { high = middle } else { low = middle + 1 }
    }
    low
}

/// The smallest window in whose segments `need` tokens of text have room beside `fixed_prompt` and the
/// policy's reserve; `None` when it is larger than any that can be given.
pub(super) fn smallest_window(policy: &Policy, fixed_prompt: u64, need: u64) -> Option<u64> {
    let need = budget_for(policy, need);
    let kept = u128::from(MILLION.saturating_sub(policy.safety_ppm).max(1));
    let room = (u128::from(need) * u128::from(MILLION)).div_ceil(kept);
    u64::try_from(room + u128::from(fixed_prompt) + u128::from(policy.reserve.0)).ok()
}

/// The options of a policy as they are typed, each behind a space: the window, and what differs from
/// the defaults. The order is not among them.
pub fn options(policy: &Policy) -> String {
    let usual = PolicyOptions::default();
    let mut typed = format!(" --context-window {}", policy.context_window.0);
    let mut add = |name: &str, value: u64, usual: u64| {
        if value != usual {
            typed += &format!(" --{name} {value}");
        }
    };
    add("fixed-prompt", policy.fixed_prompt.0, usual.fixed_prompt);
    add("reserve", policy.reserve.0, usual.reserve);
    if policy.safety_ppm != usual.safety_ppm {
        typed += &format!(" --safety 0.{:06}", policy.safety_ppm);
    }
    if policy.tokenizer != usual.tokenizer {
        typed += &format!(" --tokenizer {}", policy.tokenizer);
    }
    if let Some(page) = policy.page {
        typed += &format!(" --page {page}");
    }
    if policy.marks {
        typed += " --marks";
    }
    typed
}

fn to_u64(value: u128) -> u64 {
    u64::try_from(value).unwrap_or(u64::MAX)
}

/// Reads a number of tokens: digits, `_` between them, and `k` or `m` after them in either case.
///
/// `k` is 1,000 and `m` is 1,000,000, so `200k` is 200,000: where a vendor means 1,024 by it, the
/// plan stays on the safe side. The error is a sentence for the command line.
pub fn parse_tokens(text: &str) -> Result<u64, String> {
    let (digits, unit) = match text.as_bytes().last() {
        Some(b'k' | b'K') => (&text[..text.len() - 1], 1_000),
        Some(b'm' | b'M') => (&text[..text.len() - 1], MILLION),
        _ => (text, 1),
    };
    let grouped = digits.split('_').all(|group| is_digits(group) && !group.is_empty());
    let value = digits.replace('_', "").parse::<u64>().ok().filter(|_| grouped);
    value
        .and_then(|value| value.checked_mul(unit))
        .ok_or_else(|| "not a number of tokens, such as 65536, 200_000, 200k or 1m".to_string())
}

/// Reads a share from `0` to under `1`, such as `0.10`, into parts per million, exactly.
///
/// The error is a sentence for the command line.
pub fn parse_share(text: &str) -> Result<u64, String> {
    let (whole, decimals) = text.split_once('.').unwrap_or((text, ""));
    let written = !(whole.is_empty() && decimals.is_empty());
    if !written || !is_digits(whole) || !is_digits(decimals) {
        return Err("not a decimal number, such as 0.10".to_string());
    }
    if whole.bytes().any(|b| b != b'0') {
        return Err("not from 0 to under 1".to_string());
    }
    let digits = decimals.trim_end_matches('0');
    if digits.len() > 6 {
        return Err("more than six decimals".to_string());
    }
    format!("{digits:0<6}").parse().map_err(|_| "not a decimal number, such as 0.10".to_string())
}

fn is_digits(text: &str) -> bool {
    text.bytes().all(|b| b.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_defaults_are_those_of_the_manual() {
        // python3 -c 'print((65536 - 4096 - 8192) * 9 // 10)'
        assert_eq!(PolicyOptions::default().resolve().segment_budget, Tokens(47_923));
    }

    #[test]
    fn the_budget_is_rounded_down() {
        let options = PolicyOptions {
            context_window: 100,
            fixed_prompt: 0,
            reserve: 0,
            safety_ppm: 5_001,
            ..PolicyOptions::default()
        };
        assert_eq!(options.resolve().segment_budget, Tokens(99));
    }

    #[test]
    fn a_window_under_prompt_and_reserve_has_no_budget() {
        let options = PolicyOptions { context_window: 12_287, ..PolicyOptions::default() };
        assert_eq!(options.resolve().segment_budget, Tokens(0));
    }

    #[test]
    fn the_order_of_scopes_is_not_part_of_the_policy() {
        let scope = |list: &[&str]| PolicyOptions {
            scope: list.iter().map(|s| s.to_string()).collect(),
            ..PolicyOptions::default()
        };
        assert_eq!(scope(&["b/x", "a/y", "b/x"]).resolve(), scope(&["a/y", "b/x"]).resolve());
    }

    #[test]
    fn tokens_are_read_as_people_write_them() {
        let good = [
            ("65536", 65_536),
            ("200_000", 200_000),
            ("200k", 200_000),
            ("1M", 1_000_000),
            ("0", 0),
        ];
        for (text, value) in good {
            assert_eq!(parse_tokens(text), Ok(value), "{text}");
        }
        for bad in
            ["", "k", "_1", "1_", "1__0", "+1", "-1", "1.5m", "1 k", "1kk", "99999999999999999m"]
        {
            assert!(parse_tokens(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn shares_are_read_exactly() {
        let good = [
            ("0", 0),
            ("0.10", 100_000),
            (".1", 100_000),
            ("0.", 0),
            ("0.123456", 123_456),
            ("0.0000010", 1),
            ("0.999999", 999_999),
        ];
        for (text, value) in good {
            assert_eq!(parse_share(text), Ok(value), "{text}");
        }
        for bad in ["", ".", "1", "1.0", "2", "-0.1", "0.1234567", "10%", "0,1", "1e-1"] {
            assert!(parse_share(bad).is_err(), "{bad}");
        }
    }

    proptest::proptest! {
        /// The window that is named works, and the one below it does not.
        #[test]
        fn the_smallest_window_is_the_smallest(
            need in 1u64..2_000_000, fixed in 0u64..10_000, reserve in 0u64..10_000, ppm in 0u64..1_000_000,
            marks: bool,
        ) {
            let with = |context_window| PolicyOptions {
                context_window, fixed_prompt: fixed, reserve, safety_ppm: ppm, marks, ..PolicyOptions::default()
            }.resolve();
            let window = smallest_window(&with(0), fixed, need).unwrap();
            proptest::prop_assert!(text_budget(&with(window)).0 >= need);
            proptest::prop_assert!(text_budget(&with(window - 1)).0 < need);
        }

        #[test]
        fn text_and_marks_have_room_together(budget in 56u64..2_000_000) {
            let policy = PolicyOptions { marks: true, ..PolicyOptions::default() }.resolve();
            let policy = Policy { segment_budget: Tokens(budget), ..policy };
            let marks = most_marks(&policy).unwrap();
            proptest::prop_assert!(marks >= 2);
            proptest::prop_assert!(text_budget(&policy).0 + marks * MARK_TOKENS <= budget);
        }
    }
}
