//! Every record type. Field comments are the reference that `auwai-records(5)` and the schemas in
//! docs/schema are held to.

use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::{ByteRange, ChunkId, LineRange, QualifiedId, RepoPath, SegmentId, Tokens};

/// A type that has a place on the wire.
pub trait Wire: Serialize + DeserializeOwned {
    /// The value of the key `type`.
    const TYPE: &'static str;
}

macro_rules! wire {
    ($($variant:ident = $name:literal),* $(,)?) => {
        /// Any record.
        #[derive(Debug, Clone, PartialEq)]
        pub enum Record {
            $(
                #[doc = concat!("A `", $name, "` record.")]
                $variant($variant),
            )*
            /// A type that this version does not know: passed over.
            Unknown,
        }

        impl Record {
            /// The names of all types, in the order of the reference.
            pub const TYPES: &'static [&'static str] = &[$($name),*];

            pub(super) fn from_json(kind: &str, line: &str) -> serde_json::Result<Record> {
                Ok(match kind {
                    $($name => Record::$variant(serde_json::from_str(line)?),)*
                    _ => Record::Unknown,
                })
            }

            /// Writes the record as one line; an unknown one cannot be written and is left out.
            pub fn write(&self, out: &mut (impl std::io::Write + ?Sized)) -> crate::error::Result<()> {
                match self {
                    $(Record::$variant(record) => super::write(out, record),)*
                    Record::Unknown => Ok(()),
                }
            }
        }

        $(
            impl Wire for $variant {
                const TYPE: &'static str = $name;
            }

            impl From<$variant> for Record {
                fn from(record: $variant) -> Record {
                    Record::$variant(record)
                }
            }
        )*
    };
}

wire! {
    Repo = "repo",
    End = "end",
    File = "file",
    Chunk = "chunk",
    Body = "body",
    Read = "read",
    Unread = "unread",
    Sync = "sync",
    Progress = "progress",
    Policy = "policy",
    Segment = "segment",
    Plan = "plan",
    Status = "status",
    Problem = "error",
}

/// What becomes of a path: exactly one of these.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Fate {
    /// Read: cut into chunks.
    Text,
    /// A file with no text in it.
    Binary,
    /// A symbolic link; never followed.
    Symlink,
    /// A nested repository or a submodule.
    Repository,
    /// A FIFO, a socket or a device.
    Special,
    /// It could not be opened or read.
    Unreadable,
    /// Tracked by git and not in the tree: deleted, or left out by a sparse checkout.
    Absent,
    /// Kept out by a rule.
    Ignored,
}

impl Fate {
    /// Every fate, in the order of reports.
    pub const ALL: [Fate; 8] = [
        Fate::Text,
        Fate::Binary,
        Fate::Symlink,
        Fate::Repository,
        Fate::Special,
        Fate::Unreadable,
        Fate::Absent,
        Fate::Ignored,
    ];

    /// The word on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Fate::Text => "text",
            Fate::Binary => "binary",
            Fate::Symlink => "symlink",
            Fate::Repository => "repository",
            Fate::Special => "special",
            Fate::Unreadable => "unreadable",
            Fate::Absent => "absent",
            Fate::Ignored => "ignored",
        }
    }
}

/// Opens a repository's part of a stream.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Repo {
    /// Its name in the workspace.
    pub name: String,
    /// The absolute path of its root, lossy when not UTF-8.
    pub path: String,
    /// The root's bytes in base64, only when not UTF-8.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub path_b64: Option<String>,
    /// In git: the commit that HEAD names, in hex.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub head: Option<String>,
    /// In git: whether a tracked file differs from git's index by its stat data.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub dirty: Option<bool>,
    /// The tokenizer that its index was counted with.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub tokenizer: Option<String>,
}

impl Repo {
    /// The repository called `name` with this root, and nothing more known about it.
    pub fn at(name: &str, root: &Path) -> Repo {
        let bytes = root.as_os_str().as_bytes();
        let raw = std::str::from_utf8(bytes).is_err();
        Repo {
            name: name.to_string(),
            path: String::from_utf8_lossy(bytes).into_owned(),
            path_b64: raw.then(|| STANDARD.encode(bytes)),
            ..Repo::default()
        }
    }
}

/// Ends a finite stream. A stream without it was cut off.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct End {
    /// The type of record that the stream is about.
    pub of: String,
    /// How many of them it had.
    pub count: u64,
}

/// A path of a repository and its fate.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct File {
    /// The repository's name.
    pub repo: String,
    /// The path in it.
    pub path: String,
    /// The path's bytes in base64, only when not UTF-8.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub path_b64: Option<String>,
    /// What becomes of it.
    pub fate: Fate,
    /// Its size in bytes, for text and binary files.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub size: Option<u64>,
    /// BLAKE3 of its bytes in hex, for text and binary files.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub hash: Option<String>,
    /// Its lines, for text.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub lines: Option<u64>,
    /// Its tokens as shown, without frames, for text.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub tokens: Option<Tokens>,
    /// Its chunks, for text.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub chunks: Option<u64>,
    /// Its encoding, for text: `utf-8`, `utf-16le`, `gbk`, …
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub encoding: Option<String>,
    /// For ignored paths, the rule: `source:line:pattern`, `builtin` or `scope`.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub rule: Option<String>,
    /// For unreadable paths, the system's error: `EACCES: Permission denied`.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub errno: Option<String>,
}

/// A chunk: a part of one file, at most 1,024 tokens and 8,192 bytes as shown.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Chunk {
    /// The repository's name.
    pub repo: String,
    /// Its id in the repository.
    pub id: ChunkId,
    /// The file.
    pub path: String,
    /// The file's bytes in base64, only when not UTF-8.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub path_b64: Option<String>,
    /// Its place in the file, from 0.
    pub ord: u64,
    /// The bytes of the file that it holds.
    pub bytes: ByteRange,
    /// The lines that it holds, or holds a piece of.
    pub lines: LineRange,
    /// Its tokens as shown, line numbers included, frame excluded.
    pub tokens: Tokens,
    /// The most that a frame before it can cost, in tokens.
    pub frame_tokens: Tokens,
    /// Whether it is a piece of a longer line, and so has a frame of its own; absent when not.
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    pub piece: bool,
    /// Whether it has been read, by the ledger that was asked.
    pub complete: bool,
}

/// A chunk's text.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Body {
    /// The repository's name.
    pub repo: String,
    /// The chunk's id.
    pub id: ChunkId,
    /// The file.
    pub path: String,
    /// The file's bytes in base64, only when not UTF-8.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub path_b64: Option<String>,
    /// The bytes of the file.
    pub bytes: ByteRange,
    /// The file's size in bytes.
    pub size: u64,
    /// The lines that it holds, or holds a piece of.
    pub lines: LineRange,
    /// How many lines the file has.
    pub of_lines: u64,
    /// Whether it is a piece of a longer line; absent when not.
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    pub piece: bool,
    /// Whether it has been read, by the ledger that was asked; absent when not.
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    pub complete: bool,
    /// The file's encoding.
    pub encoding: String,
    /// The text, decoded; bytes that the encoding does not know are U+FFFD.
    pub text: String,
    /// The file's bytes in base64, only when `text` does not say them exactly.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub text_b64: Option<String>,
    /// BLAKE3 of the chunk's bytes in hex.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub body_hash: Option<String>,
    /// BLAKE3 of the file's bytes in hex.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub file_hash: Option<String>,
}

/// A chunk was delivered: the input of `auwai-ledger mark`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Read {
    /// The repository's name.
    pub repo: String,
    /// The chunk's id.
    pub id: ChunkId,
    /// The file, as evidence.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub path: Option<String>,
    /// The file's bytes in base64, only when not UTF-8.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub path_b64: Option<String>,
    /// The bytes of the file that were shown, as evidence.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub bytes: Option<ByteRange>,
    /// BLAKE3 of the chunk's bytes in hex, as evidence.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub body: Option<String>,
    /// BLAKE3 of the file's bytes in hex, as evidence.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub file: Option<String>,
    /// In git: the commit that HEAD named, in hex.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub head: Option<String>,
    /// In git: whether the file was as git's index has it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub clean: Option<bool>,
}

impl Read {
    /// A delivery with nothing more known about it.
    pub fn of(repo: impl Into<String>, id: ChunkId) -> Read {
        Read {
            repo: repo.into(),
            id,
            path: None,
            path_b64: None,
            bytes: None,
            body: None,
            file: None,
            head: None,
            clean: None,
        }
    }
}

/// Why a chunk, or a file, counts as unread.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Why {
    /// Planned, and nobody has it.
    Pending,
    /// Planned, and in a reader's active segment.
    Leased,
    /// Planned, but the file has changed since.
    Changed,
    /// In the tree, and in no plan.
    Unplanned,
    /// The file cannot be read.
    Unreadable,
}

/// Something in the tree, or in the plan, that nobody has read.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Unread {
    /// The repository's name.
    pub repo: String,
    /// The file.
    pub path: String,
    /// The file's bytes in base64, only when not UTF-8.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub path_b64: Option<String>,
    /// The lines, where known.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub lines: Option<LineRange>,
    /// The chunk; absent for a file that cannot be read.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub id: Option<ChunkId>,
    /// Its tokens as shown, where known.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub tokens: Option<Tokens>,
    /// The segment that holds it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub segment: Option<SegmentId>,
    /// The reader who has that segment.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub reader: Option<String>,
    /// Why it counts as unread.
    pub why: Why,
}

/// What a scan or a sync did to the index.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Sync {
    /// The repository's name.
    pub repo: String,
    /// Files that were new, changed or gone.
    pub files: u64,
    /// Chunk ids that are new.
    pub chunks_added: u64,
    /// Chunk ids that are gone.
    pub chunks_removed: u64,
    /// Reads that moved to a new chunk with the same body.
    pub kept_reads: u64,
    /// How the index was brought up to date.
    pub mode: SyncMode,
}

/// How an index was brought up to date.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SyncMode {
    /// From events.
    Incremental,
    /// By a scan of the whole tree.
    Full,
}

/// How far a scan has come.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Progress {
    /// Files looked at.
    pub files: u64,
    /// Bytes read.
    pub bytes: u64,
    /// Files there are, where known.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub of_files: Option<u64>,
}

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
    /// The subtrees that the plan is bounded to, by repository: `name/dir`.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub scope: Vec<String>,
    /// The globs of `--order`, first first.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub order: Vec<String>,
    /// The page size in characters.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub page: Option<u64>,
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
}

/// A repository's share of a plan.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PlanRepo {
    /// Its name.
    pub name: String,
    /// Its planned chunks.
    pub chunks: u64,
}

/// The sum of a plan.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
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
    /// The workspace's name; added by `adopt`.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub workspace: Option<String>,
    /// The workspace's root; added by `adopt`.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub root: Option<String>,
    /// Where the coverage ledger is; added by `adopt`.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub coverage: Option<String>,
    /// Where `fullread.json` is; added by `adopt`.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub fullread: Option<String>,
    /// Whether the plan was there before and nothing was changed; added by `adopt`.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub existing: Option<bool>,
}

/// Counts of segments by status.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SegmentCounts {
    /// All of them.
    pub total: u64,
    /// Done.
    pub done: u64,
    /// Active.
    pub active: u64,
    /// Pending.
    pub pending: u64,
}

/// Planned and complete, of chunks or tokens.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Done {
    /// In the plan.
    pub planned: u64,
    /// Of those, read.
    pub complete: u64,
}

/// A reader and the segment that it has.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Holder {
    /// The reader.
    pub reader: String,
    /// Its active segment.
    pub segment: SegmentId,
    /// Since when.
    pub since: String,
}

/// Where a full read, or a repository's index, stands.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Status {
    /// The plan's id; absent without a plan.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub plan: Option<String>,
    /// The segments by status; absent without a plan.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub segments: Option<SegmentCounts>,
    /// The chunks of the plan; of a repository alone, all that it has.
    pub chunks: Done,
    /// The tokens of those chunks as shown.
    pub tokens: Done,
    /// Paths by fate, over all repositories; fates that have none are left out.
    pub fates: std::collections::BTreeMap<String, u64>,
    /// The page size in characters that the plan was made with.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub page: Option<u64>,
    /// Who has which segment.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub active: Vec<Holder>,
}

/// A failure, on standard output with `--json`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Problem {
    /// A stable word: `not-indexed`, `unread`, …
    pub code: String,
    /// What happened.
    pub message: String,
    /// The command to run.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub hint: Option<String>,
}

macro_rules! with_path {
    ($($record:ident),*) => {
        $(
            impl $record {
                /// The path; the error says what is wrong with it.
                pub fn repo_path(&self) -> Result<RepoPath, String> {
                    RepoPath::from_wire(&self.path, self.path_b64.as_deref())
                }
            }
        )*
    };
}

with_path!(File, Chunk, Body, Unread, SegmentFile);
