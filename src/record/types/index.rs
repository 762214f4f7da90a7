//! What the index holds: paths and their fates, chunks, their text, and what a scan did.

use serde::{Deserialize, Serialize};

use crate::record::{ByteRange, ChunkId, LineRange, Tokens};

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
    /// For text that a program made, with --generated: the sign of it, a name (`*.min.js`) or a mark
    /// (`@generated`).
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub generated: Option<String>,
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
    /// BLAKE3 of its bytes in hex; written by `chunks --hashes` alone.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub body_hash: Option<String>,
    /// BLAKE3 of the file's bytes in hex; written by `chunks --hashes` alone.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub file_hash: Option<String>,
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
    /// In git: the commit that HEAD names, in hex.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub head: Option<String>,
    /// In git: whether the file is tracked and, by its stat data, as git's index has it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub clean: Option<bool>,
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
    /// While watching: the watcher's batch up to which it is.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub batch: Option<u64>,
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
