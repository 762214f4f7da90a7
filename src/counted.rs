//! Numbers with their nouns, as every message says them: `1 chunk`, `1,200 chunks`.

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

/// A count with its noun, which is given for one: `1 chunk`, `1,200 chunks`, `2 repositories`.
pub fn count(number: u64, noun: &str) -> String {
    format!("{} {}", thousands(number), noun_for(number, noun))
}

/// The form of a verb that goes with a number: `agree(2, "is", "are")` is `are`.
pub fn agree<'a>(number: u64, one: &'a str, more: &'a str) -> &'a str {
    if number == 1 { one } else { more }
}

fn noun_for(number: u64, noun: &str) -> String {
    match noun.strip_suffix('y') {
        _ if number == 1 => noun.to_string(),
        Some(stem) => format!("{stem}ies"),
        None => format!("{noun}s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_grouped() {
        let groups = [0, 12, 999, 1000, 81_233, 1_234_567].map(thousands);
        assert_eq!(groups, ["0", "12", "999", "1,000", "81,233", "1,234,567"]);
    }

    #[test]
    fn nouns_agree_with_their_numbers() {
        assert_eq!(count(1, "chunk"), "1 chunk");
        assert_eq!(count(0, "page"), "0 pages");
        assert_eq!(count(1_200, "nested repository"), "1,200 nested repositories");
        assert_eq!((agree(1, "is", "are"), agree(0, "is", "are")), ("is", "are"));
    }
}
