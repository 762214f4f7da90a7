//! A command that is killed: itself, one of its stages, or all at once.

use std::fs;
use std::io::Read as _;
use std::os::unix::process::CommandExt;
use std::process::{Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal};
use rustix::process::{kill_process, kill_process_group, test_kill_process_group};

use crate::support::dice::Dice;
use crate::support::site::wait_until;

/// Whom the signal hits.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Aim {
    /// The command alone.
    Parent,
    /// One of the processes that it has started.
    Stage,
    /// All of them.
    Group,
    /// Nobody: it runs to its end.
    Nobody,
}

impl Aim {
    pub fn random(dice: &mut Dice) -> Aim {
        match dice.roll(6) {
            0 => Aim::Nobody,
            1 => Aim::Parent,
            2 | 3 => Aim::Stage,
            _ => Aim::Group,
        }
    }
}

/// How a victim ended.
pub struct Ended {
    pub status: ExitStatus,
    /// All that was taken of its output.
    pub out: Vec<u8>,
    pub err: String,
    pub took: Duration,
}

/// Runs a command, kills it after a delay, and waits until none of its processes is left.
pub fn run(mut command: Command, aim: Aim, delay: Duration, dice: &mut Dice) -> Ended {
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
    let begun = Instant::now();
    let mut child = command.spawn().unwrap();
    let pid = Pid::from_child(&child);
    let (mut out, mut err) = (child.stdout.take().unwrap(), child.stderr.take().unwrap());
    let out = std::thread::spawn(move || {
        let mut all = Vec::new();
        let _ = out.read_to_end(&mut all);
        all
    });
    let err = std::thread::spawn(move || {
        let mut all = Vec::new();
        let _ = err.read_to_end(&mut all);
        String::from_utf8_lossy(&all).into_owned()
    });
    if aim != Aim::Nobody {
        std::thread::sleep(delay);
        strike(pid, aim, dice);
    }
    let mut status = None;
    wait_until("the end of a command", || {
        status = child.try_wait().unwrap();
        status.is_some()
    });
    wait_until("the end of its processes", || test_kill_process_group(pid).is_err());
    let took = begun.elapsed();
    Ended { status: status.unwrap(), out: out.join().unwrap(), err: err.join().unwrap(), took }
}

/// Who has ended in the meantime is not hit.
fn strike(pid: Pid, aim: Aim, dice: &mut Dice) {
    let _ = match aim {
        Aim::Parent => kill_process(pid, Signal::KILL),
        Aim::Group => kill_process_group(pid, Signal::KILL),
        Aim::Stage => stage(pid, dice).map_or(Ok(()), |stage| kill_process(stage, Signal::KILL)),
        Aim::Nobody => Ok(()),
    };
}

fn stage(pid: Pid, dice: &mut Dice) -> Option<Pid> {
    let id = pid.as_raw_nonzero();
    let children = fs::read_to_string(format!("/proc/{id}/task/{id}/children")).ok()?;
    let stages: Vec<i32> = children.split_whitespace().map(|pid| pid.parse().unwrap()).collect();
    let at = dice.roll(stages.len().max(1) as u64) as usize;
    stages.get(at).and_then(|pid| Pid::from_raw(*pid))
}
