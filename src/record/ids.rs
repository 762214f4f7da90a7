//! What strings cannot say: ids, ranges and counts of the wire.

use std::fmt;
use std::iter::Sum;
use std::marker::PhantomData;
use std::ops::{Add, AddAssign, Sub};
use std::str::FromStr;

use serde::de::{Deserializer, Visitor};
use serde::ser::Serializer;
use serde::{Deserialize, Serialize};

/// Whether `name` can name a repository, a workspace or a reader: `[A-Za-z0-9._-]+`, not `.` or
/// `..`, at most 100 bytes.
pub fn is_name(name: &str) -> bool {
    let plain = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_' | b'-');
    (1..=100).contains(&name.len()) && name.bytes().all(plain) && name != "." && name != ".."
}

/// A chunk's id inside its repository: 64 bits, written as 16 lower-case hex digits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ChunkId(pub u64);

impl fmt::Display for ChunkId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

impl FromStr for ChunkId {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let hex = text.len() == 16 && text.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'));
        match u64::from_str_radix(text, 16) {
            Ok(id) if hex => Ok(ChunkId(id)),
            _ => Err(format!("not a chunk id (16 hex digits): '{text}'")),
        }
    }
}

/// A chunk's id with its repository's name: `repo:0123456789abcdef`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct QualifiedId {
    /// The repository's name in its workspace.
    pub repo: String,
    /// The chunk in it.
    pub id: ChunkId,
}

impl fmt::Display for QualifiedId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.repo, self.id)
    }
}

impl FromStr for QualifiedId {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.rsplit_once(':') {
            Some((repo, id)) if !repo.is_empty() => {
                Ok(QualifiedId { repo: repo.to_string(), id: id.parse()? })
            }
            _ => Err(format!("not a qualified chunk id (repo:id): '{text}'")),
        }
    }
}

/// Ids are strings on the wire, written from their `Display` and read by their `FromStr` where they
/// stand: a plan of a large tree has a million, so none is copied into a `String` first.
macro_rules! as_text {
    ($($id:ident),*) => {
        $(
            impl Serialize for $id {
                fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
                    to.collect_str(self)
                }
            }

            impl<'de> Deserialize<'de> for $id {
                fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
                    from.deserialize_str(Text(PhantomData))
                }
            }
        )*
    };
}

as_text!(ChunkId, QualifiedId);

/// Reads a `T` from a string.
struct Text<T>(PhantomData<T>);

impl<T: FromStr<Err = String>> Visitor<'_> for Text<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a string")
    }

    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<T, E> {
        text.parse().map_err(E::custom)
    }
}

/// A segment's id: `read-1`, `synthesis-1`. Never reused in a workspace's generation.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct SegmentId(pub String);

impl SegmentId {
    /// Whether a plan can have a segment of this id.
    pub fn is_valid(&self) -> bool {
        let number = self.0.strip_prefix("read-").or_else(|| self.0.strip_prefix("synthesis-"));
        number.is_some_and(|number| {
            let digits =
                (1..=19).contains(&number.len()) && number.bytes().all(|b| b.is_ascii_digit());
            digits && !number.starts_with('0')
        })
    }
}

impl fmt::Display for SegmentId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A number of tokens.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Tokens(pub u64);

impl Add for Tokens {
    type Output = Tokens;
    fn add(self, other: Tokens) -> Tokens {
        Tokens(self.0 + other.0)
    }
}

impl Sub for Tokens {
    type Output = Tokens;
    fn sub(self, other: Tokens) -> Tokens {
        Tokens(self.0.saturating_sub(other.0))
    }
}

impl AddAssign for Tokens {
    fn add_assign(&mut self, other: Tokens) {
        self.0 += other.0;
    }
}

impl Sum for Tokens {
    fn sum<I: Iterator<Item = Tokens>>(all: I) -> Tokens {
        all.fold(Tokens(0), Add::add)
    }
}

impl fmt::Display for Tokens {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Bytes `[from, to)` of a file; on the wire `[from,to]`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(into = "[u64; 2]", from = "[u64; 2]")]
pub struct ByteRange {
    /// The first byte, counted from 0.
    pub from: u64,
    /// The byte after the last.
    pub to: u64,
}

impl From<ByteRange> for [u64; 2] {
    fn from(range: ByteRange) -> Self {
        [range.from, range.to]
    }
}

impl From<[u64; 2]> for ByteRange {
    fn from([from, to]: [u64; 2]) -> Self {
        ByteRange { from, to }
    }
}

/// Lines `first` to `last`, both included, counted from 1; on the wire `[first,last]`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(into = "[u64; 2]", from = "[u64; 2]")]
pub struct LineRange {
    /// The first line.
    pub first: u64,
    /// The last line.
    pub last: u64,
}

impl From<LineRange> for [u64; 2] {
    fn from(range: LineRange) -> Self {
        [range.first, range.last]
    }
}

impl From<[u64; 2]> for LineRange {
    fn from([first, last]: [u64; 2]) -> Self {
        LineRange { first, last }
    }
}

impl fmt::Display for LineRange {
    /// `12-80`, or `12` for one line.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.first == self.last {
            return self.first.fmt(f);
        }
        write!(f, "{}-{}", self.first, self.last)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_sixteen_lower_case_digits() {
        assert_eq!("00000000000000ff".parse(), Ok(ChunkId(255)));
        for bad in ["ff", "00000000000000FF", "+0000000000000ff", ""] {
            assert!(bad.parse::<ChunkId>().is_err(), "{bad}");
        }
    }

    #[test]
    fn a_qualified_id_names_its_repository() {
        let id: QualifiedId = "a.b:00000000000000ff".parse().unwrap();
        assert_eq!((id.repo.as_str(), id.id), ("a.b", ChunkId(255)));
        assert!(":00000000000000ff".parse::<QualifiedId>().is_err());
    }
}
