//! Shares, lists and rows for people.

use crate::counted::{count, thousands};
use crate::record::{Fate, Unread, Why};

/// A share in whole percent, rounded down, so that 100 % means all; nothing has no share.
pub fn percent(part: u64, whole: u64) -> Option<u64> {
    let share = (u128::from(part) * 100).checked_div(u128::from(whole))?;
    u64::try_from(share).ok()
}

/// Parts per million as percent with one decimal, rounded down: `12.3 %`.
pub fn from_ppm(ppm: u64) -> String {
    format!("{}.{} %", ppm / 10_000, ppm % 10_000 / 1_000)
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
    fn all_but_one_is_not_a_hundred_percent() {
        assert_eq!(percent(999_999, 1_000_000), Some(99));
        assert_eq!(percent(3, 3), Some(100));
        assert_eq!(percent(0, 0), None);
    }

    #[test]
    fn parts_per_million_are_told_in_percent() {
        let told = [0, 100_000, 123_456, 999_999, 999].map(from_ppm);
        assert_eq!(told, ["0.0 %", "10.0 %", "12.3 %", "99.9 %", "0.0 %"]);
    }
}
