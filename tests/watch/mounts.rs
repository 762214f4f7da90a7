//! What is mounted below a root while it is watched, and file systems that do not tell of all changes.

use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, SystemTime};

use auwai::admit::Surroundings;
use auwai::record::EventOp::{Create, Modify, Remove};
use auwai::watch::{Backend, Beside, Change, Changes, Native, Pace, Site};

use super::watcher::{Watcher, sh, told};
use crate::support::git::Sandbox;
use crate::support::site::skipped;

/// A mount; gone with the value.
struct Mount(PathBuf);

impl Mount {
    /// Mounts at a path in the tree, with the arguments of mount(8) before it.
    fn at(sandbox: &Sandbox, path: &str, args: &[&str]) -> Option<Mount> {
        let place = sandbox.root().join(path);
        let mut mount = Command::new("mount");
        mount.args(args).arg(&place).current_dir(sandbox.root()).stderr(Stdio::null());
        if mount.status().is_ok_and(|status| status.success()) {
            return Some(Mount(place));
        }
        skipped("mounting needs root");
        None
    }
}

impl Drop for Mount {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(&self.0).status();
    }
}

const TMPFS: &[&str] = &["-t", "tmpfs", "tmpfs"];

/// Mounting over a directory is no event in it, and what was done in it then was never told.
#[test]
fn a_file_system_mounted_over_a_watched_directory_is_seen_to_come_and_go() {
    for backend in ["inotify", "poll"] {
        let sandbox = Sandbox::empty();
        sh(&sandbox, "mkdir -p 'a b/d/sub'; echo x > 'a b/d/sub/f'");
        let args = ["--backend", backend, "--interval", "50ms"];
        let mut watcher = Watcher::start(&sandbox, &args);
        let Some(mount) = Mount::at(&sandbox, "a b/d", TMPFS) else { return };
        watcher.wait_for("removal", |r| {
            super::watcher::words(r).is_some_and(|w| w == "remove dir a b/d")
        });
        sh(&sandbox, "mkdir 'a b/d/new'; echo y > 'a b/d/new/g'");
        assert!(told(&watcher.words(), Create, "a b/d/new/g"), "{backend}");
        drop(mount);
        let words = watcher.words();
        assert!(told(&words, Create, "a b/d/sub/f"), "{backend}: {words:?}");
        sh(&sandbox, "echo z > 'a b/d/sub/h'");
        let words = watcher.words();
        assert!(told(&words, Create, "a b/d/sub/h"), "{backend}: {words:?}");
    }
}

/// The same directory at two paths has one watch: changes were told for one of the two.
#[test]
fn a_directory_at_two_paths_is_told_at_both() {
    for (before, backend) in [(true, "inotify"), (false, "inotify"), (false, "poll")] {
        let sandbox = Sandbox::empty();
        sh(&sandbox, "mkdir -p a/sub b");
        let args = ["--backend", backend, "--interval", "50ms"];
        let early = before.then(|| Watcher::start(&sandbox, &args));
        let Some(mount) = Mount::at(&sandbox, "b", &["--bind", "a"]) else { return };
        let mut watcher = early.unwrap_or_else(|| Watcher::start(&sandbox, &args));
        watcher.words();
        sh(&sandbox, "echo 1 > a/f; echo 2 > b/sub/g");
        let words = watcher.words();
        for path in ["a/f", "b/f", "a/sub/g", "b/sub/g"] {
            assert!(told(&words, Create, path), "{before} {backend} {path}: {words:?}");
        }
        drop(mount);
        let words = watcher.words();
        assert!(told(&words, Remove, "b"), "{words:?}");
        // The other path has kept the watch.
        sh(&sandbox, "echo 3 > a/sub/g; echo 4 > b/h");
        let words = watcher.words();
        assert!(told(&words, Modify, "a/sub/g") && told(&words, Create, "b/h"), "{words:?}");
    }
}

#[test]
fn a_root_that_is_mounted_in_itself_ends() {
    let sandbox = Sandbox::empty();
    sh(&sandbox, "mkdir -p loop d");
    let mut watcher = Watcher::start(&sandbox, &[]);
    let Some(_mount) = Mount::at(&sandbox, "loop", &["--bind", "."]) else { return };
    watcher.words();
    sh(&sandbox, "echo 1 > d/f");
    let words = watcher.words();
    assert!(told(&words, Create, "d/f") && told(&words, Create, "loop/d/f"), "{words:?}");
    let again = Watcher::start(&sandbox, &[]);
    // The root, d, loop, loop/d, and the loop/loop that nothing is mounted on.
    assert_eq!(again.ready().watches, 5);
}

/// What is mounted over the root is another root.
#[test]
fn a_root_that_is_mounted_over_is_told() {
    let sandbox = Sandbox::empty();
    let mut watcher = Watcher::start(&sandbox, &[]);
    let Some(mount) = Mount::at(&sandbox, "", TMPFS) else { return };
    assert!(watcher.words().contains(&"rescan . root".to_string()));
    sh(&sandbox, "echo 1 > f");
    assert_eq!(watcher.words(), ["create file f"]);
    drop(mount);
    assert!(watcher.words().contains(&"rescan . root".to_string()));
    sh(&sandbox, "echo 1 > g");
    assert_eq!(watcher.words(), ["create file g"]);
}

/// A site that takes a tmpfs for a file system of the net.
fn site(sandbox: &Sandbox) -> Site {
    Site {
        root: sandbox.root(),
        around: Surroundings::from_vars(&sandbox.vars().clone()),
        scope: Vec::new(),
        rules: true,
        now: SystemTime::now,
        remote: |number| (number == 0x0102_1994).then_some("netfs"),
        limit: || None,
    }
}

fn paths(changes: &Changes) -> Vec<String> {
    let one = |change: &Change| match change {
        Change::Event { path, .. } => path.display().into_owned(),
        Change::Rescan(..) => "rescan".to_string(),
    };
    changes.changed.iter().map(one).collect()
}

/// NFS and its like take a watch, and tell nothing of what another machine does.
#[test]
fn directories_on_a_file_system_of_the_net_are_polled() {
    let sandbox = Sandbox::empty();
    sh(&sandbox, "mkdir -p local net");
    let Some(_mount) = Mount::at(&sandbox, "net", TMPFS) else { return };
    sh(&sandbox, "mkdir -p net/a/b");
    let pace = Pace { settle: Duration::ZERO, interval: Duration::from_millis(20) };
    let mut native = Native::inotify(site(&sandbox), pace, Beside::default()).unwrap();
    assert_eq!(native.watches(), (2, 3));
    let first = native.wait(Some(Duration::ZERO)).unwrap();
    let [warning] = &first.warnings[..] else { panic!("{:?}", first.warnings) };
    assert!(warning.message.starts_with("'net' is on a file system (netfs)"), "{warning:?}");
    assert!(warning.hint.as_ref().unwrap().contains("--backend inotify"));
    sh(&sandbox, "echo 1 > net/a/b/f; mkdir net/c; echo 1 > net/c/g; echo 1 > local/h");
    let told = paths(&native.wait(Some(Duration::ZERO)).unwrap());
    for path in ["net/a/b/f", "net/c/g", "local/h"] {
        assert!(told.contains(&path.to_string()), "{path}: {told:?}");
    }
    // It has not got a watch by being looked at.
    assert_eq!(native.watches(), (2, 4));
    let mut trusting = site(&sandbox);
    trusting.remote = auwai::watch::trusted;
    let native = Native::inotify(trusting, pace, Beside::default()).unwrap();
    assert_eq!(native.watches(), (6, 0));
}

/// One that is mounted later is met too.
#[test]
fn a_file_system_of_the_net_that_is_mounted_while_watching_is_polled() {
    let sandbox = Sandbox::empty();
    sh(&sandbox, "mkdir -p net");
    let pace = Pace { settle: Duration::ZERO, interval: Duration::from_millis(20) };
    let mut native = Native::inotify(site(&sandbox), pace, Beside::default()).unwrap();
    let Some(mount) = Mount::at(&sandbox, "net", TMPFS) else { return };
    let changes = native.wait(Some(Duration::ZERO)).unwrap();
    assert_eq!((native.watches(), changes.warnings.len()), ((1, 1), 1));
    drop(mount);
    native.wait(Some(Duration::ZERO)).unwrap();
    assert_eq!(native.watches(), (2, 0));
}
