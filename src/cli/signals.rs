//! SIGTERM and SIGINT as news: noted, answered in good order, then raised again.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use rustix::stdio::stderr;
use signal_hook::consts::{SIGINT, SIGTERM};

use crate::error::{Error, Result};
use crate::visible::one_line;

/// The signals seen since [`Signals::note`]. Clones share what they have seen.
#[derive(Debug, Clone)]
pub struct Signals(Arc<AtomicUsize>);

impl Signals {
    /// From now on SIGTERM and SIGINT do not end the process; whoever called this does, with
    /// [`Signals::raise_again`].
    ///
    /// # Errors
    /// When the system refuses.
    pub fn note() -> Result<Signals> {
        let seen = Arc::new(AtomicUsize::new(0));
        for signal in [SIGTERM, SIGINT] {
            signal_hook::flag::register_usize(signal, Arc::clone(&seen), signal as usize)
                .map_err(|e| Error::io("handle signal", signal, &e))?;
        }
        Ok(Signals(seen))
    }

    /// Whether one came.
    pub fn seen(&self) -> bool {
        self.0.load(Ordering::Relaxed) != 0
    }

    /// Ends the process as the signal would have; does nothing when none came.
    pub fn raise_again(&self) {
        let signal = self.0.load(Ordering::Relaxed) as i32;
        if signal != 0 {
            let _ = signal_hook::low_level::emulate_default_handler(signal);
        }
    }
}

/// A line of talk from a thread that is about to end the process. The main thread holds the lock of
/// standard error, so this goes past it.
pub fn last_words(tool: &str, message: &str) {
    let line = format!("{tool}: {}\n", one_line(message));
    // Nobody can be told that standard error does not work.
    let _ = rustix::io::write(stderr(), line.as_bytes());
}
