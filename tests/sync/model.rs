//! A storm of changes, and `auwai watch` as it is used: its processes are stopped, killed and
//! started again, and after `--sync` the index is that of a fresh scan, and what is in is what git
//! says; where it polls, soon after. `AUWAI_WATCH_ROUNDS` and `AUWAI_WATCH_SEED` are those of the
//! consumer's model.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use auwai::record::Fate;
use auwai::store::ledger::Ledger;
use rustix::process::{Pid, Signal, kill_process, test_kill_process};

use super::ledger::{Row, fresh, said};
use crate::support::dice::{Dice, plays};
use crate::support::site::wait_until;
use crate::support::storm::Ground;
use crate::support::tree::by_git;
use crate::watch::watcher::halt;

/// The processes that keep the index of a ground.
struct Kept<'a> {
    ground: &'a Ground,
    /// Where the state is, when it is not in the tree.
    state: Option<PathBuf>,
    backend: &'static str,
    children: Vec<Child>,
    watcher: Pid,
    sync: Pid,
}

fn command(ground: &Ground, state: Option<&PathBuf>, program: &str) -> Command {
    let mut command = Command::new(program);
    command.env_clear().envs(ground.sandbox.vars()).current_dir(ground.sandbox.home(""));
    command.env("XDG_RUNTIME_DIR", ground.sandbox.home(""));
    command.env("XDG_STATE_HOME", ground.sandbox.home("state"));
    command.stdin(Stdio::null());
    state.map(|dir| command.env("AUWAI_STATE_DIR", dir));
    command
}

const AUWAI: &str = env!("CARGO_BIN_EXE_auwai");

impl<'a> Kept<'a> {
    /// Starts them: as porcelain, or as plumbing joined by a pipe.
    fn start(ground: &'a Ground, seed: u64, dice: &mut Dice) -> Kept<'a> {
        let state = (seed / 2).is_multiple_of(2).then(|| ground.sandbox.home("kept"));
        let own = Pid::from_raw(1).unwrap();
        let backend = if dice.roll(4) == 0 { "poll" } else { "inotify" };
        let children = Vec::new();
        let mut kept = Kept { ground, state, backend, children, watcher: own, sync: own };
        match dice.roll(3) {
            0 => kept.plumbing(),
            _ => kept.porcelain(),
        }
        wait_until("a kept index", || kept.asked().status.success());
        kept
    }

    fn program(&self, program: &str) -> Command {
        let mut command = command(self.ground, self.state.as_ref(), program);
        let log = self.ground.sandbox.home("log");
        let log = File::options().append(true).create(true).open(log).unwrap();
        command.stdout(log.try_clone().unwrap()).stderr(log);
        command
    }

    fn porcelain(&mut self) {
        let mut watch = self.program(AUWAI);
        watch.args(["watch", "--settle", "5ms", "--interval", "50ms", "--backend", self.backend]);
        let watch = watch.arg("--repo").arg(&self.ground.root).spawn().unwrap();
        let id = watch.id();
        self.children.push(watch);
        let mut stages = Vec::new();
        wait_until("the stages", || {
            let children = fs::read_to_string(format!("/proc/{id}/task/{id}/children")).unwrap();
            stages = children.split_whitespace().map(|pid| pid.parse().unwrap()).collect();
            stages.len() == 2
        });
        self.watcher = Pid::from_raw(stages[0]).unwrap();
        self.sync = Pid::from_raw(stages[1]).unwrap();
    }

    fn plumbing(&mut self) {
        let mut events = self.program(env!("CARGO_BIN_EXE_auwai-wait-events"));
        let mut events = events
            .args(["--settle", "5ms", "--interval", "50ms", "--backend", self.backend])
            .arg(&self.ground.root)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut sync = self.program(env!("CARGO_BIN_EXE_auwai-ledger"));
        sync.args(["sync", "--repo"]).arg(&self.ground.root);
        let sync = sync.stdin(events.stdout.take().unwrap()).spawn().unwrap();
        (self.watcher, self.sync) = (Pid::from_child(&events), Pid::from_child(&sync));
        self.children.extend([events, sync]);
    }

    /// What `auwai watch --sync` says.
    fn asked(&self) -> Output {
        let mut sync = command(self.ground, self.state.as_ref(), AUWAI);
        sync.args(["watch", "--sync", "--repo"]).arg(&self.ground.root).output().unwrap()
    }

    fn signal(&self, pid: Pid, signal: Signal) {
        kill_process(pid, signal).unwrap_or_else(|e| panic!("{e}: {}", self.log()));
    }

    /// Kills one of the processes, and waits until none is left.
    fn kill(&mut self, dice: &mut Dice) {
        let porcelain = Pid::from_child(&self.children[0]);
        let victim = [self.watcher, self.sync, porcelain][dice.roll(3) as usize];
        self.signal(victim, if dice.roll(4) == 0 { Signal::TERM } else { Signal::KILL });
        let gone = |child: &mut Child| child.try_wait().unwrap().is_some();
        wait_until("the end", || self.children.iter_mut().all(gone));
        let left = |pid: &Pid| test_kill_process(*pid).is_ok();
        wait_until("orphans", || !left(&self.watcher) && !left(&self.sync));
    }

    fn log(&self) -> String {
        fs::read_to_string(self.ground.sandbox.home("log")).unwrap()
    }

    fn ledger(&self) -> PathBuf {
        let Some(state) = &self.state else { return self.ground.root.join(".auwai/ledger.sqlite") };
        let mut dirs = fs::read_dir(state).unwrap();
        dirs.next().unwrap().unwrap().path().join("ledger.sqlite")
    }

    fn check(&self) {
        let asked = self.asked();
        let said_ = String::from_utf8_lossy(&asked.stderr);
        assert!(asked.status.success(), "{said_}\n{}", self.log());
        // What comes and goes between two looks is looked at once more, as soon as scans allow.
        let patience = Duration::from_secs(if self.backend == "poll" { 30 } else { 0 });
        let begun = Instant::now();
        let mut wrong = self.differs();
        while wrong.is_some() && begun.elapsed() < patience {
            std::thread::sleep(Duration::from_millis(100));
            wrong = self.differs();
        }
        assert!(wrong.is_none(), "{}: {}\n{}", self.backend, wrong.unwrap(), self.log());
    }

    /// What is otherwise than a fresh scan or git says.
    fn differs(&self) -> Option<String> {
        let (sandbox, root) = (&self.ground.sandbox, &self.ground.root);
        let ledger = Ledger::open_or_create(&self.ledger()).unwrap();
        let (ours, theirs) = (said(&ledger), fresh(sandbox, root, &sandbox.home("fresh")));
        let names: BTreeSet<_> = ours.0.keys().chain(theirs.0.keys()).collect();
        let differing = names.into_iter().filter(|name| {
            let rows = [ours.0.get(*name), theirs.0.get(*name)];
            rows[0] != rows[1] && !is_no_news(rows)
        });
        let line = |name: &Vec<u8>| {
            let (ours, theirs) = (ours.0.get(name), theirs.0.get(name));
            format!("{}\n  kept: {ours:?}\n  fresh: {theirs:?}\n", String::from_utf8_lossy(name))
        };
        let mut wrong: String = differing.map(line).collect();
        if ours.1 != theirs.1 {
            wrong += &format!("kept: {:?}, fresh: {:?}\n", ours.1, theirs.1);
        }
        let is_in = |fate| !matches!(fate, Fate::Ignored | Fate::Special | Fate::Absent);
        let names = ours.0.iter().filter(|(_, row)| is_in(row.0)).map(|(name, _)| name.clone());
        let (names, git) = (names.collect::<BTreeSet<_>>(), by_git(sandbox, root));
        if names != git {
            let odd: Vec<_> = names.symmetric_difference(&git).collect();
            wrong += &format!("other than git: {odd:?}\n");
        }
        (!wrong.is_empty()).then_some(wrong)
    }
}

/// What is ignored comes and goes without an event, so its row may be missing, or too many.
fn is_no_news(rows: [Option<&Row>; 2]) -> bool {
    let mut there = rows.into_iter().flatten();
    let first = there.next().is_some_and(|row| row.0 == Fate::Ignored);
    first && there.next().is_none()
}

impl Drop for Kept<'_> {
    fn drop(&mut self) {
        for child in &mut self.children {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

fn storm(ground: &Ground, seed: u64, dice: &mut Dice, beside: impl FnOnce(&mut Dice)) {
    ground.storm(seed, 50, || {
        ground.event(dice, true);
        std::thread::sleep(Duration::from_millis(dice.roll(20)));
        beside(dice);
    });
}

fn play(seed: u64, rounds: u64) {
    let ground = &Ground::new(seed.is_multiple_of(2));
    let mut dice = Dice(seed);
    let mut kept = Kept::start(ground, seed, &mut dice);
    for round in 0..rounds {
        let begin = format!("seed {seed}, round {round}\n");
        fs::write(ground.sandbox.home("log"), begin).unwrap();
        let (seed_of_round, what) = (seed.wrapping_mul(100) + round, dice.roll(8));
        match what {
            0 | 1 => {
                halt(kept.watcher);
                storm(ground, seed_of_round, &mut dice, |_| {});
                if what == 0 {
                    ground.flood();
                    ground.storm(seed_of_round + 1000, 30, || {});
                }
                kept.signal(kept.watcher, Signal::CONT);
            }
            2 => {
                halt(kept.sync);
                storm(ground, seed_of_round, &mut dice, |_| {});
                kept.signal(kept.sync, Signal::CONT);
            }
            3 => {
                storm(ground, seed_of_round, &mut dice, |dice| kept.kill(dice));
                drop(kept);
                storm(ground, seed_of_round + 1000, &mut dice, |_| {});
                kept = Kept::start(ground, seed, &mut dice);
            }
            _ => storm(ground, seed_of_round, &mut dice, |_| {}),
        }
        kept.check();
    }
}

#[test]
fn the_index_is_that_of_a_fresh_scan_after_a_storm_of_everything() {
    plays("index", 10, play);
}
