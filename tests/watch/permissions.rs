//! Directories that may not be listed, or not be entered, and come to be readable again.

use std::fs;
use std::os::unix::fs::{PermissionsExt, chown};
use std::process::Command;

use auwai::record::EventOp::{Create, Modify};

use super::watcher::{Watcher, as_nobody, as_user, command, sh, told};
use crate::support::git::Sandbox;
use crate::support::site::{is_root, skipped};

/// Who owns nothing else.
const NOBODY: u32 = 65534;

/// Starts a watcher as the user who owns the tree, and whom permissions bind.
fn start<'a>(sandbox: &'a Sandbox, args: &[&str]) -> Option<Watcher<'a>> {
    let own = command(sandbox);
    if !is_root() {
        return Some(Watcher::start(sandbox, args));
    }
    let place = sandbox.root().parent().unwrap().to_owned();
    let program = as_nobody(sandbox);
    if !program.exists() {
        fs::copy(own.get_program(), &program).unwrap();
    }
    fs::set_permissions(&place, fs::Permissions::from_mode(0o755)).unwrap();
    for entry in walkdir::WalkDir::new(&place) {
        let entry = entry.unwrap();
        std::os::unix::fs::lchown(entry.path(), Some(NOBODY), Some(NOBODY)).unwrap();
    }
    chown(&place, Some(0), Some(0)).unwrap();
    let mut outer = as_user(&own, &program);
    outer.arg(sandbox.root()).args(args).current_dir(sandbox.root());
    if Command::new("setpriv").arg("--version").output().is_err() {
        skipped("setpriv is not here");
        return None;
    }
    Some(Watcher::spawn(sandbox, outer))
}

fn chmod(sandbox: &Sandbox, path: &str, mode: u32) {
    let path = sandbox.root().join(path);
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

#[test]
fn what_may_not_be_read_is_named_once_and_told_when_it_can() {
    let sandbox = Sandbox::empty();
    sh(&sandbox, "mkdir -p d/sub e; echo x > d/sub/f; chmod 0 d e");
    let Some(mut watcher) = start(&sandbox, &[]) else { return };
    chmod(&sandbox, "d", 0o755);
    assert!(told(&watcher.words(), Create, "d/sub/f"));
    chmod(&sandbox, "d", 0);
    watcher.words();
    chmod(&sandbox, "d", 0o755);
    sh(&sandbox, "echo x > d/sub/g; echo x > d/h");
    let words = watcher.words();
    assert!(told(&words, Create, "d/sub/g") && told(&words, Create, "d/h"), "{words:?}");
    chmod(&sandbox, "e", 0o755);
    watcher.words();
    let talk = super::limits::talk(&mut watcher);
    assert_eq!(talk.matches("2 directories cannot be read (").count(), 1, "{talk}");
    assert_eq!(talk.matches("cannot be read").count(), 1, "{talk}");
}

/// Directories in a directory that may be listed but not entered were taken for files, for ever.
#[test]
fn a_directory_that_may_be_listed_only_is_taken_anew_when_it_may_be_entered() {
    for backend in ["inotify", "poll"] {
        let sandbox = Sandbox::empty();
        sh(&sandbox, "mkdir -p d/sub e/sub; chmod 444 d");
        let args = ["--backend", backend, "--interval", "50ms"];
        let Some(mut watcher) = start(&sandbox, &args) else { return };
        chmod(&sandbox, "d", 0o755);
        watcher.words();
        sh(&sandbox, "echo x > d/sub/f");
        assert!(told(&watcher.words(), Create, "d/sub/f"), "{backend}");
        // And one that was entered before.
        chmod(&sandbox, "e", 0o444);
        watcher.words();
        if is_root() {
            sh(&sandbox, "echo x > e/sub/f");
            watcher.words();
        }
        chmod(&sandbox, "e", 0o755);
        watcher.words();
        sh(&sandbox, "echo x > e/sub/g");
        assert!(told(&watcher.words(), Create, "e/sub/g"), "{backend}");
    }
}

/// What git tracks is in, also where it cannot be listed: names can still be looked up.
#[test]
fn what_git_tracks_in_a_directory_that_cannot_be_listed_is_told() {
    for backend in ["inotify", "poll"] {
        let sandbox = Sandbox::repository();
        sh(&sandbox, "mkdir -p d/sub; echo 1 > d/f; echo 1 > d/sub/g; git add .; echo 1 > d/new");
        chmod(&sandbox, "d", 0o311);
        let args = ["--backend", backend, "--interval", "50ms"];
        let Some(mut watcher) = start(&sandbox, &args) else { return };
        if backend == "inotify" {
            // The root and d/sub; and d, which no watch can be had for.
            assert_eq!((watcher.ready().watches, watcher.ready().polled), (2, 1));
        }
        sh(&sandbox, "echo 22 > d/f; echo 22 > d/sub/g");
        let words = watcher.words();
        assert!(told(&words, Modify, "d/f") && told(&words, Modify, "d/sub/g"), "{words:?}");
        assert!(!told(&words, Create, "d"), "{backend}: {words:?}");
        chmod(&sandbox, "d", 0o755);
        let words = watcher.words();
        assert!(told(&words, Modify, "d") || told(&words, Create, "d/new"), "{words:?}");
        sh(&sandbox, "echo 22 > d/newer; echo 333 > d/sub/g");
        let words = watcher.words();
        assert!(told(&words, Create, "d/newer") && told(&words, Modify, "d/sub/g"), "{words:?}");
    }
}

#[test]
fn a_root_that_cannot_be_read_for_a_while_is_taken_anew() {
    let sandbox = Sandbox::empty();
    sh(&sandbox, "mkdir d");
    let Some(mut watcher) = start(&sandbox, &[]) else { return };
    chmod(&sandbox, "", 0);
    if is_root() {
        fs::write(sandbox.root().join("d/f"), "x").unwrap();
        watcher.words();
    }
    chmod(&sandbox, "", 0o755);
    watcher.words();
    sh(&sandbox, "echo x > d/g; echo x > h");
    let mut words = watcher.words();
    // It is looked for again every quarter of a second.
    for _ in 0..100 {
        if told(&words, Create, "h") || words.iter().any(|line| line == "rescan . root") {
            break;
        }
        std::thread::sleep(std::time::Duration::from_millis(50));
        words.extend(watcher.words());
    }
    sh(&sandbox, "echo x > d/i");
    assert!(told(&watcher.words(), Create, "d/i"), "{words:?}");
}
