//! State that somebody has laid hands on between two commands: the log of a ledger taken away, its
//! file cut off, or bits of it turned.

use std::fs;
use std::os::unix::fs::MetadataExt;

use super::ground::{FULL_READ, Ground};
use super::state::State;
use crate::support::dice::{Dice, plays_of};
use crate::support::site::Site;

const LEDGERS: [&str; 3] =
    [".auwai/workspace/coverage.sqlite", "one/.auwai/ledger.sqlite", "two/.auwai/ledger.sqlite"];

fn state(site: &Site) -> State {
    State::of(site, FULL_READ)
}

/// Reads and closes all that is left; how many segments that was.
fn finish(site: &Site) -> usize {
    site.ok(&["replan"]);
    let mut count = 0;
    while site.run(&["next"]).code() == 0 {
        site.ok(&["read"]);
        site.ok(&["done"]);
        count += 1;
    }
    site.run(&["verify"]).expect_code(0);
    count
}

#[test]
fn without_its_log_a_ledger_has_what_was_moved_out_of_it() {
    let ground = Ground::new(2, 150);
    let site = &ground.site;
    for args in [&["next"][..], &["read"], &["done"]] {
        site.ok(args);
    }
    site.ask(LEDGERS[0], "PRAGMA wal_checkpoint(TRUNCATE)");
    let kept = state(site);
    site.ok(&["next"]);
    site.ok(&["read"]);
    // Who looks and goes moves the log into the file, so a copy is looked at.
    let look = || {
        site.sh("rm -rf ../seen && cp -r .auwai/workspace ../seen").expect_code(0);
        State::of(site, site.path("seen"))
    };
    let with_log = look();
    assert!(with_log.complete != kept.complete);
    // The index of the log alone is no loss.
    LEDGERS.iter().for_each(|ledger| {
        let _ = fs::remove_file(site.work(format!("{ledger}-shm")));
    });
    site.ok(&["status"]);
    assert_eq!(look().complete, with_log.complete);
    for ledger in LEDGERS {
        let _ = fs::remove_file(site.work(format!("{ledger}-wal")));
    }
    site.ok(&["status"]);
    let after = state(site);
    assert_eq!((after.complete, after.segments), (kept.complete, kept.segments));
    assert!(finish(site) > 0);
    assert_eq!(state(site).left(), 0);
}

/// Turns some bits of a ledger, or cuts it off.
fn harm(site: &Site, ledger: &str, dice: &mut Dice) -> String {
    let path = site.work(ledger);
    let mut bytes = fs::read(&path).unwrap();
    let what = match dice.roll(4) {
        0 => {
            bytes.truncate(dice.roll(bytes.len() as u64) as usize);
            format!("cut off at {}", bytes.len())
        }
        _ => {
            let places: Vec<usize> =
                (0..=dice.roll(8)).map(|_| dice.roll(bytes.len() as u64) as usize).collect();
            places.iter().for_each(|at| bytes[*at] ^= 1 << dice.roll(8));
            format!("bits turned at {places:?}")
        }
    };
    fs::write(path, bytes).unwrap();
    format!("{ledger} {what}")
}

/// Commands on a state that is damaged say so, or do not need what is damaged; none of them makes a
/// ledger anew.
fn play(seed: u64, rounds: u64) {
    let ground = Ground::new(2, 150);
    let (site, mut dice) = (&ground.site, Dice(seed));
    for args in [&["next"][..], &["read"], &["done"], &["next"], &["read"]] {
        site.ok(args);
    }
    LEDGERS.iter().for_each(|ledger| drop(site.ask(ledger, "PRAGMA wal_checkpoint(TRUNCATE)")));
    let whole = LEDGERS.map(|ledger| (site.work(ledger), fs::read(site.work(ledger)).unwrap()));
    for _ in 0..rounds {
        // In their places: a copy of the state elsewhere would not be trusted.
        for (path, bytes) in &whole {
            fs::write(path, bytes).unwrap();
            for log in ["sqlite-wal", "sqlite-shm"] {
                let _ = fs::remove_file(path.with_extension(log));
            }
        }
        site.ok(&["next"]);
        let ledger = dice.pick(&LEDGERS);
        let inode = || fs::metadata(site.work(ledger)).unwrap().ino();
        let (harmed, before) = (harm(site, ledger, &mut dice), inode());
        for _ in 0..3 {
            let verbs = ["index", "plan", "replan", "next", "read", "done", "verify", "status"];
            let verb = dice.pick(&verbs);
            let told = site.run(&[verb, "-W", "both"]);
            let said = format!("seed {seed}: {harmed}: {verb}: {} {}", told.status, told.err);
            assert!([0, 1, 3].contains(&told.code()), "{said}");
            assert!(told.code() != 3 || told.err.contains("hint: "), "{said}");
            assert!(!told.err.contains("panicked") && !told.err.contains("bug"), "{said}");
            assert_eq!(inode(), before, "made anew: {said}");
        }
    }
}

#[test]
fn what_is_damaged_is_said_and_nothing_is_made_anew() {
    plays_of("AUWAI_CAMPAIGN", "damage", (10, 100), play);
}
