//! A disk that is full: said, and nothing half done.

use std::fs;

use snapbox::{assert_data_eq, str};

use super::told;
use crate::support::disk::SmallDisk;
use crate::support::site::{Site, Told};

fn tree(site: &Site) {
    for name in ["a", "b", "c"] {
        let lines = (1..=300).map(|n| format!("let {name} = {n};\n"));
        site.write(format!("src/{name}.rs"), lines.collect::<String>());
    }
    site.write(".auwai-ignore", "/filler\n");
}

#[track_caller]
fn assert_full(told: &Told) {
    assert_eq!(told.code(), 3, "{}", told.err);
    assert!(
        told.err.contains("no space left") || told.err.contains("No space left"),
        "{}",
        told.err
    );
    assert!(told.err.contains("hint: make room"), "{}", told.err);
}

#[test]
fn every_step_says_so_and_goes_on_when_there_is_room() {
    let Some(disk) = SmallDisk::mount("3m") else { return };
    let site = &disk.0;
    tree(site);
    disk.fill(0);
    let index = site.run(&["index"]);
    assert_full(&index);
    assert_data_eq!(
        told(site, &index),
        str![[r#"
exit 3
auwai: cannot write '[W]/.auwai': No space left on device
hint: make room and run the command again; what was committed stands

"#]]
    );
    assert_full(&site.run(&["plan"]));
    disk.free();
    site.ok(&["index"]);
    disk.fill(0);
    let plan = site.run(&["plan"]);
    assert_full(&plan);
    assert_data_eq!(
        told(site, &plan),
        str![[r#"
exit 3
auwai: cannot write the ledger '[W]/.auwai/ledger.sqlite': no space left on the device
hint: make room and run the command again; what was committed stands

"#]]
    );
    disk.free();
    site.ok(&["plan", "--context-window", "16k"]);
    site.ok(&["next"]);
    let complete = || {
        let sql = "SELECT count(*) FROM chunks WHERE complete = 1";
        site.ask(".auwai/fullread/coverage.sqlite", sql)
    };
    // The log of the ledger is at its end, so that a mark needs room.
    site.ask(".auwai/fullread/coverage.sqlite", "PRAGMA wal_checkpoint(TRUNCATE)");
    disk.fill(0);
    let read = site.sh("auwai read >../out");
    assert_full(&read);
    assert_data_eq!(
        told(site, &read),
        str![[r#"
exit 3
auwai: cannot write the coverage ledger '[W]/.auwai/fullread/coverage.sqlite': no space left on the device
hint: make room and run the command again; what was committed stands

"#]]
    );
    disk.free();
    assert_eq!(complete(), "0\n");
    site.sh("auwai read >../out").expect_code(0);
    site.ask(".auwai/fullread/coverage.sqlite", "PRAGMA wal_checkpoint(TRUNCATE)");
    disk.fill(0);
    let done = site.run(&["done", "-m", "found it"]);
    assert_full(&done);
    assert_data_eq!(
        told(site, &done),
        str![[r#"
exit 3
auwai: cannot write the coverage ledger '[W]/.auwai/fullread/coverage.sqlite': no space left on the device
hint: make room and run the command again; what was committed stands

"#]]
    );
    disk.free();
    site.ok(&["done", "-m", "found it"]);
    let findings = fs::read_to_string(site.work(".auwai/fullread/findings.md")).unwrap();
    assert_eq!(findings.matches("    found it\n").count(), 1, "{findings}");
    site.ok(&["run", "--", "wc", "-w"]);
}
