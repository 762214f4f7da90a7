//! Random changes and commands, held against a model in memory of what was delivered.
//! `AUWAI_CAMPAIGN_ROUNDS` says how many turns, `AUWAI_CAMPAIGN_SEED` begins with a certain seed.

use std::collections::{BTreeMap, BTreeSet};

use super::credit::Credit;
use super::ground::{FULL_READ, Ground, REPOS, SMALL};
use super::state::State;
use crate::support::dice::{Dice, plays_of};
use crate::support::site::Told;
use crate::support::text;

/// A chunk of the index.
pub(super) struct Chunk {
    /// `repo:path`.
    pub(super) place: String,
    /// The lines, with the first one's number.
    pub(super) first: u64,
    pub(super) lines: Vec<String>,
}

/// The model beside the real thing.
pub(super) struct Play<'a> {
    pub(super) ground: &'a Ground,
    pub(super) dice: Dice,
    pub(super) credit: Credit,
    /// What the index has, by qualified id.
    pub(super) index: BTreeMap<String, Chunk>,
    /// Every line that was delivered in this generation, with its repository.
    pub(super) seen: BTreeSet<(String, String)>,
    pub(super) state: State,
    /// What happened, for whoever has to understand a failure.
    pub(super) log: Vec<String>,
}

/// `"key": [from, to]` of a record.
fn pair(record: &serde_json::Value, key: &str) -> (usize, usize) {
    let at = |n: usize| record[key][n].as_u64().unwrap() as usize;
    (at(0), at(1))
}

impl<'a> Play<'a> {
    fn new(ground: &'a Ground, seed: u64) -> Play<'a> {
        let state = State::of(&ground.site, FULL_READ);
        let (index, seen, log) = Default::default();
        let credit = Credit::default();
        let mut play = Play { ground, dice: Dice(seed), credit, index, seen, state, log };
        play.credit.anew(&play.state.complete);
        play.look_at_the_index();
        play
    }

    /// Takes note of the index, which was brought up to date just now: its chunks are the bytes of
    /// all files that git lists.
    fn look_at_the_index(&mut self) {
        let stream = self.ground.site.sh("auwai-ledger chunks --workspace . --hashes");
        let stream = stream.expect_code(0);
        let files = REPOS.map(|repo| (repo, self.ground.files(repo)));
        let mut ends: BTreeMap<String, usize> = BTreeMap::new();
        self.index.clear();
        for record in stream.text().lines() {
            let record: serde_json::Value = serde_json::from_str(record).unwrap();
            if record["type"] != "chunk" {
                continue;
            }
            let text = |key: &str| record[key].as_str().unwrap();
            let (repo, path) = (text("repo"), text("path"));
            let (place, id) = (format!("{repo}:{path}"), format!("{repo}:{}", text("id")));
            let listed = &files.iter().find(|(name, _)| *name == repo).unwrap().1;
            let file = listed.get(path);
            let file = file.unwrap_or_else(|| panic!("git has no {place}: {}", self.say()));
            let (from, to) = pair(&record, "bytes");
            let end = ends.entry(place.clone()).or_default();
            assert_eq!(*end, from, "{place}");
            *end = to;
            let body = &file[from..to];
            assert_eq!(blake3::hash(body.as_bytes()).to_hex().as_str(), text("body_hash"));
            self.credit.learn(&id, body);
            let (first, last) = pair(&record, "lines");
            let lines: Vec<String> = body.lines().map(str::to_string).collect();
            assert_eq!(lines.len(), last + 1 - first, "{place}");
            let chunk = Chunk { place, first: first as u64, lines };
            assert!(self.index.insert(id, chunk).is_none(), "an id that comes twice");
        }
        let place = |repo: &str, name: &String| format!("{repo}:{name}");
        let sizes = files.iter().flat_map(|(repo, files)| {
            files.iter().map(move |(name, text)| (place(repo, name), text.len()))
        });
        let there: BTreeMap<_, _> = sizes.filter(|(_, size)| *size > 0).collect();
        assert_eq!(ends, there);
    }

    /// What happened so far.
    pub(super) fn say(&self) -> String {
        self.log.join("\n")
    }

    pub(super) fn run(&mut self, args: &[&str], codes: &[i32]) -> Told {
        let told = self.ground.site.run(args);
        self.told(args, &told.err, told.code(), codes);
        told
    }

    pub(super) fn told(&mut self, args: &[&str], err: &str, code: i32, codes: &[i32]) {
        self.log.push(format!("{args:?}: {code} {}", err.trim_end().replace('\n', "; ")));
        assert!(codes.contains(&code), "{}", self.say());
    }

    /// Looks at the ledger. What it holds of reads may not have changed but by `what`.
    pub(super) fn look(&mut self) {
        let state = State::of(&self.ground.site, FULL_READ);
        assert!(state.exported, "fullread.json is old: {}", self.say());
        assert!(state.reads >= self.state.reads && state.waiting == 0);
        assert!(state.findings.starts_with(&self.state.findings), "findings are kept");
        self.state = state;
    }

    /// After a command that reads nothing and changes no plan.
    fn still(&mut self) {
        let before = std::mem::take(&mut self.state.complete);
        self.look();
        assert_eq!(self.state.complete, before, "{}", self.say());
    }

    fn command(&mut self) {
        let reader = self.dice.pick(&["ann", "bob"]);
        let by = ["--reader", reader];
        match self.dice.roll(25) {
            0 => drop(self.run(&["index", "-W", "both"], &[0])),
            1 => drop(self.run(&["plan"], &[0])),
            2 if self.dice.roll(3) == 0 => return self.begin_anew(),
            2..=7 => return self.follow(),
            8 | 9 => {
                self.run(&[&["next"][..], &by].concat(), &[0, 1]);
                return self.still();
            }
            10..=13 => return self.read(&by),
            14 | 15 => {
                let size = (500 + self.dice.roll(9000)).to_string();
                return self.read(&[&by[..], &["--max-chars", &size]].concat());
            }
            16 | 17 => return self.read_some(&by),
            18..=21 => {
                let text = format!("found by {reader} at {}", self.log.len());
                drop(self.run(&[&["done", "-m", &text][..], &by].concat(), &[0, 1, 3]));
                return self.still();
            }
            22 => return self.release(),
            _ => return self.verify(),
        }
        self.look_at_the_index();
        self.still();
    }

    fn begin_anew(&mut self) {
        self.run(&[&["plan", "--force"][..], &SMALL].concat(), &[0]);
        self.look_at_the_index();
        self.look();
        assert!(self.state.complete.values().all(|read| !read));
        self.seen.clear();
        self.credit.anew(&self.state.complete);
    }

    fn follow(&mut self) {
        let mut args = vec!["replan"];
        if self.dice.roll(8) == 0 {
            args.extend(["--context-window", self.dice.pick(&["8k", "9k", "12k"])]);
        }
        self.run(&args, &[0]);
        self.look_at_the_index();
        self.look();
        let planned: Vec<_> = self.state.complete.keys().collect();
        assert_eq!(planned, self.index.keys().collect::<Vec<_>>(), "the plan is that of the tree");
        self.credit.follow(&self.state.complete);
    }

    fn release(&mut self) {
        let active: Vec<_> = self.state.segments.iter().filter(|s| s.2 == "active").collect();
        let ids: Vec<String> = active.iter().map(|s| s.0.clone()).collect();
        for id in ids {
            let script = format!("auwai-ledger release --workspace . --segment {id}");
            self.ground.site.sh(&script).expect_code(0);
        }
        self.still();
    }

    /// Exit status 0 if and only if all of the tree as it stands was delivered.
    fn verify(&mut self) {
        let told = self.run(&["verify"], &[0, 1]);
        self.look_at_the_index();
        self.still();
        let is_read = |id: &String| self.state.complete.get(id) == Some(&true);
        let mut unread = self.index.keys().filter(|id| !is_read(id));
        // What is planned, unread, and gone from a file that is still there is told too.
        let is_told = unread.next().is_some()
            || told.code() == 1 && told.text().contains("changed since the plan");
        assert_eq!(told.code() == 1, is_told, "{}\n{}", told.text(), self.say());
        if told.code() == 0 {
            self.all_was_seen();
        }
    }

    /// Looks without chunks: every line of every file was delivered.
    fn all_was_seen(&self) {
        for repo in REPOS {
            for (name, text) in self.ground.files(repo) {
                let mut lines = text.lines();
                let never = lines.find(|l| !self.seen.contains(&(repo.into(), l.to_string())));
                assert_eq!(never, None, "{repo}:{name}\n{}", self.say());
            }
        }
    }

    /// Reads all, as one who does what the manual says.
    fn finish(&mut self) {
        self.release();
        self.follow();
        self.read_on(usize::MAX);
        self.verify();
        assert!(self.log.last().unwrap().contains("\"verify\"]: 0"), "{}", self.say());
    }

    /// Takes, reads and closes at most so many segments.
    fn read_on(&mut self, segments: usize) {
        for _ in 0..segments {
            let next = self.run(&["next", "--json"], &[0, 1]);
            if next.code() == 1 {
                break;
            }
            if !next.text().contains("\"synthesis\"") {
                let taken = self.run(&["read"], &[0]).out;
                self.deliver(&text::files(std::str::from_utf8(&taken).unwrap()));
            }
            let text = format!("found at {}", self.log.len());
            self.run(&["done", "-m", &text], &[0]);
        }
        self.look();
    }
}

fn play(seed: u64, turns: u64) {
    let ground = Ground::new(3, 130);
    let mut play = Play::new(&ground, seed);
    play.read_on(3);
    for turn in 0..turns {
        for n in 0..play.dice.roll(3) {
            let change = ground.change(turn * 4 + n, &mut play.dice);
            play.log.push(change);
        }
        play.command();
    }
    play.finish();
}

#[test]
fn the_ledger_says_what_was_delivered() {
    plays_of("AUWAI_CAMPAIGN", "model", (26, 100), play);
}
