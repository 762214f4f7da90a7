//! State that may only be read: questions are answered, and what cannot be kept is refused.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use crate::support::site::{Site, Told, is_root, skipped};

/// A workspace with a plan; `default` has a segment, and more are left.
fn planned() -> Site {
    let site = Site::new();
    for name in ["a", "b"] {
        let lines = (1..=400).map(|n| format!("let {name} = {n};\n"));
        site.write(format!("r/{name}.rs"), lines.collect::<String>());
    }
    site.ok(&["workspace", "init", "demo"]);
    site.ok(&["workspace", "add", "r"]);
    site.ok(&["plan", "--context-window", "16k"]);
    site.ok(&["next"]);
    site.ok(&["read"]);
    site
}

const ASKING: [(&[&str], i32); 9] = [
    (&["status"], 0),
    (&["status", "--json"], 0),
    (&["next"], 0),
    (&["verify", "--planned"], 1),
    (&["verify"], 1),
    (&["unread"], 0),
    (&["workspace", "survey"], 0),
    (&["workspace", "list"], 0),
    (&["why", "r/a.rs"], 0),
];

/// What cannot be done without a change.
const CHANGING: [&[&str]; 5] = [
    &["next", "--reader", "ann"],
    &["done", "-m", "x"],
    &["plan", "--force", "--context-window", "20k"],
    &["index", "--tokenizer", "bytes/4"],
    &["run", "--", "true"],
];

/// Whoever asks may not be the one whose state it is.
fn trusting<'a>(args: &[&'a str]) -> Vec<&'a str> {
    [&["--trust-state"], args].concat()
}

fn check(site: &Site, run: impl Fn(&[&str]) -> Told) {
    let before = state(site);
    for (args, code) in ASKING {
        let usual = site.run(&trusting(args));
        let told = run(&trusting(args));
        assert_eq!(told.code(), code, "{args:?}: {}", told.err);
        assert_eq!((told.text(), &told.err), (usual.text(), &usual.err), "{args:?}");
    }
    for args in CHANGING {
        let told = run(&trusting(args));
        assert_eq!(told.code(), 3, "{args:?}: {} {}", told.err, told.text());
        assert!(told.err.contains("cannot write"), "{args:?}: {}", told.err);
        assert!(told.err.contains("hint: "), "{args:?}: {}", told.err);
    }
    assert_eq!(state(site), before);
}

/// What the ledgers say.
fn state(site: &Site) -> String {
    let coverage = ".auwai/workspace/coverage.sqlite";
    let claims = site.ask(coverage, "SELECT reader, segment_id FROM claims");
    let reads = site.ask(coverage, "SELECT count(*) FROM reads");
    let index = site.ask("r/.auwai/ledger.sqlite", "SELECT * FROM meta WHERE key <> 'scanned'");
    claims + &reads + &index
}

#[test]
fn somebody_who_may_only_read_gets_answers() {
    if !is_root() {
        skipped("somebody_who_may_only_read: only root can become somebody else");
        return;
    }
    let site = planned();
    fs::set_permissions(site.path(""), fs::Permissions::from_mode(0o755)).unwrap();
    check(&site, |args| site.run_as_nobody(args));
}

#[test]
fn a_change_of_the_tree_that_cannot_be_kept_is_told() {
    if !is_root() {
        skipped("a_change_of_the_tree: only root can become somebody else");
        return;
    }
    let site = planned();
    fs::set_permissions(site.path(""), fs::Permissions::from_mode(0o755)).unwrap();
    site.write("r/new.rs", "x\n");
    for verb in ["verify", "unread"] {
        let told = site.run_as_nobody(&trusting(&[verb])).expect_code(3);
        assert!(told.err.contains("cannot write the ledger"), "{}", told.err);
        assert!(told.err.contains("Permission denied"), "{}", told.err);
    }
    site.run_as_nobody(&trusting(&["verify", "--planned"])).expect_code(1);
}

/// The folder to work in, bound once more on itself so that it may only be read.
struct Bound<'a>(&'a Site);

impl<'a> Bound<'a> {
    fn mount(site: &'a Site) -> Option<Bound<'a>> {
        let work = site.path("w");
        let mount = |args: &[&str]| {
            let done = Command::new("mount").args(args).arg(&work).output();
            done.is_ok_and(|done| done.status.success())
        };
        let from = work.display().to_string();
        if !mount(&["--bind", &from]) {
            skipped("mounting needs root");
            return None;
        }
        let bound = Bound(site);
        if !mount(&["-o", "remount,bind,ro"]) {
            skipped("mounting for reading only needs root");
            return None;
        }
        Some(bound)
    }
}

impl Drop for Bound<'_> {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(self.0.path("w")).status();
    }
}

#[test]
fn on_a_file_system_that_may_only_be_read_questions_are_answered() {
    let site = planned();
    let usual: Vec<Told> = ASKING.iter().map(|(args, _)| site.run(args)).collect();
    let Some(bound) = Bound::mount(&site) else { return };
    for ((args, code), usual) in ASKING.iter().zip(usual) {
        let told = bound.0.run(args);
        assert_eq!(told.code(), *code, "{args:?}: {}", told.err);
        assert_eq!((told.text(), &told.err), (usual.text(), &usual.err), "{args:?}");
    }
    for args in CHANGING {
        let told = bound.0.run(args);
        assert_eq!(told.code(), 3, "{args:?}: {} {}", told.err, told.text());
        assert!(told.err.contains("Read-only file system"), "{args:?}: {}", told.err);
    }
}
