//! The question whether a watcher has told all that happened before it was asked.
//!
//! A watcher listens on a socket in a folder that is the user's alone, by the root that it watches.
//! To connect is to ask; the answer is one `barrier` record.

use std::fs::DirBuilder;
use std::io::{BufRead, BufReader, ErrorKind, Write};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

use crate::error::{Error, Result};
use crate::record::{self, Barrier, Record};
use crate::visible::quote_path;

/// Who asks must take the answer within this time.
const PATIENCE: Duration = Duration::from_secs(5);

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
        private(&dir)?;
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

    /// Those who ask now.
    pub fn asked(&self) -> Vec<UnixStream> {
        std::iter::from_fn(|| self.socket.accept().ok()).map(|(stream, _)| stream).collect()
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.path);
    }
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
/// output has gone, who may have what it waited for.
///
/// # Errors
/// Code `no-watcher` when there is none; `no-answer` when one did not answer in time; those of
/// `tell`.
pub fn ask(
    runtime: &Path,
    root: &Path,
    until: Option<Instant>,
    tell: &mut dyn FnMut(&Barrier) -> Result<()>,
) -> Result<()> {
    let entries = std::fs::read_dir(folder(runtime, root)).into_iter().flatten().flatten();
    let sockets: Vec<PathBuf> =
        entries.map(|e| e.path()).filter(|p| p.extension().is_some_and(|e| e == "sock")).collect();
    let mut streams: Vec<UnixStream> = sockets.iter().filter_map(|path| connect(path)).collect();
    let mut answers = 0;
    while !streams.is_empty() {
        let Some(at) = ready(&streams, until)? else { return Ok(()) };
        if let Some(barrier) = read_answer(streams.swap_remove(at)) {
            tell(&barrier)?;
            answers += 1;
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

/// The place of a stream that has something to read, or has ended; `None` when the reader of standard
/// output has gone.
fn ready(streams: &[UnixStream], until: Option<Instant>) -> Result<Option<usize>> {
    let left = until.map(|until| until.saturating_duration_since(Instant::now()));
    let left = left.and_then(|left| Timespec::try_from(left).ok());
    let stdout = rustix::stdio::stdout();
    let mut fds: Vec<PollFd<'_>> =
        streams.iter().map(|stream| PollFd::new(stream, PollFlags::IN)).collect();
    fds.push(PollFd::from_borrowed_fd(stdout, PollFlags::empty()));
    loop {
        match poll(&mut fds, left.as_ref()) {
            Ok(0) => return Err(Error::no("no-answer", "a watcher did not answer in time")),
            Ok(_) => break,
            Err(Errno::INTR) => {}
            Err(e) => return Err(Error::io("wait for", "the watchers", &e.into())),
        }
    }
    let is_ready = |fd: &PollFd<'_>| !fd.revents().is_empty();
    Ok(fds[..streams.len()].iter().position(is_ready))
}

/// Connects to a watcher; the socket of one that was killed is cleared away.
fn connect(path: &Path) -> Option<UnixStream> {
    match UnixStream::connect(path) {
        Ok(stream) => Some(stream),
        Err(e) => {
            if e.kind() == ErrorKind::ConnectionRefused {
                let _ = std::fs::remove_file(path);
            }
            None
        }
    }
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
        Barrier { session: "00ff13a4b5c6d7e8".to_string(), batch: 3 }
    }

    fn answers(runtime: &Path, root: &Path) -> Result<Vec<Barrier>> {
        let mut answers = Vec::new();
        ask(runtime, root, None, &mut |barrier| {
            answers.push(barrier.clone());
            Ok(())
        })?;
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
        }
    }
}
