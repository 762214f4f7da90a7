//! The migration: pointers of archived tasks go, once for a root.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Stdio;

use serde_json::json;

use super::watcher::Watcher;
use super::{Place, records};
use crate::support::site::{is_root, skipped, wait_until};

const MARKER: &str = "state/migrations/retire-archived.v1.done";

/// An inbox with a pointer of each kind.
fn place() -> Place {
    let place = Place::new();
    for id in ["gone", "gone-accepted", "open", "taken", "answered", "again"] {
        place.put("ann", id);
    }
    let rename = |from: &str, to: &str| fs::rename(place.path(from), place.path(to)).unwrap();
    fs::create_dir(place.path("tasks/archive")).unwrap();
    for id in ["gone", "gone-accepted"] {
        rename(&format!("tasks/{id}.txt"), &format!("tasks/archive/{id}.txt"));
    }
    for id in ["gone-accepted", "taken"] {
        let at = format!("deliveries/ann/{id}");
        rename(&format!("{at}.txt"), &format!("{at}.accepted"));
    }
    place.answer("answered");
    // Archived before, and posted again: pending.
    place.write("tasks/archive/again.txt", "the first time");
    place.write("deliveries/ann/lost.txt", "");
    place.put("bob", "gone");
    fs::remove_file(place.path("tasks/gone.txt")).unwrap();
    place
}

#[test]
fn archived_pointers_go_and_all_others_stay() {
    let place = place();
    let before = place.names();
    let sum = |retired| json!({"v": 1, "type": "retired", "retired": retired, "kept_pending": 3, "kept_unarchived": 2});
    let told = place.run(&["retire-archived"]).expect_code(0);
    assert_eq!((records(told.text()), told.err.as_str()), (vec![sum(3)], ""));
    let moved = |name: &String| match name.strip_prefix("deliveries/") {
        Some(rest) if rest.contains("gone") => {
            let (reader, file) = rest.split_once('/').unwrap();
            format!("deliveries/{reader}/archive/{file}")
        }
        _ => name.clone(),
    };
    let mut wanted: Vec<String> = before.iter().map(moved).collect();
    wanted.sort_unstable();
    let sorted = |mut names: Vec<String>| {
        names.sort_unstable();
        names
    };
    assert_eq!(sorted(place.names()), wanted);
    let marker = fs::read_to_string(place.path(MARKER)).unwrap();
    assert_eq!(records(&marker), [sum(3)]);
    // A second run changes nothing; nor does one that looks again.
    let again = place.ok(&["retire-archived"]);
    assert!(again[0]["done"].is_string(), "{again:?}");
    assert_eq!(place.ok(&["retire-archived", "--again"]), [sum(0)]);
    assert_eq!(sorted(place.names()), wanted);
}

#[test]
fn a_marker_from_before_stops_it() {
    let place = place();
    place.write(MARKER, "by a script of ours\n");
    let before = place.names();
    assert_eq!(place.ok(&["retire-archived"])[0]["retired"], 0);
    let watcher = Watcher::start(&place, "ann", &[]);
    watcher.wait_for(&["open", "again"]);
    assert_eq!(place.names(), before);
    assert_eq!(watcher.end().1, "");
}

#[test]
fn a_failure_half_way_leaves_no_marker_and_is_tried_again() {
    let place = place();
    // The archive of the inbox that comes first cannot be made; the others are done.
    place.write("deliveries/ann/archive", "in the way");
    let told = place.run(&["retire-archived"]).expect_code(3);
    assert!(told.err.contains("deliveries/ann/archive"), "{}", told.err);
    assert!(!place.path(MARKER).exists());
    assert!(place.path("deliveries/bob/archive/gone.txt").exists());
    let watcher = Watcher::start(&place, "ann", &[]);
    watcher.wait_for(&["open", "again"]);
    let (_, err) = watcher.end();
    assert!(err.contains("deliveries/ann/archive") && err.contains("hint: "), "{err}");
    assert!(!place.path(MARKER).exists());
    fs::remove_file(place.path("deliveries/ann/archive")).unwrap();
    let watcher = Watcher::start(&place, "ann", &[]);
    watcher.wait_for(&["open", "again"]);
    assert_eq!(
        watcher.end().1,
        "auwai-inbox: 2 pointers retired, since their tasks are archived\n"
    );
    assert!(place.path(MARKER).exists());
    // And silence when there is nothing.
    let watcher = Watcher::start(&place, "ann", &["--refusal-mark", "NO"]);
    watcher.wait_for(&["open", "again"]);
    assert_eq!(watcher.end().1, "");
}

#[test]
fn an_inbox_that_cannot_be_read_is_told_and_the_others_are_done() {
    if !is_root() {
        return skipped("becoming another user needs root");
    }
    let place = place();
    place.site.sh("mkdir state; chown -R 65534:65534 .; chmod 700 .; chmod 755 ..").expect_code(0);
    fs::set_permissions(place.path("deliveries/ann"), fs::Permissions::from_mode(0o0)).unwrap();
    let told = place.site.run_as_nobody(&["auwai-inbox", "retire-archived"]).expect_code(3);
    assert!(told.err.contains("Permission denied") && told.err.contains("hint: "), "{}", told.err);
    assert!(place.path("deliveries/bob/archive/gone.txt").exists());
    assert!(!place.path(MARKER).exists());
    for verb in ["list", "watch"] {
        let told = place.site.run_as_nobody(&["auwai-inbox", verb, "--reader", "ann"]);
        assert_eq!((told.code(), told.text()), (3, ""), "{verb}");
    }
}

#[test]
fn two_who_begin_at_once_do_it_once() {
    let place = place();
    for n in 0..300 {
        place.write(format!("tasks/archive/old-{n}.txt"), "x");
        place.write(format!("deliveries/ann/old-{n}.txt"), "");
    }
    let start = || {
        let mut command = place.command(&["retire-archived"]);
        command.stdout(Stdio::piped()).spawn().unwrap()
    };
    let started: Vec<_> = (0..4).map(|_| start()).collect();
    let outputs = started.into_iter().map(|child| child.wait_with_output().unwrap().stdout);
    let told: Vec<_> =
        outputs.map(|out| records(std::str::from_utf8(&out).unwrap()).remove(0)).collect();
    let retired: Vec<_> = told.iter().map(|told| told["retired"].as_u64().unwrap()).collect();
    assert_eq!(retired.iter().filter(|retired| **retired > 0).collect::<Vec<_>>(), [&303]);
    assert_eq!(told.iter().filter(|told| told["done"].is_string()).count(), 3);
}

#[test]
fn it_waits_for_who_holds_an_inbox() {
    let place = place();
    let script = "exec 9>deliveries/ann/.lock; flock 9; touch held; read -r _";
    let mut holder = place.site.command("bash");
    let mut holder = holder.args(["-c", script]).stdin(Stdio::piped()).spawn().unwrap();
    wait_until("the holder", || place.path("held").exists());
    let watcher = Watcher::start(&place, "ann", &[]);
    // It says for what it waits, and what comes is told meanwhile.
    wait_until("a word", || watcher.err().contains("waiting for the lock '"));
    place.put("ann", "new");
    watcher.wait_for(&["new"]);
    assert!(place.path("deliveries/ann/gone.txt").exists());
    drop(holder.stdin.take());
    holder.wait().unwrap();
    watcher.wait_for(&["new", "open", "again"]);
    assert!(!place.path("deliveries/ann/gone.txt").exists());
}
