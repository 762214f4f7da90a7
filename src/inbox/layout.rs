//! Where everything is below the root: the only place that knows the names.

use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use rustix::fs::{FileType, Mode, mkdirat};
use rustix::io::Errno;

use super::dir::{Dir, cannot};
use crate::error::{Error, Result};
use crate::listing::{self, open_below};
use crate::record::{RepoPath, is_name};
use crate::visible::quote;

/// The id of a task, which is the name of its files: 1 to 100 of the characters `A-Z a-z 0-9 . _ -`, and
/// the first is neither `.`, with which other programs begin what is not whole yet, nor `-`, which a
/// shell takes for an option.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TaskId(String);

impl FromStr for TaskId {
    type Err = String;

    fn from_str(text: &str) -> std::result::Result<TaskId, String> {
        match is_name(text) && !text.starts_with(['.', '-']) {
            true => Ok(TaskId(text.to_string())),
            false => {
                Err("an id is 1 to 100 of the characters A-Z a-z 0-9 . _ -, and the first is \
                          neither . nor -"
                    .to_string())
            }
        }
    }
}

impl std::fmt::Display for TaskId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl TaskId {
    /// The name of its file: `ID.txt`.
    pub fn file(&self) -> String {
        format!("{}.txt", self.0)
    }

    /// The id of a file of this name; `None` when it is none of a task's.
    pub fn of_file(name: &[u8]) -> Option<TaskId> {
        Self::with_end(name, b".txt")
    }

    /// The id before an end of a file's name.
    pub(super) fn with_end(name: &[u8], end: &[u8]) -> Option<TaskId> {
        std::str::from_utf8(name.strip_suffix(end)?).ok()?.parse().ok()
    }
}

/// A folder below the root.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Folder<'a> {
    /// Tasks that are open.
    Tasks,
    /// Tasks that are done.
    TaskArchive,
    /// Answers to open tasks.
    Results,
    /// Answers to those that are done, each with the time at which it was moved there.
    ResultArchive,
    /// The inboxes.
    Deliveries,
    /// A reader's inbox.
    Inbox(&'a str),
    /// Pointers that were taken out of it.
    InboxArchive(&'a str),
    /// What was done once to all that is below the root.
    Migrations,
}

impl Folder<'_> {
    /// The path relative to the root.
    pub fn path(self) -> String {
        match self {
            Folder::Tasks => "tasks".into(),
            Folder::TaskArchive => "tasks/archive".into(),
            Folder::Results => "results".into(),
            Folder::ResultArchive => "results/archive".into(),
            Folder::Deliveries => "deliveries".into(),
            Folder::Inbox(reader) => format!("deliveries/{reader}"),
            Folder::InboxArchive(reader) => format!("deliveries/{reader}/archive"),
            Folder::Migrations => "state/migrations".into(),
        }
    }
}

/// The root of inboxes, by its path: a folder that takes its place is found too.
#[derive(Debug, Clone)]
pub struct Root(PathBuf);

impl Root {
    /// The root at an absolute path.
    ///
    /// # Errors
    /// When no folder is there.
    pub fn open(path: &Path) -> Result<Root> {
        let shown = quote(path);
        let make = format!("make it: `mkdir -p {shown}`");
        match std::fs::metadata(path) {
            Ok(found) if found.is_dir() => Ok(Root(path.to_owned())),
            Ok(_) => Err(Error::failed("not-a-folder", format!("'{shown}' is not a folder"))
                .hint("name the folder that the inboxes are in: `--root DIR`")),
            Err(e) => Err(Error::io("open", shown, &e).hint(make)),
        }
    }

    /// The path.
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// Opens a folder below it; `None` when it is not there.
    ///
    /// # Errors
    /// When it cannot be opened, or a link or something else is in its place.
    pub(super) fn find(&self, folder: Folder<'_>) -> Result<Option<Dir>> {
        let (path, relative) = (self.0.join(folder.path()), RepoPath::new(folder.path()));
        match open_below(&self.0, relative.as_ref()) {
            Ok(fd) => Ok(Some(Dir::new(fd, path))),
            Err(Errno::NOENT) => Ok(None),
            Err(e) => Err(cannot("open", &path, &e.into())),
        }
    }

    /// Opens a folder below it, and makes it and those above it when they are not there.
    ///
    /// # Errors
    /// As [`Root::find`], and when it cannot be made.
    pub(super) fn make(&self, folder: Folder<'_>) -> Result<Dir> {
        if let Some(found) = self.find(folder)? {
            return Ok(found);
        }
        let (mut path, mut fd) = (self.0.clone(), None::<OwnedFd>);
        for name in folder.path().split('/') {
            let open = || match &fd {
                Some(fd) => Ok(rustix::io::dup(fd)?),
                None => listing::open_root(&self.0),
            };
            let made = open().and_then(|above| make_in(above, name));
            path.push(name);
            fd = Some(made.map_err(|e| cannot("make", &path, &e.into()))?);
        }
        fd.map(|fd| Dir::new(fd, path))
            .ok_or_else(|| Error::failed("bug", "a folder without a name"))
    }

    /// Makes what a reader and who posts for it need, where it is not there.
    ///
    /// # Errors
    /// When it cannot be made or listed.
    pub fn make_inbox(&self, reader: &str) -> Result<()> {
        let all = [Folder::Tasks, Folder::Results, Folder::Inbox(reader)];
        all.into_iter().try_for_each(|folder| self.make(folder)?.list().map(drop))
    }

    /// The readers that have an inbox, in order.
    ///
    /// # Errors
    /// When they cannot be listed.
    pub fn readers(&self) -> Result<Vec<String>> {
        let Some(all) = self.find(Folder::Deliveries)? else { return Ok(Vec::new()) };
        let listing = all.list()?;
        let names = listing.iter().filter_map(|(name, _)| std::str::from_utf8(name).ok());
        let is_folder = |name: &&str| all.is(name, FileType::Directory);
        let named = names.filter(|name| is_name(name)).filter(is_folder);
        let mut readers: Vec<String> = named.map(str::to_string).collect();
        readers.sort_unstable();
        Ok(readers)
    }
}

/// The folders, relative to the root, in which something happens when a task comes for a reader.
pub fn watched(reader: &str) -> [String; 2] {
    [Folder::Inbox(reader).path(), Folder::Tasks.path()]
}

/// The task that a path below the root is about, if it is a reader's: its file or its pointer.
pub fn task_at(path: &str, reader: &str) -> Option<TaskId> {
    watched(reader).iter().find_map(|folder| {
        TaskId::of_file(path.strip_prefix(folder.as_str())?.strip_prefix('/')?.as_bytes())
    })
}

fn make_in(above: OwnedFd, name: &str) -> rustix::io::Result<OwnedFd> {
    match mkdirat(&above, name, Mode::from_raw_mode(0o777)) {
        Ok(()) | Err(Errno::EXIST) => listing::open_dir(&above, name.as_bytes()),
        Err(e) => Err(e),
    }
}

/// The error for an id that nothing is known of.
pub(super) fn unknown(id: &TaskId) -> Error {
    Error::failed("unknown-task", format!("there is no task '{id}'"))
        .hint("see which there are: `auwai-inbox list --all`")
}
