//! Wildcards in paths, as git's ignore files have them.
//!
//! `*` and `?` stay within a component; `**` crosses them when it stands alone between slashes or
//! at an end, and else is `*`. A set (`[a-z]`, `[!a]`, `[[:digit:]]`) is one byte that is no `/`.
//! Matching takes at most quadratic time, whatever the pattern: these files come with the tree.

/// The wildcard part of a pattern, ready to match.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Glob {
    tokens: Vec<Token>,
    fold: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Token {
    Byte(u8),
    /// `?`
    Any,
    Set(Box<Set>),
    /// `*`
    Star,
    /// `**` at the end, or before an escaped slash.
    Deep,
    /// `**/`: any number of whole components, also none.
    Dirs,
    /// A set that does not end, or a class that does not exist: nothing matches.
    Never,
}

impl Glob {
    /// Reads the pattern. With `fold` the case of ASCII letters does not matter.
    pub fn new(pattern: &[u8], fold: bool) -> Self {
        let mut tokens = Vec::new();
        let mut at = 0;
        while at < pattern.len() {
            let (token, length) = token(pattern, at, fold);
            tokens.push(token);
            at += length;
        }
        Glob { tokens, fold }
    }

    /// Whether some text could match.
    pub fn can_match(&self) -> bool {
        !self.tokens.contains(&Token::Never)
    }

    /// Whether all of `text` matches.
    pub fn matches(&self, text: &[u8]) -> bool {
        let (mut token, mut at) = (0, 0);
        // Where to go on when a later token fails. A later star makes an earlier one of its kind
        // needless: the shortest way to it leaves the most text.
        let (mut star, mut deep) = (None, None);
        loop {
            match self.tokens.get(token) {
                None if at == text.len() => return true,
                Some(Token::Star) => star = Some((token, at)),
                Some(Token::Deep | Token::Dirs) => (star, deep) = (None, Some((token, at))),
                Some(one) if at < text.len() && self.is_one(one, text[at]) => at += 1,
                _ => {
                    let more = star.and_then(|star| self.longer(star, text));
                    if more.is_none() {
                        deep = deep.and_then(|deep| self.longer(deep, text));
                    }
                    star = more;
                    let Some(next) = star.or(deep) else { return false };
                    (token, at) = next;
                }
            }
            token += 1;
        }
    }

    fn is_one(&self, token: &Token, byte: u8) -> bool {
        let byte = if self.fold { byte.to_ascii_lowercase() } else { byte };
        match token {
            Token::Byte(own) => *own == byte,
            Token::Any => byte != b'/',
            Token::Set(set) => byte != b'/' && set.has(byte),
            _ => false,
        }
    }

    /// The same star, having taken one step more of the text.
    fn longer(&self, (token, at): (usize, usize), text: &[u8]) -> Option<(usize, usize)> {
        let step = match self.tokens[token] {
            Token::Star if text.get(at) == Some(&b'/') => return None,
            Token::Dirs => memchr::memchr(b'/', text.get(at..)?)? + 1,
            _ => 1,
        };
        (at + step <= text.len()).then_some((token, at + step))
    }
}

/// The token at a place in a pattern, and its length there.
fn token(pattern: &[u8], at: usize, fold: bool) -> (Token, usize) {
    match pattern[at] {
        b'?' => (Token::Any, 1),
        b'*' => stars(pattern, at),
        b'[' => match Set::read(&pattern[at + 1..], fold) {
            Some((set, length)) => (Token::Set(Box::new(set)), length + 1),
            None => (Token::Never, pattern.len() - at),
        },
        // Git does not fold an escaped letter, so an escaped capital then never matches.
        b'\\' => match pattern.get(at + 1) {
            Some(byte) => (Token::Byte(*byte), 2),
            None => (Token::Never, 1),
        },
        byte if fold => (Token::Byte(byte.to_ascii_lowercase()), 1),
        byte => (Token::Byte(byte), 1),
    }
}

fn stars(pattern: &[u8], at: usize) -> (Token, usize) {
    let count = pattern[at..].iter().take_while(|b| **b == b'*').count();
    let after = &pattern[at + count..];
    let begins = at == 0 || pattern[at - 1] == b'/';
    match after {
        _ if count == 1 || !begins => (Token::Star, count),
        [b'/', ..] => (Token::Dirs, count + 1),
        [] | [b'\\', b'/', ..] => (Token::Deep, count),
        _ => (Token::Star, count),
    }
}

/// A set of bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Set([u64; 4]);

impl Set {
    fn has(&self, byte: u8) -> bool {
        self.0[usize::from(byte >> 6)] >> (byte & 63) & 1 == 1
    }

    fn add(&mut self, is_in: impl Fn(u8) -> bool) {
        for byte in (0..=u8::MAX).filter(|byte| is_in(*byte)) {
            self.0[usize::from(byte >> 6)] |= 1 << (byte & 63);
        }
    }

    /// Reads a set behind its `[`; `None` when it is broken. Also its length with the `]`.
    fn read(text: &[u8], fold: bool) -> Option<(Self, usize)> {
        let negated = matches!(text.first(), Some(b'!' | b'^'));
        let start = usize::from(negated);
        let mut set = Set([0; 4]);
        let mut at = start;
        // The byte that a `-` behind it would make the start of a range.
        let mut before = None;
        while at == start || *text.get(at)? != b']' {
            let (item, length) = Item::read(text, at, before)?;
            before = item.end();
            set.add(|byte| item.has(byte, fold));
            at += length;
        }
        if negated {
            set.0 = set.0.map(|bits| !bits);
        }
        Some((set, at + 1))
    }
}

/// One item of a set.
enum Item<'a> {
    Byte(u8),
    Range(u8, u8),
    Class(&'a [u8]),
}

impl<'a> Item<'a> {
    fn read(text: &'a [u8], at: usize, before: Option<u8>) -> Option<(Self, usize)> {
        match (*text.get(at)?, before, text.get(at + 1)) {
            (b'\\', _, next) => Some((Item::Byte(*next?), 2)),
            (b'-', Some(from), Some(b'\\')) => Some((Item::Range(from, *text.get(at + 2)?), 3)),
            (b'-', Some(from), Some(to)) if *to != b']' => Some((Item::Range(from, *to), 2)),
            (b'[', _, Some(b':')) => Self::class(text, at),
            (byte, _, _) => Some((Item::Byte(byte), 1)),
        }
    }

    /// `[:name:]`, or a plain `[` when it does not end in `:]`.
    fn class(text: &'a [u8], at: usize) -> Option<(Self, usize)> {
        let inside = &text[at + 2..];
        let end = memchr::memchr(b']', inside)?;
        match inside[..end].strip_suffix(b":") {
            Some(name) => is_class(name, b'a').map(|_| (Item::Class(name), end + 3)),
            None => Some((Item::Byte(b'['), 1)),
        }
    }

    fn end(&self) -> Option<u8> {
        match self {
            Item::Byte(byte) => Some(*byte),
            Item::Range(..) | Item::Class(_) => None,
        }
    }

    /// With `fold`, `byte` is never a capital.
    fn has(&self, byte: u8, fold: bool) -> bool {
        let capital = byte.to_ascii_uppercase();
        match self {
            Item::Byte(own) => *own == byte,
            Item::Range(from, to) => {
                let range = *from..=*to;
                range.contains(&byte) || fold && range.contains(&capital)
            }
            Item::Class(b"upper") => byte.is_ascii_uppercase() || fold && capital != byte,
            Item::Class(name) => is_class(name, byte) == Some(true),
        }
    }
}

fn is_class(name: &[u8], byte: u8) -> Option<bool> {
    Some(match name {
        b"alnum" => byte.is_ascii_alphanumeric(),
        b"alpha" => byte.is_ascii_alphabetic(),
        b"blank" => matches!(byte, b' ' | b'\t'),
        b"cntrl" => byte.is_ascii_control(),
        b"digit" => byte.is_ascii_digit(),
        b"graph" => byte.is_ascii_graphic(),
        b"lower" => byte.is_ascii_lowercase(),
        b"print" => matches!(byte, b' '..=b'~'),
        b"punct" => byte.is_ascii_punctuation(),
        b"space" => matches!(byte, b' ' | b'\t' | b'\n' | b'\r'),
        b"upper" => byte.is_ascii_uppercase(),
        b"xdigit" => byte.is_ascii_hexdigit(),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matches(pattern: &str, text: &str) -> bool {
        Glob::new(pattern.as_bytes(), false).matches(text.as_bytes())
    }

    #[test]
    fn a_star_stays_in_its_component() {
        assert!(matches("a*c", "abbc") && matches("*", "") && !matches("*", "a/b"));
        assert!(matches("*/b", "a/b") && !matches("*/b", "a/a/b") && matches("a*b*c", "abxbc"));
        assert!(!matches("?", "/") && !matches("[!a]", "/"));
    }

    #[test]
    fn two_stars_cross_components_only_alone() {
        assert!(matches("**/b", "b") && matches("**/b", "a/a/b") && !matches("**/b", "ab"));
        assert!(matches("a/**", "a/b/c") && !matches("a**b", "a/b") && matches("a**b", "axb"));
        assert!(matches("**/x*/y", "x1/x2/y") && matches("a/**/b", "a/b"));
    }

    #[test]
    fn sets_are_read_as_fnmatch_reads_them() {
        assert!(matches("[]a]", "]") && matches("[a-]", "-") && matches("[--a]", "0"));
        assert!(matches("[[:digit:]x]", "7") && !matches("[[:what:]]", "w") && !matches("[a", "a"));
        assert!(matches("[^a]", "b") && matches("[\\]]", "]") && matches("[[:x]", ":"));
    }

    #[test]
    fn a_hostile_pattern_takes_no_longer() {
        let pattern = "*a".repeat(200) + "b";
        assert!(!matches(&pattern, &"a".repeat(4000)));
        let pattern = "**/a/".repeat(200) + "b";
        assert!(!matches(&pattern, &"a/".repeat(4000)));
    }
}
