//! What is to be read: the policy, the segments, their sum.

use serde::{Deserialize, Serialize};

use crate::record::{LineRange, QualifiedId, SegmentId, Tokens};

/// What a plan was made under.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Policy {
    /// The reader's window, in tokens.
    pub context_window: Tokens,
    /// What the prompt around a segment may cost: its brief and its list of ids fit in it.
    pub fixed_prompt: Tokens,
    /// What is left for the answer.
    pub reserve: Tokens,
    /// The margin for other tokenizers, in parts per million.
    pub safety_ppm: u64,
    /// `floor((context_window - fixed_prompt - reserve) * (1 - safety))`.
    pub segment_budget: Tokens,
    /// The tokenizer.
    pub tokenizer: String,
    /// The subtrees that the plan is bounded to, by repository: `name/dir`, `dir` quoted as git
    /// quotes a path where it is not plain UTF-8.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub scope: Vec<String>,
    /// The globs of `--order`, first first.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub order: Vec<String>,
    /// The page size in characters.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub page: Option<u64>,
    /// Whether what is printed carries marks, which prove that it was read; absent when not.
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    pub marks: bool,
}

/// What a segment is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SegmentKind {
    /// Chunks to read.
    Read,
    /// No chunks: the review of the findings, after all is read.
    Synthesis,
}

impl SegmentKind {
    /// The word on the wire and in `coverage.sqlite`.
    pub fn as_str(self) -> &'static str {
        match self {
            SegmentKind::Read => "read",
            SegmentKind::Synthesis => "synthesis",
        }
    }
}

/// Where a segment stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SegmentStatus {
    /// Nobody has it.
    Pending,
    /// A reader has it.
    Active,
    /// Read and closed.
    Done,
}

impl SegmentStatus {
    /// The word on the wire and in `coverage.sqlite`.
    pub fn as_str(self) -> &'static str {
        match self {
            SegmentStatus::Pending => "pending",
            SegmentStatus::Active => "active",
            SegmentStatus::Done => "done",
        }
    }
}

/// A part of a file in a segment: a run of its chunks.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SegmentFile {
    /// The repository's name.
    pub repo: String,
    /// The file.
    pub path: String,
    /// The file's bytes in base64, only when not UTF-8.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub path_b64: Option<String>,
    /// The lines.
    pub lines: LineRange,
    /// How many of the segment's `chunks`, in order, are this run's.
    pub chunks: u64,
}

/// A part of the plan that fits the window.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Segment {
    /// Its id.
    pub id: SegmentId,
    /// What it is for.
    pub kind: SegmentKind,
    /// Where it stands.
    pub status: SegmentStatus,
    /// Its tokens as printed: lines, numbers, frames and last line, at most the segment budget.
    pub tokens: Tokens,
    /// Its chunks, qualified, in reading order.
    pub chunks: Vec<QualifiedId>,
    /// The tokens of each chunk as shown, in the order of `chunks`.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub chunk_tokens: Vec<Tokens>,
    /// The files, in reading order; their `chunks` add up to all of the segment's.
    pub files: Vec<SegmentFile>,
    /// The reader who has it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub reader: Option<String>,
    /// What it holds and what to do with it, in words; written by `claim` alone, and so by `next`.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub brief: Option<String>,
    /// Whether the index has changed since the plan; written by `claim` alone, and so by `next`, absent
    /// when it has not.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub outdated: Option<bool>,
}

/// A repository's share of a plan.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PlanRepo {
    /// Its name.
    pub name: String,
    /// Its planned chunks.
    pub chunks: u64,
    /// That of the `repo` record which the plan was made from.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub fingerprint: Option<String>,
}

/// The sum of a plan.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    /// A hash of the policy and the segment skeleton.
    pub id: String,
    /// Segments, the synthesis included.
    pub segments: u64,
    /// Chunks, each in exactly one segment.
    pub chunks: u64,
    /// Tokens as printed.
    pub tokens: Tokens,
    /// The repositories, by name.
    pub repos: Vec<PlanRepo>,
    /// The workspace's name; added by `adopt` and `replan`.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub workspace: Option<String>,
    /// The workspace's root; added by `adopt` and `replan`.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub root: Option<String>,
    /// The root's path in base64, only when not UTF-8.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub root_b64: Option<String>,
    /// Where the coverage ledger is; added by `adopt` and `replan`.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub coverage: Option<String>,
    /// The ledger's path in base64, only when not UTF-8.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub coverage_b64: Option<String>,
    /// Where `fullread.json` is; added by `adopt` and `replan`.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub fullread: Option<String>,
    /// The file's path in base64, only when not UTF-8.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub fullread_b64: Option<String>,
    /// Whether the plan was there before and nothing was changed; added by `adopt` and `replan`.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub existing: Option<bool>,
    /// Whether the index has changed since; added by `adopt` for a plan that was there before, absent
    /// when it has not.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub outdated: Option<bool>,
    /// Chunks that came into the plan; added by `replan`, absent when none did.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub added: Option<u64>,
    /// Chunks that left the plan; added by `replan`, absent when none did.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub removed: Option<u64>,
    /// Reads that chunks which came took over; added by `replan`, absent when none did.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub moved: Option<u64>,
}
