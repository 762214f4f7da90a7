//! `auwai-ledger sync` as a process that is told what to do line by line.

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStdin, ChildStdout, ExitStatus, Stdio};

use serde_json::{Value, json};

use crate::support::site::{Site, wait_until};

/// The session that the tests' watcher says it has.
pub const SESSION: &str = "00112233445566aa";

/// A running process.
pub struct Following {
    pub child: Child,
    input: Option<ChildStdin>,
    output: Option<BufReader<ChildStdout>>,
    batch: u64,
}

impl Following {
    /// Keeps the index of `w/r`.
    pub fn start(site: &Site, options: &[&str]) -> Following {
        let mut sync = site.command(env!("CARGO_BIN_EXE_auwai-ledger"));
        sync.args(["sync", "--repo", "r"]).args(options);
        sync.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = sync.spawn().unwrap();
        let (input, output) = (child.stdin.take(), child.stdout.take().map(BufReader::new));
        Following { child, input, output, batch: 0 }
    }

    /// The same, after the scan with which it begins.
    pub fn ready(site: &Site, options: &[&str]) -> Following {
        let mut following = Self::start(site, options);
        let root = site.work("r");
        following.tell(&json!({
            "v": 1, "type": "ready", "session": SESSION, "backend": "poll",
            "root": root.to_str().unwrap(), "watches": 3
        }));
        assert_eq!(following.heard()["mode"], "full");
        following
    }

    /// Writes a line.
    pub fn tell(&mut self, record: &Value) {
        self.write(&format!("{record}\n"));
    }

    /// Writes text as it is.
    pub fn write(&mut self, text: &str) {
        self.input.as_mut().unwrap().write_all(text.as_bytes()).unwrap();
    }

    pub fn event(&mut self, path: &str) {
        self.tell(&json!({"v": 1, "type": "event", "op": "modify", "kind": "file", "path": path}));
    }

    pub fn rescan(&mut self, path: &str) {
        self.tell(&json!({"v": 1, "type": "rescan", "path": path, "reason": "overflow"}));
    }

    /// Ends a batch; returns its number.
    pub fn batch(&mut self) -> u64 {
        self.batch += 1;
        self.tell(&json!({"v": 1, "type": "batch", "n": self.batch, "events": 1, "rescans": 0}));
        self.batch
    }

    /// Says that somebody waits for all that was told.
    pub fn asked(&mut self) {
        let batch = self.batch;
        self.tell(&json!({"v": 1, "type": "barrier", "session": SESSION, "batch": batch}));
    }

    /// The next record that it writes.
    pub fn heard(&mut self) -> Value {
        let mut line = String::new();
        self.output.as_mut().unwrap().read_line(&mut line).unwrap();
        serde_json::from_str(&line).unwrap_or_else(|e| panic!("{line:?}: {e}"))
    }

    /// A batch of these paths, and what came of it.
    pub fn changed(&mut self, paths: &[&str]) -> Value {
        paths.iter().for_each(|path| self.event(path));
        let batch = self.batch();
        let sync = self.heard();
        assert_eq!(sync["batch"], batch);
        sync
    }

    /// The pipe that it writes to.
    pub fn output(&self) -> &ChildStdout {
        self.output.as_ref().unwrap().get_ref()
    }

    /// Ends its input.
    pub fn hang_up(&mut self) {
        self.input = None;
    }

    /// Reads its output no more.
    pub fn turn_away(&mut self) {
        self.output = None;
    }

    /// Waits for its end; returns how it ended and what it said.
    pub fn end(mut self) -> (ExitStatus, String) {
        wait_until("the end", || self.child.try_wait().unwrap().is_some());
        let mut said = String::new();
        self.child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
        (self.child.wait().unwrap(), said)
    }
}

impl Drop for Following {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The state that it has written.
pub fn state(site: &Site) -> Value {
    let text = std::fs::read(site.work("r/.auwai/watch-state.json")).unwrap();
    serde_json::from_slice(&text).unwrap()
}
