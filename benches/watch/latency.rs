//! S3, S4: from a write to the line that tells it, and from the start to a watcher that stands.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use crate::rivals::{self, Rival};
use crate::watcher::{Said, Speech, Watcher, listen};

const EDITS: usize = 100;

/// The best of so many starts is told: the first of all finds a tree that is not in memory.
const STARTS: usize = 3;

/// Between two edits; longer than anybody's settle time.
const PAUSE: Duration = Duration::from_millis(150);

/// An edit that is not told by then is lost.
const LOST: Duration = Duration::from_secs(10);

pub fn run(tree: &Path) {
    crate::head(&["watcher", "stands after", "median", "99th percentile"]);
    for rival in rivals::ALL.iter().filter(|rival| rival.slowly == 0 && rivals::is_here(rival)) {
        line(rival, tree);
    }
    commit(tree);
}

/// A file that is put back as it was.
struct Edited {
    file: PathBuf,
    before: Vec<u8>,
}

impl Edited {
    fn open(tree: &Path) -> Edited {
        let file = tree.join("Makefile");
        Edited { before: fs::read(&file).unwrap(), file }
    }

    /// Appends a byte, again and again; how long it took each time until it was told.
    fn times(&self, speech: &Speech, told: impl Fn(&Said, usize) -> bool) -> Vec<Duration> {
        let mut times: Vec<Duration> = (0..EDITS).map(|_| self.edit(speech, &told)).collect();
        times.sort_unstable();
        times
    }

    fn edit(&self, speech: &Speech, told: &impl Fn(&Said, usize) -> bool) -> Duration {
        std::thread::sleep(PAUSE);
        let from = speech.lock().unwrap().text.len();
        let mut open = fs::File::options().append(true).open(&self.file).unwrap();
        let start = Instant::now();
        open.write_all(b"#").unwrap();
        drop(open);
        while start.elapsed() < LOST {
            let said = speech.lock().unwrap();
            if told(&said, from) {
                return said.last.unwrap().duration_since(start);
            }
            drop(said);
            std::thread::sleep(Duration::from_micros(20));
        }
        LOST
    }
}

impl Drop for Edited {
    fn drop(&mut self) {
        fs::write(&self.file, &self.before).unwrap();
    }
}

fn line(rival: &Rival, tree: &Path) {
    let mut watcher = Watcher::start(rival, tree);
    let mut stands = watcher.stands;
    for _ in 1..STARTS {
        drop(watcher);
        watcher = Watcher::start(rival, tree);
        stands = stands.min(watcher.stands);
    }
    let stands = stands.as_secs_f64();
    let times = Edited::open(tree).times(&watcher.said, |said, from| said.has(from, "Makefile"));
    row(rival.name, &format!("{stands:.2} s"), &times);
}

/// From a write to the commit in the ledger, settle time included.
fn commit(tree: &Path) {
    let mut watch = Command::new(crate::AUWAI);
    watch.args(["--json", "watch", "--settle", "50ms", "--repo"]).arg(tree);
    let mut child = watch.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().unwrap();
    let speech = Speech::default();
    listen(child.stdout.take().unwrap(), &speech, 0);
    while !speech.lock().unwrap().has(0, "\"sync\"") {
        std::thread::sleep(Duration::from_millis(5));
    }
    let times = Edited::open(tree).times(&speech, |said, from| said.has(from, "\"sync\""));
    let _ = kill_process(Pid::from_child(&child), Signal::TERM);
    let _ = child.wait();
    row("auwai watch --settle 50ms, to the commit", "", &times);
}

fn row(name: &str, stands: &str, times: &[Duration]) {
    let ms = |time: Duration| format!("{:.2} ms", time.as_secs_f64() * 1e3);
    println!(
        "| {name} | {stands} | {} | {} |",
        ms(times[EDITS / 2]),
        ms(times[EDITS * 99 / 100 - 1])
    );
}
