//! The full read of a large tree: what each command of it takes, beside its limit, in one run:
//!
//! ```sh
//! AUWAI_BENCH_TREE=linux-source-6.1 cargo bench --bench reading
//! ```
//!
//! The tree must be a git repository. Its `.auwai` is made anew, and a thousand of its files get
//! another line, which is taken away again. Times are medians: each command changes what the next finds.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stdout, reason = "a measurement")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

const AUWAI: &str = env!("CARGO_BIN_EXE_auwai");

/// So many segments are read.
const SEGMENTS: usize = 25;
/// So many files are edited.
const EDITS: usize = 1000;

fn main() {
    let Some(tree) = std::env::var_os("AUWAI_BENCH_TREE").map(PathBuf::from) else {
        println!("set AUWAI_BENCH_TREE to a large git repository");
        return;
    };
    let tree = tree.canonicalize().expect("the tree is there");
    let _ = fs::remove_dir_all(tree.join(".auwai"));
    println!("| what | figure | target | memory |\n|---|---|---|---|");
    once(&tree, &["index"]);
    once(&tree, &["plan"]);
    segments(&tree);
    once(&tree, &["status"]);
    once(&tree, &["verify"]);
    once(&tree, &["replan"]);
    edited(&tree);
}

/// What a command took: its time, and the most memory that one of its processes had, in KiB.
struct Taken {
    time: Duration,
    memory: u64,
}

/// Runs a command; `verify` may say no.
fn take(tree: &Path, args: &[&str]) -> Taken {
    let mut command = Command::new(AUWAI);
    command.args(args).current_dir(tree).stdin(Stdio::null());
    command.stdout(Stdio::null()).stderr(Stdio::null());
    let start = Instant::now();
    let mut child = command.spawn().unwrap();
    let mut memory = 0;
    let code = loop {
        if let Some(code) = child.try_wait().unwrap() {
            break code;
        }
        memory = memory.max(largest(child.id()));
        std::thread::sleep(Duration::from_micros(500));
    };
    let time = start.elapsed();
    let is_no = args[0] == "verify" && code.code() == Some(1);
    assert!(code.success() || is_no, "auwai {args:?}: {code}");
    Taken { time, memory }
}

/// The most memory that a process or one of its children has had.
fn largest(pid: u32) -> u64 {
    let children = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children"));
    let children = children.unwrap_or_default();
    let pids = children.split_whitespace().filter_map(|pid| pid.parse().ok());
    pids.chain([pid]).filter_map(resident).max().unwrap_or(0)
}

fn resident(pid: u32) -> Option<u64> {
    let text = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = text.lines().find(|line| line.starts_with("VmHWM:"))?;
    line.split_whitespace().nth(1)?.parse().ok()
}

fn row(what: &str, time: Duration, target: &str, memory: u64) {
    let time = match time.as_millis() {
        0..1000 => format!("{:.1} ms", time.as_secs_f64() * 1e3),
        _ => format!("{:.2} s", time.as_secs_f64()),
    };
    println!("| {what} | {time} | {target} | {} MiB |", memory / 1024);
}

fn once(tree: &Path, args: &[&str]) {
    let taken = take(tree, args);
    row(&format!("auwai {}", args.join(" ")), taken.time, "", taken.memory);
}

/// S6: segment after segment, as a reader does it.
fn segments(tree: &Path) {
    let verbs: [&[&str]; 3] = [&["next"], &["read"], &["done", "-m", "seen"]];
    let mut taken: [Vec<Taken>; 3] = Default::default();
    for _ in 0..SEGMENTS {
        for (verb, taken) in verbs.iter().zip(&mut taken) {
            taken.push(take(tree, verb));
        }
    }
    for (verb, mut taken) in verbs.into_iter().zip(taken) {
        let memory = taken.iter().map(|taken| taken.memory).max().unwrap();
        taken.sort_by_key(|taken| taken.time);
        let what = format!("S6 auwai {}", verb[0]);
        row(&what, taken[SEGMENTS / 2].time, "30 ms, but for the bodies", memory);
    }
}

/// A thousand files get a line in front, and lose it again.
fn edited(tree: &Path) {
    let listed = Command::new("git").args(["ls-files", "*.c"]).current_dir(tree).output().unwrap();
    let listed = String::from_utf8(listed.stdout).unwrap();
    let files: Vec<PathBuf> = listed.lines().map(|name| tree.join(name)).collect();
    let chosen: Vec<&PathBuf> = files.iter().step_by((files.len() / EDITS).max(1)).collect();
    let before: Vec<Vec<u8>> = chosen.iter().map(|file| fs::read(file).unwrap()).collect();
    for (file, text) in chosen.iter().zip(&before) {
        fs::write(file, [b"/* one more line */\n", text.as_slice()].concat()).unwrap();
    }
    let replanned = take(tree, &["replan"]);
    for (file, text) in chosen.iter().zip(&before) {
        fs::write(file, text).unwrap();
    }
    let what = format!("auwai replan after {} edits", chosen.len());
    row(&what, replanned.time, "", replanned.memory);
}
