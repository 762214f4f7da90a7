//! What is in decides what is watched and told, and it may change.

use std::fs;

use auwai::record::EventOp::{Create, Modify};
use auwai::record::Record;

use super::watcher::{Watcher, news, sh, sh_in, told, words};
use crate::support::git::Sandbox;

fn repository() -> Sandbox {
    let sandbox = Sandbox::repository();
    sh(
        &sandbox,
        "mkdir -p src target/debug/deps; echo x > src/a.rs; echo '/target' > .gitignore; git add .",
    );
    sandbox
}

#[test]
fn ignored_directories_have_no_watches_and_no_events() {
    let sandbox = repository();
    let mut watcher = Watcher::start(&sandbox, &[]);
    // The root and src.
    assert_eq!((watcher.ready().watches, watcher.ready().polled), (2, 0));
    sh(
        &sandbox,
        "echo x > target/debug/y; mkdir -p target/z; mkdir .auwai; echo x > .auwai/ledger",
    );
    assert_eq!(watcher.words(), [""; 0]);
    let all = Watcher::start(&sandbox, &["--no-ignore"]);
    assert!(all.ready().watches > 6);
}

#[test]
fn an_ignore_file_that_changes_is_a_rescan_of_its_directory() {
    for backend in ["inotify", "poll"] {
        let sandbox = repository();
        let mut watcher = Watcher::start(&sandbox, &["--backend", backend]);
        sh(&sandbox, "echo '*.log' > src/.gitignore");
        assert!(watcher.words().contains(&"rescan src rules".to_string()), "{backend}");
        sh(&sandbox, "echo x > src/a.log; echo x > src/b");
        assert_eq!(news(&mut watcher, backend, "src/b"), ["create file src/b"], "{backend}");
        sh(&sandbox, "rm .gitignore");
        assert!(watcher.words().contains(&"rescan . rules".to_string()), "{backend}");
        sh(&sandbox, "echo x > target/debug/y");
        let words = news(&mut watcher, backend, "target/debug/y");
        assert_eq!(words, ["create file target/debug/y"], "{backend}");
    }
}

/// Tracked means in, whatever is ignored: git's index decides, and `git status` rewrites it.
#[test]
fn gits_index_is_a_rescan_only_when_what_is_tracked_changes() {
    let sandbox = repository();
    sh(&sandbox, "echo x > target/kept");
    let mut watcher = Watcher::start(&sandbox, &[]);
    sh(&sandbox, "touch src/a.rs; git status > /dev/null");
    assert_eq!(watcher.words(), ["modify file src/a.rs"]);
    sh(&sandbox, "git add -f target/kept");
    assert!(watcher.words().contains(&"rescan . rules".to_string()));
    sh(&sandbox, "echo y > target/kept; echo y > target/other");
    assert_eq!(watcher.words(), ["modify file target/kept"]);
}

/// A batch of nothing says that git's files changed.
#[test]
fn a_commit_is_a_batch_of_nothing() {
    let sandbox = repository();
    let mut watcher = Watcher::start(&sandbox, &[]);
    sh(&sandbox, "git commit -qm x; git checkout -q -b other");
    let mut records = watcher.sync();
    records.retain(|record| !matches!(record, Record::Ready(_)));
    let empty = |r: &Record| matches!(r, Record::Batch(b) if b.events == 0 && b.rescans == 0);
    assert!(!records.is_empty() && records.iter().all(empty), "{records:?}");
}

#[test]
fn global_excludes_that_come_to_be_are_a_rescan() {
    let sandbox = repository();
    let mut watcher = Watcher::start(&sandbox, &[]);
    fs::create_dir_all(sandbox.home(".config/git")).unwrap();
    fs::write(sandbox.home(".config/git/ignore"), "*.tmp\n").unwrap();
    assert!(watcher.words().contains(&"rescan . rules".to_string()));
    sh(&sandbox, "echo x > a.tmp; echo x > b");
    assert_eq!(watcher.words(), ["create file b"]);
}

/// A directory of control files that was removed and made anew was deaf.
#[test]
fn global_excludes_whose_directory_is_made_anew_are_a_rescan() {
    let sandbox = repository();
    let dir = sandbox.home(".config/git");
    fs::create_dir_all(&dir).unwrap();
    fs::write(dir.join("ignore"), "*.log\n").unwrap();
    let mut watcher = Watcher::start(&sandbox, &["--settle", "1ms"]);
    fs::remove_dir_all(&dir).unwrap();
    watcher.wait_for("rescan without it", |record| words(record).is_some());
    watcher.words();
    fs::create_dir_all(&dir).unwrap();
    fs::write(dir.join("ignore"), "*.tmp\n").unwrap();
    let is_batch = |record: &&Record| matches!(record, Record::Batch(_));
    let before = watcher.sync().iter().filter(is_batch).count();
    fs::write(dir.join("ignore"), "*.tmp\n*.bak\n").unwrap();
    assert!(watcher.words().contains(&"rescan . rules".to_string()), "{before}");
    sh(&sandbox, "echo x > a.tmp; echo x > a.bak; echo x > b");
    assert!(!watcher.words().iter().any(|line| line.ends_with("a.tmp") || line.ends_with("a.bak")));
}

/// Rules that ignore all but directories and some files: each write to an ignored file was told as a
/// removal and a rescan.
#[test]
fn an_ignored_file_is_not_told_where_a_directory_of_its_name_would_be_in() {
    for backend in ["inotify", "poll"] {
        let sandbox = Sandbox::repository();
        sh(&sandbox, "printf '*\\n!*/\\n!*.c\\n' > .gitignore; echo x > a.c; mkdir d");
        let mut watcher = Watcher::start(&sandbox, &["--backend", backend]);
        sh(&sandbox, "echo x > a.o; echo y > a.o; rm a.o; echo y > a.o; echo x > d/b.c");
        assert_eq!(news(&mut watcher, backend, "d/b.c"), ["create file d/b.c"], "{backend}");
        sh(&sandbox, "rm -r d");
        let words = watcher.words();
        assert!(words.contains(&"remove dir d".to_string()), "{backend}: {words:?}");
    }
}

#[test]
fn a_nested_repository_that_comes_or_goes_is_a_rescan() {
    for backend in ["inotify", "poll"] {
        let sandbox = repository();
        let mut watcher = Watcher::start(&sandbox, &["--backend", backend]);
        sh(&sandbox, "mkdir n; echo x > n/f");
        assert!(told(&watcher.words(), Create, "n/f"), "{backend}");
        sh(&sandbox, "git init -q n");
        assert!(watcher.words().contains(&"rescan n rules".to_string()), "{backend}");
        sh(&sandbox, "echo y > n/f");
        assert_eq!(news(&mut watcher, backend, "n/f"), [""; 0], "{backend}");
        sh(&sandbox, "rm -rf n/.git");
        assert!(watcher.words().contains(&"rescan n rules".to_string()), "{backend}");
        sh(&sandbox, "echo z > n/f");
        assert!(told(&watcher.words(), Modify, "n/f"), "{backend}");
    }
}

#[test]
fn a_root_that_becomes_a_repository_is_a_rescan() {
    for backend in ["inotify", "poll"] {
        let sandbox = Sandbox::empty();
        sh(&sandbox, "mkdir node_modules; echo '*.log' > .gitignore");
        let mut watcher = Watcher::start(&sandbox, &["--backend", backend]);
        sh(&sandbox, "git init -q .");
        assert!(watcher.words().contains(&"rescan . rules".to_string()), "{backend}");
        sh(&sandbox, "echo x > a.log; echo x > node_modules/b");
        let words = news(&mut watcher, backend, "node_modules/b");
        assert_eq!(words, ["create file node_modules/b"], "{backend}");
    }
}

/// A repository that is made above the root is no event in the tree, but it decides what is in.
#[test]
fn a_repository_that_comes_or_goes_above_the_root_is_seen_with_the_next_change() {
    for backend in ["inotify", "poll", "notify"] {
        let sandbox = Sandbox::empty();
        let above = sandbox.root().parent().unwrap().to_owned();
        let mut watcher = Watcher::start(&sandbox, &["--backend", backend, "--interval", "50ms"]);
        sh_in(&above, &sandbox, "echo '*.log' > .gitignore; git init -q .");
        let words = watcher.words();
        assert!(words.contains(&"rescan . rules".to_string()), "{backend}: {words:?}");
        sh(&sandbox, "echo x > a.log; echo x > a");
        let words = watcher.words();
        assert!(
            told(&words, Create, "a") && !told(&words, Create, "a.log"),
            "{backend}: {words:?}"
        );
        sh_in(&above, &sandbox, "rm -rf .git");
        let words = watcher.words();
        assert!(words.contains(&"rescan . rules".to_string()), "{backend}: {words:?}");
        sh(&sandbox, "echo x > b.log");
        assert!(told(&watcher.words(), Create, "b.log"), "{backend}");
    }
}
