//! Signals reach every stage: a terminal sends SIGINT to the whole group, but `kill` names one
//! process. What is sent to us is passed on, and raised again here when the stages have ended.
//!
//! A pipeline forwards while it runs, and `auwai run` around all of its pipelines and commands. The
//! outermost raises the signal again, when all that was begun has been settled.

use std::process::Child;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock, Mutex};

use rustix::process::{Pid, Signal, kill_process};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::{Handle, Signals};

use crate::error::{Error, Result};

/// What is caught.
const CAUGHT: [i32; 3] = [SIGINT, SIGTERM, SIGHUP];

/// How many forwarders live.
static LIVE: AtomicUsize = AtomicUsize::new(0);

/// Whether none does. Once caught, a signal would be lost between two pipelines: then it has its
/// default effect again.
static IDLE: LazyLock<Arc<AtomicBool>> = LazyLock::new(Arc::default);

/// Passes signals on to children while it lives.
pub struct Forward {
    handle: Handle,
    state: Arc<Mutex<State>>,
}

/// Ends the children of a forwarder.
#[derive(Clone)]
pub struct Stopper(Arc<Mutex<State>>);

impl Stopper {
    /// Sends them SIGTERM.
    pub fn stop(&self) {
        if let Ok(state) = self.0.lock() {
            state.send(SIGTERM);
        }
    }
}

#[derive(Default)]
struct State {
    children: Vec<Pid>,
    caught: Option<i32>,
}

impl State {
    fn send(&self, signal: i32) {
        let Some(signal) = Signal::from_named_raw(signal) else { return };
        for child in &self.children {
            // A child that has ended cannot be told.
            let _ = kill_process(*child, signal);
        }
    }
}

impl Forward {
    /// Begins to catch SIGINT, SIGTERM and SIGHUP.
    pub fn new() -> Result<Forward> {
        let cannot = |e| Error::io("catch", "signals", &e);
        let mut signals = Signals::new(CAUGHT).map_err(cannot)?;
        if LIVE.fetch_add(1, Ordering::SeqCst) == 0 {
            restore_when_idle().map_err(cannot)?;
        }
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

    /// Forgets a child that has been waited for: its number may be another's soon.
    pub fn forget(&self, child: &Child) {
        if let Ok(mut state) = self.state.lock() {
            state.children.retain(|pid| pid.as_raw_pid() != child.id() as i32);
        }
    }

    /// What ends the children when they take too long.
    pub fn stopper(&self) -> Stopper {
        Stopper(Arc::clone(&self.state))
    }

    /// The signal that was caught.
    pub fn caught(&self) -> Option<i32> {
        self.state.lock().ok().and_then(|state| state.caught)
    }

    /// Ends this process by the signal that was caught, if one was and no other forwarder lives.
    pub fn raise_again(&self) {
        if let Some(signal) = self.caught()
            && LIVE.load(Ordering::SeqCst) == 1
        {
            let _ = signal_hook::low_level::emulate_default_handler(signal);
        }
    }
}

impl Drop for Forward {
    fn drop(&mut self) {
        self.handle.close();
        if LIVE.fetch_sub(1, Ordering::SeqCst) == 1 {
            IDLE.store(true, Ordering::SeqCst);
        }
    }
}

/// Lets signals have their default effect whenever no forwarder lives.
fn restore_when_idle() -> std::io::Result<()> {
    static ONCE: AtomicBool = AtomicBool::new(false);
    IDLE.store(false, Ordering::SeqCst);
    if ONCE.swap(true, Ordering::SeqCst) {
        return Ok(());
    }
    CAUGHT.iter().try_for_each(|signal| {
        signal_hook::flag::register_conditional_default(*signal, Arc::clone(&IDLE)).map(|_| ())
    })
}

fn pass_on(state: &Mutex<State>, signal: i32) {
    let Ok(mut state) = state.lock() else { return };
    state.caught = Some(signal);
    state.send(signal);
}
