//! What went wrong in other watchers, each a test named for it.

use std::fs;
use std::time::Duration;

use auwai::record::EventOp::{Create, Modify, Remove};
use auwai::record::Record;
use rustix::process::Signal;

use super::watcher::{Watcher, flood, news, raw, sh, told};
use crate::support::git::Sandbox;

/// `mkdir -p` faster than a watch can follow: the system tells of the first directory alone.
#[test]
fn files_in_new_deep_directories_are_told() {
    let sandbox = Sandbox::empty();
    let mut watcher = Watcher::start(&sandbox, &[]);
    sh(&sandbox, "for n in $(seq 60); do mkdir -p $n/a/b/c && echo x > $n/a/b/c/f; done");
    let words = watcher.words();
    for n in 1..=60 {
        assert!(told(&words, Create, &format!("{n}/a/b/c/f")), "{n}: {words:?}");
    }
    fs::write(sandbox.root().join("7/a/b/c/g"), "x").unwrap();
    assert_eq!(watcher.words(), ["create file 7/a/b/c/g"]);
}

/// A file that was moved in was told by its directory's path, and a directory never watched.
#[test]
fn what_is_moved_in_is_told_by_its_own_path() {
    let sandbox = Sandbox::empty();
    sh(
        &sandbox,
        "mkdir d && echo x > \"$OUT/f\" && mkdir -p \"$OUT/tree/a/b\" && echo y > \"$OUT/tree/a/b/g\"",
    );
    let mut watcher = Watcher::start(&sandbox, &[]);
    sh(&sandbox, "mv \"$OUT/f\" d/ && mv \"$OUT/tree\" .");
    let words = watcher.words();
    for path in ["d/f", "tree", "tree/a/b/g"] {
        assert!(told(&words, Create, path), "{path}: {words:?}");
    }
    fs::write(sandbox.root().join("tree/a/b/h"), "x").unwrap();
    assert_eq!(watcher.words(), ["create file tree/a/b/h"]);
}

/// A renamed directory kept its old name, and one moved out went on reporting.
#[test]
fn a_directory_is_known_by_the_name_that_it_has() {
    let sandbox = Sandbox::empty();
    sh(&sandbox, "mkdir -p a/deep out/deep && echo x > a/deep/f");
    let mut watcher = Watcher::start(&sandbox, &[]);
    sh(&sandbox, "mv a b && mv out \"$OUT/gone\"");
    let words = watcher.words();
    assert!(told(&words, Remove, "a") && told(&words, Remove, "out"), "{words:?}");
    assert!(told(&words, Create, "b/deep/f"), "{words:?}");
    sh(&sandbox, "echo y > b/deep/f; echo y > \"$OUT/gone/deep/f\"");
    assert_eq!(watcher.words(), ["modify file b/deep/f"]);
}

/// A rename over a file, and an exchange, are changes of what now has the name.
#[test]
fn saving_by_rename_is_told() {
    let sandbox = Sandbox::empty();
    sh(&sandbox, "echo 1 > f; echo 1 > g");
    let mut watcher = Watcher::start(&sandbox, &[]);
    // vim, twice; then an IDE's four steps; then an editor's lock, a dangling link.
    sh(&sandbox, "for n in 2 3; do echo $n > f.tmp && mv f.tmp f; done");
    assert!(told(&watcher.words(), Create, "f"));
    sh(
        &sandbox,
        "echo 4 > g___jb_tmp___; mv g g___jb_old___; mv g___jb_tmp___ g; rm g___jb_old___",
    );
    let words = watcher.words();
    assert!(told(&words, Create, "g") && told(&words, Remove, "g___jb_old___"), "{words:?}");
    sh(&sandbox, "ln -s nobody@nowhere .#f");
    assert_eq!(watcher.words(), ["create symlink .#f"]);
    sh(&sandbox, "rm .#f");
    assert_eq!(watcher.words(), ["remove other .#f"]);
}

/// Truncation, times, permissions, links: each tells itself in another way.
#[test]
fn every_kind_of_change_is_told() {
    for backend in ["inotify", "poll", "notify"] {
        let sandbox = Sandbox::empty();
        sh(&sandbox, "for f in a b c d e; do echo text > $f; done; mkdir sub");
        let mut watcher = Watcher::start(&sandbox, &["--backend", backend, "--interval", "20ms"]);
        for (script, op, path) in [
            (": > a", Modify, "a"),
            ("touch b", Modify, "b"),
            ("touch -d 2001-01-01 b", Modify, "b"),
            ("chmod 600 c", Modify, "c"),
            ("echo more >> d", Modify, "d"),
            ("ln e hard", Create, "hard"),
            ("ln -s .. sub/up", Create, "sub/up"),
            ("mkfifo pipe", Create, "pipe"),
            ("exec 3<e; rm e", Remove, "e"),
            ("rm -r sub", Remove, "sub"),
            ("mkdir -p x/y; echo z > x/y/z", Create, "x/y/z"),
        ] {
            sh(&sandbox, script);
            let words = watcher.words();
            let any = told(&words, op, path)
                || told(&words, Create, path)
                || path == "sub" && told(&words, Remove, "sub/up");
            assert!(any, "{backend}: {script}: {words:?}");
        }
    }
}

/// The queue overflowed and nobody was told, or the watcher ended.
#[test]
fn an_overflow_is_told_first_and_nothing_is_lost() {
    let sandbox = Sandbox::empty();
    sh(&sandbox, "mkdir d; echo 1 > d/a; echo 1 > d/b");
    let mut watcher = Watcher::start(&sandbox, &[]);
    watcher.signal(Signal::STOP);
    flood(&sandbox.root().join("d/a"), &sandbox.root().join("d/b"));
    sh(&sandbox, "mv d e; mkdir -p d/new/deep; echo x > d/new/deep/f; ln -s e l");
    watcher.signal(Signal::CONT);
    let words = watcher.words();
    let overflow = words.iter().position(|line| line == "rescan . overflow");
    assert!(overflow.is_some_and(|at| words[..at].iter().all(|l| !l.contains("new"))), "{words:?}");
    // The sweep has found what no event told.
    sh(&sandbox, "echo y > d/new/deep/g; echo y > e/a");
    let words = watcher.words();
    assert!(told(&words, Create, "d/new/deep/g") && told(&words, Modify, "e/a"), "{words:?}");
}

/// Reading woke the watcher, whose consumer read again, and so on; and polls that wake for nothing.
#[test]
fn nothing_happens_while_nothing_changes() {
    let sandbox = Sandbox::repository();
    sh(&sandbox, "mkdir -p a/b; for n in $(seq 50); do echo $n > a/b/$n; done; git add .");
    let mut watcher = Watcher::start(&sandbox, &[]);
    let _ = watcher.sync();
    std::thread::sleep(Duration::from_millis(100));
    let quiet = || {
        let before = watcher.activity();
        for _ in 0..20 {
            sh(&sandbox, "cat a/b/* > /dev/null; ls -R > /dev/null");
        }
        std::thread::sleep(Duration::from_millis(300));
        watcher.activity() == before
    };
    // Another test may mount something, which wakes it.
    assert!((0..5).any(|_| quiet()), "it wakes up");
    assert!(watcher.sync().is_empty());
}

/// The same, after it has told what exists.
#[test]
fn the_initial_sweep_ends() {
    let sandbox = Sandbox::empty();
    sh(&sandbox, "mkdir d; for n in $(seq 600); do : > d/$n; done");
    let mut watcher = Watcher::start(&sandbox, &["--initial"]);
    watcher.wait_for("the last piece", |r| matches!(r, Record::Batch(batch) if batch.n == 3));
    let words: Vec<String> = watcher.take().iter().filter_map(super::watcher::words).collect();
    assert!((1..=600).all(|n| told(&words, Create, &format!("d/{n}"))));
    let quiet = || {
        let before = watcher.activity();
        std::thread::sleep(Duration::from_millis(300));
        watcher.activity() == before
    };
    assert!((0..5).any(|_| quiet()), "it wakes up");
}

#[test]
fn names_that_are_not_utf8_are_exact() {
    let sandbox = Sandbox::empty();
    let mut watcher = Watcher::start(&sandbox, &[]);
    fs::create_dir(sandbox.root().join(raw(b"d\xff"))).unwrap();
    fs::write(sandbox.root().join(raw(b"d\xff/\xfe\n")), "x").unwrap();
    let records = watcher.sync();
    let paths: Vec<Vec<u8>> = records
        .iter()
        .filter_map(|record| match record {
            Record::Event(event) => Some(event.repo_path().unwrap().as_bytes().to_vec()),
            _ => None,
        })
        .collect();
    assert!(paths.contains(&b"d\xff/\xfe\n".to_vec()), "{records:?}");
}

/// A path longer than PATH_MAX ended the loop, or was cut.
#[test]
fn a_path_may_be_longer_than_path_max() {
    let sandbox = Sandbox::empty();
    let mut watcher = Watcher::start(&sandbox, &[]);
    let name = "n".repeat(250);
    sh(&sandbox, &format!("for n in $(seq 20); do mkdir {name}; cd -P {name}; done; echo x > f"));
    let words = watcher.words();
    assert!(words.iter().any(|line| line.starts_with("rescan nnn") && line.ends_with(" line")));
    sh(&sandbox, "echo y > g");
    assert_eq!(watcher.words(), ["create file g"]);
}

/// The watcher lived on until its next write, or for ever.
#[test]
fn it_ends_when_its_reader_has_gone() {
    let sandbox = Sandbox::empty();
    let mut child = super::watcher::command(&sandbox);
    let mut child = child.arg(".").stdout(std::process::Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    let mut out = std::io::BufReader::new(child.stdout.take().unwrap());
    std::io::BufRead::read_line(&mut out, &mut line).unwrap();
    assert!(line.contains("\"ready\""), "{line}");
    drop(out);
    assert_eq!(child.wait().unwrap().code(), Some(0));
}

#[test]
fn a_signal_ends_it_and_is_seen() {
    use std::os::unix::process::ExitStatusExt;
    let sandbox = Sandbox::empty();
    for signal in [Signal::TERM, Signal::INT, Signal::HUP] {
        let mut watcher = Watcher::start(&sandbox, &[]);
        watcher.signal(signal);
        assert_eq!(watcher.end().signal(), Some(signal.as_raw()));
    }
}

/// A directory that was removed and made again may have the number of the old one.
#[test]
fn directories_that_come_and_go_in_a_loop_stay_watched() {
    let sandbox = Sandbox::empty();
    let mut watcher = Watcher::start(&sandbox, &["--settle", "0"]);
    sh(&sandbox, "for n in $(seq 200); do mkdir d; : > d/f; rm -r d; done; mkdir d");
    watcher.words();
    fs::write(sandbox.root().join("d/g"), "x").unwrap();
    assert!(told(&watcher.words(), Create, "d/g"));
}

#[test]
fn a_crowd_in_one_directory_is_a_rescan_of_it() {
    let sandbox = Sandbox::empty();
    sh(&sandbox, "mkdir d");
    let mut watcher = Watcher::start(&sandbox, &[]);
    // All of them at once, however slow the machine.
    watcher.stop();
    sh(&sandbox, "for n in $(seq 2000); do : > d/$n; done; mkdir d/sub; : > d/sub/f");
    watcher.signal(Signal::CONT);
    let words = watcher.words();
    assert!(words.contains(&"rescan d limit".to_string()), "{}", words.len());
    fs::write(sandbox.root().join("d/sub/g"), "x").unwrap();
    assert_eq!(watcher.words(), ["create file d/sub/g"]);
}

/// A directory as a whole: what is below it is not visited again, and must be watched all the same.
#[test]
fn directories_beside_a_crowd_stay_watched() {
    let sandbox = Sandbox::empty();
    sh(&sandbox, "mkdir -p d/kept/deep d/away/deep d/anew/deep d/left d/right/deep");
    let mut watcher = Watcher::start(&sandbox, &["--settle", "1s"]);
    sh(
        &sandbox,
        "cd d; for n in $(seq 1000); do : > $n; done; mv away $OUT/away; : > $OUT/away/deep/f
         mv $OUT/away away; rm -r anew; mkdir -p anew/deep; mv left right/deep/left",
    );
    let words = watcher.words();
    assert!(words.contains(&"rescan d limit".to_string()), "{words:?}");
    for dir in ["kept/deep", "away/deep", "anew/deep", "right/deep/left"] {
        fs::write(sandbox.root().join(format!("d/{dir}/g")), "x").unwrap();
        assert_eq!(watcher.words(), [format!("create file d/{dir}/g")]);
    }
}

#[test]
fn a_root_that_is_removed_or_replaced_is_told_and_found_again() {
    for backend in ["inotify", "poll"] {
        let sandbox = Sandbox::empty();
        sh(&sandbox, "echo x > f");
        let mut watcher = Watcher::start(&sandbox, &["--backend", backend, "--interval", "50ms"]);
        let root = sandbox.root();
        fs::rename(&root, sandbox.home("away")).unwrap();
        watcher.wait_for("rescan", |record| matches!(record, Record::Rescan(_)));
        fs::create_dir(&root).unwrap();
        fs::write(root.join("g"), "x").unwrap();
        let words = watcher.words();
        assert_eq!(words, ["rescan . root"; 2], "{backend}");
        fs::write(root.join("h"), "x").unwrap();
        assert_eq!(news(&mut watcher, backend, "h"), ["create file h"], "{backend}");
    }
}

/// Only a root that was moved was noticed: the watch of one that was deleted ends with it.
#[test]
fn a_root_that_is_deleted_and_made_anew_is_told() {
    for backend in ["inotify", "poll"] {
        let sandbox = Sandbox::empty();
        sh(&sandbox, "mkdir d && echo x > f");
        let mut watcher = Watcher::start(&sandbox, &["--backend", backend, "--interval", "50ms"]);
        let root = sandbox.root();
        fs::remove_dir_all(&root).unwrap();
        fs::create_dir(&root).unwrap();
        let words = watcher.words();
        assert!(words.contains(&"rescan . root".to_string()), "{backend}: {words:?}");
        fs::write(root.join("h"), "x").unwrap();
        assert_eq!(news(&mut watcher, backend, "h"), ["create file h"], "{backend}");
    }
}
