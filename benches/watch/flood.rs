//! A flood of names through `auwai watch` into the ledger: nothing missing, memory bounded.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use crate::process::Process;

const NAMES: usize = 100_000;

pub fn run(folder: &Path) {
    crate::head(&[
        "100,000 files",
        "made in",
        "in the ledger after",
        "missing",
        "too many",
        "peak of auwai-wait-events",
        "peak of auwai-ledger",
        "scans",
        "rescans told",
    ]);
    row("in 100 directories", &folder.join("many"), 100);
    row("in one directory", &folder.join("one"), 1);
}

/// `auwai watch` on a repository.
struct Watch {
    child: Child,
    repo: std::path::PathBuf,
}

impl Watch {
    fn start(repo: &Path) -> Watch {
        let mut watch = Command::new(crate::AUWAI);
        watch.args(["watch", "--repo"]).arg(repo).stdin(Stdio::null());
        // Its output is read by nobody, and may fill: it has one line a batch.
        let child = watch.stdout(fs::File::create("/dev/null").unwrap()).spawn().unwrap();
        let watch = Watch { child, repo: repo.to_owned() };
        while !watch.sync() {
            std::thread::sleep(Duration::from_millis(10));
        }
        watch
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(crate::AUWAI);
        command.args(args).arg("--repo").arg(&self.repo);
        command
    }

    /// Waits until all that was changed is in the ledger.
    fn sync(&self) -> bool {
        let mut sync = self.command(&["watch", "--sync"]);
        sync.stdout(Stdio::null()).stderr(Stdio::null()).status().unwrap().success()
    }

    /// Paths of the ledger whose text is in it.
    fn files(&self) -> BTreeSet<String> {
        let out = self.command(&["auwai-ledger", "files"]).output().unwrap();
        let text = String::from_utf8(out.stdout).unwrap();
        let records = text.lines().map(|line| serde_json::from_str(line).unwrap());
        let texts = records.filter(|record: &serde_json::Value| record["fate"] == "text");
        texts.map(|record| record["path"].as_str().unwrap().to_string()).collect()
    }

    fn counter(&self, name: &str) -> u64 {
        let state = fs::read(self.repo.join(".auwai/watch-state.json")).unwrap();
        let state: serde_json::Value = serde_json::from_slice(&state).unwrap();
        state["counters"][name].as_u64().unwrap()
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        let _ = kill_process(Pid::from_child(&self.child), Signal::TERM);
        let _ = self.child.wait();
    }
}

fn row(what: &str, repo: &Path, dirs: usize) {
    (0..dirs).for_each(|dir| fs::create_dir_all(repo.join(format!("d{dir}"))).unwrap());
    assert!(Command::new("git").args(["init", "-q"]).arg(repo).status().unwrap().success());
    let watch = Watch::start(repo);
    let start = Instant::now();
    for n in 0..NAMES {
        fs::write(repo.join(format!("d{}/{n}.txt", n % dirs)), format!("{n}\n")).unwrap();
    }
    let done = Instant::now();
    assert!(watch.sync());
    let synced = done.elapsed().as_secs_f64();
    let (found, told) = (find(repo), watch.files());
    assert_eq!(found.len(), NAMES);
    let (missing, more) = (found.difference(&told).count(), told.difference(&found).count());
    let peaks = Process(watch.child.id()).children();
    let [waiter, ledger] = [0, 1].map(|n| peaks[n].peak() / 1024);
    let (made, scans, rescans) =
        ((done - start).as_secs_f64(), watch.counter("scans"), watch.counter("rescans"));
    println!(
        "| {what} | {made:.2} s | {synced:.2} s | {missing} | {more} | {waiter} MiB | {ledger} MiB | {scans} | {rescans} |"
    );
}

/// What find(1) finds.
fn find(repo: &Path) -> BTreeSet<String> {
    let mut find = Command::new("find");
    find.arg(repo).args(["-name", ".git", "-prune", "-o", "-name", ".auwai", "-prune", "-o"]);
    let out = find.args(["-type", "f", "-printf", "%P\n"]).output().unwrap();
    String::from_utf8(out.stdout).unwrap().lines().map(str::to_string).collect()
}
