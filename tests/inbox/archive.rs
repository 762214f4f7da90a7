//! The archive: a task, its result and its pointers, each by one rename, and never half of it.

use std::fs;
use std::time::Duration;

use serde_json::json;

use super::Place;
use crate::support::disk::SmallDisk;
use crate::support::site::{skipped, wait_until};

#[test]
fn a_task_goes_with_its_result_and_all_its_pointers() {
    let place = Place::new();
    for reader in ["ann", "bob", "eve"] {
        place.put(reader, "a");
        place.put(reader, "other");
    }
    place.ok(&["accept", "a", "--reader", "bob"]);
    fs::remove_file(place.path("deliveries/eve/a.txt")).unwrap();
    place.answer("a");
    assert_eq!(place.ok(&["archive", "a"])[0]["retired"], 2);
    let kept = [
        "deliveries/ann/archive/a.txt",
        "deliveries/ann/other.txt",
        "deliveries/bob/archive/a.accepted",
        "deliveries/bob/other.txt",
        "deliveries/eve/other.txt",
    ];
    let names = place.names();
    assert_eq!(names[..5], kept);
    let epoch = names[5].strip_prefix("results/archive/a-").and_then(|n| n.strip_suffix(".txt"));
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
    assert!(now.as_secs().abs_diff(epoch.unwrap().parse().unwrap()) < 60, "{names:?}");
    assert_eq!(names[6..], ["tasks/archive/a.txt", "tasks/other.txt"]);
    // Again is no error, and does nothing; what nobody knows is one.
    assert_eq!(place.ok(&["archive", "a"])[0]["retired"], 0);
    assert_eq!(place.names(), names);
    place.run(&["archive", "nothing"]).expect_code(3);
}

/// The next task of the same name, and its result in the same second.
#[test]
fn an_id_may_be_used_again_and_no_result_is_lost() {
    let place = Place::new();
    for round in 0..3 {
        place.ok(&["post", "a", "--reader", "ann", "-m", &format!("round {round}")]);
        assert!(place.path("deliveries/ann/a.txt").is_file());
        // The results of the rounds before answer nothing.
        assert_eq!(place.run(&["answered", "a"]).code(), 1);
        place.write("results/a.txt", format!("answer {round}"));
        place.ok(&["archive", "a"]);
    }
    let results = fs::read_dir(place.path("results/archive")).unwrap();
    let mut texts: Vec<String> =
        results.map(|file| fs::read_to_string(file.unwrap().path()).unwrap()).collect();
    texts.sort_unstable();
    assert_eq!(texts, ["answer 0", "answer 1", "answer 2"]);
}

/// Stopped after any of its steps, it is finished by the next call; and an earlier task's result is not
/// taken for an answer to the next task.
#[test]
fn what_was_begun_is_finished() {
    for done in 0..3 {
        let place = Place::new();
        place.put("ann", "a");
        place.answer("a");
        let step = |from: &str, to: &str| {
            fs::create_dir_all(place.path(to).parent().unwrap()).unwrap();
            fs::rename(place.path(from), place.path(to)).unwrap();
        };
        let steps =
            [("tasks/a.txt", "tasks/archive/a.txt"), ("results/a.txt", "results/archive/a-7.txt")];
        steps[..done].iter().for_each(|(from, to)| step(from, to));
        if done == 1 {
            let told = place.run(&["post", "a", "--reader", "ann", "-m", "next"]).expect_code(1);
            assert!(told.err.contains("a result of an earlier task"), "{}", told.err);
        }
        assert_eq!(place.ok(&["archive", "a"])[0]["retired"], 1);
        let names = place.names();
        assert_eq!(names.len(), 3, "{names:?}");
        assert!(names.iter().all(|name| name.contains("/archive/")), "{names:?}");
    }
}

#[test]
fn each_inbox_is_waited_for_while_somebody_has_its_lock() {
    let place = Place::new();
    place.put("ann", "a");
    place.put("bob", "a");
    let script = "exec 9>deliveries/bob/.lock; flock 9; touch held; sleep 60 9>&-; true";
    let mut holder = place.site.command("bash");
    let mut holder = holder.args(["-c", script]).spawn().unwrap();
    wait_until("the holder", || place.path("held").exists());
    let mut archive = place.command(&["archive", "a"]);
    let mut archive = archive.stderr(std::process::Stdio::piped()).spawn().unwrap();
    wait_until("the step before", || place.path("deliveries/ann/archive/a.txt").exists());
    std::thread::sleep(Duration::from_millis(50));
    assert!(place.path("deliveries/bob/a.txt").exists());
    assert!(archive.try_wait().unwrap().is_none());
    // A holder that dies holds nothing.
    holder.kill().unwrap();
    holder.wait().unwrap();
    assert!(archive.wait().unwrap().success());
    assert!(place.path("deliveries/bob/archive/a.txt").exists());
}

/// What cannot be made is found out before anything is moved.
#[test]
fn on_a_full_disk_all_is_as_before_or_as_after() {
    let place = Place::new();
    let mut seen = std::collections::BTreeSet::new();
    for inodes in 12..24 {
        // A tmpfs counts files, not bytes: each folder that is to be made needs one.
        let Some(_disk) = SmallDisk::mount(&place.path(""), &format!("1m,nr_inodes={inodes}"))
        else {
            return skipped("mounting a tmpfs needs root");
        };
        place.put("ann", "a");
        place.put("bob", "a");
        place.answer("a");
        let before = place.files();
        let told = place.run(&["archive", "a"]);
        seen.insert(told.code());
        match told.code() {
            0 => assert!(place.names().iter().all(|name| name.contains("/archive/"))),
            code => {
                assert_eq!((code, place.files()), (3, before), "{}", told.err);
                assert!(told.err.contains("hint: make room"), "{}", told.err);
            }
        }
    }
    assert_eq!(seen.into_iter().collect::<Vec<_>>(), [0, 3]);
}

/// A result that cannot be moved: its archive is on another disk.
#[test]
fn a_task_whose_result_cannot_be_moved_stays() {
    let place = Place::new();
    place.put("ann", "a");
    place.answer("a");
    fs::create_dir_all(place.path("results/archive")).unwrap();
    let Some(_disk) = SmallDisk::mount(&place.path("results/archive"), "1m") else { return };
    let before = place.files();
    let told = place.run(&["archive", "a"]).expect_code(3);
    assert!(told.err.contains("cannot move '"), "{}", told.err);
    assert_eq!(place.files(), before);
}

#[test]
fn a_post_on_a_full_disk_leaves_nothing_half_done() {
    let place = Place::new();
    let Some(disk) = SmallDisk::mount(&place.path(""), "2m") else { return };
    place.ok(&["post", "a", "-m", "fits"]);
    disk.fill(0);
    let post = ["post", "b", "-m", "fits no more", "--json"];
    let told = place.run(&post).expect_code(3);
    assert!(
        told.err.contains("No space left") && told.err.contains("hint: make room"),
        "{}",
        told.err
    );
    assert_eq!(super::records(told.text())[0]["code"], json!("disk-full"));
    let own = |names: Vec<String>| names.into_iter().filter(|n| n != "filler").collect::<Vec<_>>();
    assert_eq!(own(place.names()), ["deliveries/default/a.txt", "tasks/a.txt"]);
    disk.free();
    place.ok(&post);
    // The task fits, and its pointer does not: it is put when there is room.
    disk.fill(4096);
    let told = place.run(&["post", "c", "-m", "x"]).expect_code(3);
    assert!(told.err.contains("hint: make room"), "{}", told.err);
    disk.free();
    place.ok(&["post", "c", "-m", "x"]);
    assert!(place.path("deliveries/default/c.txt").is_file());
}
