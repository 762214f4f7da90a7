//! What was read, what was not, and where the full read stands.

use serde::{Deserialize, Serialize};

use super::{Policy, WatchBackend};
use crate::record::{ByteRange, ChunkId, LineRange, SegmentId, Tokens};

/// How a chunk came to count as read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum How {
    /// Its text was delivered.
    Shown,
    /// Its text was delivered, and the reader gave back a mark in it.
    Confirmed,
    /// A command took it as its input, and ended well.
    Run,
    /// An earlier read of the same body moved to it.
    Moved,
    /// The read was made elsewhere.
    Imported,
}

impl How {
    /// All of them.
    pub const ALL: [How; 5] = [How::Shown, How::Confirmed, How::Run, How::Moved, How::Imported];

    /// The word on the wire and in the ledgers.
    pub fn as_str(self) -> &'static str {
        match self {
            How::Shown => "shown",
            How::Confirmed => "confirmed",
            How::Run => "run",
            How::Moved => "moved",
            How::Imported => "imported",
        }
    }

    /// Back from the word.
    pub fn of(word: &str) -> Option<How> {
        How::ALL.into_iter().find(|how| how.as_str() == word)
    }

    /// Whether it stands for a read that was made in another place.
    pub fn stands_for_another(self) -> bool {
        matches!(self, How::Moved | How::Imported)
    }
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
    /// In git: whether the file was tracked and, by its stat data, as git's index has it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub clean: Option<bool>,
    /// The marks that prove that it was read, where there are any.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub marks: Vec<String>,
    /// In a history: who read it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub reader: Option<String>,
    /// In a history: how it came to count as read.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub how: Option<How>,
    /// In a history, of what has moved or was imported: how the read that it stands for was made,
    /// where that is known.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub origin: Option<How>,
    /// In a history: when.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub at: Option<String>,
    /// In a history: the plan that was in force.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub plan: Option<String>,
    /// In a history: the segment that held it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub segment: Option<SegmentId>,
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
            marks: Vec::new(),
            reader: None,
            how: None,
            origin: None,
            at: None,
            plan: None,
            segment: None,
        }
    }

    /// How the read was made, as far as is known: what it stands for where it stands for another.
    pub fn made(&self) -> Option<How> {
        self.how.and_then(|how| if how.stands_for_another() { self.origin } else { Some(how) })
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
    /// Strictly: read, but only shown.
    Shown,
    /// Asked for one reader: read, but by others alone.
    Others,
    /// Strictly: tracked, and no text.
    Binary,
    /// Strictly: tracked, and a symbolic link.
    Symlink,
    /// Strictly: tracked, and a repository of its own, or in one.
    Repository,
    /// Strictly: tracked, and a FIFO, socket or device.
    Special,
    /// Strictly: tracked, and not there.
    Absent,
    /// Strictly: tracked, and left out by a rule.
    Ignored,
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
    /// Of a piece of a longer line, the bytes of the file that it holds.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub bytes: Option<ByteRange>,
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

/// A reader and the segment that it has: what `auwai-ledger renew` says.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Holder {
    /// The reader.
    pub reader: String,
    /// Its active segment.
    pub segment: SegmentId,
    /// Since when.
    pub since: String,
    /// Until when, unless it is renewed; absent when it is for good.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub until: Option<String>,
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
    /// Paths by fate, over all repositories; fates that have none are left out. Absent where they were
    /// not counted.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub fates: Option<std::collections::BTreeMap<String, u64>>,
    /// What the plan was made under.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub policy: Option<Policy>,
    /// Who has which segment.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub active: Vec<Holder>,
    /// The first ten segments that nobody has, in the order of the plan.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub pending: Vec<SegmentId>,
    /// What keeps the indexes up to date just now.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub watched: Vec<Watched>,
}

/// A process that keeps a repository's index up to date while files change.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Watched {
    /// The repository's name.
    pub repo: String,
    /// The process.
    pub pid: u64,
    /// The folders that it keeps, where it does not keep all; quoted as git quotes a path where they are
    /// not plain UTF-8.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub only: Vec<String>,
    /// Since when.
    pub since: String,
    /// How it watches; absent until the watcher has told.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub backend: Option<WatchBackend>,
    /// The watcher's last batch that is in the index.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub batch: Option<u64>,
    /// Since when it is.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub batch_at: Option<String>,
    /// Directories that are watched.
    pub watches: u64,
    /// Directories that are looked at again and again, since no watch could be had.
    pub polled: u64,
    /// What went wrong last; absent when it went well since.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub error: Option<String>,
}

impl Status {
    /// Whether there is a plan, and every segment of it is done.
    pub fn is_finished(&self) -> bool {
        self.segments.is_some_and(|segments| segments.done == segments.total)
    }
}
