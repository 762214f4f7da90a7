//! Random operations from several threads, and a consumer that does what the manual says: after
//! `--sync` it has the tree. `AUWAI_WATCH_ROUNDS` says how many rounds, `AUWAI_WATCH_SEED` begins
//! with a certain one.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::Write;
use std::os::unix::fs::{FileExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use auwai::record::{Event, EventKind, Record};
use rustix::fs::{CWD, RenameFlags, renameat_with};
use rustix::process::Signal;

use super::watcher::{Watcher, flood, raw, sh};
use crate::support::git::Sandbox;

/// What a path is: for a directory (a nested repository) no more than that.
type Seen = (&'static str, u64, Option<std::time::SystemTime>, u64);

/// What a consumer believes to be there.
#[derive(Default)]
struct Model(BTreeMap<Vec<u8>, Seen>);

fn look(path: &Path) -> Option<Seen> {
    let meta = fs::symlink_metadata(path).ok()?;
    let kind = meta.file_type();
    if kind.is_dir() {
        // Git also lists a tracked file whose place a directory has taken.
        return path.join(".git").exists().then_some(("dir", 0, None, 0));
    }
    let name = if kind.is_symlink() { "link" } else { "file" };
    let bytes = match kind.is_symlink() {
        true => fs::read_link(path).ok()?.into_os_string().into_encoded_bytes(),
        false => fs::read(path).unwrap_or_default(),
    };
    let hash = u64::from_le_bytes(blake3::hash(&bytes).as_bytes()[..8].try_into().unwrap());
    Some((name, meta.len(), meta.modified().ok(), hash))
}

/// What git would list there and `lstat` finds.
fn listed(sandbox: &Sandbox, below: Option<&[u8]>) -> BTreeMap<Vec<u8>, Seen> {
    let mut args = vec!["ls-files", "-coz", "--exclude-standard", "--deduplicate"];
    let spec;
    if let Some(below) = below {
        spec = format!(":(literal){}", std::str::from_utf8(below).unwrap());
        args.extend(["--", &spec]);
    }
    let out = sandbox.git(&args);
    let names: BTreeSet<&[u8]> =
        out.split(|b| *b == 0).map(|name| name.strip_suffix(b"/").unwrap_or(name)).collect();
    let root = sandbox.root();
    let names = names.into_iter().filter(|name| !name.is_empty());
    let names = names.filter(|name| !is_beyond_a_link(&root, Path::new(raw(name))));
    names.filter_map(|name| Some((name.to_vec(), look(&root.join(raw(name)))?))).collect()
}

/// Git lists what is tracked also where a link has taken the place of a directory.
fn is_beyond_a_link(root: &Path, path: &Path) -> bool {
    path.ancestors().skip(1).any(|dir| !dir.as_os_str().is_empty() && root.join(dir).is_symlink())
}

impl Model {
    fn forget(&mut self, path: &[u8]) {
        let below = [path, b"/"].concat();
        self.0.retain(|known, _| known != path && !known.starts_with(&below));
    }

    fn apply(&mut self, sandbox: &Sandbox, record: &Record) {
        match record {
            Record::Rescan(rescan) => match rescan.dir().unwrap() {
                None => self.0 = listed(sandbox, None),
                Some(dir) => {
                    self.forget(dir.as_bytes());
                    self.0.extend(listed(sandbox, Some(dir.as_bytes())));
                }
            },
            Record::Ready(_) => self.0 = listed(sandbox, None),
            Record::Event(event) => self.event(sandbox, event),
            _ => {}
        }
    }

    fn event(&mut self, sandbox: &Sandbox, event: &Event) {
        let path = event.repo_path().unwrap();
        self.forget(path.as_bytes());
        match look(&sandbox.root().join(raw(path.as_bytes()))) {
            Some(seen) if seen.0 != "dir" && event.kind != EventKind::Dir => {
                self.0.insert(path.as_bytes().to_vec(), seen);
            }
            _ => self.0.extend(listed(sandbox, Some(path.as_bytes()))),
        }
    }
}

/// Numbers from a seed.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % sides
    }

    fn name(&mut self) -> String {
        ["a", "b", "c", "d.log", "e", "f.tmp"][self.roll(6) as usize].to_string()
    }

    fn path(&mut self, root: &Path) -> PathBuf {
        let depth = 1 + self.roll(4);
        (0..depth).fold(root.to_owned(), |path, _| path.join(self.name()))
    }
}

/// One random change. It may fail: another thread has been there.
fn change(dice: &mut Dice, root: &Path, outside: &Path, kept: &mut Vec<fs::File>) {
    let (one, two) = (dice.path(root), dice.path(root));
    let text = "x".repeat(dice.roll(5000) as usize);
    let _ = match dice.roll(20) {
        0..=3 => {
            one.parent().map_or(Ok(()), fs::create_dir_all).and_then(|()| fs::write(&one, &text))
        }
        4 => fs::OpenOptions::new().append(true).open(&one).and_then(|mut file| {
            file.write_all(text.as_bytes())?;
            // Left open: the system will tell of no close.
            kept.push(file);
            Ok(())
        }),
        5 => fs::OpenOptions::new()
            .write(true)
            .open(&one)
            .and_then(|file| file.set_len(dice.roll(50))),
        6 => fs::set_permissions(&one, fs::Permissions::from_mode(0o755)),
        7 => fs::File::open(&one).and_then(|file| {
            file.set_modified(
                std::time::UNIX_EPOCH + std::time::Duration::from_secs(dice.roll(1000)),
            )
        }),
        8 | 9 => fs::rename(&one, &two),
        10 => fs::rename(&one, outside.join(dice.name())),
        11 => fs::rename(outside.join(dice.name()), &one),
        12 => renameat_with(CWD, &one, CWD, &two, RenameFlags::EXCHANGE).map_err(Into::into),
        13 => fs::hard_link(&one, &two),
        14 => symlink(&two, &one),
        15 => fs::create_dir_all(one.join("deep/er/still"))
            .and_then(|()| fs::write(one.join("deep/er/still/f"), &text)),
        16 => fs::remove_dir_all(&one),
        17 => fs::remove_dir_all(&one)
            .or_else(|_| fs::remove_file(&one))
            .and_then(|()| fs::write(&one, &text)),
        18 => fs::remove_file(&one),
        _ => fs::write(
            one.with_file_name(".gitignore"),
            ["*.log\n", "*.tmp\nb/\n", "!d.log\n"][dice.roll(3) as usize],
        ),
    };
    if kept.len() > 8 {
        let file = kept.remove(0);
        let _ = file.write_at(b"y", 0);
    }
}

fn storm(sandbox: &Sandbox, seed: u64, changes: u64) {
    let (root, outside) = (sandbox.root(), sandbox.home("outside"));
    std::thread::scope(|scope| {
        for thread in 0..3 {
            let (root, outside) = (&root, &outside);
            scope.spawn(move || {
                let mut dice = Dice(seed.wrapping_mul(31).wrapping_add(thread));
                let mut kept = Vec::new();
                (0..changes).for_each(|_| change(&mut dice, root, outside, &mut kept));
            });
        }
    });
}

/// What a round does beside the storm.
fn event_of_the_round(sandbox: &Sandbox, dice: &mut Dice) {
    let git = match dice.roll(8) {
        0 => "git add -A . && git commit -qm x --allow-empty",
        1 => "git checkout -q -f -B side HEAD~1 || true",
        2 => "git checkout -q -f main || true",
        3 => "rm -rf a/n && mkdir -p a && git init -q a/n && echo x > a/n/f || true",
        4 => "rm -rf a/n/.git",
        5 => "git add -f . && git rm -rq --cached a || true",
        6 => "git stash -q -u || true",
        _ => "true",
    };
    sh(sandbox, &format!("({git}) 2>/dev/null || true; rm -f .git/index.lock"));
}

fn check(sandbox: &Sandbox, model: &Model, seed: u64, round: u64, told: &[String]) {
    let tree = listed(sandbox, None);
    let show = |map: &BTreeMap<Vec<u8>, Seen>, other: &BTreeMap<Vec<u8>, Seen>| {
        let differ = map.iter().filter(|(path, seen)| other.get(*path) != Some(seen));
        let lines = differ.map(|(p, s)| format!("{} {s:?}", String::from_utf8_lossy(p)));
        lines.collect::<Vec<_>>().join("\n")
    };
    assert!(
        tree == model.0,
        "AUWAI_WATCH_SEED={seed}, round {round}\nthe tree has:\n{}\nthe model has:\n{}\nlast told:\n{}",
        show(&tree, &model.0),
        show(&model.0, &tree),
        told.join("\n"),
    );
}

fn play(seed: u64, rounds: u64, backend: &str) {
    let sandbox = Sandbox::repository();
    fs::create_dir(sandbox.home("outside")).unwrap();
    sh(
        &sandbox,
        "echo 1 > one; echo 2 > two; git add .; git commit -qm 1; git commit -qm 2 --allow-empty",
    );
    let since = sandbox.home("since").into_os_string().into_string().unwrap();
    let args = ["--backend", backend, "--interval", "50ms", "--settle", "5ms", "--since", &since];
    let (mut model, mut dice) = (Model::default(), Dice(seed));
    let mut watcher = Watcher::start(&sandbox, &args);
    for round in 0..rounds {
        let stopped = dice.roll(4) == 0;
        if stopped {
            watcher.stop();
        }
        storm(&sandbox, seed.wrapping_add(round), 60);
        event_of_the_round(&sandbox, &mut dice);
        if stopped {
            if dice.roll(2) == 0 && sandbox.root().join("one").exists() {
                sh(&sandbox, "touch one two");
                flood(&sandbox.root().join("one"), &sandbox.root().join("two"));
                storm(&sandbox, seed.wrapping_add(1000 + round), 30);
            }
            watcher.signal(Signal::CONT);
        }
        if dice.roll(5) == 0 {
            watcher.kill();
            storm(&sandbox, seed.wrapping_add(2000 + round), 30);
            watcher = Watcher::start(&sandbox, &args);
        }
        let told = watcher.sync();
        told.iter().for_each(|record| model.apply(&sandbox, record));
        let words: Vec<String> = told.iter().filter_map(super::watcher::words).collect();
        check(&sandbox, &model, seed, round, &words);
    }
}

fn number(name: &str, default: u64) -> u64 {
    std::env::var(name).map_or(default, |text| text.parse().unwrap())
}

#[test]
fn a_consumer_has_the_tree_after_the_barrier() {
    let seed = number("AUWAI_WATCH_SEED", 1);
    play(seed, number("AUWAI_WATCH_ROUNDS", 12), "inotify");
}

#[test]
fn a_consumer_of_polls_has_the_tree_too() {
    let seed = number("AUWAI_WATCH_SEED", 1);
    play(seed, number("AUWAI_WATCH_ROUNDS", 6), "poll");
}
