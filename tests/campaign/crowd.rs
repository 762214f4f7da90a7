//! Readers that take, read and close, while one lets the plan follow and one changes the tree.
//! `AUWAI_CAMPAIGN_LONG=1`: eight readers and more changes.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use super::ground::{FULL_READ, Ground};
use super::state::State;
use crate::support::dice::Dice;
use crate::support::site::{Told, tell};

/// What all of them share.
struct Crowd<'a> {
    ground: &'a Ground,
    /// Changes that are still to come.
    changes: AtomicUsize,
    /// Whether the plan has followed the last change.
    still: AtomicBool,
    /// Whether somebody has failed, so that the others end too.
    failed: AtomicBool,
    /// Who has which read segment, between the end of `next` and the beginning of `done`.
    held: Mutex<BTreeMap<String, String>>,
    /// Who has closed which segment.
    closed: Mutex<Vec<(String, String)>>,
}

/// Says to the others when its owner fails.
struct Alarm<'a>(&'a AtomicBool);

impl Drop for Alarm<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.store(true, Ordering::SeqCst);
        }
    }
}

impl Crowd<'_> {
    fn run(&self, reader: &str, args: &[&str], codes: &[i32]) -> Told {
        assert!(!self.failed.load(Ordering::SeqCst), "another one has failed");
        let mut command = self.ground.site.auwai(args);
        command.env("AUWAI_READER", reader);
        let told = tell(command);
        let said = format!("{reader}: {args:?}: {} {}", told.code(), told.err);
        for word in ["locked", "busy", "another process", "panicked", "bug"] {
            assert!(!told.err.contains(word), "{said}");
        }
        assert!(codes.contains(&told.code()), "{said}");
        told
    }

    /// Until everything is read and nothing more will change.
    fn read(&self, reader: &str, seed: u64) {
        let (_alarm, mut dice) = (Alarm(&self.failed), Dice(seed));
        loop {
            let was_still = self.still.load(Ordering::SeqCst);
            let told = self.run(reader, &["next", "--json"], &[0, 1]);
            let record: serde_json::Value = serde_json::from_slice(&told.out).unwrap();
            if told.code() == 1 {
                if record["code"] == "done" && was_still {
                    return;
                }
                std::thread::sleep(Duration::from_millis(10));
                continue;
            }
            let id = record["id"].as_str().unwrap().to_string();
            self.work(reader, &id, &mut dice);
        }
    }

    fn work(&self, reader: &str, id: &str, dice: &mut Dice) {
        let is_read = id.starts_with("read-");
        if is_read {
            let other = self.held.lock().unwrap().insert(id.to_string(), reader.to_string());
            assert!(
                other.as_ref().is_none_or(|other| other == reader),
                "{id}: {other:?}, {reader}"
            );
            // What has changed under the reader is for the next replan.
            let page: &[&str] = if dice.roll(4) == 0 { &["--max-chars", "9000"] } else { &[] };
            self.run(reader, &[&["read", "--segment", id][..], page].concat(), &[0, 3]);
            self.held.lock().unwrap().remove(id);
        }
        let text = format!("found by {reader} in {id}");
        let done = self.run(reader, &["done", "--segment", id, "-m", &text], &[0, 1]);
        if done.code() == 0 && is_read {
            self.closed.lock().unwrap().push((id.to_string(), reader.to_string()));
        }
    }

    fn change(&self, seed: u64) {
        let (_alarm, mut dice) = (Alarm(&self.failed), Dice(seed));
        while self.changes.load(Ordering::SeqCst) > 0 {
            let turn = self.changes.fetch_sub(1, Ordering::SeqCst) as u64;
            self.ground.change(turn, &mut dice);
            std::thread::sleep(Duration::from_millis(dice.roll(60)));
        }
    }

    /// The one that lets the plan follow; once more when nothing changes any more.
    fn follow(&self, changing: &dyn Fn() -> bool) {
        let _alarm = Alarm(&self.failed);
        while changing() {
            self.run("nobody", &["replan"], &[0]);
        }
        self.run("nobody", &["replan"], &[0]);
        self.still.store(true, Ordering::SeqCst);
    }
}

fn gather(readers: u64, changes: usize, ground: &Ground, seed: u64) {
    let crowd = Crowd {
        ground,
        changes: AtomicUsize::new(changes),
        still: AtomicBool::new(false),
        failed: AtomicBool::new(false),
        held: Mutex::default(),
        closed: Mutex::default(),
    };
    std::thread::scope(|scope| {
        let crowd = &crowd;
        let editor = scope.spawn(move || crowd.change(seed));
        scope.spawn(move || crowd.follow(&|| !editor.is_finished()));
        for n in 0..readers {
            scope.spawn(move || crowd.read(&format!("reader{n}"), seed + n));
        }
    });
    let state = State::of(&ground.site, FULL_READ);
    assert_eq!((state.left(), state.waiting), (0, 0));
    let told = ground.site.run(&["verify"]);
    assert_eq!(told.code(), 0, "{}{}", told.text(), told.err);
    let mut closed = crowd.closed.into_inner().unwrap();
    closed.sort();
    let mut found: Vec<_> = state.findings.into_iter().map(|row| (row.0, row.1)).collect();
    found.retain(|(segment, _)| segment.starts_with("read-"));
    found.sort();
    assert_eq!(closed, found, "each segment by one reader, once");
    assert!(closed.windows(2).all(|pair| pair[0].0 != pair[1].0), "{closed:?}");
}

#[test]
fn each_segment_is_done_once_by_one_reader_while_the_tree_changes() {
    if std::env::var_os("AUWAI_CAMPAIGN_LONG").is_none() {
        return gather(3, 12, &Ground::new(3, 130), 1);
    }
    for seed in 1..=8 {
        gather(8, 150, &Ground::new(12, 300), seed);
    }
}
