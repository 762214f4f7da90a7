//! `watch-state.json`: what keeps an index true, and what it last did. For people, for
//! `auwai-ledger status`, and for who waits for a batch.

use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::record::{self, RepoPath, WatchBackend};
use crate::regular::{self, Links};
use crate::store::file::publish;
use crate::store::ledger::covers;
use crate::visible::quote;
use crate::workspace::{Lock, StateDir};

/// The version of the file.
const VERSION: u8 = 1;

/// What the file holds.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct WatchState {
    /// The version of the file.
    pub v: u8,
    /// The watcher's run; absent before it has told.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// How it watches.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub backend: Option<WatchBackend>,
    /// The process that keeps the index.
    pub pid: u32,
    /// The subtrees that it keeps, where it does not keep all.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub only: Vec<Folder>,
    /// When it began.
    pub started: String,
    /// When it ended, if it ended well.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ended: Option<String>,
    /// The last batch that is in the index.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_batch: Option<LastBatch>,
    /// The watcher's last question of which all that it stands for is in the index.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub question: Option<u64>,
    /// The last scan of the whole tree.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_scan: Option<LastScan>,
    /// Directories watched.
    pub watches: u64,
    /// Directories polled.
    pub polled: u64,
    /// What has been done since it began.
    pub counters: Counters,
    /// What went wrong last; absent when it went well since.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_error: Option<String>,
}

impl WatchState {
    /// Whether it keeps all that these subtrees hold; none are all.
    pub fn keeps(&self, only: &[RepoPath]) -> bool {
        let kept =
            self.only.iter().map(RepoPath::try_from).collect::<std::result::Result<Vec<_>, _>>();
        kept.is_ok_and(|kept| covers(&kept, only))
    }

    /// The subtrees, for people.
    pub fn folders(&self) -> Vec<String> {
        self.only.iter().map(|dir| quote(Path::new(&dir.path))).collect()
    }
}

/// A folder of the repository, by its path.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Folder {
    /// The path.
    pub path: String,
    /// Its bytes in base64, only when not UTF-8.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub path_b64: Option<String>,
}

impl From<&RepoPath> for Folder {
    fn from(dir: &RepoPath) -> Folder {
        let (path, path_b64) = dir.to_wire();
        Folder { path, path_b64 }
    }
}

impl TryFrom<&Folder> for RepoPath {
    type Error = String;

    fn try_from(dir: &Folder) -> std::result::Result<RepoPath, String> {
        RepoPath::from_wire(&dir.path, dir.path_b64.as_deref())
    }
}

/// A batch that is in the index.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LastBatch {
    /// Its number.
    pub n: u64,
    /// Since when.
    pub at: String,
}

/// A scan.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LastScan {
    /// When.
    pub at: String,
    /// Paths that were new, changed or gone.
    pub files: u64,
}

/// Sums since the process began.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Counters {
    /// Batches.
    pub batches: u64,
    /// Events.
    pub events: u64,
    /// Rescans asked for.
    pub rescans: u64,
    /// Scans of the whole tree.
    pub scans: u64,
    /// Paths that were new, changed or gone.
    pub files: u64,
    /// Chunk ids that were new.
    pub chunks_added: u64,
    /// Chunk ids that went.
    pub chunks_removed: u64,
    /// Reads that moved to a new chunk.
    pub kept_reads: u64,
}

/// Where the file is, and the lock of the process that keeps it.
pub struct Place {
    file: PathBuf,
    lock: PathBuf,
}

impl Place {
    /// Of a repository's state.
    pub fn of(state: &StateDir) -> Place {
        Place { file: state.join("watch-state.json"), lock: state.join("watch.lock") }
    }

    /// Reads the file; `None` when it is not there, or is none of ours.
    pub fn read(&self) -> Option<WatchState> {
        let text = regular::read(&self.file, Links::Refuse).ok()?;
        serde_json::from_slice(&text).ok().filter(|state: &WatchState| state.v == VERSION)
    }

    /// Whether the file says this.
    pub fn says(&self, state: &WatchState) -> bool {
        self.read() == Some(WatchState { v: VERSION, ..state.clone() })
    }

    /// Writes the file anew; whoever has the lock may. Where there is no room for another file, the
    /// old one's is used: that the disk is full must be told too.
    pub fn write(&self, state: &WatchState) -> Result<()> {
        let state = WatchState { v: VERSION, ..state.clone() };
        let text = record::to_json(&state);
        let text = text.map_err(|e| Error::failed("bug", "cannot write the state").because(e))?;
        let published = publish(&self.file, |out| {
            writeln!(out, "{text}").map_err(|e| Error::io("write", "watch-state.json", &e))
        });
        published.or_else(|error| self.overwrite(&text).map_err(|_| error))
    }

    /// Writes over the file, in one call and without giving up the room that it has.
    fn overwrite(&self, text: &str) -> std::io::Result<()> {
        let length = regular::size(&self.file)?;
        let length = usize::try_from(length).unwrap_or_default().saturating_sub(1);
        let file = regular::open_own(&self.file)?;
        file.write_all_at(format!("{text:length$}\n").as_bytes(), 0)
    }

    /// The process that has the lock, and since when.
    pub fn holder(&self) -> Option<(u32, String)> {
        let word = Lock::holder(&self.lock)?;
        let (pid, since) = word.trim_end().split_once(' ').unwrap_or_default();
        Some((pid.parse().unwrap_or_default(), since.to_string()))
    }

    /// Takes the lock for this process; `None` when another has it.
    pub fn lock(&self, since: &str) -> Result<Option<Lock>> {
        let Some(mut lock) = Lock::try_take(&self.lock)? else { return Ok(None) };
        let word = format!("{} {since}\n", std::process::id());
        lock.sign(&word).map_err(|e| crate::store::file::cannot_write(&self.lock, &e))?;
        Ok(Some(lock))
    }

    /// Whether a lock is still that of the file.
    pub fn is_locked_by(&self, lock: &Lock) -> bool {
        lock.is_at(&self.lock)
    }

    /// What a process that is alive says of itself.
    pub fn live(&self) -> Option<WatchState> {
        let (pid, started) = self.holder()?;
        let known = self.read().filter(|state| state.pid == pid);
        Some(known.unwrap_or(WatchState { pid, started, ..WatchState::default() }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_is_not_all() {
        let path = |text: &[u8]| RepoPath::new(text.to_vec()).unwrap();
        let of = |dirs: &[&[u8]]| WatchState {
            only: dirs.iter().map(|dir| Folder::from(&path(dir))).collect(),
            ..WatchState::default()
        };
        let part = of(&[b"a b", b"c\xff"]);
        let text = serde_json::to_string(&part).unwrap();
        assert_eq!(serde_json::from_str::<WatchState>(&text).unwrap(), part);
        assert!(part.keeps(&[path(b"c\xff/d")]) && !part.keeps(&[path(b"c")]) && !part.keeps(&[]));
        assert!(of(&[]).keeps(&[]) && of(&[]).keeps(&[path(b"x")]));
        assert_eq!(of(&[b"a\nb"]).folders(), [r#""a\nb""#]);
    }

    /// No room for a second file: here nothing can be made in its folder.
    #[test]
    fn what_cannot_be_replaced_is_written_over() {
        let dir = tempfile::tempdir().unwrap();
        let place = Place { file: dir.path().join("state"), lock: dir.path().join("lock") };
        let told = |error: &str| WatchState {
            v: VERSION,
            last_error: Some(error.to_string()),
            ..WatchState::default()
        };
        place.write(&told("a long story")).unwrap();
        std::fs::create_dir(dir.path().join("state.new")).unwrap();
        std::fs::write(dir.path().join("state.new/in-the-way"), "").unwrap();
        for error in ["short", "and an even longer story than that"] {
            place.write(&told(error)).unwrap();
            assert!(place.says(&told(error)), "{:?}", place.read());
        }
    }
}
