//! Figures on a large tree, each beside its limit and its rival, in one run:
//!
//! ```sh
//! AUWAI_BENCH_TREE=linux-source-6.1 cargo bench --bench scale
//! ```
//!
//! The tree must be a git repository with everything added, so that `git status` has the same to
//! do. Its `.auwai` is made anew. Every figure is the best of some runs, since noise only adds.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stdout, reason = "a measurement")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use auwai::text::{Class, Encoding, Tokenizer, detect, show_lines};

const AUWAI: &str = env!("CARGO_BIN_EXE_auwai");

fn main() {
    let Some(tree) = std::env::var_os("AUWAI_BENCH_TREE").map(PathBuf::from) else {
        println!("set AUWAI_BENCH_TREE to a large git repository");
        return;
    };
    let tree = tree.canonicalize().expect("the tree is there");
    println!("| what | figure | beside | ratio | target |\n|---|---|---|---|---|");
    cold_index(&tree);
    unchanged_scan(&tree);
    planning(&tree);
    start_up();
}

/// A row of the table.
fn row(what: &str, figure: Duration, beside: &str, limit: Duration, target: &str) {
    let ratio = figure.as_secs_f64() / limit.as_secs_f64();
    let (figure, limit) = (show(figure), show(limit));
    println!("| {what} | {figure} | {beside} {limit} | {ratio:.2} | {target} |");
}

fn show(time: Duration) -> String {
    match time.as_millis() {
        0..100 => format!("{:.2} ms", time.as_secs_f64() * 1e3),
        _ => format!("{:.2} s", time.as_secs_f64()),
    }
}

/// The time of a run and the most memory it had, in KiB.
fn measure(command: &mut Command) -> (Duration, u64) {
    let start = Instant::now();
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let status = format!("/proc/{}/status", child.id());
    let mut peak = 0;
    loop {
        if let Some(code) = child.try_wait().unwrap() {
            let time = start.elapsed();
            assert!(code.success(), "{command:?} failed: {code}");
            return (time, peak);
        }
        peak = peak.max(resident(&status).unwrap_or(0));
        std::thread::sleep(Duration::from_micros(200));
    }
}

fn resident(status: &str) -> Option<u64> {
    let text = fs::read_to_string(status).ok()?;
    let line = text.lines().find(|line| line.starts_with("VmHWM:"))?;
    line.split_whitespace().nth(1)?.parse().ok()
}

fn best(runs: usize, mut run: impl FnMut() -> Duration) -> Duration {
    (0..runs).map(|_| run()).min().unwrap()
}

/// The best of two things that are measured in turn: a machine that others use too is not the same
/// from one minute to the next.
fn in_turn(
    runs: usize,
    mut figure: impl FnMut() -> Duration,
    mut beside: impl FnMut() -> Duration,
) -> (Duration, Duration) {
    (0..runs).fold((Duration::MAX, Duration::MAX), |best, _| {
        (best.0.min(figure()), best.1.min(beside()))
    })
}

fn scan(tree: &Path) -> Command {
    let mut command = Command::new(AUWAI);
    command.args(["auwai-ledger", "scan", "--repo"]).arg(tree);
    command
}

/// S1: a cold index beside the work that cannot be left out: read, hash, and count as shown.
fn cold_index(tree: &Path) {
    let mut peak = 0;
    let cold = || {
        let _ = fs::remove_dir_all(tree.join(".auwai"));
        let (time, memory) = measure(&mut scan(tree));
        peak = peak.max(memory);
        time
    };
    let (figure, limit) = in_turn(3, cold, || limit(tree, 2));
    row("S1 cold index", figure, "read, hash, count (2 threads)", limit, "1.5");
    println!("| S1 memory | {} MiB | | | 300 MiB |", peak / 1024);
}

/// The limit program: every regular file is read and hashed, and text is counted as shown.
fn limit(tree: &Path, threads: usize) -> Duration {
    let start = Instant::now();
    let files: Vec<PathBuf> = walkdir::WalkDir::new(tree)
        .into_iter()
        .filter_entry(|entry| !matches!(entry.file_name().to_str(), Some(".git" | ".auwai")))
        .filter_map(Result::ok)
        .filter(|entry| entry.file_type().is_file())
        .map(walkdir::DirEntry::into_path)
        .collect();
    let next = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                let mut shown = String::new();
                while let Some(file) = files.get(next.fetch_add(1, Ordering::Relaxed)) {
                    count(file, &mut shown);
                }
            });
        }
    });
    start.elapsed()
}

fn count(file: &Path, shown: &mut String) {
    let bytes = fs::read(file).unwrap();
    std::hint::black_box(blake3::hash(&bytes));
    if detect(&bytes) == Class::Text(Encoding::UTF_8) {
        shown.clear();
        show_lines(shown, Encoding::UTF_8, &bytes, 1);
        std::hint::black_box(Tokenizer::default().count(shown));
    }
}

/// S2: nothing has changed.
fn unchanged_scan(tree: &Path) {
    let status = || measure(Command::new("git").arg("-C").arg(tree).arg("status")).0;
    let (figure, rival) = in_turn(10, || measure(&mut scan(tree)).0, status);
    row("S2 scan, nothing changed", figure, "git status", rival, "1.0");
}

/// S7: every chunk through the planner, as two processes.
fn planning(tree: &Path) {
    let mut peak = 0;
    let time = best(3, || {
        let start = Instant::now();
        let mut chunks = Command::new(AUWAI)
            .args(["auwai-ledger", "chunks", "--repo"])
            .arg(tree)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut plan = Command::new(AUWAI);
        plan.arg("auwai-plan").stdin(chunks.stdout.take().unwrap());
        peak = peak.max(measure(&mut plan).1);
        assert!(chunks.wait().unwrap().success());
        start.elapsed()
    });
    row("S7 chunks and plan", time, "limit", Duration::from_secs(2), "1.0");
    println!("| S7 memory of auwai-plan | {} MiB | | | 50 MiB |", peak / 1024);
}

/// S8: how long it takes to say one's version.
fn start_up() {
    let version = |program: &str, args: &[&str]| {
        best(50, || {
            let mut command = Command::new(program);
            command.args(args).arg("--version").stdout(Stdio::null());
            let start = Instant::now();
            assert!(command.status().unwrap().success());
            start.elapsed()
        })
    };
    let git = version("git", &[]);
    row("S8 auwai --version", version(AUWAI, &[]), "git --version", git, "at most 2 ms");
    row("S8 auwai-plan --version", version(AUWAI, &["auwai-plan"]), "git --version", git, "2 ms");
}
