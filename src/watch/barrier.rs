//! The question whether a watcher has told all that happened before it was asked.
//!
//! A watcher listens on a socket in a folder that is the user's alone, by the root that it watches.
//! To connect is to ask; the answer is one `barrier` record.

use std::fs::DirBuilder;
use std::io::{self, BufRead, BufReader, ErrorKind, Write};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::{Errno, FdFlags};
use rustix::net::{AddressFamily, SocketAddrUnix, SocketType};

use crate::error::{Error, Result};
use crate::hangup;
use crate::record::{self, Barrier, Record};
use crate::visible::quote_path;

/// Who asks must take the answer within this time.
const PATIENCE: Duration = Duration::from_secs(5);

/// Who asks is told after this long for whom it waits.
const SILENCE: Duration = Duration::from_secs(2);

/// How often a watcher is tried again whose queue of questions is full.
const AGAIN: Duration = Duration::from_millis(20);

/// How often a folder is made that others clear away at the same time.
const TRIES: u32 = 100;

/// A watcher's socket.
#[derive(Debug)]
pub struct Listener {
    socket: UnixListener,
    fd: Arc<OwnedFd>,
    path: PathBuf,
}

fn folder(runtime: &Path, root: &Path) -> PathBuf {
    let hash = blake3::hash(root.as_os_str().as_bytes());
    runtime.join(&hash.to_hex()[..16])
}

fn shown(path: &Path) -> String {
    quote_path(path.as_os_str().as_bytes()).into_owned()
}

/// Makes a folder that only this user can enter; one that others could have made is not trusted.
fn private(dir: &Path) -> Result<()> {
    match DirBuilder::new().mode(0o700).create(dir) {
        Err(e) if e.kind() != ErrorKind::AlreadyExists => {
            return Err(Error::io("make", shown(dir), &e));
        }
        _ => {}
    }
    check_private(dir)
}

/// # Errors
/// `not-private` for a folder that others could have made, or can enter.
fn check_private(dir: &Path) -> Result<()> {
    let found = std::fs::symlink_metadata(dir).map_err(|e| Error::io("look at", shown(dir), &e))?;
    let own = found.uid() == rustix::process::geteuid().as_raw();
    if found.is_dir() && own && found.mode() & 0o077 == 0 {
        return Ok(());
    }
    let message = format!("'{}' is not a folder of this user alone", shown(dir));
    Err(Error::failed("not-private", message)
        .hint("move it away, or name a folder of your own: `XDG_RUNTIME_DIR=DIR`"))
}

impl Listener {
    /// Listens for questions about `root` to the watcher of this session, in a folder below
    /// `runtime`. Not by the process's number: others may have it, where each sees its own.
    ///
    /// # Errors
    /// When that folder cannot be made, or is not this user's alone.
    pub fn open(runtime: &Path, root: &Path, session: &str) -> Result<Listener> {
        let dir = folder(runtime, root);
        private(runtime)?;
        for _ in 1..TRIES {
            // One that has ended may clear the folder away before anything is in it.
            match Self::open_in(&dir, session) {
                Err(error) if error.code() == "not-found" => {}
                opened => return opened,
            }
        }
        Self::open_in(&dir, session)
    }

    fn open_in(dir: &Path, session: &str) -> Result<Listener> {
        private(dir)?;
        let path = dir.join(format!("{session}.sock"));
        let new = path.with_extension("new");
        // Found only when it listens: before, whoever asks would take it for a dead one.
        let bound = UnixListener::bind(&new).and_then(|socket| {
            socket.set_nonblocking(true)?;
            std::fs::rename(&new, &path)?;
            let fd = Arc::new(OwnedFd::from(socket.try_clone()?));
            Ok((socket, fd))
        });
        let (socket, fd) = bound.map_err(|e| Error::io("listen at", shown(&path), &e))?;
        Ok(Listener { socket, fd, path })
    }

    /// Readable when somebody asks.
    pub fn fd(&self) -> &Arc<OwnedFd> {
        &self.fd
    }

    /// Those who ask now. Who cannot be let in, for want of descriptors, stays at the door, and the
    /// door is not tried at once again.
    pub fn asked(&self) -> Vec<UnixStream> {
        let mut asked = Vec::new();
        loop {
            match self.socket.accept() {
                Ok((stream, _)) => asked.push(stream),
                Err(e) if e.kind() == ErrorKind::WouldBlock => return asked,
                Err(_) => {
                    std::thread::sleep(AGAIN);
                    return asked;
                }
            }
        }
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        clear_away(&self.path);
    }
}

/// Removes a socket, and its folder if it was the last one there.
fn clear_away(socket: &Path) {
    let _ = std::fs::remove_file(socket);
    let _ = socket.parent().map(std::fs::remove_dir);
}

/// Answers.
pub fn answer(mut stream: UnixStream, barrier: &Barrier) {
    // Who asked may have gone: then nobody needs the answer.
    let _ = stream.set_nonblocking(false);
    let _ = stream.set_write_timeout(Some(PATIENCE));
    let mut line = Vec::new();
    if record::write(&mut line, barrier).is_ok() {
        let _ = stream.write_all(&line);
    }
}

/// Asks every watcher of `root`, and tells each answer as it comes, until all have answered. One
/// that ends before it does has told all that it ever will. Ends early when the reader of standard
/// output has gone, who may have what it waited for. `say` gets one line about who is waited for, if
/// that takes long.
///
/// # Errors
/// Code `no-watcher` when there is none; `no-answer` when one did not answer in time; `not-private`
/// where somebody else could answer; those of `tell`.
pub fn ask(
    runtime: &Path,
    root: &Path,
    longest: Option<Duration>,
    tell: &mut dyn FnMut(&Barrier) -> Result<()>,
    say: &mut dyn FnMut(&str),
) -> Result<()> {
    for dir in [runtime, &folder(runtime, root)] {
        match check_private(dir) {
            Err(error) if error.code() == "not-found" => return Err(no_watcher(root)),
            checked => checked?,
        }
    }
    let mut asking = Asking::of(runtime, root, longest);
    let mut answers = 0;
    while asking.connect() {
        match asking.wait()? {
            Woken::Gone => return Ok(()),
            Woken::Answer(stream) => {
                if let Some(barrier) = read_answer(stream) {
                    tell(&barrier)?;
                    answers += 1;
                }
            }
            Woken::Time => asking.check_time(say)?,
        }
    }
    if answers > 0 { Ok(()) } else { Err(no_watcher(root)) }
}

fn no_watcher(root: &Path) -> Error {
    let root = shown(root);
    Error::no("no-watcher", format!("nothing watches '{root}'"))
        .hint(format!("start a watcher: `auwai-wait-events {root}`"))
        .hint("one of another user, or with another XDG_RUNTIME_DIR, cannot be asked from here")
}

/// The watchers of a root that have not answered yet.
struct Asking<'a> {
    root: &'a Path,
    /// The sockets of those that cannot even take the question: too many wait there.
    busy: Vec<PathBuf>,
    asked: Vec<UnixStream>,
    begun: Instant,
    longest: Option<Duration>,
    /// Whether it was said who is waited for.
    said: bool,
}

/// What ended a wait.
enum Woken {
    /// A watcher has answered, or ended.
    Answer(UnixStream),
    /// The reader of standard output has gone.
    Gone,
    /// The time.
    Time,
}

impl Asking<'_> {
    fn of<'a>(runtime: &Path, root: &'a Path, longest: Option<Duration>) -> Asking<'a> {
        let entries = std::fs::read_dir(folder(runtime, root)).into_iter().flatten().flatten();
        let is_socket = |path: &PathBuf| path.extension().is_some_and(|e| e == "sock");
        let busy = entries.map(|entry| entry.path()).filter(is_socket).collect();
        Asking { root, busy, asked: Vec::new(), begun: Instant::now(), longest, said: false }
    }

    /// Asks those that could not be asked before; whether there is anybody to wait for.
    fn connect(&mut self) -> bool {
        for path in std::mem::take(&mut self.busy) {
            match connect(&path) {
                Ok(stream) => self.asked.push(stream),
                Err(e) if e.kind() == ErrorKind::WouldBlock => self.busy.push(path),
                // What one that was killed has left.
                Err(e) if e.kind() == ErrorKind::ConnectionRefused => clear_away(&path),
                Err(_) => {}
            }
        }
        !self.asked.is_empty() || !self.busy.is_empty()
    }

    fn wait(&mut self) -> Result<Woken> {
        let stdout = rustix::stdio::stdout();
        let mut fds: Vec<PollFd<'_>> =
            self.asked.iter().map(|stream| PollFd::new(stream, PollFlags::IN)).collect();
        fds.push(PollFd::from_borrowed_fd(stdout, hangup::ASK));
        let left = self.time_left().and_then(|left| Timespec::try_from(left).ok());
        match poll(&mut fds, left.as_ref()) {
            Ok(_) => {}
            Err(Errno::INTR) => return Ok(Woken::Time),
            Err(e) => return Err(Error::io("wait for", "the watchers", &e.into())),
        }
        let is_ready = |fd: &PollFd<'_>| !fd.revents().is_empty();
        let ready = fds.iter().position(is_ready);
        Ok(match ready {
            None => Woken::Time,
            Some(at) if at < self.asked.len() => Woken::Answer(self.asked.swap_remove(at)),
            Some(_) => Woken::Gone,
        })
    }

    fn time_left(&self) -> Option<Duration> {
        let left = |time: Duration| time.saturating_sub(self.begun.elapsed());
        let again = (!self.busy.is_empty()).then_some(AGAIN);
        let speak = (!self.said).then(|| left(SILENCE));
        [self.longest.map(left), again, speak].into_iter().flatten().min()
    }

    /// Gives up when it takes too long.
    fn check_time(&mut self, say: &mut dyn FnMut(&str)) -> Result<()> {
        let waited = self.begun.elapsed();
        match self.longest {
            Some(longest) if waited >= longest => return Err(self.no_answer(longest)),
            _ if waited >= SILENCE && !std::mem::replace(&mut self.said, true) => {
                say(&format!("waiting for {}", self.name().0));
            }
            _ => {}
        }
        Ok(())
    }

    /// The first that has not answered, and its number.
    fn name(&self) -> (String, Option<i32>) {
        let (root, pid) = (shown(self.root), self.asked.first().and_then(process));
        match pid {
            Some(pid) => (format!("process {pid}, which watches '{root}'"), Some(pid)),
            None => (format!("a watcher of '{root}'"), None),
        }
    }

    fn no_answer(&self, longest: Duration) -> Error {
        let (name, pid) = self.name();
        let longest = humantime::format_duration(longest);
        let comma = if pid.is_some() { "," } else { "" };
        let error = Error::no("no-answer", format!("{name}{comma} did not answer in {longest}"));
        match pid {
            Some(pid) => error
                .hint(format!("see whether it runs: `ps -o stat,args -p {pid}`"))
                .hint("it answers when what it has written before has been taken by its reader"),
            None => error.hint("see whether they run: `ps -C auwai-wait-events -o pid,stat,args`"),
        }
    }
}

/// Connects to a watcher, without waiting until it has taken earlier questions.
fn connect(path: &Path) -> io::Result<UnixStream> {
    let socket = rustix::net::socket(AddressFamily::UNIX, SocketType::STREAM, None)?;
    rustix::io::fcntl_setfd(&socket, FdFlags::CLOEXEC)?;
    let stream = UnixStream::from(socket);
    stream.set_nonblocking(true)?;
    rustix::net::connect(&stream, &SocketAddrUnix::new(path)?)?;
    stream.set_nonblocking(false)?;
    Ok(stream)
}

/// The process that listens at the other end, as this one sees it.
#[cfg(all(target_os = "linux", not(auwai_portable)))]
fn process(stream: &UnixStream) -> Option<i32> {
    let peer = rustix::net::sockopt::socket_peercred(stream).ok()?;
    Some(peer.pid.as_raw_nonzero().get())
}

#[cfg(not(all(target_os = "linux", not(auwai_portable))))]
fn process(_: &UnixStream) -> Option<i32> {
    None
}

/// An answer, all of which comes at once; `None` from a watcher that has ended.
fn read_answer(stream: UnixStream) -> Option<Barrier> {
    stream.set_read_timeout(Some(PATIENCE)).ok()?;
    let mut line = String::new();
    BufReader::new(stream).read_line(&mut line).ok()?;
    match record::parse(line.trim_end()) {
        Ok(Record::Barrier(barrier)) => Some(barrier),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn barrier() -> Barrier {
        Barrier { session: "00ff13a4b5c6d7e8".to_string(), batch: 3, question: None }
    }

    fn answers(runtime: &Path, root: &Path) -> Result<Vec<Barrier>> {
        let mut answers = Vec::new();
        let mut tell = |barrier: &Barrier| {
            answers.push(barrier.clone());
            Ok(())
        };
        ask(runtime, root, None, &mut tell, &mut |_| {})?;
        Ok(answers)
    }

    #[test]
    fn a_question_is_answered() {
        let dir = tempfile::tempdir().unwrap();
        let (runtime, root) = (dir.path().join("run"), dir.path());
        let listener = Listener::open(&runtime, root, "1").unwrap();
        // Two that end without an answer, and one that lives under the same number elsewhere.
        let ended: Vec<_> =
            ["2", "3"].map(|session| Listener::open(&runtime, root, session).unwrap()).into();
        let asking = std::thread::spawn({
            let (runtime, root) = (runtime.clone(), root.to_owned());
            move || answers(&runtime, &root)
        });
        drop(ended);
        let asked = loop {
            match listener.asked().pop() {
                Some(stream) => break stream,
                None => std::thread::yield_now(),
            }
        };
        answer(asked, &barrier());
        assert_eq!(asking.join().unwrap().unwrap(), [barrier()]);
        drop(listener);
        assert_eq!(answers(&runtime, root).unwrap_err().code(), "no-watcher");
    }

    /// What a killed watcher leaves behind.
    #[test]
    fn a_socket_that_nobody_listens_at_is_cleared_away() {
        let dir = tempfile::tempdir().unwrap();
        let listener = Listener::open(&dir.path().join("run"), dir.path(), "2").unwrap();
        let path = listener.path.clone();
        let stale = path.with_file_name("1.sock");
        drop(UnixListener::bind(&stale).unwrap());
        drop(listener);
        assert!(!path.exists() && stale.exists());
        let error = answers(&dir.path().join("run"), dir.path()).unwrap_err();
        assert_eq!((error.code(), stale.exists()), ("no-watcher", false));
        assert!(!stale.parent().unwrap().exists());
    }

    /// To connect to one that is stopped, and whose queue of questions was full, took for ever.
    #[test]
    fn a_full_queue_of_questions_is_waited_for_no_longer_than_was_said() {
        let dir = tempfile::tempdir().unwrap();
        let (runtime, root) = (dir.path().join("run"), dir.path());
        let listener = Listener::open(&runtime, root, "1").unwrap();
        // As short as can be: to listen again changes the length.
        rustix::net::listen(&listener.socket, 0).unwrap();
        let full: Vec<_> = std::iter::from_fn(|| connect(&listener.path).ok()).collect();
        assert!(!full.is_empty());
        let longest = Duration::from_millis(100);
        let error = ask(&runtime, root, Some(longest), &mut |_| Ok(()), &mut |_| {}).unwrap_err();
        assert_eq!(error.code(), "no-answer");
        assert!(error.to_string().ends_with("did not answer in 100ms"), "{error}");
        // When the queue moves on, it is asked after all.
        let asking = std::thread::spawn({
            let (runtime, root) = (runtime.clone(), root.to_owned());
            move || answers(&runtime, &root)
        });
        while !asking.is_finished() {
            listener.asked().into_iter().for_each(|stream| answer(stream, &barrier()));
        }
        assert_eq!(asking.join().unwrap().unwrap(), [barrier()]);
    }

    /// Each left an empty folder behind; and one that begins must not lose its own.
    #[test]
    fn the_last_one_takes_the_folder_along_and_the_next_makes_it_anew() {
        let dir = tempfile::tempdir().unwrap();
        let (runtime, root) = (dir.path().join("run"), dir.path());
        std::thread::scope(|scope| {
            for session in ["1", "2", "3", "4"] {
                let runtime = &runtime;
                scope.spawn(move || {
                    for _ in 0..200 {
                        let listener = Listener::open(runtime, root, session).unwrap();
                        assert!(listener.path.exists());
                    }
                });
            }
        });
        assert!(!folder(&runtime, root).exists());
    }

    #[test]
    fn a_folder_that_others_can_enter_is_not_trusted() {
        let dir = tempfile::tempdir().unwrap();
        let (open, link) = (dir.path().join("open"), dir.path().join("link"));
        DirBuilder::new().mode(0o755).create(&open).unwrap();
        std::os::unix::fs::symlink(dir.path(), &link).unwrap();
        for runtime in [open, link] {
            let error = Listener::open(&runtime, dir.path(), "1").unwrap_err();
            assert_eq!(error.code(), "not-private");
            assert_eq!(answers(&runtime, dir.path()).unwrap_err().code(), "not-private");
        }
    }
}
