//! Numbers, lists and trees for people.

use crate::record::{Fate, Unread, Why};

/// `1234567` as `1,234,567`.
pub fn thousands(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// A count with its noun: `1 chunk`, `1,200 chunks`.
pub fn count(number: u64, noun: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{} {noun}{plural}", thousands(number))
}

/// A share in whole percent, rounded down, so that 100 % means all; all of nothing is 100.
pub fn percent(part: u64, whole: u64) -> u64 {
    let share = u128::from(part) * 100 / u128::from(whole.max(1));
    if whole == 0 { 100 } else { u64::try_from(share).unwrap_or(100) }
}

/// The counts of paths by fate, `text` first: `1,234 text, 10 binary`.
pub fn fates<'a>(counts: impl IntoIterator<Item = (&'a String, &'a u64)>) -> String {
    let all: Vec<(&String, &u64)> = counts.into_iter().collect();
    let of = |fate: &Fate| all.iter().find(|(name, _)| *name == fate.as_str());
    let known = Fate::ALL.iter().filter_map(of);
    known
        .map(|(name, number)| format!("{} {name}", thousands(**number)))
        .collect::<Vec<_>>()
        .join(", ")
}

/// An unread row: what, why, and the command that finishes it.
pub fn unread(row: &Unread) -> String {
    let path = match row.repo_path() {
        Ok(path) => path.display().into_owned(),
        Err(_) => crate::visible::quote_path(row.path.as_bytes()).into_owned(),
    };
    let lines = row.lines.map(|lines| format!(":{lines}")).unwrap_or_default();
    let tokens = row.tokens.map(|t| format!(", {}", count(t.0, "token"))).unwrap_or_default();
    format!("{}:{path}{lines}: {}{tokens}", row.repo, reason(row))
}

fn reason(row: &Unread) -> String {
    let segment = row.segment.as_ref().map(ToString::to_string).unwrap_or_default();
    match row.why {
        Why::Pending if segment.is_empty() => "unread".to_string(),
        Why::Pending => format!("pending in {segment}"),
        Why::Leased => {
            format!("in {segment}, which {} has", row.reader.as_deref().unwrap_or("a reader"))
        }
        Why::Changed => "changed since the plan".to_string(),
        Why::Unplanned => "in no plan".to_string(),
        Why::Unreadable => "cannot be read".to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_grouped() {
        assert_eq!(thousands(0), "0");
        assert_eq!(thousands(999), "999");
        assert_eq!(thousands(1_234_567), "1,234,567");
        assert_eq!(count(1, "chunk"), "1 chunk");
    }

    #[test]
    fn all_but_one_is_not_a_hundred_percent() {
        assert_eq!(percent(999_999, 1_000_000), 99);
        assert_eq!(percent(3, 3), 100);
        assert_eq!(percent(0, 0), 100);
    }
}
