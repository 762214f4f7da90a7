//! Signals that end a process, as data: what is whole is finished first, then the signal is raised
//! again, so that the caller sees a process that was ended by it.

use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use rustix::stdio::stderr;
use signal_hook::SigId;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

use crate::error::{Error, Result};
use crate::visible::one_line;

const SIGNALS: [i32; 3] = [SIGHUP, SIGINT, SIGTERM];

/// SIGHUP, SIGINT and SIGTERM are caught while this, or a clone of it, lives.
#[derive(Debug, Clone)]
pub struct Signals(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    caught: Arc<AtomicUsize>,
    handlers: Vec<SigId>,
}

impl Signals {
    /// Begins to catch them. Whoever called this ends the process, with [`Signals::obey`].
    ///
    /// # Errors
    /// When the system refuses.
    pub fn catch() -> Result<Signals> {
        Ok(Signals(Arc::new(Self::flags()?)))
    }

    fn flags() -> Result<Inner> {
        let mut inner = Inner { caught: Arc::default(), handlers: Vec::new() };
        for signal in SIGNALS {
            let (caught, number) = (Arc::clone(&inner.caught), signal.unsigned_abs() as usize);
            let handler = signal_hook::flag::register_usize(signal, caught, number);
            let handler = handler.map_err(|e| Error::io("catch", "signals", &e))?;
            inner.handlers.push(handler);
        }
        Ok(inner)
    }

    /// The same, with a descriptor that is readable once one was caught, for those who wait for
    /// descriptors.
    ///
    /// # Errors
    /// When the system refuses.
    pub fn catch_and_wake() -> Result<(Signals, OwnedFd)> {
        let io = |e: std::io::Error| Error::io("catch", "signals", &e);
        let (mut inner, (woken, waker)) = (Self::flags()?, UnixStream::pair().map_err(io)?);
        for signal in SIGNALS {
            let waker = waker.try_clone().map_err(io)?;
            let handler = signal_hook::low_level::pipe::register(signal, waker).map_err(io)?;
            inner.handlers.push(handler);
        }
        Ok((Signals(Arc::new(inner)), woken.into()))
    }

    /// Ends the process by the signal that was caught; returns when there was none.
    pub fn obey(&self) {
        let caught = self.0.caught.load(Ordering::SeqCst);
        if let Some(signal) = i32::try_from(caught).ok().filter(|signal| *signal != 0) {
            let _ = signal_hook::low_level::emulate_default_handler(signal);
        }
    }

    /// Whether one was caught.
    pub fn any(&self) -> bool {
        self.0.caught.load(Ordering::SeqCst) != 0
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        for handler in self.handlers.drain(..) {
            signal_hook::low_level::unregister(handler);
        }
    }
}

/// A line of talk from a thread that is about to end the process. The main thread holds the lock of
/// standard error, so this goes past it.
pub fn last_words(tool: &str, message: &str) {
    let line = format!("{tool}: {}\n", one_line(message));
    past_the_lock(line.as_bytes());
}

/// Writes to standard error from a thread that has not its lock.
pub fn past_the_lock(line: &[u8]) {
    // Nobody can be told that standard error does not work.
    let _ = rustix::io::write(stderr(), line);
}
