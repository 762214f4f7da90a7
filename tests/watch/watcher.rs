//! A running watcher, and what it has told.

use std::ffi::OsStr;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};

use auwai::record::{self, Event, EventKind, EventOp, Ready, Record};
use rustix::process::{Pid, Signal, kill_process};

use crate::support::git::Sandbox;

/// The longest that anything here may take.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// A command of the suite in the sandbox.
pub fn command(sandbox: &Sandbox) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_auwai-wait-events"));
    command.env_clear().envs(sandbox.vars()).env("XDG_RUNTIME_DIR", sandbox.home(""));
    command.current_dir(sandbox.root());
    command
}

/// The records told so far, and whether the output has ended.
#[derive(Default)]
struct Told {
    records: Vec<Record>,
    ended: bool,
}

pub struct Watcher<'a> {
    pub child: Child,
    told: Arc<(Mutex<Told>, Condvar)>,
    sandbox: &'a Sandbox,
    /// How many records have been taken.
    taken: usize,
}

impl<'a> Watcher<'a> {
    /// Starts one on the sandbox's tree, and waits until its watches stand.
    pub fn start(sandbox: &'a Sandbox, args: &[&str]) -> Watcher<'a> {
        let mut own = command(sandbox);
        own.arg(sandbox.root()).args(args);
        // What one command does is one batch, however slow the machine: the barrier ends it.
        if !args.iter().any(|arg| ["--settle", "-1"].contains(arg)) {
            own.args(["--settle", "1s"]);
        }
        Self::spawn(sandbox, own)
    }

    /// The same from any command.
    pub fn spawn(sandbox: &'a Sandbox, mut command: Command) -> Watcher<'a> {
        let mut child = command
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .stdin(Stdio::null())
            .spawn()
            .unwrap();
        let told: Arc<(Mutex<Told>, Condvar)> = Arc::default();
        let (shared, out) = (Arc::clone(&told), BufReader::new(child.stdout.take().unwrap()));
        std::thread::spawn(move || {
            for line in out.lines() {
                let record = record::parse(&line.unwrap()).unwrap();
                shared.0.lock().unwrap().records.push(record);
                shared.1.notify_all();
            }
            shared.0.lock().unwrap().ended = true;
            shared.1.notify_all();
        });
        let watcher = Watcher { child, told, sandbox, taken: 0 };
        watcher.wait_for("ready", |record| matches!(record, Record::Ready(_)));
        watcher
    }

    /// Waits for a record.
    pub fn wait_for(&self, what: &str, found: impl Fn(&Record) -> bool) {
        let until = Instant::now() + PATIENCE;
        let mut told = self.told.0.lock().unwrap();
        while !told.records.iter().any(&found) {
            let left = until.saturating_duration_since(Instant::now());
            assert!(!left.is_zero() && !told.ended, "no {what}: {:?}", told.records);
            told = self.told.1.wait_timeout(told, left).unwrap().0;
        }
    }

    pub fn ready(&self) -> Ready {
        let told = self.told.0.lock().unwrap();
        let ready = told.records.iter().find_map(|record| match record {
            Record::Ready(ready) => Some(ready.clone()),
            _ => None,
        });
        ready.unwrap()
    }

    /// What has been told since the last call, up to what `--sync` promises.
    pub fn sync(&mut self) -> Vec<Record> {
        let asked = self.asker().arg("--sync").arg(&self.ready().root).output().unwrap();
        let err = String::from_utf8_lossy(&asked.stderr);
        assert!(asked.status.success(), "{err}");
        let text = String::from_utf8(asked.stdout).unwrap();
        let session = self.ready().session;
        let batch = text.lines().find_map(|line| match record::parse(line).unwrap() {
            Record::Barrier(barrier) if barrier.session == session => Some(barrier.batch),
            _ => None,
        });
        let batch = batch.unwrap_or_else(|| panic!("no answer of {session}: {text}"));
        if batch > 0 {
            self.wait_for("batch", |r| matches!(r, Record::Batch(b) if b.n >= batch));
        }
        self.take()
    }

    /// The tool, as the user whose watcher it is: nobody else's is believed.
    fn asker(&self) -> Command {
        let (own, program) = (command(self.sandbox), as_nobody(self.sandbox));
        if !program.exists() {
            return own;
        }
        let mut asker = as_user(&own, &program);
        asker.current_dir(self.sandbox.root());
        asker
    }

    /// What has been told since the last call.
    pub fn take(&mut self) -> Vec<Record> {
        let told = self.told.0.lock().unwrap();
        let new = told.records[self.taken..].to_vec();
        self.taken = told.records.len();
        new
    }

    /// The same as words: `create file a/b`, `rescan . overflow`.
    pub fn words(&mut self) -> Vec<String> {
        self.sync().iter().filter_map(words).collect()
    }

    pub fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
    }

    /// Stops it, and returns when none of its threads runs any more.
    pub fn stop(&self) {
        halt(Pid::from_child(&self.child));
    }

    /// Kills it, and returns what it has told since the last call.
    pub fn kill(mut self) -> Vec<Record> {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
        let mut told = self.told.0.lock().unwrap();
        while !told.ended {
            told = self.told.1.wait(told).unwrap();
        }
        drop(told);
        self.take()
    }

    /// Waits until it ends by itself.
    pub fn end(&mut self) -> ExitStatus {
        let until = Instant::now() + PATIENCE;
        loop {
            // What it told last may still be on its way here when it has gone.
            let told_all = self.told.0.lock().unwrap().ended;
            if let (Some(status), true) = (self.child.try_wait().unwrap(), told_all) {
                return status;
            }
            assert!(Instant::now() < until, "it does not end");
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// How often its threads have gone to sleep, and for how long they have worked, in ticks.
    pub fn activity(&self) -> (u64, u64) {
        let tasks = format!("/proc/{}/task", self.child.id());
        let (mut sleeps, mut ticks) = (0, 0);
        for task in std::fs::read_dir(tasks).unwrap().map(|task| task.unwrap().path()) {
            let status = std::fs::read_to_string(task.join("status")).unwrap();
            let line = status.lines().find(|l| l.starts_with("voluntary_ctxt_switches")).unwrap();
            sleeps += line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap();
            let stat = std::fs::read_to_string(task.join("stat")).unwrap();
            let fields: Vec<&str> = stat.rsplit(')').next().unwrap().split_whitespace().collect();
            ticks += fields[11].parse::<u64>().unwrap() + fields[12].parse::<u64>().unwrap();
        }
        (sleeps, ticks)
    }
}

impl Drop for Watcher<'_> {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Stops a process, and returns when none of its threads runs any more.
pub fn halt(pid: Pid) {
    kill_process(pid, Signal::STOP).unwrap();
    let tasks = format!("/proc/{}/task", pid.as_raw_pid());
    let stopped = || {
        std::fs::read_dir(&tasks).unwrap().all(|task| {
            let stat = std::fs::read(task.unwrap().path().join("stat")).unwrap_or_default();
            // The state follows the program's name, which is in parentheses.
            let name = stat.iter().rposition(|byte| *byte == b')').unwrap_or_default();
            stat.get(name + 2).is_none_or(|state| b"TXZ".contains(state))
        })
    };
    while !stopped() {
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// An event or a rescan in words.
pub fn words(record: &Record) -> Option<String> {
    match record {
        Record::Event(Event { op, kind, path, .. }) => {
            let kind = match kind {
                EventKind::File => "file",
                EventKind::Dir => "dir",
                EventKind::Symlink => "symlink",
                EventKind::Other => "other",
            };
            Some(format!("{} {kind} {path}", op.as_str()))
        }
        Record::Rescan(rescan) => {
            let reason = serde_json::to_string(&rescan.reason).unwrap();
            Some(format!("rescan {} {}", rescan.path, reason.trim_matches('"')))
        }
        _ => None,
    }
}

/// Whether an operation on a path was told.
pub fn told(words: &[String], op: EventOp, path: &str) -> bool {
    words.iter().any(|line| {
        let mut parts = line.splitn(3, ' ');
        parts.next() == Some(op.as_str()) && parts.nth(1) == Some(path)
    })
}

/// The words of a step that changed `path`. Polling tells what was fresh at one look once more at
/// the next, which may be that of a later step: that says nothing there.
pub fn news(watcher: &mut Watcher<'_>, backend: &str, path: &str) -> Vec<String> {
    let mut words = watcher.words();
    let created = told(&words, EventOp::Create, path);
    let again = |word: &String| word.starts_with("modify ") && (created || !word.ends_with(path));
    words.retain(|word| backend != "poll" || !again(word));
    words
}

/// Runs a script in the tree.
pub fn sh(sandbox: &Sandbox, script: &str) {
    sh_in(&sandbox.root(), sandbox, script);
}

pub fn sh_in(dir: &Path, sandbox: &Sandbox, script: &str) {
    let mut sh = Command::new("sh");
    sh.args(["-euc", script]).current_dir(dir).env_clear().envs(sandbox.vars());
    sh.env("PATH", std::env::var_os("PATH").unwrap_or_default()).env("OUT", sandbox.home(""));
    let out = sh.output().unwrap();
    assert!(out.status.success(), "{script}: {}", String::from_utf8_lossy(&out.stderr));
}

/// Fills the queue of a watcher that is stopped: only consecutive equal events are merged.
pub fn flood(one: &Path, other: &Path) {
    let times = rustix::fs::Timestamps {
        last_access: rustix::fs::Timespec { tv_sec: 1, tv_nsec: 0 },
        last_modification: rustix::fs::Timespec { tv_sec: 1, tv_nsec: 0 },
    };
    let limit = std::fs::read_to_string("/proc/sys/fs/inotify/max_queued_events").unwrap();
    for _ in 0..limit.trim().parse::<u64>().unwrap() * 3 / 4 {
        for file in [one, other] {
            let flags = rustix::fs::AtFlags::empty();
            rustix::fs::utimensat(rustix::fs::CWD, file, &times, flags).unwrap();
        }
    }
}

/// A name that is not UTF-8.
pub fn raw(name: &[u8]) -> &OsStr {
    std::os::unix::ffi::OsStrExt::from_bytes(name)
}

/// Where a copy of the tool is that another user may run, if there is one.
pub fn as_nobody(sandbox: &Sandbox) -> PathBuf {
    sandbox.root().parent().unwrap().join("own")
}

/// `program` as the user nobody, in the environment of `own`.
pub fn as_user(own: &Command, program: &Path) -> Command {
    let mut outer = Command::new("setpriv");
    outer.args(["--reuid=65534", "--regid=65534", "--clear-groups"]).arg(program);
    outer.env_clear();
    for (name, value) in own.get_envs() {
        outer.env(name, value.unwrap());
    }
    outer
}
