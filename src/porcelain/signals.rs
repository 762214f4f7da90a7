//! Signals reach every stage: a terminal sends SIGINT to the whole group, but `kill` names one
//! process. What is sent to us is passed on, and raised again here when the stages have ended.
//!
//! A pipeline forwards while it runs, and `auwai run` around all of its pipelines and commands. The
//! outermost raises the signal again, when all that was begun has been settled.

use std::process::{Child, ExitStatus};
use std::sync::{Arc, Mutex};

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process, waitid};
use signal_hook::consts::SIGTERM;
use signal_hook::iterator::{Handle, Signals};

use crate::cli::{CAUGHT, Catching};
use crate::error::{Error, Result};

/// Passes signals on to children while it lives.
pub struct Forward {
    catching: Catching,
    handle: Handle,
    state: Arc<Mutex<State>>,
}

/// Ends the children of a forwarder.
#[derive(Clone)]
pub struct Stopper(Arc<Mutex<State>>);

impl Stopper {
    /// Sends them SIGTERM.
    pub fn stop(&self) {
        if let Ok(mut state) = self.0.lock() {
            state.stopped = true;
            state.send(SIGTERM);
        }
    }
}

#[derive(Default)]
struct State {
    children: Vec<Pid>,
    caught: Option<i32>,
    /// A [`Stopper`] has ended them.
    stopped: bool,
}

impl State {
    fn send(&self, signal: i32) {
        self.children.iter().for_each(|child| send(*child, signal));
    }
}

fn send(child: Pid, signal: i32) {
    if let Some(signal) = Signal::from_named_raw(signal) {
        // A child that has ended cannot be told.
        let _ = kill_process(child, signal);
    }
}

impl Forward {
    /// Begins to catch SIGINT, SIGTERM and SIGHUP.
    pub fn new() -> Result<Forward> {
        let cannot = |e| Error::io("catch", "signals", &e);
        let mut signals = Signals::new(CAUGHT).map_err(cannot)?;
        let catching = Catching::begin()?;
        let (handle, state) = (signals.handle(), Arc::new(Mutex::new(State::default())));
        let shared = Arc::clone(&state);
        std::thread::spawn(move || {
            for signal in signals.forever() {
                pass_on(&shared, signal);
            }
        });
        Ok(Forward { catching, handle, state })
    }

    /// Names a child that signals go to; one that was caught already goes to it at once.
    pub fn to(&self, child: &Child) {
        if let (Ok(mut state), Some(pid)) = (self.state.lock(), pid(child)) {
            state.children.push(pid);
            state.caught.into_iter().for_each(|signal| send(pid, signal));
        }
    }

    /// Waits for a child and forgets it. Its number may be another's as soon as it has been reaped,
    /// so no signal is sent in between.
    ///
    /// # Errors
    /// When the system refuses.
    pub fn reap(&self, child: &mut Child) -> std::io::Result<ExitStatus> {
        let own = pid(child);
        let is_named = || {
            self.state.lock().is_ok_and(|state| state.children.iter().any(|pid| Some(*pid) == own))
        };
        if let Some(pid) = own.filter(|_| is_named()) {
            let ended = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
            // Where this cannot wait, the wait below can.
            let _ = rustix::io::retry_on_intr(|| waitid(WaitId::Pid(pid), ended));
        }
        let Ok(mut state) = self.state.lock() else { return child.wait() };
        state.children.retain(|pid| Some(*pid) != own);
        child.wait()
    }

    /// What ends the children when they take too long.
    pub fn stopper(&self) -> Stopper {
        Stopper(Arc::clone(&self.state))
    }

    /// A child was ended by a signal that was not sent from here. One that asks to end was meant for
    /// us: somebody named the process that does the work.
    pub fn ended_by(&self, signal: i32) {
        if let Ok(mut state) = self.state.lock()
            && CAUGHT.contains(&signal)
            && !state.stopped
        {
            state.caught.get_or_insert(signal);
        }
    }

    /// The signal that was caught.
    pub fn caught(&self) -> Option<i32> {
        self.state.lock().ok().and_then(|state| state.caught)
    }

    /// Ends this process by the signal that was caught, if one was and no other forwarder lives.
    pub fn raise_again(&self) {
        if let Some(signal) = self.caught()
            && self.catching.is_last()
        {
            let _ = signal_hook::low_level::emulate_default_handler(signal);
        }
    }
}

impl Drop for Forward {
    fn drop(&mut self) {
        self.handle.close();
    }
}

fn pid(child: &Child) -> Option<Pid> {
    Pid::from_raw(child.id() as i32)
}

fn pass_on(state: &Mutex<State>, signal: i32) {
    let Ok(mut state) = state.lock() else { return };
    state.caught = Some(signal);
    state.send(signal);
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::ExitStatusExt;
    use std::process::Command;

    use super::*;

    fn sleeper() -> Child {
        Command::new("sleep").arg("20").spawn().unwrap()
    }

    #[test]
    fn a_signal_that_came_before_the_child_reaches_it() {
        let forward = Forward::new().unwrap();
        forward.state.lock().unwrap().caught = Some(SIGTERM);
        let mut child = sleeper();
        forward.to(&child);
        assert_eq!(forward.reap(&mut child).unwrap().signal(), Some(SIGTERM));
    }

    #[test]
    fn a_child_that_was_reaped_is_forgotten_and_may_be_waited_for_again() {
        let forward = Forward::new().unwrap();
        let (mut child, mut other) = (sleeper(), sleeper());
        forward.to(&child);
        forward.to(&other);
        child.kill().unwrap();
        for _ in 0..2 {
            assert_eq!(forward.reap(&mut child).unwrap().signal(), Some(9));
            assert_eq!(forward.state.lock().unwrap().children, [pid(&other).unwrap()]);
        }
        forward.stopper().stop();
        assert_eq!(forward.reap(&mut other).unwrap().signal(), Some(SIGTERM));
    }
}
