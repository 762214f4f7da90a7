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
    /// Listens for questions about `root`, in a folder below `runtime`.
    ///
    /// # Errors
    /// When that folder cannot be made, or is not this user's alone.
    pub fn open(runtime: &Path, root: &Path) -> Result<Listener> {
        let dir = folder(runtime, root);
        private(runtime)?;
        private(&dir)?;
        let path = dir.join(format!("{}.sock", std::process::id()));
        let new = path.with_extension("new");
        // A process that had this number has ended.
        let _ = std::fs::remove_file(&new);
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

/// Asks every watcher of `root`, and returns their answers.
///
/// # Errors
/// Code `no-watcher` when there is none; `no-answer` when one did not answer in time, or ended.
pub fn ask(runtime: &Path, root: &Path, until: Option<Instant>) -> Result<Vec<Barrier>> {
    let entries = std::fs::read_dir(folder(runtime, root)).into_iter().flatten().flatten();
    let sockets: Vec<PathBuf> =
        entries.map(|e| e.path()).filter(|p| p.extension().is_some_and(|e| e == "sock")).collect();
    let streams: Vec<UnixStream> = sockets.iter().filter_map(|path| connect(path)).collect();
    if streams.is_empty() {
        let root = shown(root);
        let message = format!("nothing watches '{root}'");
        let hint = format!("start a watcher: `auwai-wait-events {root}`");
        return Err(Error::no("no-watcher", message).hint(hint).hint(
            "one of another user, or with another XDG_RUNTIME_DIR, cannot be asked from here",
        ));
    }
    streams.into_iter().map(|stream| read_answer(stream, until)).collect()
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

fn read_answer(stream: UnixStream, until: Option<Instant>) -> Result<Barrier> {
    let left = until.map(|until| until.saturating_duration_since(Instant::now()));
    let left = left.map(|left| left.max(Duration::from_millis(1)));
    let _ = stream.set_read_timeout(left);
    let mut line = String::new();
    let read = BufReader::new(stream).read_line(&mut line);
    match read.ok().and_then(|_| record::parse(line.trim_end()).ok()) {
        Some(Record::Barrier(barrier)) => Ok(barrier),
        _ => Err(Error::no("no-answer", "a watcher ended, or did not answer in time")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn barrier() -> Barrier {
        Barrier { session: "00ff13a4b5c6d7e8".to_string(), batch: 3 }
    }

    #[test]
    fn a_question_is_answered() {
        let dir = tempfile::tempdir().unwrap();
        let (runtime, root) = (dir.path().join("run"), dir.path());
        let listener = Listener::open(&runtime, root).unwrap();
        let asking = std::thread::spawn({
            let (runtime, root) = (runtime.clone(), root.to_owned());
            move || ask(&runtime, &root, None)
        });
        let asked = loop {
            match listener.asked().pop() {
                Some(stream) => break stream,
                None => std::thread::yield_now(),
            }
        };
        answer(asked, &barrier());
        assert_eq!(asking.join().unwrap().unwrap(), [barrier()]);
        drop(listener);
        assert_eq!(ask(&runtime, root, None).unwrap_err().code(), "no-watcher");
    }

    /// What a killed watcher leaves behind.
    #[test]
    fn a_socket_that_nobody_listens_at_is_cleared_away() {
        let dir = tempfile::tempdir().unwrap();
        let listener = Listener::open(&dir.path().join("run"), dir.path()).unwrap();
        let path = listener.path.clone();
        let stale = path.with_file_name("1.sock");
        drop(UnixListener::bind(&stale).unwrap());
        drop(listener);
        assert!(!path.exists() && stale.exists());
        let error = ask(&dir.path().join("run"), dir.path(), None).unwrap_err();
        assert_eq!((error.code(), stale.exists()), ("no-watcher", false));
    }

    #[test]
    fn a_folder_that_others_can_enter_is_not_trusted() {
        let dir = tempfile::tempdir().unwrap();
        let (open, link) = (dir.path().join("open"), dir.path().join("link"));
        DirBuilder::new().mode(0o755).create(&open).unwrap();
        std::os::unix::fs::symlink(dir.path(), &link).unwrap();
        for runtime in [open, link] {
            let error = Listener::open(&runtime, dir.path()).unwrap_err();
            assert_eq!(error.code(), "not-private");
        }
    }
}
