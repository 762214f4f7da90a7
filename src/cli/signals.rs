//! Signals that end a process, as data: what is whole is finished first, then the signal is raised
//! again, so that the caller sees a process that was ended by it.

use std::io::Write;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock};

use signal_hook::SigId;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

use crate::error::{Error, Result};
use crate::visible::one_line;

/// The signals that are caught.
pub const CAUGHT: [i32; 3] = [SIGHUP, SIGINT, SIGTERM];

/// How many [`Catching`]s live.
static LIVE: AtomicUsize = AtomicUsize::new(0);

/// Whether none does. What has once been caught would be lost when nobody looks any more: then it
/// has its default effect again.
static IDLE: LazyLock<Arc<AtomicBool>> = LazyLock::new(Arc::default);

/// The signals of [`CAUGHT`] lose their default effect while one of these lives.
#[derive(Debug)]
pub struct Catching(());

impl Catching {
    /// Begins it; the caller has, or gets, handlers of its own.
    ///
    /// # Errors
    /// When the system refuses.
    pub fn begin() -> Result<Catching> {
        static ONCE: AtomicBool = AtomicBool::new(false);
        LIVE.fetch_add(1, Ordering::SeqCst);
        let catching = Catching(());
        IDLE.store(false, Ordering::SeqCst);
        if !ONCE.swap(true, Ordering::SeqCst) {
            CAUGHT.iter().try_for_each(|signal| restore_when_idle(*signal))?;
        }
        Ok(catching)
    }

    /// Whether no other one lives.
    pub fn is_last(&self) -> bool {
        LIVE.load(Ordering::SeqCst) == 1
    }
}

impl Drop for Catching {
    fn drop(&mut self) {
        if LIVE.fetch_sub(1, Ordering::SeqCst) == 1 {
            IDLE.store(true, Ordering::SeqCst);
        }
    }
}

fn restore_when_idle(signal: i32) -> Result<()> {
    let registered =
        signal_hook::flag::register_conditional_default(signal, Arc::clone(&IDLE)).map(|_| ());
    registered.map_err(|e| Error::io("catch", "signals", &e))
}

/// SIGHUP, SIGINT and SIGTERM are caught while this, or a clone of it, lives. One that nobody has
/// obeyed by then is obeyed.
#[derive(Debug, Clone)]
pub struct Signals(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    caught: Arc<AtomicUsize>,
    handlers: Vec<SigId>,
    catching: Option<Catching>,
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
        let catching = Some(Catching::begin()?);
        let mut inner = Inner { caught: Arc::default(), handlers: Vec::new(), catching };
        for signal in CAUGHT {
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
        for signal in CAUGHT {
            let waker = waker.try_clone().map_err(io)?;
            let handler = signal_hook::low_level::pipe::register(signal, waker).map_err(io)?;
            inner.handlers.push(handler);
        }
        Ok((Signals(Arc::new(inner)), woken.into()))
    }

    /// Ends the process by the signal that was caught; returns when there was none.
    pub fn obey(&self) {
        self.0.obey();
    }

    /// Whether one was caught.
    pub fn any(&self) -> bool {
        self.0.caught.load(Ordering::SeqCst) != 0
    }
}

impl Inner {
    fn obey(&self) {
        let caught = self.caught.load(Ordering::SeqCst);
        if let Some(signal) = i32::try_from(caught).ok().filter(|signal| *signal != 0) {
            let _ = signal_hook::low_level::emulate_default_handler(signal);
        }
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        // In this order no signal falls in between: it is obeyed here, or has its default effect.
        self.catching.take();
        self.obey();
        for handler in self.handlers.drain(..) {
            signal_hook::low_level::unregister(handler);
        }
    }
}

/// A line of talk from a thread that is about to end the process.
pub fn last_words(tool: &str, message: &str) {
    let line = format!("{tool}: {}\n", one_line(message));
    say_raw(line.as_bytes());
}

/// Writes to standard error, from any thread.
pub fn say_raw(line: &[u8]) {
    // Nobody can be told that standard error does not work.
    let _ = std::io::stderr().write_all(line);
}
