//! Where everything is below the root, and the few things that are done to files there.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::fs::{AtFlags, FileType, Mode, OFlags, mkdirat, openat, renameat, unlinkat};
use rustix::io::Errno;

use crate::admit::Stat;
use crate::error::{Error, Result};
use crate::listing::{self, Listing, open_below};
use crate::record::{RepoPath, is_name};
use crate::regular::{self, Links};
use crate::visible::{one_line, quote};

/// The id of a task, which is the name of its files: 1 to 100 of the characters `A-Z a-z 0-9 . _ -`,
/// not `.` or `..`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TaskId(String);

impl FromStr for TaskId {
    type Err = String;

    fn from_str(text: &str) -> std::result::Result<TaskId, String> {
        match is_name(text) {
            true => Ok(TaskId(text.to_string())),
            false => Err("an id is 1 to 100 of the characters A-Z a-z 0-9 . _ -".to_string()),
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
            Ok(fd) => Ok(Some(Dir { fd, path })),
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
        fd.map(|fd| Dir { fd, path }).ok_or_else(|| Error::failed("bug", "a folder without a name"))
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

/// An open folder, with the path that messages name.
#[derive(Debug)]
pub struct Dir {
    fd: OwnedFd,
    path: PathBuf,
}

impl Dir {
    /// The path of a name in it, for messages.
    pub(super) fn at(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    /// What is at a name, a link itself; `None`: nothing.
    pub(super) fn stat(&self, name: &str) -> Result<Option<Stat>> {
        match listing::stat(&self.fd, name.as_bytes()) {
            Ok(stat) => Ok(Some(stat)),
            Err(Errno::NOENT) => Ok(None),
            Err(e) => Err(cannot("look at", &self.at(name), &e.into())),
        }
    }

    fn is(&self, name: &str, wanted: FileType) -> bool {
        self.stat(name).is_ok_and(|stat| stat.is_some_and(|stat| stat.file_type() == wanted))
    }

    /// Whether a regular file is at a name.
    pub(super) fn has_file(&self, name: &str) -> Result<bool> {
        Ok(self.stat(name)?.is_some_and(|stat| stat.file_type() == FileType::RegularFile))
    }

    /// Opens a regular file for reading; never waits.
    pub(super) fn open(&self, name: &str) -> io::Result<File> {
        regular::open_at(&self.fd, name, Links::Refuse)
    }

    /// Opens a file of our own, and makes it when there is none; never waits.
    pub(super) fn open_own(&self, name: &str) -> Result<File> {
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::CLOEXEC | OFlags::NOFOLLOW;
        let opened = openat(&self.fd, name, flags | OFlags::NONBLOCK, Mode::from_raw_mode(0o666));
        let checked = opened.map_err(io::Error::from).and_then(regular::checked);
        checked.map_err(|e| cannot("open", &self.at(name), &e))
    }

    /// The bytes of a file, at most `most`.
    pub(super) fn read(&self, name: &str, most: u64) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        self.open(name)?.take(most).read_to_end(&mut bytes)?;
        Ok(bytes)
    }

    /// The names in it.
    pub(super) fn list(&self) -> Result<Listing> {
        let listing = Listing::read(&self.fd);
        match listing.error {
            Some(e) => Err(cannot("list", &self.path, &e.into())),
            None => Ok(listing),
        }
    }

    /// Moves what is at a name, whatever it is, over what is at the other; `false` when nothing is
    /// there.
    pub(super) fn rename(&self, name: &str, into: &Dir, to: &str) -> Result<bool> {
        match renameat(&self.fd, name, &into.fd, to) {
            Ok(()) => Ok(true),
            Err(Errno::NOENT) => Ok(false),
            Err(e) => Err(self.cannot_move(name, e)),
        }
    }

    /// The same to a name that is free.
    pub(super) fn rename_to_free(&self, name: &str, into: &Dir, to: &str) -> Result<Moved> {
        match rename_to_free(&self.fd, name, &into.fd, to) {
            Ok(()) => Ok(Moved::Done),
            Err(Errno::NOENT) => Ok(Moved::NothingThere),
            Err(Errno::EXIST) => Ok(Moved::Taken),
            Err(e) => Err(self.cannot_move(name, e)),
        }
    }

    fn cannot_move(&self, name: &str, e: Errno) -> Error {
        cannot("move", &self.at(name), &e.into())
    }

    /// Puts a whole file at a name; over what is there, or only where the name is free.
    pub(super) fn put(&self, name: &str, bytes: &[u8], over: bool) -> Result<Moved> {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let fresh = format!(".{name}.{}-{number}.new", std::process::id());
        let put = self.fill(&fresh, name, bytes).and_then(|()| match over {
            true => self.rename(&fresh, self, name).map(|_| Moved::Done),
            false => self.rename_to_free(&fresh, self, name),
        });
        if !matches!(put, Ok(Moved::Done)) {
            let _ = unlinkat(&self.fd, &fresh, AtFlags::empty());
        }
        put
    }

    fn fill(&self, fresh: &str, name: &str, bytes: &[u8]) -> Result<()> {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
        // Of a process with this number that was killed.
        let _ = unlinkat(&self.fd, fresh, AtFlags::empty());
        let file = openat(&self.fd, fresh, flags | OFlags::NOFOLLOW, Mode::from_raw_mode(0o666));
        let written = file.map_err(io::Error::from).and_then(|fd| File::from(fd).write_all(bytes));
        written.map_err(|e| cannot("write", &self.at(name), &e))
    }
}

/// What came of a move to a name that had to be free.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Moved {
    /// It is there.
    Done,
    /// Something is there already.
    Taken,
    /// There was nothing to move.
    NothingThere,
}

#[cfg(all(target_os = "linux", not(auwai_portable)))]
fn rename_to_free(from: &OwnedFd, name: &str, into: &OwnedFd, to: &str) -> rustix::io::Result<()> {
    use rustix::fs::{RenameFlags, renameat_with};
    match renameat_with(from, name, into, to, RenameFlags::NOREPLACE) {
        // The file system has no such thing.
        Err(Errno::INVAL | Errno::NOSYS) => look_and_rename(from, name, into, to),
        other => other,
    }
}

#[cfg(not(all(target_os = "linux", not(auwai_portable))))]
fn rename_to_free(from: &OwnedFd, name: &str, into: &OwnedFd, to: &str) -> rustix::io::Result<()> {
    look_and_rename(from, name, into, to)
}

fn look_and_rename(from: &OwnedFd, name: &str, into: &OwnedFd, to: &str) -> rustix::io::Result<()> {
    match listing::stat(into, to.as_bytes()) {
        Ok(_) => Err(Errno::EXIST),
        Err(_) => renameat(from, name, into, to),
    }
}

/// The error of a file or folder, with the way out.
pub(super) fn cannot(what: &str, path: &Path, e: &io::Error) -> Error {
    let error = regular::cannot(what, path, e);
    let above = || quote(path.parent().unwrap_or(path));
    match error.code() {
        "disk-full" => error.hint("make room and run the command again; nothing is half done"),
        "no-permission" => error.hint(format!("see whose it is: `ls -la {}`", above())),
        "io" => error.hint(format!("see what is there: `ls -la {}`", above())),
        _ => error,
    }
}

/// The error for an id that nothing is known of.
pub(super) fn unknown(id: &TaskId) -> Error {
    Error::failed("unknown-task", format!("there is no task '{}'", one_line(&id.0)))
        .hint("see which there are: `auwai-inbox list --all`")
}
