//! Commands killed at random moments: the state opens, what it says is true, and the work comes to
//! its end. `AUWAI_CAMPAIGN_ROUNDS` and `AUWAI_CAMPAIGN_SEED` as for the model.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::time::Duration;

use super::ground::{FULL_READ, Ground, REPOS};
use super::state::State;
use super::victim::{Aim, Ended, run};
use crate::support::dice::{Dice, plays_of};
use crate::support::text;

/// A line of a repository.
type Line = (String, String);

struct Series<'a> {
    ground: &'a Ground,
    dice: Dice,
    state: State,
    /// The lines of every chunk that ever was in the index, by qualified id.
    bodies: BTreeMap<String, Vec<Line>>,
    /// What was taken by a reader.
    seen: BTreeSet<Line>,
    /// Findings whose command has ended well: segment and text.
    kept: BTreeSet<(String, String)>,
    /// How long each command takes.
    lengths: BTreeMap<&'static str, Duration>,
    round: u64,
    log: Vec<String>,
}

/// The command of a run: takes all, and keeps it.
const TAKE: &str = "cat >> \"$HOME/taken\"; echo \"seen by a run in $AUWAI_SEGMENT\"";

impl<'a> Series<'a> {
    fn new(ground: &'a Ground, seed: u64) -> Series<'a> {
        let state = State::of(&ground.site, FULL_READ);
        let (bodies, seen, kept, lengths, log) = Default::default();
        let dice = Dice(seed);
        Series { ground, dice, state, bodies, seen, kept, lengths, round: 0, log }
    }

    /// Learns what the chunks of the index say, as far as the files are what was indexed.
    fn learn(&mut self) {
        let stream = self.ground.site.sh("auwai-ledger chunks --workspace . --hashes");
        for record in stream.expect_code(0).text().lines() {
            let record: serde_json::Value = serde_json::from_str(record).unwrap();
            if record["type"] != "chunk" {
                continue;
            }
            let text = |key: &str| record[key].as_str().unwrap();
            let at = |n: usize| record["bytes"][n].as_u64().unwrap() as usize;
            let (repo, id) = (text("repo").to_string(), format!("{}:{}", text("repo"), text("id")));
            let file =
                fs::read(self.ground.site.work(&repo).join(text("path"))).unwrap_or_default();
            let body = file.get(at(0)..at(1)).unwrap_or_default();
            if blake3::hash(body).to_hex().as_str() == text("body_hash") {
                let lines = std::str::from_utf8(body).unwrap().lines();
                let lines = lines.map(|line| (repo.clone(), line.to_string()));
                self.bodies.insert(id, lines.collect());
            }
        }
    }

    fn say(&self) -> String {
        self.log.join("\n")
    }

    /// What the reader of this campaign has active, and whether all of it is read.
    fn active(&self) -> Option<(String, bool)> {
        let own = |s: &&super::state::Segment| s.3.as_deref() == Some("ann");
        let segment = self.state.segments.iter().find(own)?;
        let read = segment.4.iter().all(|chunk| self.state.complete[chunk]);
        Some((segment.0.clone(), read))
    }

    /// A command that makes sense now, at times one that does not.
    fn command(&mut self) -> (&'static str, Vec<String>) {
        let words = |args: &[&str]| args.iter().map(|word| word.to_string()).collect();
        let active = self.active();
        let closing = |segment: &str| {
            let text = format!("finding {} in {segment}", self.state.findings.len());
            ("done", words(&["done", "--segment", segment, "-m", &text]))
        };
        match (self.dice.roll(12), active) {
            (0, _) => ("index", words(&["index", "-W", "both"])),
            (1, _) => ("plan", words(&["plan"])),
            (2 | 3, _) => ("replan", words(&["replan"])),
            (4, _) => ("run", words(&["run", "--", "sh", "-c", TAKE])),
            (5, Some((segment, _))) => ("release", words(&["release", "--segment", &segment])),
            (_, Some((segment, true))) => closing(&segment),
            (_, Some(_)) => ("read", words(&["read"])),
            (_, None) => ("next", words(&["next"])),
        }
    }

    fn round(&mut self) {
        self.round += 1;
        let is_idle = self.state.left() == 0;
        if is_idle || self.dice.roll(4) == 0 {
            let change = self.ground.change(self.round, &mut self.dice);
            self.log.push(change);
        }
        let (verb, args) = if is_idle { ("replan", vec!["replan".into()]) } else { self.command() };
        let aim = Aim::random(&mut self.dice);
        let length = self.lengths.get(verb).copied().unwrap_or(Duration::from_millis(150));
        let delay = length.mul_f64(self.dice.roll(1100) as f64 / 1000.0);
        let ended = self.start(verb, &args, aim, delay);
        let code = ended.status.code();
        self.log.push(format!(
            "{}: {args:?}, {aim:?} after {delay:?}: {} {}",
            self.round,
            ended.status,
            ended.err.trim_end().replace('\n', "; ")
        ));
        assert!(matches!(code, None | Some(0 | 1 | 3)), "{}", self.say());
        assert!(code != Some(3) || !ended.err.is_empty(), "{}", self.say());
        if aim == Aim::Nobody {
            self.lengths.insert(verb, ended.took);
        }
        if verb == "done" {
            self.close_again(&args, code == Some(0));
        }
        self.check();
    }

    fn start(&mut self, verb: &str, args: &[String], aim: Aim, delay: Duration) -> Ended {
        let site = &self.ground.site;
        let words: Vec<&str> = args.iter().map(String::as_str).collect();
        let mut command = match verb {
            "release" => {
                let mut ledger = site.command(env!("CARGO_BIN_EXE_auwai-ledger"));
                ledger.args(&words).args(["--workspace", "."]);
                ledger
            }
            _ => site.auwai(&words),
        };
        if verb != "run" && verb != "release" {
            command.env("AUWAI_READER", "ann");
        }
        let ended = run(command, aim, delay, &mut self.dice);
        self.took(&ended.out);
        let taken = fs::read(site.path("home/taken")).unwrap_or_default();
        self.took(&taken);
        let _ = fs::remove_file(site.path("home/taken"));
        ended
    }

    /// Lines that a reader has taken whole.
    fn took(&mut self, bytes: &[u8]) {
        let whole = bytes.iter().rposition(|b| *b == b'\n').map_or(0, |at| at + 1);
        for (place, lines) in text::files(&String::from_utf8_lossy(&bytes[..whole])) {
            let Some((repo, _)) = place.split_once(':') else { continue };
            let lines = lines.iter().map(|(_, line)| line.trim_end_matches('\n').to_string());
            self.seen.extend(lines.map(|line| (repo.to_string(), line)));
        }
    }

    /// Whatever became of the first try: the same again ends well, and is one finding.
    fn close_again(&mut self, args: &[String], ended_well: bool) {
        let words: Vec<&str> = args.iter().map(String::as_str).collect();
        if !ended_well {
            let told = self.ground.site.run(&[&words[..], &["--reader", "ann"]].concat());
            assert_eq!(told.code(), 0, "{}\n{}", told.err, self.say());
        }
        self.kept.insert((args[2].clone(), args[4].clone()));
    }

    fn check(&mut self) {
        let state = State::of(&self.ground.site, FULL_READ);
        assert!(state.reads >= self.state.reads && state.generation == 1, "{}", self.say());
        assert!(state.findings.starts_with(&self.state.findings), "{}", self.say());
        self.learn();
        for chunk in state.complete.iter().filter(|(_, read)| **read).map(|(chunk, _)| chunk) {
            let lines = self.bodies.get(chunk).unwrap_or_else(|| panic!("{chunk}: {}", self.say()));
            let never = lines.iter().find(|line| !self.seen.contains(line));
            assert_eq!(never, None, "{chunk} counts as read\n{}", self.say());
        }
        let found = |(segment, text): &(String, String)| {
            state.findings.iter().filter(|row| row.0 == *segment && row.2 == *text).count()
        };
        assert!(self.kept.iter().all(|kept| found(kept) == 1), "{}", self.say());
        let mut segments = BTreeSet::new();
        let twice = state
            .findings
            .iter()
            .find(|row| row.0.starts_with("read-") && !segments.insert(row.0.clone()));
        assert_eq!(twice, None, "{}", self.say());
        self.state = state;
    }

    /// Goes on to the end.
    fn finish(&mut self) {
        let site = &self.ground.site;
        for segment in self.state.segments.iter().filter(|segment| segment.2 == "active") {
            let script = format!("auwai-ledger release --workspace . --segment {}", segment.0);
            site.sh(&script).expect_code(0);
        }
        site.ok(&["replan"]);
        while let Some(id) = handed(self.ground) {
            if id.starts_with("read-") {
                let page = site.ok(&["read", "--segment", &id]);
                self.took(page.as_bytes());
            }
            let count = self.ground.site.run(&["done", "-m", &format!("at the end in {id}")]);
            assert_eq!(count.code(), 0, "{}\n{}", count.err, self.say());
        }
        let told = self.ground.site.run(&["verify"]);
        assert_eq!(told.code(), 0, "{}\n{}", told.text(), self.say());
        self.check();
        assert_eq!((self.state.left(), self.state.waiting), (0, 0));
        assert!(self.state.exported, "{}", self.say());
        // Nothing is left behind by those that were killed.
        for folder in
            [FULL_READ.to_string()].into_iter().chain(REPOS.map(|r| format!("{r}/.auwai")))
        {
            let names = fs::read_dir(self.ground.site.work(folder)).unwrap();
            let names: Vec<_> = names.map(|entry| entry.unwrap().file_name()).collect();
            let left = names.iter().find(|name| name.to_string_lossy().contains(".new"));
            assert_eq!(left, None, "{names:?}");
        }
    }
}

/// The next segment, if there is one.
fn handed(ground: &Ground) -> Option<String> {
    let told = ground.site.run(&["next", "--json"]);
    let record: serde_json::Value = serde_json::from_slice(&told.out).unwrap();
    (told.code() == 0).then(|| record["id"].as_str().unwrap().to_string())
}

fn play(seed: u64, rounds: u64) {
    let ground = Ground::new(3, 150);
    let mut series = Series::new(&ground, seed);
    (0..rounds).for_each(|_| series.round());
    series.finish();
}

#[test]
fn whatever_is_killed_the_state_is_true_and_the_work_ends() {
    plays_of("AUWAI_CAMPAIGN", "crash", (16, 100), play);
}
