//! Signals reach every stage: a terminal sends SIGINT to the whole group, but `kill` names one
//! process. What is sent to us is passed on, and raised again here when the stages have ended.

use std::process::Child;
use std::sync::{Arc, Mutex};

use rustix::process::{Pid, Signal, kill_process};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::{Handle, Signals};

use crate::error::{Error, Result};

/// Passes signals on to children while it lives.
pub struct Forward {
    handle: Handle,
    state: Arc<Mutex<State>>,
}

#[derive(Default)]
struct State {
    children: Vec<Pid>,
    caught: Option<i32>,
}

impl Forward {
    /// Begins to catch SIGINT, SIGTERM and SIGHUP.
    pub fn new() -> Result<Forward> {
        let mut signals = Signals::new([SIGINT, SIGTERM, SIGHUP])
            .map_err(|e| Error::io("catch", "signals", &e))?;
        let (handle, state) = (signals.handle(), Arc::new(Mutex::new(State::default())));
        let shared = Arc::clone(&state);
        std::thread::spawn(move || {
            for signal in signals.forever() {
                pass_on(&shared, signal);
            }
        });
        Ok(Forward { handle, state })
    }

    /// Names a child that signals go to.
    pub fn to(&self, child: &Child) {
        if let (Ok(mut state), Some(pid)) = (self.state.lock(), Pid::from_raw(child.id() as i32)) {
            state.children.push(pid);
        }
    }

    /// Ends this process by the signal that was caught, if one was.
    pub fn raise_again(&self) {
        let caught = self.state.lock().ok().and_then(|state| state.caught);
        if let Some(signal) = caught {
            let _ = signal_hook::low_level::emulate_default_handler(signal);
        }
    }
}

impl Drop for Forward {
    fn drop(&mut self) {
        self.handle.close();
    }
}

fn pass_on(state: &Mutex<State>, signal: i32) {
    let Ok(mut state) = state.lock() else { return };
    state.caught = Some(signal);
    for child in &state.children {
        if let Some(signal) = Signal::from_named_raw(signal) {
            // A child that has ended cannot be told.
            let _ = kill_process(*child, signal);
        }
    }
}
