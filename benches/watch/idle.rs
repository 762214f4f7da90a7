//! An idle watched repository: the ledger reads every file, and the watcher must not notice.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use crate::process::{Activity, Process};
use crate::watcher::{Speech, listen, steady};

const AFTER: Duration = Duration::from_secs(10);

pub fn run(tree: &Path) {
    let _ = fs::remove_dir_all(tree.join(".auwai"));
    let mut watch = Command::new(crate::AUWAI);
    watch.args(["--json", "watch", "--repo"]).arg(tree);
    let mut child = watch.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().unwrap();
    let speech = Speech::default();
    listen(child.stdout.take().unwrap(), &speech, 0);
    crate::head(&[
        "while",
        "events told",
        "wake-ups of auwai-wait-events",
        "CPU",
        "of auwai-ledger",
    ]);
    let stages = stages(Process(child.id()));
    steady(stages[0]);
    let ledger = tree.join(".auwai/ledger.sqlite");
    until(|| ledger.exists());
    let (start, before) = (Instant::now(), stages.map(Process::activity));
    until(|| speech.lock().unwrap().has(0, "\"sync\""));
    let indexed = stages.map(Process::activity);
    let what = format!("the ledger reads every file ({:.0} s)", start.elapsed().as_secs_f64());
    row(&what, tree, indexed, before);
    std::thread::sleep(AFTER);
    row("10 s after", tree, stages.map(Process::activity), indexed);
    let _ = kill_process(Pid::from_child(&child), Signal::TERM);
    let _ = child.wait();
}

/// The watcher and the ledger.
fn stages(watch: Process) -> [Process; 2] {
    until(|| watch.children().len() == 2);
    watch.children().try_into().unwrap_or_else(|_| panic!("not two stages"))
}

fn until(done: impl Fn() -> bool) {
    while !done() {
        std::thread::sleep(Duration::from_millis(1));
    }
}

fn row(what: &str, tree: &Path, now: [Activity; 2], before: [Activity; 2]) {
    let [watcher, ledger] = [now[0] - before[0], now[1] - before[1]];
    let state = fs::read(tree.join(".auwai/watch-state.json")).unwrap();
    let state: serde_json::Value = serde_json::from_slice(&state).unwrap();
    let (events, wakes) = (&state["counters"]["events"], watcher.wakes);
    let [own, other] =
        [watcher, ledger].map(|did| format!("{:.2} ms", did.cpu.as_secs_f64() * 1e3));
    println!("| {what} | {events} | {wakes} | {own} | {other} |");
}
