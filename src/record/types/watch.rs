//! What a watcher tells: that it stands, what happened, what to look at again, and where a batch
//! ends.

use serde::{Deserialize, Serialize};

use crate::record::RepoPath;

/// A watcher stands: what changes from now on is told. What is there already is not.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Ready {
    /// This run of the watcher: random.
    pub session: String,
    /// How it watches.
    pub backend: WatchBackend,
    /// The absolute path of the root, lossy when not UTF-8.
    pub root: String,
    /// The root's bytes in base64, only when not UTF-8.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub root_b64: Option<String>,
    /// Directories that are watched.
    pub watches: u64,
    /// Directories that are looked at again and again, since no watch could be had; absent when 0.
    #[serde(skip_serializing_if = "is_zero", default)]
    pub polled: u64,
    /// How often what is polled, now or later, is looked at, in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub interval_ms: Option<u64>,
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// How a watcher learns of changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WatchBackend {
    /// By Linux's inotify, a watch for each directory.
    Inotify,
    /// By macOS's FSEvents.
    Fsevents,
    /// By looking at every file again and again.
    Poll,
    /// By the library notify, with what it uses on this system.
    Notify,
}

impl WatchBackend {
    /// The word on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            WatchBackend::Inotify => "inotify",
            WatchBackend::Fsevents => "fsevents",
            WatchBackend::Poll => "poll",
            WatchBackend::Notify => "notify",
        }
    }
}

/// Something happened to a path. It is a hint: look at the path, and below it if it is a directory.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Event {
    /// What happened.
    pub op: EventOp,
    /// What is there; of what has gone, `dir` for a directory, and `other` for anything else.
    pub kind: EventKind,
    /// The path, relative to the root.
    pub path: String,
    /// The path's bytes in base64, only when not UTF-8.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub path_b64: Option<String>,
}

impl Event {
    /// The event of a path.
    pub fn of(op: EventOp, kind: EventKind, path: &RepoPath) -> Event {
        let (path, path_b64) = path.to_wire();
        Event { op, kind, path, path_b64 }
    }
}

/// What happened to a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EventOp {
    /// It came to be, or came here, or another thing took its place.
    Create,
    /// Its content or its metadata changed.
    Modify,
    /// It is not there any more.
    Remove,
}

impl EventOp {
    /// Every one.
    pub const ALL: [EventOp; 3] = [EventOp::Create, EventOp::Modify, EventOp::Remove];

    /// The word on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            EventOp::Create => "create",
            EventOp::Modify => "modify",
            EventOp::Remove => "remove",
        }
    }
}

/// What is at a path, or was; `other` also when that is not known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EventKind {
    /// A regular file.
    File,
    /// A directory.
    Dir,
    /// A symbolic link.
    Symlink,
    /// Something else, or a thing that has gone and was not known.
    Other,
}

/// Changes that are not told one by one: look at all that is in a directory.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Rescan {
    /// The directory, relative to the root; `.` for the root.
    pub path: String,
    /// The directory's bytes in base64, only when not UTF-8.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub path_b64: Option<String>,
    /// Why.
    pub reason: RescanReason,
}

impl Rescan {
    /// The rescan of a directory; `None`: of the root.
    pub fn of(dir: Option<&RepoPath>, reason: RescanReason) -> Rescan {
        let (path, path_b64) = dir.map_or((".".to_string(), None), RepoPath::to_wire);
        Rescan { path, path_b64, reason }
    }

    /// The directory; `None` for the root. The error says what is wrong with the path.
    pub fn dir(&self) -> Result<Option<RepoPath>, String> {
        match (self.path.as_str(), &self.path_b64) {
            (".", None) => Ok(None),
            (path, path_b64) => RepoPath::from_wire(path, path_b64.as_deref()).map(Some),
        }
    }
}

/// Why a directory is to be looked at as a whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RescanReason {
    /// The system lost events.
    Overflow,
    /// There were more changes than are worth telling one by one.
    Limit,
    /// The root has gone, come back, or been replaced.
    Root,
    /// A file system was unmounted.
    Unmount,
    /// There is nothing to compare with: no snapshot, or one that cannot be used.
    Batch,
    /// The line of an event would be longer than a pipe takes at once.
    Line,
    /// The rules of what is in have changed.
    Rules,
}

/// Ends a batch: all lines since the one before. One of 0 events and 0 rescans says that git's own
/// files changed, but nothing in what is in.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Batch {
    /// Its number in the session, from 1.
    pub n: u64,
    /// The events in it.
    pub events: u64,
    /// The rescans in it.
    pub rescans: u64,
    /// Directories that are watched by now; absent from who does not watch.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub watches: Option<u64>,
    /// Directories that are polled by now; absent when 0.
    #[serde(skip_serializing_if = "is_zero", default)]
    pub polled: u64,
}

/// The answer of a watcher that was asked: what happened before is in the batches up to this one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Barrier {
    /// The watcher's run.
    pub session: String,
    /// The number of its last batch; 0 when there was none yet.
    pub batch: u64,
    /// The number of the question, where the watcher writes questions to who follows it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub question: Option<u64>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rescan_names_a_directory_or_the_root() {
        let dir = RepoPath::new(b"a/\xff".to_vec()).unwrap();
        for dir in [None, Some(dir)] {
            let rescan = Rescan::of(dir.as_ref(), RescanReason::Limit);
            assert_eq!(rescan.dir(), Ok(dir));
        }
    }
}
