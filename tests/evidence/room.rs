//! An import that is stopped: by a full disk, or killed. What was there stands, and the same command
//! again finishes it.

use std::fs;
use std::process::Stdio;
use std::time::Duration;

use super::{HISTORY, PLAN, read_all, repository};
use crate::support::disk::SmallDisk;
use crate::support::site::Site;

/// A repository `r` that is read, a clone `d/r` of it with a plan, and the export.
fn ground() -> Site {
    let site = repository();
    site.sh(&format!("cd r && {PLAN}")).expect_code(0);
    read_all(&site, "r", "ann");
    site.sh("cd r && auwai-ledger export > ../../evidence.jsonl").expect_code(0);
    fs::create_dir(site.work("d")).unwrap();
    site
}

fn clone(site: &Site) {
    site.sh(&format!("git clone -q r d/r && cd d/r && {PLAN}")).expect_code(0);
}

#[test]
fn a_full_disk_stops_an_import_and_harms_nothing() {
    let site = ground();
    let Some(disk) = SmallDisk::mount(&site.work("d"), "16m") else { return };
    clone(&site);
    let (mut free, mut failed) = (0, 0);
    let import = "cd d/r && auwai-ledger import < ../../../evidence.jsonl";
    loop {
        site.ask(format!("d/r/{HISTORY}"), "PRAGMA wal_checkpoint(TRUNCATE)");
        disk.fill(free);
        let told = site.sh(import);
        disk.free();
        if told.code() == 0 {
            break;
        }
        assert_eq!(told.code(), 3, "{free}: {}", told.err);
        assert!(told.err.to_lowercase().contains("no space left"), "{free}: {}", told.err);
        assert!(told.err.contains("hint: make room"), "{free}: {}", told.err);
        site.sh("cd d/r && auwai status && auwai log").expect_code(0);
        (free, failed) = (free + 8192, failed + 1);
        assert!(free < 4 << 20, "{}", told.err);
    }
    assert!(failed > 1, "there was room for all");
    site.sh("cd d/r && auwai verify").expect_code(0);
    site.sh(import).expect_code(0);
    let rows = |folder: &str| site.ask(format!("{folder}/{HISTORY}"), "SELECT count(*) FROM reads");
    assert_eq!(rows("d/r"), rows("r"));
}

/// The plan is in force before what was imported counts: killed in between, the next `plan` goes on.
#[test]
fn what_waits_for_a_plan_counts_also_when_planning_is_stopped() {
    let site = ground();
    site.sh("git clone -q r d/r && cd d/r && auwai-ledger import < ../../../evidence.jsonl")
        .expect_code(0);
    site.sh("cd d/r && auwai-ledger scan --repo . >/dev/null").expect_code(0);
    site.sh(&format!("cd d/r && {PLAN}")).expect_code(0);
    // As if it had been killed after the adoption.
    let database = format!("d/r/{HISTORY}");
    for sql in [
        "UPDATE chunks SET complete = 0, read_at = NULL",
        "DELETE FROM marks",
        "DELETE FROM counted_imports",
        "UPDATE counters SET chunks_complete = 0, tokens_complete = 0",
        "UPDATE segment_progress SET unread = (SELECT count(*) FROM places p WHERE p.seq = segment_progress.seq)",
    ] {
        site.ask(&database, sql);
    }
    site.sh("cd d/r && auwai verify").expect_code(1);
    let told = site.sh("cd d/r && auwai plan").expect_code(0);
    assert!(told.err.contains("are read already: reads were imported"), "{}", told.err);
    site.sh("cd d/r && auwai verify").expect_code(0);
    let sums =
        "SELECT chunks_planned - chunks_complete, tokens_planned - tokens_complete FROM counters";
    assert_eq!(site.ask(&database, sums), "0 0\n");
    let told = site.sh("cd d/r && auwai plan").expect_code(0);
    assert_eq!(told.err, "", "once");
}

#[test]
fn an_import_that_is_killed_is_finished_by_the_next() {
    let site = ground();
    let evidence = fs::read(site.path("evidence.jsonl")).unwrap();
    clone(&site);
    for after in [0, 2, 5, 9, 14, 20, 30, 45] {
        let mut command = site.command(env!("CARGO_BIN_EXE_auwai-ledger"));
        command.current_dir(site.work("d/r")).arg("import").stderr(Stdio::null());
        command.stdin(fs::File::open(site.path("evidence.jsonl")).unwrap());
        let mut child = command.spawn().unwrap();
        std::thread::sleep(Duration::from_millis(after));
        let _ = child.kill();
        child.wait().unwrap();
        site.sh("cd d/r && auwai status").expect_code(0);
    }
    assert!(!evidence.is_empty());
    site.sh("cd d/r && auwai-ledger import < ../../../evidence.jsonl && auwai verify")
        .expect_code(0);
    let twice = "SELECT count(*) FROM (SELECT 1 FROM reads GROUP BY repo, chunk_id, reader, at HAVING count(*) > 1)";
    assert_eq!(site.ask(format!("d/r/{HISTORY}"), twice), "0\n");
    let left = fs::read_dir(site.work("d/r/.auwai/fullread")).unwrap();
    let names: Vec<_> = left.map(|it| it.unwrap().file_name().into_string().unwrap()).collect();
    assert!(names.iter().all(|name| !name.contains("tmp")), "{names:?}");
}
