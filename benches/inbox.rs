//! The inbox: from a task to the line that tells it, and many pointers swept, each beside its limit
//! and its rival, in one run:
//!
//! ```sh
//! cargo bench --bench inbox
//! ```
//!
//! All is made in the folder for temporary files. inotifywait is left out where it is not installed.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stdout, reason = "a measurement")]

use std::fs;
use std::io::{BufRead, BufReader, Lines};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

const AUWAI: &str = env!("CARGO_BIN_EXE_auwai");

/// Tasks whose latency is measured.
const TASKS: usize = 200;

/// Between two of them.
const PAUSE: Duration = Duration::from_millis(10);

/// Pointers that are swept.
const SWEPT: usize = 100_000;

fn main() {
    println!("| what | median | 99th percentile |\n|---|---|---|");
    latency();
    println!("\n| {SWEPT} pointers | figure | beside | ratio |\n|---|---|---|---|");
    sweep("pending, to the last line", &Root::new().with(SWEPT, false), SWEPT);
    sweep("answered, to the first line after", &Root::new().with(SWEPT, true), 1);
}

/// A root of inboxes.
struct Root(tempfile::TempDir);

impl Root {
    fn new() -> Root {
        let root = Root(tempfile::tempdir().unwrap());
        for folder in ["tasks", "results", "deliveries/ann"] {
            fs::create_dir_all(root.path(folder)).unwrap();
        }
        root
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// With so many tasks, and one more that is pending and comes last in a sweep.
    fn with(self, count: usize, answered: bool) -> Root {
        for n in 0..count {
            fs::write(self.path(&format!("tasks/t{n}.txt")), "priority: 1\ndo it\n").unwrap();
            fs::write(self.path(&format!("deliveries/ann/t{n}.txt")), "").unwrap();
            if answered {
                fs::write(self.path(&format!("results/t{n}.txt")), "done\n").unwrap();
            }
        }
        fs::write(self.path("tasks/last.txt"), "do it\n").unwrap();
        fs::write(self.path("deliveries/ann/last.txt"), "").unwrap();
        self
    }

    fn inbox(&self, args: &[&str]) -> Command {
        let mut command = Command::new(AUWAI);
        command.args(["auwai-inbox", "--root"]).arg(self.0.path()).args(args);
        command.env("XDG_RUNTIME_DIR", self.0.path());
        command
    }

    /// Posts as another program does: two files, each by a rename.
    fn put(&self, id: &str) {
        for folder in ["tasks", "deliveries/ann"] {
            let fresh = self.path(&format!("{folder}/.{id}"));
            fs::write(&fresh, "do it\n").unwrap();
            fs::rename(&fresh, self.path(&format!("{folder}/{id}.txt"))).unwrap();
        }
    }
}

/// A program that tells lines.
struct Telling(Child, Lines<BufReader<ChildStdout>>);

impl Telling {
    fn start(mut command: Command) -> Telling {
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        Telling(child, lines)
    }

    fn line_with(&mut self, word: &str) {
        assert!(self.1.any(|line| line.unwrap().contains(word)), "{word} was not told");
    }
}

impl Drop for Telling {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Tells a row of the times that `post` takes until its line is there.
fn row(what: &str, telling: &mut Telling, post: impl Fn(&str)) {
    let one = |n: usize| {
        std::thread::sleep(PAUSE);
        let (id, start) = (format!("new-{n:03}"), Instant::now());
        post(&id);
        telling.line_with(&id);
        start.elapsed()
    };
    let mut times: Vec<Duration> = (0..TASKS).map(one).collect();
    times.sort_unstable();
    let ms = |time: Duration| format!("{:.2} ms", time.as_secs_f64() * 1e3);
    println!("| {what} | {} | {} |", ms(times[TASKS / 2]), ms(times[TASKS * 99 / 100 - 1]));
}

fn watching(root: &Root) -> Telling {
    let mut telling = Telling::start(root.inbox(&["watch", "--reader", "ann"]));
    root.put("first");
    telling.line_with("first");
    telling
}

fn latency() {
    let by_post = |root: &Root, id: &str| {
        let mut post = root.inbox(&["post", id, "--reader", "ann", "-m", "do it"]);
        assert!(post.stdout(Stdio::null()).status().unwrap().success());
    };
    let root = Root::new();
    let mut telling = watching(&root);
    row("`auwai-inbox post` to the line of `watch`", &mut telling, |id| by_post(&root, id));
    drop(telling);
    let root = Root::new();
    row("two renames to the line of `watch`", &mut watching(&root), |id| root.put(id));
    drop(root);
    beside_a_sweep();
    let root = Root::new();
    let mut inotifywait = Command::new("inotifywait");
    inotifywait.args(["-m", "-q", "-e", "moved_to"]).arg(root.path("deliveries/ann"));
    if Command::new("inotifywait").arg("--help").output().is_ok() {
        let mut telling = Telling::start(inotifywait);
        std::thread::sleep(Duration::from_millis(300));
        row("the same to the line of inotifywait", &mut telling, |id| root.put(id));
    }
}

/// The reader takes each line of a sweep of 20,000 after 5 ms, and never comes to its end.
fn beside_a_sweep() {
    let root = Root::new().with(20_000, false);
    let mut child = root.inbox(&["watch", "--reader", "ann", "--format", "id"]);
    let mut child = child.stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::with_capacity(1, child.stdout.take().unwrap()).lines();
    let mut next = || {
        std::thread::sleep(Duration::from_millis(5));
        lines.next().unwrap().unwrap()
    };
    (0..10).for_each(|_| drop(next()));
    let mut times: Vec<Duration> = (0..TASKS)
        .map(|n| {
            let (id, start) = (format!("new-{n}"), Instant::now());
            root.put(&id);
            while next() != id {}
            start.elapsed()
        })
        .collect();
    times.sort_unstable();
    let ms = |at: usize| format!("{:.2} ms", times[at].as_secs_f64() * 1e3);
    println!(
        "| the same during a sweep, to a reader that takes a line each 5 ms | {} | {} |",
        ms(TASKS / 2),
        ms(TASKS * 99 / 100 - 1)
    );
    let _ = child.kill();
    let _ = child.wait();
}

/// From the start of `watch` to the last line; beside what cannot be left out: to list the inbox, look at
/// each pointer, and read each task and each result.
fn sweep(what: &str, root: &Root, told: usize) {
    let limit = (0..3).map(|_| limit(root)).min().unwrap();
    let (time, peak) = (0..3).map(|_| swept(root, told)).min().unwrap();
    let (time, limit) = (time.as_secs_f64(), limit.as_secs_f64());
    let ratio = time / limit;
    println!(
        "| {what} | {time:.2} s, {peak} MiB | look and read (1 thread) {limit:.2} s | {ratio:.2} |"
    );
}

fn swept(root: &Root, told: usize) -> (Duration, u64) {
    let start = Instant::now();
    let mut telling = Telling::start(root.inbox(&["watch", "--reader", "ann"]));
    let before = telling.1.by_ref().take_while(|line| !line.as_ref().unwrap().contains("\"last\""));
    assert!(before.count() + 1 >= told);
    (start.elapsed(), peak(&telling.0) / 1024)
}

fn peak(child: &Child) -> u64 {
    let status = fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap();
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

fn limit(root: &Root) -> Duration {
    let (start, mut bytes) = (Instant::now(), 0);
    for entry in fs::read_dir(root.path("deliveries/ann")).unwrap() {
        let (entry, read) = (entry.unwrap(), |folder: &str, name: &Path| {
            fs::read(root.path(folder).join(name)).map_or(0, |text| text.len())
        });
        let name = entry.file_name();
        bytes += entry.metadata().unwrap().len() as usize;
        bytes += read("tasks", Path::new(&name)) + read("results", Path::new(&name));
    }
    assert!(bytes > 0);
    start.elapsed()
}
