//! Shares, lists and rows for people.

use crate::counted::{count, thousands};
use crate::record::{ByteRange, Fate, LineRange, Tokens, Unread, Why};

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
    let bytes = row.bytes.map(|range| format!(" bytes {}-{}", range.from, range.to));
    let bytes = bytes.unwrap_or_default();
    let tokens = row.tokens.map(|t| format!(", {}", count(t.0, "token"))).unwrap_or_default();
    format!("{}:{path}{lines}{bytes}: {}{tokens}", row.repo, reason(row))
}

/// Chunks that are told in one row.
pub struct Row {
    /// The first, with the lines, bytes and tokens of all.
    pub unread: Unread,
    /// How many they are.
    pub chunks: u64,
}

impl Row {
    /// Takes in what goes on where this one ends and is unread for the same reason; false when it is
    /// not so. Chunks that have gone from one file have no lines to tell them apart.
    pub fn take(&mut self, next: &Unread) -> bool {
        let held = &mut self.unread;
        if !is_alike(held, next) {
            return false;
        }
        let bytes = match (held.bytes, next.bytes) {
            (Some(a), Some(b)) if a.to == b.from => Some(ByteRange { from: a.from, to: b.to }),
            _ => None,
        };
        match (held.lines, next.lines) {
            (None, None) if held.why == Why::Changed => {}
            (Some(a), Some(b))
                if b.first == a.last + 1 || (bytes.is_some() && b.first == a.last) =>
            {
                held.lines = Some(LineRange { first: a.first, last: b.last });
            }
            _ => return false,
        }
        held.bytes = bytes;
        held.tokens = held.tokens.zip(next.tokens).map(|(a, b)| Tokens(a.0 + b.0));
        self.chunks += 1;
        true
    }

    /// In words.
    pub fn told(&self) -> String {
        let text = unread(&self.unread);
        if self.chunks == 1 { text } else { format!("{text}, {}", count(self.chunks, "chunk")) }
    }
}

/// Whether two rows are of one file, one segment and one reason.
fn is_alike(a: &Unread, b: &Unread) -> bool {
    (&a.repo, &a.path, &a.path_b64) == (&b.repo, &b.path, &b.path_b64)
        && (&a.segment, &a.reader, a.why) == (&b.segment, &b.reader, b.why)
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
        Why::Shown => "only shown".to_string(),
        Why::Others => "read by others alone".to_string(),
        Why::Binary => "binary, not waived".to_string(),
        Why::Symlink => "a symbolic link, not waived".to_string(),
        Why::Repository => "a repository of its own, not waived".to_string(),
        Why::Special => "no file, not waived".to_string(),
        Why::Absent => "not there, not waived".to_string(),
        Why::Ignored => "left out by a rule, not waived".to_string(),
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

    /// A row of `whole.txt` with these lines and bytes.
    fn row(first: u64, last: u64, bytes: Option<(u64, u64)>) -> Unread {
        let lines = format!("\"lines\":[{first},{last}],");
        let bytes = bytes.map(|(from, to)| format!("\"bytes\":[{from},{to}],")).unwrap_or_default();
        let row = format!(
            "{{\"repo\":\"r\",\"path\":\"whole.txt\",{lines}{bytes}\"tokens\":10,\"why\":\"pending\"}}"
        );
        serde_json::from_str(&row).unwrap()
    }

    fn told(rows: &[Unread]) -> Vec<String> {
        let mut all: Vec<Row> = Vec::new();
        for row in rows {
            if !all.last_mut().is_some_and(|last| last.take(row)) {
                all.push(Row { unread: row.clone(), chunks: 1 });
            }
        }
        all.iter().map(Row::told).collect()
    }

    #[test]
    fn chunks_that_follow_each_other_are_one_row() {
        let rows = [row(1, 4, None), row(5, 9, None), row(12, 12, None)];
        let one = "r:whole.txt:1-9: unread, 20 tokens, 2 chunks";
        assert_eq!(told(&rows), [one, "r:whole.txt:12: unread, 10 tokens"]);
        let elsewhere = Unread { repo: "s".into(), ..row(5, 9, None) };
        assert_eq!(told(&[row(1, 4, None), elsewhere]).len(), 2);
    }

    #[test]
    fn pieces_of_a_long_line_are_told_apart_by_their_bytes() {
        let rows =
            [row(1, 1, Some((0, 50))), row(1, 1, Some((50, 90))), row(1, 1, Some((120, 130)))];
        let one = "r:whole.txt:1 bytes 0-90: unread, 20 tokens, 2 chunks";
        assert_eq!(told(&rows), [one, "r:whole.txt:1 bytes 120-130: unread, 10 tokens"]);
    }
}
