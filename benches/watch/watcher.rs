//! A running watcher, and all that it has said so far.

use std::io::Read;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process_group};

use crate::process::Process;
use crate::rivals::Rival;

/// How long nothing must come for it to be over.
const QUIET: Duration = Duration::from_secs(3);

/// How long the number of watches must stay the same.
const STEADY: Duration = Duration::from_millis(300);

/// The longest that anything here may take.
const PATIENCE: Duration = Duration::from_secs(300);

/// What has been said, and when the last of it was.
#[derive(Default)]
pub struct Said {
    pub text: Vec<u8>,
    pub last: Option<Instant>,
}

impl Said {
    /// Whether a word is in what was said from a place on.
    pub fn has(&self, from: usize, word: &str) -> bool {
        memchr::memmem::find(&self.text[from.min(self.text.len())..], word.as_bytes()).is_some()
    }
}

/// What somebody says, for a thread that listens.
pub type Speech = Arc<Mutex<Said>>;

pub struct Watcher {
    pub child: Child,
    pub said: Speech,
    /// How much it had said when it stood.
    pub from: usize,
    /// How long it took to stand.
    pub stands: Duration,
    /// For files of its own.
    _own: tempfile::TempDir,
}

impl Watcher {
    /// Starts a rival on a folder, and waits until it stands.
    pub fn start(rival: &Rival, dir: &Path) -> Watcher {
        let own = tempfile::tempdir().unwrap();
        let line = rival.one_line().replace('~', own.path().to_str().unwrap());
        let line = line.replace('@', dir.to_str().unwrap());
        let line = line.replace("% auwai", &format!("{} auwai", crate::AUWAI));
        let start = Instant::now();
        let mut command = Command::new("sh");
        command.args(["-c", &line]).stdin(Stdio::null()).process_group(0);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let said = Speech::default();
        listen(child.stdout.take().unwrap(), &said, rival.slowly);
        listen(child.stderr.take().unwrap(), &said, 0);
        let mut watcher = Watcher { child, said, from: 0, stands: Duration::ZERO, _own: own };
        let stood = match rival.ready {
            // One that does not say so stands when its number of watches does.
            "" => steady(watcher.process()),
            word => watcher.wait_for(word),
        };
        watcher.stands = stood.duration_since(start);
        watcher.from = watcher.said.lock().unwrap().text.len();
        watcher
    }

    pub fn process(&self) -> Process {
        Process(self.child.id())
    }

    fn wait_for(&mut self, word: &str) -> Instant {
        let start = Instant::now();
        while !self.said.lock().unwrap().has(0, word) {
            let said = || String::from_utf8_lossy(&self.said.lock().unwrap().text).into_owned();
            assert!(start.elapsed() < PATIENCE && is_alive(&mut self.child), "{word}: {}", said());
            std::thread::sleep(Duration::from_millis(1));
        }
        Instant::now()
    }

    /// Signals it and all that it has started.
    pub fn signal(&self, signal: Signal) {
        let group = Pid::from_raw(self.child.id().cast_signed()).unwrap();
        let _ = kill_process_group(group, signal);
    }

    /// Waits until nothing more comes.
    pub fn settle(&self) {
        let start = Instant::now();
        let since = || self.said.lock().unwrap().last.unwrap_or(start).max(start).elapsed();
        while since() <= QUIET {
            std::thread::sleep(Duration::from_millis(100));
        }
    }

    /// How long after `done` the last came that it said.
    pub fn last_after(&self, done: Instant) -> Duration {
        let last = self.said.lock().unwrap().last;
        last.map_or(Duration::ZERO, |last| last.saturating_duration_since(done))
    }

    pub fn is_alive(&mut self) -> bool {
        is_alive(&mut self.child)
    }
}

fn is_alive(child: &mut Child) -> bool {
    child.try_wait().unwrap().is_none()
}

impl Drop for Watcher {
    fn drop(&mut self) {
        self.signal(Signal::CONT);
        self.signal(Signal::KILL);
        let _ = self.child.wait();
    }
}

/// Waits until a process has watches, and no more come; returns when the last came.
pub fn steady(process: Process) -> Instant {
    let (start, mut last, mut watches) = (Instant::now(), Instant::now(), 0);
    while watches == 0 || last.elapsed() < STEADY {
        assert!(start.elapsed() < PATIENCE, "no watches");
        let now = process.watches();
        if now != watches {
            (watches, last) = (now, Instant::now());
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    last
}

/// Keeps all that comes; `slowly`: so many bytes every 2 ms.
pub fn listen(mut from: impl Read + Send + 'static, said: &Speech, slowly: usize) {
    let said = Arc::clone(said);
    std::thread::spawn(move || {
        let mut buffer = vec![0; if slowly == 0 { 1 << 16 } else { slowly }];
        while let Ok(read @ 1..) = from.read(&mut buffer) {
            let mut said = said.lock().unwrap();
            said.text.extend_from_slice(&buffer[..read]);
            said.last = Some(Instant::now());
            drop(said);
            if slowly > 0 {
                std::thread::sleep(Duration::from_millis(2));
            }
        }
    });
}
