//! Every record type. Field comments are the reference that `auwai-records(5)` and the schemas in
//! docs/schema are held to.

mod evidence;
mod inbox;
mod index;
mod plan;
mod reading;
mod stream;
mod survey;
mod watch;

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::RepoPath;

pub use evidence::{Finding, Waiver};
pub use inbox::{Retired, Task, TaskState, Verdict, VerdictReason};
pub use index::{Body, Chunk, Fate, File, Sync, SyncMode};
pub use plan::{Plan, PlanRepo, Policy, Segment, SegmentFile, SegmentKind, SegmentStatus};
pub use reading::{Done, Holder, How, Read, SegmentCounts, Status, Unread, Watched, Why};
pub use stream::{End, Problem, Progress, Repo};
pub use survey::{Oddity, OddityKind, Survey};
pub use watch::{
    Barrier, Batch, Event, EventKind, EventOp, Ready, Rescan, RescanReason, WatchBackend,
};

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
                    $(Record::$variant(record) => crate::record::write(out, record),)*
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
    Ready = "ready",
    Event = "event",
    Rescan = "rescan",
    Batch = "batch",
    Barrier = "barrier",
    Repo = "repo",
    End = "end",
    File = "file",
    Chunk = "chunk",
    Body = "body",
    Read = "read",
    Unread = "unread",
    Finding = "finding",
    Waiver = "waiver",
    Sync = "sync",
    Progress = "progress",
    Policy = "policy",
    Segment = "segment",
    Plan = "plan",
    Status = "status",
    Holder = "holder",
    Survey = "survey",
    Task = "task",
    Verdict = "verdict",
    Retired = "retired",
    Problem = "error",
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

with_path!(Event, File, Chunk, Body, Unread, SegmentFile, Oddity);

impl Read {
    /// The path, where the record says one; the error says what is wrong with it.
    pub fn repo_path(&self) -> Result<Option<RepoPath>, String> {
        let path =
            self.path.as_deref().map(|path| RepoPath::from_wire(path, self.path_b64.as_deref()));
        path.transpose()
    }
}
