//! Reads that move with their text, and those that do not.

use std::fs;

use super::{ask, lines, planned, read_all, replan, unread};
use crate::support::site::Site;

fn read_files() -> Site {
    let site = planned(&[("a.txt", lines("first", 1, 400)), ("d/b.txt", lines("second", 1, 100))]);
    read_all(&site);
    site
}

fn rename(site: &Site, from: &str, to: &str) {
    fs::create_dir_all(site.work(to).parent().unwrap()).unwrap();
    fs::rename(site.work(from), site.work(to)).unwrap();
}

#[test]
fn a_file_that_is_renamed_or_moved_stays_read() {
    let site = read_files();
    let segments = ask(&site, "SELECT segment_id FROM segments");
    rename(&site, "a.txt", "e/f/a.txt");
    rename(&site, "d/b.txt", "c.txt");
    let plan = replan(&site, &[]);
    assert_eq!((&plan["added"], &plan["removed"]), (&plan["moved"], &plan["moved"]));
    assert_eq!(unread(&site), []);
    assert_eq!(ask(&site, "SELECT segment_id FROM segments"), segments, "in their old segments");
    let evidence =
        ask(&site, "SELECT DISTINCT path, reader, how FROM reads WHERE how = 'moved' ORDER BY 1");
    assert_eq!(evidence, "c.txt default moved\ne/f/a.txt default moved\n");
    site.ok(&["read", "--segment", "read-1"]);
}

#[test]
fn a_directory_that_moves_takes_its_reads_along() {
    let site = read_files();
    rename(&site, "d", "x/y");
    replan(&site, &[]);
    assert_eq!(unread(&site), []);
}

#[test]
fn a_move_in_two_batches_is_a_move() {
    let site = read_files();
    fs::copy(site.work("d/b.txt"), site.work("z.txt")).unwrap();
    replan(&site, &[]);
    assert!(unread(&site).iter().all(|(path, _)| path == "z.txt") && !unread(&site).is_empty());
    fs::remove_file(site.work("d/b.txt")).unwrap();
    replan(&site, &[]);
    assert_eq!(unread(&site), []);
}

#[test]
fn the_other_way_round_it_is_a_move_too() {
    let site = read_files();
    let text = fs::read(site.work("d/b.txt")).unwrap();
    fs::remove_file(site.work("d/b.txt")).unwrap();
    replan(&site, &[]);
    site.write("z.txt", text);
    replan(&site, &[]);
    assert_eq!(unread(&site), []);
}

#[test]
fn a_copy_inherits_nothing() {
    let site = planned(&[("a.txt", lines("same", 1, 20)), ("b.txt", lines("same", 1, 20))]);
    super::next(&site);
    // Of one segment the first file alone.
    site.sh(
        "auwai-ledger show --workspace . a.txt | auwai-ledger print --ack-fd 3 3>&1 >/dev/null \
        | auwai-ledger mark --workspace .",
    )
    .expect_code(0);
    fs::remove_file(site.work("a.txt")).unwrap();
    replan(&site, &[]);
    assert_eq!(unread(&site), [("b.txt".to_string(), "leased".to_string())]);
}

#[test]
fn what_is_undone_is_read_again_and_what_has_moved_on_is_not() {
    let site = read_files();
    let (text, other) = (lines("second", 1, 100), lines("other", 1, 100));
    site.write("d/b.txt", &other);
    replan(&site, &[]);
    site.write("d/b.txt", &text);
    replan(&site, &[]);
    assert_eq!(unread(&site), []);
    rename(&site, "d/b.txt", "c.txt");
    replan(&site, &[]);
    site.write("d/b.txt", &text);
    replan(&site, &[]);
    let left = unread(&site);
    assert!(!left.is_empty() && left.iter().all(|(path, _)| path == "d/b.txt"), "{left:?}");
    // Read again, it is evidence again.
    let rows = || ask(&site, "SELECT count(*) FROM reads WHERE path = 'd/b.txt' AND how = 'shown'");
    let before = rows();
    read_all(&site);
    assert_ne!(rows(), before);
}

#[test]
fn repositories_keep_their_reads_apart() {
    let site = Site::new();
    site.write("one/a.txt", lines("first", 1, 60));
    site.write("two/b.txt", lines("second", 1, 60));
    site.ok(&["workspace", "init", "both"]);
    site.ok(&["workspace", "add", "one"]);
    site.ok(&["workspace", "add", "two"]);
    site.ok(&["plan"]);
    read_all(&site);
    rename(&site, "one/a.txt", "two/a.txt");
    site.ok(&["replan"]);
    let left = unread(&site);
    assert!(!left.is_empty() && left.iter().all(|(path, _)| path == "a.txt"), "{left:?}");
    site.ok(&["workspace", "remove", "two"]);
    site.ok(&["replan"]);
    assert_eq!(unread(&site), []);
    site.ok(&["workspace", "add", "two"]);
    site.ok(&["replan"]);
    let left = unread(&site);
    assert!(
        !left.is_empty() && left.iter().all(|(path, _)| path == "a.txt"),
        "b.txt is back: {left:?}"
    );
}
