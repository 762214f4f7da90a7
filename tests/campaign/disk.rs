//! A disk with room for a little of what a command has to write, and each time a little more: the
//! write that fails moves through the command. `AUWAI_CAMPAIGN_LONG=1`: in steps of a page.

use std::fs;
use std::sync::Arc;

use super::ground::{FULL_READ, Ground, REPOS, SMALL, lines};
use super::state::State;
use crate::support::disk::SmallDisk;
use crate::support::site::Site;

/// How much more room each try has, in bytes.
fn step() -> u64 {
    if std::env::var_os("AUWAI_CAMPAIGN_LONG").is_some() { 4096 } else { 61_440 }
}

/// A site whose folder to work in is a disk of its own, which goes first.
struct Tight {
    disk: SmallDisk,
    site: Arc<Site>,
}

impl Tight {
    fn new() -> Option<Tight> {
        let site = Arc::new(Site::new());
        Some(Tight { disk: SmallDisk::mount(&site.work(""), "24m")?, site })
    }

    /// Tries a script with more and more room until it ends well; `kept` is asked after each failure,
    /// when there is room again.
    fn squeeze(&self, script: &str, mut kept: impl FnMut(&str)) {
        let (mut free, mut failed) = (0, 0);
        loop {
            self.disk.fill(free);
            let told = self.site.sh(script);
            self.disk.free();
            let said = format!("{script}, {free} bytes free: {} {}", told.status, told.err);
            if told.code() == 0 {
                assert!(failed > 0, "there was room for all: {said}");
                break;
            }
            assert_eq!(told.code(), 3, "{said}");
            assert!(told.err.to_lowercase().contains("no space left"), "{said}");
            assert!(told.err.contains("hint: make room"), "{said}");
            assert!(!told.err.contains("panicked"), "{said}");
            kept(&said);
            failed += 1;
            free += step();
            assert!(free < 8 << 20, "{said}");
        }
        self.site.sh(script).expect_code(0);
    }
}

fn state(site: &Site) -> State {
    State::of(site, FULL_READ)
}

/// What was read, found and closed before is so after.
fn stands(site: &Site, before: &State, said: &str) {
    let after = state(site);
    let lost = before
        .complete
        .iter()
        .find(|(id, read)| **read && after.complete.get(*id).is_some_and(|read| !read));
    assert_eq!(lost, None, "{said}");
    assert!(after.findings.starts_with(&before.findings), "{said}");
    assert_eq!(after.generation, before.generation, "{said}");
}

#[test]
fn a_workspace_is_made_and_filled_when_there_is_room() {
    let Some(tight) = Tight::new() else { return };
    let site = &tight.site;
    for repo in REPOS {
        site.write(format!("{repo}/a.txt"), lines(repo, 200));
    }
    tight.squeeze("auwai workspace init both", |_| {});
    tight.squeeze("auwai workspace add one", |said| {
        let list = site.run(&["workspace", "list"]);
        assert_eq!(list.code(), 0, "{said}: {}", list.err);
    });
    site.ok(&["workspace", "add", "two"]);
    tight.squeeze("auwai index -W both", |_| {});
    let options = SMALL.join(" ");
    tight.squeeze(&format!("auwai plan {options}"), |said| {
        // Whole or not at all.
        let status = site.run(&["status"]);
        assert!([0, 3].contains(&status.code()), "{said}: {}", status.err);
    });
    state(site);
}

#[test]
fn whatever_write_fails_nothing_is_lost_and_the_work_goes_on() {
    let Some(tight) = Tight::new() else { return };
    let Tight { site, .. } = &tight;
    Ground::on(Arc::clone(site), 2, 160);
    let settle = || {
        let database = format!("{FULL_READ}/coverage.sqlite");
        site.ask(database, "PRAGMA wal_checkpoint(TRUNCATE)");
    };
    let squeeze = |script: &str| {
        // The log is at its end, so that all that is written needs room.
        settle();
        let before = state(site);
        tight.squeeze(script, |said| stands(site, &before, said));
    };
    squeeze("auwai next");
    squeeze("auwai read > ../out");
    squeeze("auwai done --segment read-1 -m 'found it'");
    for repo in REPOS {
        fs::rename(site.work(repo).join("f0.txt"), site.work(repo).join("moved.txt")).unwrap();
        site.write(format!("{repo}/new.txt"), lines("new", 150));
    }
    squeeze("auwai index -W both");
    squeeze("auwai replan");
    let state_before = state(site);
    assert!(state_before.complete.values().any(|read| *read), "what was read has moved");
    site.write("two/last.txt", lines("last", 90));
    squeeze("auwai replan");
    squeeze("auwai run -- wc -w");
    let after = state(site);
    assert_eq!((after.left(), after.waiting), (0, 0));
    let found = |text: &str| after.findings.iter().filter(|row| row.2 == text).count();
    assert_eq!(found("found it"), 1);
    site.run(&["verify"]).expect_code(0);
}
