//! Scans beside each other: each has its turn, and one that has to wait long says so.

use std::fs::File;
use std::time::Duration;

use rustix::fs::{FlockOperation, flock};

use super::following::Following;
use crate::support::site::{Site, Told, tell};

const LONG: &str = "another scan of";

/// Runs a scan while something else has the turn for so long.
fn scan_beside(site: &Site, held: Duration) -> Told {
    let lock = File::open(site.work("r/.auwai/ledger.lock")).unwrap();
    flock(&lock, FlockOperation::LockExclusive).unwrap();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            std::thread::sleep(held);
            drop(lock);
        });
        let mut scan = site.command(env!("CARGO_BIN_EXE_auwai-ledger"));
        scan.args(["scan", "--repo", "r"]);
        tell(scan)
    })
}

#[test]
fn a_scan_waits_for_another_and_says_so_when_that_is_long() {
    let site = Site::new();
    site.write("r/a.txt", "one\n");
    site.ok(&["index", "--repo", "r"]);
    site.write("r/b.txt", "two\n");
    let told = scan_beside(&site, Duration::from_millis(2500)).expect_code(0);
    assert!(told.text().contains("\"files\":1"), "{}", told.text());
    assert_eq!(told.err.matches(LONG).count(), 1, "{}", told.err);
    let told = scan_beside(&site, Duration::from_millis(50)).expect_code(0);
    assert!(!told.err.contains(LONG), "{}", told.err);
}

#[test]
fn scans_beside_a_process_that_keeps_the_index_are_not_refused() {
    let site = Site::new();
    site.write("r/a.txt", "one\n");
    let mut following = Following::ready(&site, &[]);
    for n in 0..5 {
        site.write(format!("r/{n}.txt"), "more\n");
        let mut scan = site.command(env!("CARGO_BIN_EXE_auwai-ledger"));
        scan.args(["scan", "--repo", "r"]);
        let scan = std::thread::scope(|scope| {
            let scan = scope.spawn(|| tell(scan));
            following.changed(&[&format!("{n}.txt")]);
            scan.join().unwrap()
        });
        assert!(scan.expect_code(0).err.is_empty());
    }
    let sql = "SELECT count(*) FROM files WHERE fate = 0";
    assert_eq!(site.ask("r/.auwai/ledger.sqlite", sql), "6\n");
}
