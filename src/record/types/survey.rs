//! What a survey says before anything is read: what it would take, and what is odd.

use serde::{Deserialize, Serialize};

use crate::record::Tokens;

/// What a full read would take, and what in the tree is worth a look before.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Survey {
    /// Segments of the plan that would be made, with the synthesis.
    pub segments: u64,
    /// Its chunks.
    pub chunks: u64,
    /// Its tokens as printed, frames and last lines included.
    pub tokens: Tokens,
    /// The characters of a page: the policy's, else 30,000.
    pub page: u64,
    /// About how many such pages that is.
    pub pages: u64,
    /// What is odd, one kind and one sign after the other.
    pub oddities: Vec<Oddity>,
}

/// What is odd about a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OddityKind {
    /// It has no text.
    Binary,
    /// It cannot be read.
    Unreadable,
    /// Its text is not in UTF-8.
    Encoding,
    /// It has a line that is longer than a chunk.
    LongLine,
    /// It is a repository of its own, which no member of the workspace is.
    Repository,
    /// A program made it, by its name or its first lines.
    Generated,
}

/// The files of which one thing is odd.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Oddity {
    /// What is odd.
    pub what: OddityKind,
    /// By which sign: an encoding, an error of the system, a name or a mark.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub sign: Option<String>,
    /// How many files it is of.
    pub files: u64,
    /// Their bytes, where there are some; of long lines, those of the longest.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub bytes: Option<u64>,
    /// Their tokens as shown, without frames, where they have text; of long lines, those of the lines.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub tokens: Option<Tokens>,
    /// The share of these in all tokens, in parts per million.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub share_ppm: Option<u64>,
    /// The repository of the largest of them.
    pub repo: String,
    /// The largest of them, in tokens, else in bytes, else the first.
    pub path: String,
    /// Its bytes in base64, only when not UTF-8.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub path_b64: Option<String>,
    /// Of a long line, which it is.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub line: Option<u64>,
}
