//! Many directories: what a watch costs, and whether standing and letting go stay linear.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use crate::process::{self, Process};
use crate::rivals::{self, Rival};
use crate::watcher::Watcher;

const NUMBERS: [usize; 3] = [10_000, 50_000, 100_000];

/// How they lie: so many in each folder of the first level; 0: all in one.
const SHAPES: [(&str, usize); 2] = [("99 in each folder", 99), ("all in one folder", 0)];

pub fn run(folder: &Path) {
    let dir = folder.join("watched");
    let limit = process::limit("max_user_watches");
    crate::head(&[
        "directories",
        "watcher",
        "stands after",
        "memory, a watch",
        "the kernel's",
        "rm -rf",
        "last line after",
        "CPU for it",
    ]);
    for (shape, most) in SHAPES {
        for number in NUMBERS {
            if number > limit {
                println!("| {number} | all | more than fs.inotify.max_user_watches ({limit}) |");
                continue;
            }
            for rival in [rivals::AUWAI, rivals::AUWAI_SETTLING, rivals::INOTIFYWAIT] {
                make(&dir, number, most);
                row(&format!("{number}, {shape}"), number, &rival, &dir);
            }
        }
    }
}

fn make(dir: &Path, number: usize, most: usize) {
    fs::create_dir_all(dir).unwrap();
    for n in 0..number {
        let path = match most {
            0 => dir.join(format!("d{n}")),
            _ => match (n / (most + 1), n % (most + 1)) {
                (folder, 0) => dir.join(format!("f{folder}")),
                (folder, sub) => dir.join(format!("f{folder}/d{sub}")),
            },
        };
        fs::create_dir(path).unwrap();
    }
}

fn row(what: &str, number: usize, rival: &Rival, dir: &Path) {
    let kernel = process::kernel();
    let watcher = Watcher::start(rival, dir);
    let process = watcher.process();
    let kernel = process::kernel().saturating_sub(kernel);
    let each = |kib: u64| format!("{} bytes", kib * 1024 / number as u64);
    let (resident, kernel) = (process.resident(), each(kernel));
    let memory = format!("{} MiB: {}", resident / 1024, each(resident));
    let (took, last, cpu) = remove(&watcher, process, dir);
    let [stands, took, last, cpu] =
        [watcher.stands, took, last, cpu].map(|time| format!("{:.2} s", time.as_secs_f64()));
    let name = rival.name;
    println!("| {what} | {name} | {stands} | {memory} | {kernel} | {took} | {last} | {cpu} |");
}

/// How long it takes to remove all of them, how long after that the last is told, and the time on
/// a processor that the watcher needs for it.
fn remove(watcher: &Watcher, process: Process, dir: &Path) -> (Duration, Duration, Duration) {
    let (before, start) = (process.activity(), Instant::now());
    let mut rm = std::process::Command::new("sh");
    let status = rm.args(["-c", "cd \"$1\" && rm -rf -- *", "sh"]).arg(dir).status().unwrap();
    assert!(status.success());
    let done = Instant::now();
    watcher.settle();
    let worked = process.activity() - before;
    (done - start, watcher.last_after(done), worked.cpu)
}
