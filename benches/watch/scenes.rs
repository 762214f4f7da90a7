//! S5: what a watcher misses of a scene. A file counts as missing when the watcher has neither told
//! it nor told that something was lost (a `rescan`, an overflow, a fresh listing).

use std::collections::HashSet;
use std::fs;
use std::path::Path;
use std::time::Instant;

use rustix::process::Signal;

use crate::rivals::{self, Rival};
use crate::watcher::Watcher;

/// What is done below a folder; every file made has a name of its own, `n` and seven digits.
struct Scene {
    name: &'static str,
    files: usize,
    /// Whether the watcher is stopped meanwhile, so that the system's queue overflows.
    stopped: bool,
    act: fn(&Path, &Path),
}

const FLOOD: Scene =
    Scene { name: "20,000 files in 100 directories", files: 20_000, stopped: false, act: flood };
const DEEP: Scene =
    Scene { name: "1,000 times mkdir -p a/b/c and a file", files: 1_000, act: deep, ..FLOOD };
const STOPPED: Scene =
    Scene { name: "20,000 files, watcher stopped meanwhile", stopped: true, ..FLOOD };
const MOVED: Scene = Scene { name: "200 trees moved in", files: 4_000, act: moved, ..FLOOD };

pub fn run(scenes: &Path) {
    rivals::tell();
    crate::head(&["scene", "watcher", "missing", "told of loss", "alive", "last line after"]);
    for scene in [FLOOD, DEEP, STOPPED, MOVED] {
        for rival in rivals::ALL.iter().filter(|rival| rivals::is_here(rival)) {
            play(&scene, rival, scenes);
        }
    }
}

fn name(n: usize) -> String {
    format!("n{n:07}")
}

fn flood(dir: &Path, _: &Path) {
    for n in 0..20_000 {
        fs::write(dir.join(format!("d{}", n % 100)).join(name(n)), "x").unwrap();
    }
}

fn deep(dir: &Path, _: &Path) {
    for n in 0..1_000 {
        let folder = dir.join(format!("a{n}/b/c"));
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join(name(n)), "x").unwrap();
    }
}

fn moved(dir: &Path, beside: &Path) {
    for tree in (0..200).map(|tree| format!("t{tree}")) {
        fs::rename(beside.join(&tree), dir.join(&tree)).unwrap();
    }
}

/// The folder to watch, with 100 directories, and trees of 5 directories and 20 files beside it.
fn set(dir: &Path, beside: &Path) {
    for folder in [dir, beside] {
        let _ = fs::remove_dir_all(folder);
        fs::create_dir(folder).unwrap();
    }
    (0..100).for_each(|n| fs::create_dir(dir.join(format!("d{n}"))).unwrap());
    for n in 0..4_000 {
        let folder = beside.join(format!("t{}/s{}", n / 20, n % 4));
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join(name(n)), "x").unwrap();
    }
}

fn play(scene: &Scene, rival: &Rival, scenes: &Path) {
    let (dir, beside) = (scenes.join("watched"), scenes.join("beside"));
    set(&dir, &beside);
    let mut watcher = Watcher::start(rival, &dir);
    if scene.stopped {
        watcher.signal(Signal::STOP);
    }
    (scene.act)(&dir, &beside);
    let done = Instant::now();
    watcher.signal(Signal::CONT);
    watcher.settle();
    let yes = |is| if is { "yes" } else { "no" };
    let (missing, lost) = missing(scene, rival, &watcher);
    let (scene, alive, last) = (scene.name, yes(watcher.is_alive()), watcher.last_after(done));
    let last = last.as_secs_f64();
    println!("| {scene} | {} | {missing} | {} | {alive} | {last:.2} s |", rival.name, yes(lost));
}

/// How many files were not told, and whether the watcher knows that it lost some.
fn missing(scene: &Scene, rival: &Rival, watcher: &Watcher) -> (String, bool) {
    let said = watcher.said.lock().unwrap();
    let told = names(&said.text);
    let lost = rival.lost.iter().any(|word| said.has(watcher.from, word));
    let missing = (0..scene.files).filter(|n| !told.contains(&name(*n))).count();
    let shown = match (missing, lost) {
        (0, _) | (_, false) => missing.to_string(),
        (_, true) => format!("0 ({missing} by the rescan)"),
    };
    (shown, lost)
}

/// Every name of a scene's file that a text has.
fn names(text: &[u8]) -> HashSet<String> {
    let is_name =
        |at: usize| text.get(at..at + 8).filter(|word| word[1..].iter().all(u8::is_ascii_digit));
    let found = memchr::memchr_iter(b'n', text).filter_map(is_name);
    found.map(|word| String::from_utf8(word.to_vec()).unwrap()).collect()
}
