//! A running `auwai-inbox watch`, and what it has told.

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::process::{Child, ExitStatus, Stdio};
use std::sync::{Arc, Mutex};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use super::Place;
use crate::support::site::wait_until;

/// The watcher, whose reader takes every line at once.
pub struct Watcher {
    child: Child,
    lines: Arc<Mutex<Vec<String>>>,
    err: Arc<Mutex<String>>,
}

impl Watcher {
    pub fn start(place: &Place, reader: &str, args: &[&str]) -> Watcher {
        let mut command = place.command(&["watch", "--reader", reader]);
        command.args(args).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let (lines, err): (Arc<Mutex<Vec<String>>>, Arc<Mutex<String>>) = Default::default();
        let (out, taken) = (BufReader::new(child.stdout.take().unwrap()), Arc::clone(&lines));
        std::thread::spawn(move || {
            out.lines().for_each(|line| taken.lock().unwrap().push(line.unwrap()));
        });
        let (mut talk, said) = (child.stderr.take().unwrap(), Arc::clone(&err));
        std::thread::spawn(move || {
            let mut block = [0; 4096];
            while let Ok(read @ 1..) = talk.read(&mut block) {
                said.lock().unwrap().push_str(&String::from_utf8_lossy(&block[..read]));
            }
        });
        Watcher { child, lines, err }
    }

    /// The ids told so far, in order. Every line must be a whole record.
    pub fn ids(&self) -> Vec<String> {
        let lines = self.lines.lock().unwrap();
        let id = |line: &String| {
            let record: Value = serde_json::from_str(line).unwrap();
            assert_eq!((&record["type"], &record["state"]), (&"task".into(), &"pending".into()));
            record["id"].as_str().unwrap().to_string()
        };
        lines.iter().map(id).collect()
    }

    /// Waits until each of these has been told.
    #[track_caller]
    pub fn wait_for(&self, ids: &[&str]) {
        let told = |id: &&str| self.ids().iter().any(|told| told == id);
        wait_until(&format!("{ids:?}"), || ids.iter().all(told));
    }

    /// What it has said on standard error.
    pub fn err(&self) -> String {
        self.err.lock().unwrap().clone()
    }

    pub fn pid(&self) -> Pid {
        Pid::from_child(&self.child)
    }

    /// The processes of its event source.
    pub fn stages(&self) -> Vec<Pid> {
        children(self.pid())
    }

    /// Waits until it ends by itself.
    pub fn wait(&mut self) -> ExitStatus {
        self.child.wait().unwrap()
    }

    /// Ends it by SIGTERM; how it ended, and what it had said.
    pub fn end(mut self) -> (ExitStatus, String) {
        let _ = kill_process(self.pid(), Signal::TERM);
        let status = self.wait();
        (status, self.err())
    }
}

impl Drop for Watcher {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The processes that a process has started and that live.
pub fn children(pid: Pid) -> Vec<Pid> {
    let number = pid.as_raw_nonzero();
    let listed = fs::read_to_string(format!("/proc/{number}/task/{number}/children"));
    let numbers = listed.unwrap_or_default();
    numbers.split_whitespace().filter_map(|pid| Pid::from_raw(pid.parse().ok()?)).collect()
}

/// Whether a process is there, and no zombie.
pub fn lives(pid: Pid) -> bool {
    let stat = fs::read_to_string(format!("/proc/{}/stat", pid.as_raw_nonzero()));
    stat.is_ok_and(|stat| !stat.rsplit(')').next().unwrap().trim_start().starts_with('Z'))
}
