//! Watchers side by side, in one run: what each misses, how fast it tells, how fast it stands.
//!
//! ```sh
//! AUWAI_BENCH_TREE=linux-source-6.1 cargo bench --bench watch
//! ```
//!
//! The scenes are made in the folder for temporary files; the tree is only for latency and start.
//! Rivals that are not installed are left out, and said to be. A name counts as missing when the
//! watcher has neither told it nor told that something was lost (a `rescan`, an overflow).

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stdout, reason = "a measurement")]

use std::collections::HashSet;
use std::fs;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

const AUWAI: &str = env!("CARGO_BIN_EXE_auwai");

/// How long nothing must come for a scene to be over.
const QUIET: Duration = Duration::from_secs(3);

fn main() {
    let scenes = tempfile::tempdir().unwrap();
    println!(
        "| scene | watcher | missing | told of loss | alive | last line after |\n|---|---|---|---|---|---|"
    );
    for rival in RIVALS {
        match is_here(rival) {
            true => SCENES.iter().for_each(|scene| play(scene, rival, scenes.path())),
            false => println!("| all | {} | not installed here | | | |", rival.name),
        }
    }
    relay();
    let Some(tree) = std::env::var_os("AUWAI_BENCH_TREE").map(PathBuf::from) else {
        println!("set AUWAI_BENCH_TREE to a large git repository for latency and start");
        return;
    };
    let tree = tree.canonicalize().expect("the tree is there");
    println!("\n| watcher | stands after | median | 99th percentile |\n|---|---|---|---|");
    for rival in RIVALS.iter().filter(|rival| is_here(rival)) {
        latency(rival, &tree);
    }
    commit(&tree);
}

/// A watcher: its command for a folder, and what it writes when it stands or has lost something.
struct Rival {
    name: &'static str,
    line: &'static str,
    ready: &'static str,
    lost: &'static [&'static str],
    /// Bytes that its reader takes every 2 ms; all there is when 0.
    slowly: usize,
}

/// `@` is the folder, `%` the program of this suite.
const RIVALS: &[Rival] = &[
    Rival {
        name: "auwai-wait-events --settle 0",
        line: "exec % auwai-wait-events --settle 0 --no-ignore @",
        ready: "\"ready\"",
        lost: &["\"rescan\""],
        slowly: 0,
    },
    Rival {
        name: "auwai-wait-events --settle 0, 256 bytes every 2 ms",
        line: "exec % auwai-wait-events --settle 0 --no-ignore @",
        ready: "\"ready\"",
        lost: &["\"rescan\""],
        slowly: 256,
    },
    Rival {
        name: "inotifywait -m -r",
        line: "exec inotifywait -m -r --format %w%f -e create,modify,moved_to,delete @",
        ready: "Watches established.",
        lost: &["overflow", "OVERFLOW"],
        slowly: 0,
    },
    Rival {
        name: "fswatch -r -l 0.1 --allow-overflow",
        line: "exec fswatch -r -l 0.1 --allow-overflow @",
        ready: "",
        lost: &["overflow", "Overflow"],
        slowly: 0,
    },
    Rival {
        name: "watchexec",
        line: "exec watchexec --only-emit-events --emit-events-to=json-stdio --no-vcs-ignore -w @",
        ready: "",
        lost: &["overflow", "rescan"],
        slowly: 0,
    },
];

fn is_here(rival: &Rival) -> bool {
    let program = ["inotifywait", "fswatch", "watchexec"];
    let needed = program.into_iter().find(|program| rival.name.starts_with(program));
    needed.is_none_or(|program| {
        let mut command = Command::new(program);
        command.arg("--help").stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok()
    })
}

/// A running watcher, and all that it has said so far.
struct Watcher {
    child: Child,
    said: Arc<Mutex<Said>>,
}

#[derive(Default)]
struct Said {
    text: Vec<u8>,
    last: Option<Instant>,
}

impl Watcher {
    fn start(rival: &Rival, dir: &Path) -> (Watcher, Duration) {
        let line = rival
            .line
            .replace('@', dir.to_str().unwrap())
            .replace("% auwai", &format!("{AUWAI} auwai"));
        let start = Instant::now();
        let mut command = Command::new("sh");
        command.args(["-c", &line]).stdin(Stdio::null());
        use std::os::unix::process::CommandExt;
        command.process_group(0).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let said = Arc::new(Mutex::new(Said::default()));
        listen(child.stdout.take().unwrap(), &said, rival.slowly);
        listen(child.stderr.take().unwrap(), &said, 0);
        let watcher = Watcher { child, said };
        watcher.wait_ready(rival);
        let stands = start.elapsed();
        (watcher, stands)
    }

    fn wait_ready(&self, rival: &Rival) {
        let deadline = Instant::now() + Duration::from_secs(120);
        let mut watches = 0;
        while Instant::now() < deadline {
            if !rival.ready.is_empty() && self.has(rival.ready) {
                return;
            }
            std::thread::sleep(Duration::from_millis(if rival.ready.is_empty() { 300 } else { 1 }));
            let now = self.watches();
            // One that does not say so stands when its number of watches does.
            if rival.ready.is_empty() && now > 0 && now == watches {
                return;
            }
            watches = now;
        }
        panic!("{} does not stand", rival.name);
    }

    fn watches(&self) -> usize {
        let entries = fs::read_dir(format!("/proc/{}/fdinfo", self.child.id()));
        let texts = entries.into_iter().flatten().flatten().map(|e| fs::read_to_string(e.path()));
        texts.flatten().map(|text| text.matches("inotify wd").count()).sum()
    }

    fn has(&self, word: &str) -> bool {
        find(&self.said.lock().unwrap().text, word)
    }

    fn signal(&self, signal: Signal) {
        let group = Pid::from_raw(self.child.id().cast_signed()).unwrap();
        let _ = rustix::process::kill_process_group(group, signal);
        let _ = kill_process(group, signal);
    }

    /// Waits until nothing more comes.
    fn settle(&self) {
        loop {
            std::thread::sleep(Duration::from_millis(100));
            let last = self.said.lock().unwrap().last;
            if last.is_none_or(|last| last.elapsed() > QUIET) {
                return;
            }
        }
    }
}

impl Drop for Watcher {
    fn drop(&mut self) {
        self.signal(Signal::CONT);
        self.signal(Signal::KILL);
        let _ = self.child.wait();
    }
}

fn listen(mut from: impl Read + Send + 'static, said: &Arc<Mutex<Said>>, slowly: usize) {
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

fn find(text: &[u8], word: &str) -> bool {
    memchr::memmem::find(text, word.as_bytes()).is_some()
}

/// What is done below a folder; every file made has a name of its own, `n` and seven digits.
struct Scene {
    name: &'static str,
    files: usize,
    stopped: bool,
    act: fn(&Path, &Path),
}

const SCENES: &[Scene] = &[
    Scene { name: "20,000 files in 100 directories", files: 20_000, stopped: false, act: flood },
    Scene {
        name: "1,000 times mkdir -p a/b/c and a file",
        files: 1_000,
        stopped: false,
        act: deep,
    },
    Scene { name: "20,000 files, watcher stopped", files: 20_000, stopped: true, act: flood },
    Scene { name: "200 trees moved in", files: 4_000, stopped: false, act: moved },
];

fn name(n: usize) -> String {
    format!("n{n:07}")
}

fn flood(dir: &Path, _: &Path) {
    (0..20_000)
        .for_each(|n| fs::write(dir.join(format!("d{}", n % 100)).join(name(n)), "x").unwrap());
}

fn deep(dir: &Path, _: &Path) {
    for n in 0..1_000 {
        let folder = dir.join(format!("a{n}/b/c"));
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join(name(n)), "x").unwrap();
    }
}

fn moved(dir: &Path, beside: &Path) {
    (0..200).for_each(|tree| {
        let tree = format!("t{tree}");
        fs::rename(beside.join(&tree), dir.join(&tree)).unwrap();
    });
}

/// Trees of 5 directories and 20 files, for [`moved`].
fn trees(beside: &Path) {
    for n in 0..4_000 {
        let folder = beside.join(format!("t{}/s{}", n / 20, n % 4));
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join(name(n)), "x").unwrap();
    }
}

fn play(scene: &Scene, rival: &Rival, scenes: &Path) {
    let (dir, beside) = (scenes.join("watched"), scenes.join("beside"));
    for folder in [&dir, &beside] {
        let _ = fs::remove_dir_all(folder);
        fs::create_dir(folder).unwrap();
    }
    (0..100).for_each(|n| fs::create_dir(dir.join(format!("d{n}"))).unwrap());
    trees(&beside);
    let (mut watcher, _) = Watcher::start(rival, &dir);
    if scene.stopped {
        watcher.signal(Signal::STOP);
    }
    (scene.act)(&dir, &beside);
    let done = Instant::now();
    watcher.signal(Signal::CONT);
    watcher.settle();
    let alive = watcher.child.try_wait().unwrap().is_none();
    let said = watcher.said.lock().unwrap();
    let told = names(&said.text);
    let lost = rival.lost.iter().any(|word| find(&said.text, word));
    let missing = (0..scene.files).filter(|n| !told.contains(&name(*n))).count();
    let missing = match (missing, lost) {
        (0, _) | (_, false) => missing.to_string(),
        (_, true) => format!("0 ({missing} by the rescan)"),
    };
    let last = said.last.map_or(Duration::ZERO, |last| last.saturating_duration_since(done));
    let yes = |is| if is { "yes" } else { "no" };
    println!(
        "| {} | {} | {missing} | {} | {} | {:.2} s |",
        scene.name,
        rival.name,
        yes(lost),
        yes(alive),
        last.as_secs_f64()
    );
}

/// Every name of a scene's file that a text has.
fn names(text: &[u8]) -> HashSet<String> {
    let is_name =
        |at: usize| text.get(at..at + 8).filter(|word| word[1..].iter().all(u8::is_ascii_digit));
    let found = memchr::memchr_iter(b'n', text).filter_map(is_name);
    found.map(|word| String::from_utf8(word.to_vec()).unwrap()).collect()
}

/// S3, S4: from a write to the line that tells it, and from the start to a watcher that stands.
fn latency(rival: &Rival, tree: &Path) {
    let (watcher, stands) = Watcher::start(rival, tree);
    let file = tree.join("Makefile");
    let before = fs::read(&file).unwrap();
    let mut times: Vec<Duration> = (0..100).map(|_| edit(&file, &watcher.said)).collect();
    fs::write(&file, before).unwrap();
    times.sort_unstable();
    println!(
        "| {} | {:.2} s | {} | {} |",
        rival.name,
        stands.as_secs_f64(),
        ms(times[50]),
        ms(times[98])
    );
}

/// Appends a byte and waits for the name in what is said.
fn edit(file: &Path, said: &Mutex<Said>) -> Duration {
    std::thread::sleep(Duration::from_millis(150));
    let before = said.lock().unwrap().text.len();
    let mut open = fs::File::options().append(true).open(file).unwrap();
    let start = Instant::now();
    open.write_all(b"#").unwrap();
    drop(open);
    while start.elapsed() < Duration::from_secs(10) {
        let said = said.lock().unwrap();
        if find(&said.text[before.min(said.text.len())..], "Makefile") {
            return said.last.unwrap().duration_since(start);
        }
        drop(said);
        std::thread::sleep(Duration::from_micros(20));
    }
    Duration::from_secs(10)
}

fn ms(time: Duration) -> String {
    format!("{:.2} ms", time.as_secs_f64() * 1e3)
}

/// S3: from a write to the commit in the ledger, settle time included.
fn commit(tree: &Path) {
    let mut watch = Command::new(AUWAI);
    watch.args(["--json", "watch", "--settle", "50ms", "--repo"]).arg(tree);
    let mut child = watch.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().unwrap();
    let said = Arc::new(Mutex::new(Said::default()));
    listen(child.stdout.take().unwrap(), &said, 0);
    while !find(&said.lock().unwrap().text, "\"sync\"") {
        std::thread::sleep(Duration::from_millis(5));
    }
    let file = tree.join("Makefile");
    let before = fs::read(&file).unwrap();
    let mut times: Vec<Duration> = (0..100)
        .map(|_| {
            std::thread::sleep(Duration::from_millis(150));
            let from = said.lock().unwrap().text.len();
            let mut open = fs::File::options().append(true).open(&file).unwrap();
            let start = Instant::now();
            open.write_all(b"#").unwrap();
            drop(open);
            while !find(&said.lock().unwrap().text[from..], "\"sync\"") {
                std::thread::sleep(Duration::from_micros(50));
            }
            start.elapsed()
        })
        .collect();
    let _ = kill_process(Pid::from_raw(child.id().cast_signed()).unwrap(), Signal::TERM);
    let _ = child.wait();
    fs::write(&file, before).unwrap();
    times.sort_unstable();
    println!(
        "| auwai watch --settle 50ms, to the commit | | {} | {} |",
        ms(times[50]),
        ms(times[98])
    );
}

/// S9: a million lines through the relay to a fast reader.
fn relay() {
    let text: Vec<u8> = (0..1_000_000).flat_map(|n| format!("line {n}\n").into_bytes()).collect();
    let best = (0..3).map(|_| through(&text)).min().unwrap();
    println!("\nS9 auwai-relay: {:.2} million lines a second (target 1)", 1.0 / best.as_secs_f64());
}

fn through(text: &[u8]) -> Duration {
    let mut relay = Command::new(AUWAI);
    let mut child =
        relay.arg("auwai-relay").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let (mut input, mut output) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
    let start = Instant::now();
    let taken = std::thread::scope(|scope| {
        scope.spawn(move || input.write_all(text).unwrap());
        std::io::copy(&mut output, &mut std::io::sink()).unwrap()
    });
    let time = start.elapsed();
    assert!(child.wait().unwrap().success() && taken == text.len() as u64);
    time
}
