//! A file that becomes a link, and a folder that does, while it is read: what is behind the link never
//! comes out and is never indexed.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use crate::support::site::Site;

const OPEN: &str = "what everybody may see\n";
const SECRET: &str = "what nobody may see!!!\n";

/// A repository `r` with `f` and `d/f`, and the same names with a secret outside.
fn two_places() -> Site {
    let site = Site::new();
    for (place, text) in [("r", OPEN), ("../outside", SECRET)] {
        site.write(format!("{place}/f"), text);
        site.write(format!("{place}/d/f"), text);
    }
    site
}

/// Puts links to the outside and the own things in each other's place, until it is told to end.
fn swap(site: &Site, done: &AtomicBool, turns: &AtomicU64) {
    let at = |name: &str| -> PathBuf { site.work("r").join(name) };
    let spare = site.path("spare");
    fs::create_dir(&spare).unwrap();
    while !done.load(Ordering::SeqCst) {
        let link = spare.join("link");
        symlink(site.path("outside/f"), &link).unwrap();
        fs::rename(&link, at("f")).unwrap();
        fs::rename(at("d"), spare.join("d")).unwrap();
        symlink(site.path("outside/d"), at("d")).unwrap();
        fs::write(spare.join("f"), OPEN).unwrap();
        fs::rename(spare.join("f"), at("f")).unwrap();
        fs::remove_file(at("d")).unwrap();
        fs::rename(spare.join("d"), at("d")).unwrap();
        // Another file each time, so that it is looked at anew.
        fs::write(spare.join("f"), OPEN).unwrap();
        fs::rename(spare.join("f"), at("d/f")).unwrap();
        turns.fetch_add(1, Ordering::SeqCst);
    }
}

/// Runs a script again and again while everything is swapped; `look` is given what it said.
fn while_swapped(site: &Site, times: usize, script: &str, look: impl Fn(&str)) {
    let (done, turns) = (AtomicBool::new(false), AtomicU64::new(0));
    std::thread::scope(|scope| {
        scope.spawn(|| swap(site, &done, &turns));
        // Whatever fails, the swapping ends.
        let all: Vec<_> = (0..times).map(|_| site.sh(script)).collect();
        done.store(true, Ordering::SeqCst);
        for told in all {
            assert!(!told.err.contains("panicked"), "{}", told.err);
            assert!(!told.err.contains("nobody may see"), "{}", told.err);
            look(told.text());
        }
    });
    assert!(turns.load(Ordering::SeqCst) > times as u64, "{turns:?}");
}

#[test]
fn it_is_never_indexed() {
    let site = two_places();
    let hash = |text: &str| blake3::hash(text.as_bytes()).to_hex().to_string();
    let seen = AtomicU64::new(0);
    while_swapped(&site, 120, "auwai index --repo r; auwai-ledger files --repo r", |files| {
        assert!(!files.contains(&hash(SECRET)), "{files}");
        seen.fetch_add(u64::from(files.contains(&hash(OPEN))), Ordering::SeqCst);
    });
    assert!(seen.load(Ordering::SeqCst) > 0);
}

#[test]
fn it_is_never_shown() {
    let site = two_places();
    site.ok(&["-C", "r", "plan", "--tokenizer", "bytes/4"]);
    site.ok(&["-C", "r", "next"]);
    let script = "cd r; auwai read; auwai read f d/f; auwai-ledger show --repo . f d/f";
    while_swapped(&site, 60, script, |said| {
        assert!(!said.contains("nobody may see"), "{said}");
    });
}

/// The bytes are those that were indexed: nothing but the link tells them apart.
#[test]
fn what_is_the_same_behind_a_link_is_not_read() {
    for name in ["f", "d"] {
        let site = Site::new();
        for place in ["r", "../outside"] {
            site.write(format!("{place}/f"), OPEN);
            site.write(format!("{place}/d/f"), OPEN);
        }
        for step in ["plan", "next"] {
            site.ok(&["-C", "r", step]);
        }
        fs::rename(site.work("r").join(name), site.path("away")).unwrap();
        symlink(site.path("outside").join(name), site.work("r").join(name)).unwrap();
        let told = site.run(&["-C", "r", "read"]).expect_code(3);
        assert!(told.err.contains("1 chunk has changed since the plan"), "{}", told.err);
        assert_eq!(told.text().matches(OPEN).count(), 1, "{}", told.text());
        let reads = "SELECT count(*) FROM reads";
        assert_eq!(site.ask("r/.auwai/fullread/coverage.sqlite", reads), "1\n", "{name}");
    }
}
