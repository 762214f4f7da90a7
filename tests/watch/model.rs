//! A storm of changes, and a consumer that does what the manual says: after `--sync` it has the
//! tree. `AUWAI_WATCH_ROUNDS` says how many rounds, `AUWAI_WATCH_SEED` begins with a certain one.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::{Duration, Instant};

use auwai::record::{Event, EventKind, Record};
use rustix::process::Signal;

use super::watcher::{Watcher, command, raw, words};
use crate::support::dice::{Dice, plays};
use crate::support::storm::Ground;

/// How late the library may be.
const LATER: Duration = Duration::from_secs(20);

/// What a path is; of a directory (a nested repository) no more than that.
#[derive(Debug, Clone, Default, PartialEq)]
struct Seen {
    kind: &'static str,
    inode: (u64, u64),
    size: u64,
    mtime: (i64, i64),
    hash: u64,
}

/// What a consumer believes to be there.
#[derive(Default)]
struct Model(BTreeMap<Vec<u8>, Seen>);

fn look(path: &Path) -> Option<Seen> {
    let meta = fs::symlink_metadata(path).ok()?;
    if meta.is_dir() {
        // Git also lists a tracked file whose place a directory has taken.
        let is_nested = path.join(".git").exists();
        return is_nested.then(|| Seen { kind: "dir", ..Seen::default() });
    }
    let bytes = match meta.is_symlink() {
        true => fs::read_link(path).ok()?.into_os_string().into_encoded_bytes(),
        false => fs::read(path).unwrap_or_default(),
    };
    Some(Seen {
        kind: if meta.is_symlink() { "link" } else { "file" },
        inode: (meta.dev(), meta.ino()),
        size: meta.len(),
        mtime: (meta.mtime(), meta.mtime_nsec()),
        hash: u64::from_le_bytes(blake3::hash(&bytes).as_bytes()[..8].try_into().unwrap()),
    })
}

/// What git would list there and `lstat` finds.
fn listed(ground: &Ground, below: Option<&[u8]>) -> BTreeMap<Vec<u8>, Seen> {
    let mut args = vec!["ls-files", "-coz", "--exclude-standard", "--deduplicate"];
    let spec;
    if let Some(below) = below {
        spec = format!(":(literal){}", std::str::from_utf8(below).unwrap());
        args.extend(["--", &spec]);
    }
    let root = &ground.root;
    let out = ground.sandbox.git_in(root, &args, b"");
    let names: BTreeSet<&[u8]> =
        out.split(|b| *b == 0).map(|name| name.strip_suffix(b"/").unwrap_or(name)).collect();
    let names = names.into_iter().filter(|name| !name.is_empty());
    let names = names.filter(|name| !is_beyond_a_link(root, Path::new(raw(name))));
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

    fn apply(&mut self, ground: &Ground, record: &Record) {
        match record {
            Record::Rescan(rescan) => match rescan.dir().unwrap() {
                None => self.0 = listed(ground, None),
                Some(dir) => self.look_below(ground, dir.as_bytes()),
            },
            Record::Ready(_) => self.0 = listed(ground, None),
            Record::Event(event) => self.event(ground, event),
            _ => {}
        }
    }

    fn look_below(&mut self, ground: &Ground, dir: &[u8]) {
        self.forget(dir);
        self.0.extend(listed(ground, Some(dir)));
    }

    fn event(&mut self, ground: &Ground, event: &Event) {
        let path = event.repo_path().unwrap();
        let path = path.as_bytes();
        let now = look(&ground.root.join(raw(path)));
        let inodes = [self.0.get(path), now.as_ref()].map(|seen| seen.map(|seen| seen.inode));
        match now {
            Some(seen) if seen.kind != "dir" && event.kind != EventKind::Dir => {
                self.forget(path);
                self.0.insert(path.to_vec(), seen);
            }
            _ => self.look_below(ground, path),
        }
        inodes.into_iter().flatten().for_each(|inode| self.look_at_links(ground, inode));
    }

    /// What is told of one name of a file is so of all its names.
    fn look_at_links(&mut self, ground: &Ground, inode: (u64, u64)) {
        let names = self.0.iter().filter(|(_, seen)| seen.inode == inode && seen.kind != "dir");
        for name in names.map(|(name, _)| name.clone()).collect::<Vec<_>>() {
            if let Some(seen) = look(&ground.root.join(raw(&name))) {
                self.0.insert(name, seen);
            }
        }
    }

    /// What the tree has otherwise than the model, in words.
    fn differs(&self, tree: &BTreeMap<Vec<u8>, Seen>) -> String {
        let names: BTreeSet<_> = tree.keys().chain(self.0.keys()).collect();
        let differing = names.into_iter().filter(|name| tree.get(*name) != self.0.get(*name));
        let line = |name: &Vec<u8>| {
            let (tree, model) = (tree.get(name), self.0.get(name));
            format!("{}\n  tree: {tree:?}\n  model: {model:?}\n", String::from_utf8_lossy(name))
        };
        differing.map(line).collect()
    }

    /// Whether the two differ, and only in what stat data cannot tell: two writes of the same length
    /// within the clock's tick.
    fn differs_without_a_trace(&self, tree: &BTreeMap<Vec<u8>, Seen>) -> bool {
        let bare = |map: &BTreeMap<Vec<u8>, Seen>| -> Vec<_> {
            map.iter()
                .map(|(name, seen)| (name.clone(), Seen { hash: 0, ..seen.clone() }))
                .collect()
        };
        *tree != self.0 && bare(tree) == bare(&self.0)
    }
}

/// A watcher and its consumer.
struct Play<'a> {
    ground: &'a Ground,
    watcher: Watcher<'a>,
    args: &'a [&'a str],
    model: Model,
}

impl<'a> Play<'a> {
    fn start(ground: &'a Ground, args: &[&str]) -> Watcher<'a> {
        let mut own = command(&ground.sandbox);
        own.arg(&ground.root).args(args).current_dir(ground.sandbox.home(""));
        Watcher::spawn(&ground.sandbox, own)
    }

    fn round(&mut self, seed: u64, dice: &mut Dice) {
        let (ground, what) = (self.ground, dice.roll(8));
        if what < 2 {
            self.watcher.stop();
        }
        ground.storm(seed, 60, || ground.event(dice, !self.polls()));
        if what == 0 {
            ground.flood();
            ground.storm(seed + 1000, 30, || {});
        }
        self.watcher.signal(Signal::CONT);
        if what == 7 || what == 1 && dice.roll(2) == 0 {
            self.watcher.child.kill().unwrap();
            self.watcher.child.wait().unwrap();
            ground.storm(seed + 2000, 30, || ground.event(dice, !self.polls()));
            self.watcher = Self::start(ground, self.args);
        }
    }

    fn polls(&self) -> bool {
        self.args.contains(&"poll")
    }

    /// The library cannot be asked whether all has come: what has not is told later.
    fn may_come_later(&self) -> bool {
        self.args.contains(&"notify")
    }

    /// Takes in what is told by the barrier, and compares.
    fn check(&mut self, told: &mut String) {
        let until = Instant::now() + LATER;
        let tree = listed(self.ground, None);
        loop {
            for record in self.watcher.sync() {
                self.model.apply(self.ground, &record);
                *told += &words(&record).map_or(String::new(), |words| words + "\n");
            }
            if !self.may_come_later() || tree == self.model.0 || until < Instant::now() {
                break;
            }
        }
        if self.polls() && self.model.differs_without_a_trace(&tree) {
            // Told once more when its times are no longer fresh.
            std::thread::sleep(Duration::from_millis(2100));
            self.watcher.sync().iter().for_each(|record| self.model.apply(self.ground, record));
        }
        let differs = self.model.differs(&tree);
        assert!(differs.is_empty(), "{differs}last told:\n{told}");
    }
}

fn play(seed: u64, rounds: u64, backend: &str) {
    let ground = &Ground::new(seed.is_multiple_of(2));
    let since = ground.sandbox.home("since").into_os_string().into_string().unwrap();
    let args = ["--backend", backend, "--interval", "50ms", "--settle", "5ms", "--since", &since];
    let watcher = Play::start(ground, &args);
    let mut play = Play { ground, watcher, args: &args, model: Model::default() };
    let mut dice = Dice(seed);
    for round in 0..rounds {
        play.round(seed.wrapping_mul(100) + round, &mut dice);
        let mut told = format!("seed {seed}, round {round}\n");
        play.check(&mut told);
    }
}

#[test]
fn a_consumer_has_the_tree_after_the_barrier() {
    plays("inotify", 12, |seed, rounds| play(seed, rounds, "inotify"));
}

#[test]
fn a_consumer_of_polls_has_the_tree_too() {
    plays("poll", 6, |seed, rounds| play(seed, rounds, "poll"));
}

/// Within a while after the barrier. Once in some hundred rounds on a loaded machine a change at the
/// root was never told (seed 201, round 21), so this is no part of the suite.
#[test]
#[ignore = "the library loses a change now and then"]
fn a_consumer_of_the_library_has_the_tree_too() {
    plays("notify", 6, |seed, rounds| play(seed, rounds, "notify"));
}
