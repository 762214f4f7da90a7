//! Signals that end a process, as data: what is whole is finished first, then the signal is raised
//! again, so that the caller sees a process that was ended by it.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use signal_hook::SigId;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

use crate::error::{Error, Result};

/// SIGHUP, SIGINT and SIGTERM are caught while this lives.
pub struct Signals {
    caught: Arc<AtomicUsize>,
    handlers: Vec<SigId>,
}

impl Signals {
    /// Begins to catch them.
    pub fn catch() -> Result<Signals> {
        let caught = Arc::new(AtomicUsize::new(0));
        let mut signals = Signals { caught, handlers: Vec::new() };
        for signal in [SIGHUP, SIGINT, SIGTERM] {
            let (caught, number) = (Arc::clone(&signals.caught), signal.unsigned_abs() as usize);
            let handler = signal_hook::flag::register_usize(signal, caught, number);
            let handler = handler.map_err(|e| Error::io("catch", "signals", &e))?;
            signals.handlers.push(handler);
        }
        Ok(signals)
    }

    /// Ends the process by the signal that was caught; returns when there was none.
    pub fn obey(&self) {
        let caught = self.caught.load(Ordering::SeqCst);
        if let Some(signal) = i32::try_from(caught).ok().filter(|signal| *signal != 0) {
            let _ = signal_hook::low_level::emulate_default_handler(signal);
        }
    }

    /// Whether one was caught.
    pub fn any(&self) -> bool {
        self.caught.load(Ordering::SeqCst) != 0
    }
}

impl Drop for Signals {
    fn drop(&mut self) {
        for handler in self.handlers.drain(..) {
            signal_hook::low_level::unregister(handler);
        }
    }
}
