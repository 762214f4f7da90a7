//! Linux's inotify: a thread that reads events as fast as they come, so that the system's queue
//! overflows only when the whole process is stopped. It neither writes nor looks at files.

use std::fs::File;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Instant;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::fs::inotify::{self, CreateFlags, ReadFlags, Reader, WatchFlags};
use rustix::io::Errno;

use super::limit::Limit;
use super::mounts;
use super::pending::{Hint, Pending};
use super::tree::Watches;
use super::wake::{Bell, Ear, bell};
use crate::error::{Error, Result};

/// All that can change a name in a directory. Opening and reading are not in it: an index that
/// reads what has changed would wake the watcher, and so on for ever.
const NAMES: WatchFlags = WatchFlags::CREATE
    .union(WatchFlags::DELETE)
    .union(WatchFlags::MODIFY)
    .union(WatchFlags::ATTRIB)
    .union(WatchFlags::CLOSE_WRITE)
    .union(WatchFlags::MOVED_FROM)
    .union(WatchFlags::MOVED_TO);

/// The directory itself was moved or removed.
const SELF: WatchFlags = WatchFlags::DELETE_SELF.union(WatchFlags::MOVE_SELF);

/// Watches of one directory for several purposes are one watch, so bits are only ever added.
const HOW: WatchFlags =
    WatchFlags::ONLYDIR.union(WatchFlags::MASK_ADD).union(WatchFlags::EXCL_UNLINK);

/// What is read at once; the longest event is 272 bytes.
const BUFFER: usize = 1 << 16;

/// The length in bytes of an event without a name.
const SHORTEST: u64 = 16;

/// An inotify instance and its reader.
#[derive(Debug)]
pub struct Source {
    heart: Arc<Heart>,
    ear: Ear,
    stop: Bell,
    reader: Option<JoinHandle<()>>,
}

/// What the two threads share.
#[derive(Debug)]
struct Heart {
    inotify: OwnedFd,
    /// The list of mounts, to be waited for.
    mounts: Option<File>,
    pending: Mutex<Pending>,
    bell: Bell,
}

impl Source {
    /// Makes an instance and starts its reader.
    ///
    /// # Errors
    /// `EMFILE` means that the user has too many instances already; the hint says what to do.
    pub fn open() -> Result<Source> {
        let flags = CreateFlags::CLOEXEC | CreateFlags::NONBLOCK;
        let inotify =
            inotify::init(flags).map_err(|code| no_instance(code, limit_of_instances()))?;
        let (bell_, ear) = bell()?;
        let (stop, stopped) = bell()?;
        let heart = Arc::new(Heart {
            inotify,
            mounts: File::open(mounts::LIST).ok(),
            pending: Mutex::default(),
            bell: bell_,
        });
        let shared = Arc::clone(&heart);
        let reader = std::thread::Builder::new()
            .name("inotify".to_string())
            .spawn(move || shared.read_on(&stopped))
            .map_err(|e| Error::io("start", "a thread", &e))?;
        Ok(Source { heart, ear, stop, reader: Some(reader) })
    }

    /// Rung when something has come.
    pub fn ear(&self) -> BorrowedFd<'_> {
        self.ear.as_fd()
    }

    /// Whether the ear is rung when something comes. Else it has to be asked for.
    pub fn hears(&self) -> bool {
        self.reader.as_ref().is_some_and(|reader| !reader.is_finished())
    }

    /// Reads all that the system has by now; what a process did before this call is among it.
    pub fn drain(&self) {
        self.heart.read_all();
    }

    /// When the first and the last event came that have not been taken.
    pub fn span(&self) -> Option<(Instant, Instant)> {
        self.heart.lock().span
    }

    /// Takes what has come, the end of the queue with it: after a stop of the whole process what
    /// was read before it is old, and an overflow that came since is to be told first.
    pub fn take(&self) -> Pending {
        self.ear.hush();
        self.drain();
        std::mem::take(&mut *self.heart.lock())
    }

    /// The watches, for the tree.
    pub fn watches(&self) -> Arc<dyn Watches> {
        Arc::clone(&self.heart) as Arc<dyn Watches>
    }
}

impl Source {
    /// Ends the reader.
    pub(super) fn silence(&mut self) {
        self.stop.ring();
        if let Some(reader) = self.reader.take() {
            let _ = reader.join();
        }
    }
}

impl Drop for Source {
    fn drop(&mut self) {
        self.silence();
    }
}

impl Heart {
    fn lock(&self) -> MutexGuard<'_, Pending> {
        self.pending.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn read_on(&self, stopped: &Ear) {
        loop {
            let mut fds = vec![
                PollFd::new(&self.inotify, PollFlags::IN),
                PollFd::new(stopped, PollFlags::IN),
            ];
            fds.extend(self.mounts.iter().map(|list| PollFd::new(list, PollFlags::PRI)));
            let polled = poll(&mut fds, None);
            if !fds[1].revents().is_empty() {
                return;
            }
            let remounted = fds.get(2).is_some_and(|list| !list.revents().is_empty());
            match polled {
                Ok(_) => {
                    if self.read_all() | self.note_mounts(remounted) {
                        self.bell.ring();
                    }
                }
                Err(Errno::INTR) => {}
                Err(_) => return self.lost(),
            }
        }
    }

    /// Notes that something was mounted or unmounted, anywhere; returns whether it was.
    fn note_mounts(&self, remounted: bool) -> bool {
        if remounted {
            let mut pending = self.lock();
            pending.mounts = true;
            pending.heard(Instant::now());
        }
        remounted
    }

    /// Nothing is read any more unless it is asked for, and something may have been lost.
    fn lost(&self) {
        self.lock().overflow = true;
        self.bell.ring();
    }

    /// Reads all that is there now, not what comes meanwhile, so that it ends; whether anything was.
    fn read_all(&self) -> bool {
        let mut buffer = [MaybeUninit::<u8>::uninit(); BUFFER];
        let mut pending = self.lock();
        let mut events = Reader::new(self.inotify.as_fd(), &mut buffer);
        let most = rustix::io::ioctl_fionread(&self.inotify).unwrap_or(0) / SHORTEST;
        let mut read = 0;
        while read < most || !events.is_buffer_empty() {
            let Ok(event) = events.next() else { break };
            read += 1;
            note(&mut pending, event.wd(), event.events(), event.file_name().map(|n| n.to_bytes()));
        }
        if read > 0 {
            pending.heard(Instant::now());
        }
        read > 0
    }
}

fn note(pending: &mut Pending, watch: i32, what: ReadFlags, name: Option<&[u8]>) {
    pending.overflow |= what.contains(ReadFlags::QUEUE_OVERFLOW);
    pending.unmount |= what.contains(ReadFlags::UNMOUNT);
    if what.contains(ReadFlags::IGNORED) {
        pending.ended.insert(watch);
    }
    if what.intersects(ReadFlags::DELETE_SELF | ReadFlags::MOVE_SELF | ReadFlags::UNMOUNT) {
        pending.moved.insert(watch);
    }
    let Some(name) = name else { return };
    let came = ReadFlags::CREATE | ReadFlags::MOVED_TO | ReadFlags::DELETE | ReadFlags::MOVED_FROM;
    let hint = Hint { created: what.intersects(came), dir: what.contains(ReadFlags::ISDIR) };
    pending.name(watch, name, hint);
}

impl Watches for Heart {
    fn add(&self, dir: BorrowedFd<'_>) -> std::result::Result<i32, Errno> {
        // By its descriptor, so that the very directory that was opened is watched.
        let path = format!("/proc/self/fd/{}", dir.as_raw_fd());
        inotify::add_watch(&self.inotify, path, NAMES | SELF | HOW)
    }

    fn add_control(&self, dir: &Path) -> std::result::Result<i32, Errno> {
        inotify::add_watch(&self.inotify, dir, NAMES | SELF | HOW)
    }

    fn add_above(&self, dir: &Path) -> std::result::Result<i32, Errno> {
        inotify::add_watch(&self.inotify, dir, SELF | HOW)
    }

    fn file_system(&self, dir: BorrowedFd<'_>) -> Option<u64> {
        // 32 bits, whatever the sign and the width of the field are here.
        rustix::fs::fstatfs(dir).ok().map(|found| found.f_type as u64 & 0xffff_ffff)
    }

    fn remove(&self, watch: i32) {
        // It may have ended by itself.
        let _ = inotify::remove_watch(&self.inotify, watch);
    }
}

fn no_instance(code: Errno, limit: Option<Limit>) -> Error {
    let error = Error::failed("no-inotify", "cannot start inotify");
    let cause = crate::error::plain(&io::Error::from(code));
    if code != Errno::MFILE {
        return error.because(cause);
    }
    let limit = limit.unwrap_or(Limit { sysctl: "fs.inotify.max_user_instances", value: 128 });
    error.because(format!("{limit} is reached")).hint(limit.hint(512))
}

/// How many watches the user may have.
pub fn limit_of_watches() -> Option<Limit> {
    limit(["fs.inotify.max_user_watches", "user.max_inotify_watches"])
}

fn limit_of_instances() -> Option<Limit> {
    limit(["fs.inotify.max_user_instances", "user.max_inotify_instances"])
}

/// The lower of the system's limit and that of the user namespace.
fn limit(names: [&'static str; 2]) -> Option<Limit> {
    let read = |sysctl: &'static str| {
        let file = format!("/proc/sys/{}", sysctl.replace('.', "/"));
        let value = std::fs::read_to_string(file).ok()?.trim().parse().ok()?;
        Some(Limit { sysctl, value })
    };
    names.into_iter().filter_map(read).min_by_key(|limit| limit.value)
}
