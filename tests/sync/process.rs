//! `auwai-ledger sync` by itself: the watcher is the test.

use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::time::{Duration, Instant};

use serde_json::json;

use super::following::{Following, SESSION, state};
use crate::support::site::{Site, Told, tell, wait_until};

/// A place with a small repository `r`.
fn site() -> Site {
    let site = Site::new();
    site.write("r/a.txt", "one\n");
    site.write("r/d/b.txt", "two\n");
    site.sh("git init -q r && git -C r add . && git -C r -c user.name=t -c user.email=t@e.org commit -qm x")
        .expect_code(0);
    site
}

/// The paths of the index with their fates, in order.
fn paths(site: &Site) -> String {
    let sql = "SELECT cast(key AS TEXT), fate FROM files WHERE fate < 7 ORDER BY key";
    site.ask("r/.auwai/ledger.sqlite", sql).replace('\0', "/")
}

/// `auwai-ledger ARGS` with this input.
fn ledger(site: &Site, args: &[&str], input: &str) -> Told {
    fs::write(site.path("input"), input).unwrap();
    let mut ledger = site.command(env!("CARGO_BIN_EXE_auwai-ledger"));
    ledger.args(args).stdin(fs::File::open(site.path("input")).unwrap());
    let output = ledger.output().unwrap();
    let err = String::from_utf8_lossy(&output.stderr).into_owned();
    Told { status: output.status, out: output.stdout, err }
}

fn signal(following: &Following, signal: rustix::process::Signal) {
    let pid = rustix::process::Pid::from_child(&following.child);
    rustix::process::kill_process(pid, signal).unwrap();
}

#[test]
fn a_missing_ledger_is_made_and_then_follows_events() {
    let site = site();
    let mut following = Following::ready(&site, &[]);
    assert_eq!(paths(&site), "a.txt 0\nd/b.txt 0\n");
    site.write("r/new/c.txt", "three\n");
    fs::remove_file(site.work("r/a.txt")).unwrap();
    let sync = following.changed(&["new", "a.txt"]);
    assert_eq!((&sync["mode"], &sync["files"]), (&json!("incremental"), &json!(2)));
    // What is tracked and gone is absent.
    assert_eq!(paths(&site), "a.txt 6\nd/b.txt 0\nnew/c.txt 0\n");
    let state = state(&site);
    assert_eq!((&state["session"], &state["backend"]), (&json!(SESSION), &json!("poll")));
    assert_eq!((&state["counters"]["scans"], &state["last_batch"]["n"]), (&json!(1), &json!(1)));
    assert_eq!(state["watches"], 3);
    assert!(state["ended"].is_null());
}

/// Who polls cannot tell what came and went between two of its looks; a scan may have met it.
#[test]
fn what_a_scan_met_between_two_looks_of_a_poll_is_looked_at_once_more() {
    let site = site();
    let mut following = Following::start(&site, &[]);
    following.tell(&json!({
        "v": 1, "type": "ready", "session": SESSION, "backend": "poll",
        "root": site.work("r").to_str().unwrap(), "watches": 0, "polled": 2, "interval_ms": 300
    }));
    assert_eq!(following.heard()["mode"], "full");
    for (events, mode) in [(&[][..], "full"), (&["brief"][..], "incremental")] {
        site.write("r/brief", "here and gone\n");
        if events.is_empty() {
            following.rescan(".");
        }
        let sync = following.changed(events);
        assert_eq!((&sync["mode"], &sync["files"]), (&json!(mode), &json!(1)));
        fs::remove_file(site.work("r/brief")).unwrap();
        assert_eq!(following.heard()["files"], 1, "nobody told it");
        assert!(!paths(&site).contains("brief"));
        // And once more, with nothing new: then it rests.
        assert_eq!(following.heard()["files"], 0);
    }
}

#[test]
fn a_batch_of_more_than_max_files_scans() {
    let site = site();
    let mut following = Following::ready(&site, &["--max-files", "3"]);
    let few = following.changed(&["1", "2", "3"]);
    assert_eq!(few["mode"], "incremental");
    let many = following.changed(&["1", "2", "3", "4"]);
    assert_eq!(many["mode"], "full");
}

#[test]
fn a_hundred_rescans_in_a_second_are_a_handful_of_scans() {
    for asked in [false, true] {
        rescans_of_a_second(asked);
    }
}

/// `asked`: somebody waits for each.
fn rescans_of_a_second(asked: bool) {
    let site = site();
    let mut following = Following::ready(&site, &[]);
    let begun = Instant::now();
    for n in 1..=100 {
        following.rescan(".");
        following.batch();
        if asked {
            following.asked();
        }
        let next = begun + Duration::from_millis(10 * n);
        std::thread::sleep(next.saturating_duration_since(Instant::now()));
    }
    let mut scans = 0;
    while following.heard()["batch"] != 100 {
        scans += 1;
    }
    assert!(scans < 8, "{scans} scans");
}

#[test]
fn git_that_only_looks_causes_no_scan() {
    let site = site();
    let mut following = Following::ready(&site, &[]);
    let written = || fs::metadata(site.work("r/.git/index")).unwrap().modified().unwrap();
    for _ in 0..5 {
        let before = written();
        // A new time makes git write its index anew.
        site.sh("touch -d '2020-01-01' r/a.txt && git -C r status -s").expect_code(0);
        site.sh("touch r/a.txt && git -C r status -s").expect_code(0);
        assert_ne!(written(), before, "git did not write its index");
        following.event("a.txt");
        following.batch();
        assert_eq!(following.heard()["mode"], "incremental");
    }
    assert_eq!(state(&site)["counters"]["scans"], 1);
}

#[test]
fn what_git_tracks_anew_is_a_change_of_what_is_in() {
    let site = site();
    site.write("r/.gitignore", "*.log\n");
    site.write("r/x.log", "log\n");
    let mut following = Following::ready(&site, &[]);
    assert_eq!(paths(&site), ".gitignore 0\na.txt 0\nd/b.txt 0\n");
    site.sh("git -C r add -f x.log").expect_code(0);
    let sync = following.changed(&[]);
    assert_eq!(sync["mode"], "full");
    assert_eq!(paths(&site), ".gitignore 0\na.txt 0\nd/b.txt 0\nx.log 0\n");
}

#[test]
fn a_commit_is_noted_without_a_scan() {
    let site = site();
    let mut following = Following::ready(&site, &[]);
    let noted = || {
        site.ask(
            "r/.auwai/ledger.sqlite",
            "SELECT value FROM meta WHERE key IN ('head', 'dirty') ORDER BY key",
        )
    };
    let head = || site.sh("git -C r rev-parse HEAD").expect_code(0).text().to_string();
    assert_eq!(noted(), format!("false\n{}", head()));
    site.write("r/a.txt", "other\n");
    following.changed(&["a.txt"]);
    assert_eq!(noted(), format!("true\n{}", head()));
    site.sh("git -C r -c user.name=t -c user.email=t@e.org commit -qam y").expect_code(0);
    assert_eq!(following.changed(&[])["mode"], "incremental");
    assert_eq!(noted(), format!("false\n{}", head()));
}

#[test]
fn the_second_is_told_who_is_first() {
    let site = site();
    let first = Following::ready(&site, &[]);
    let second = ledger(&site, &["sync", "--repo", "r"], "").expect_code(3);
    let pid = format!("process {} keeps the index of ", first.child.id());
    assert!(second.err.contains(&pid), "{}", second.err);
    // A scan may be made all the same, and leaves the state to the first.
    let before = state(&site);
    ledger(&site, &["sync", "--repo", "r", "--once"], "").expect_code(0);
    assert_eq!(state(&site), before);
    signal(&first, rustix::process::Signal::KILL);
    first.end();
    let third = ledger(&site, &["sync", "--repo", "r"], "").expect_code(0);
    assert_eq!(third.err, "");
}

#[test]
fn it_ends_when_nobody_reads_it_any_more() {
    let site = site();
    let mut following = Following::ready(&site, &[]);
    following.turn_away();
    let (status, said) = following.end();
    assert_eq!((status.code(), said.as_str()), (Some(0), ""));
    assert!(state(&site)["ended"].is_string());
}

#[test]
fn a_signal_ends_it_as_a_signal() {
    let site = site();
    let following = Following::ready(&site, &[]);
    signal(&following, rustix::process::Signal::TERM);
    let (status, _) = following.end();
    assert_eq!(status.signal(), Some(signal_hook::consts::SIGTERM));
    assert!(state(&site)["ended"].is_string());
}

/// The index stood still, and no signal ended it, for as long as its own record could not be written.
#[test]
fn the_index_follows_also_while_nobody_takes_what_is_said() {
    let site = site();
    let mut following = Following::ready(&site, &[]);
    rustix::pipe::fcntl_setpipe_size(following.output(), 4096).unwrap();
    let mut rounds = 0;
    while rounds < 60 {
        following.event("a.txt");
        rounds = following.batch();
        let done = || state(&site)["last_batch"]["n"] == rounds;
        wait_until("the batch", done);
    }
    site.write("r/late.txt", "late\n");
    following.event("late.txt");
    let last = following.batch();
    wait_until("the last batch", || state(&site)["last_batch"]["n"] == last);
    assert!(paths(&site).contains("late.txt"));
    let mut heard = following.heard();
    while heard["batch"] != last {
        heard = following.heard();
    }
    assert_eq!(heard["files"], 1);
    signal(&following, rustix::process::Signal::TERM);
    assert_eq!(following.end().0.signal(), Some(signal_hook::consts::SIGTERM));
}

#[test]
fn once_scans_and_ends() {
    let site = site();
    let told = ledger(&site, &["sync", "--repo", "r", "--once"], "").expect_code(0);
    assert!(told.text().contains(r#""mode":"full""#), "{}", told.text());
    let state = state(&site);
    assert_eq!((&state["counters"]["scans"], &state["last_scan"]["files"]), (&json!(1), &json!(4)));
    assert!(state["ended"].is_string());
}

#[test]
fn a_torn_line_ends_it_after_what_came_before() {
    let site = site();
    let mut following = Following::ready(&site, &[]);
    site.write("r/c.txt", "three\n");
    following.event("c.txt");
    following.write(r#"{"v":1,"type":"ev"#);
    following.hang_up();
    assert_eq!(following.heard()["files"], 1);
    let (status, said) = following.end();
    assert_eq!(status.code(), Some(3), "{said}");
    assert!(said.contains("-:3: the line is cut off"), "{said}");
    assert!(state(&site)["last_error"].as_str().unwrap().contains("cut off"));
}

#[test]
fn events_that_no_batch_ends_are_taken_when_the_input_rests() {
    let site = site();
    let mut following = Following::ready(&site, &[]);
    site.write("r/c.txt", "three\n");
    following.event("c.txt");
    let sync = following.heard();
    assert_eq!((&sync["files"], &sync["batch"]), (&json!(1), &json!(null)));
}

#[test]
fn a_root_that_goes_and_comes_back_is_followed_again() {
    let site = site();
    let mut following = Following::ready(&site, &[]);
    fs::rename(site.work("r"), site.work("elsewhere")).unwrap();
    following.rescan(".");
    following.batch();
    let moved = site.work("elsewhere/.auwai/watch-state.json");
    fs::write(site.work("elsewhere/c.txt"), "three\n").unwrap();
    assert!(moved.exists());
    std::thread::sleep(Duration::from_millis(400));
    fs::rename(site.work("elsewhere"), site.work("r")).unwrap();
    following.rescan(".");
    let batch = following.batch();
    let sync = following.heard();
    assert_eq!((&sync["mode"], &sync["batch"]), (&json!("full"), &json!(batch)));
    assert_eq!(paths(&site), "a.txt 0\nc.txt 0\nd/b.txt 0\n");
    assert!(state(&site)["last_error"].is_null());
    following.hang_up();
    let (status, said) = following.end();
    assert_eq!(status.code(), Some(0));
    assert_eq!(said.matches("cannot open").count(), 1, "{said}");
}

#[test]
fn a_ledger_that_was_taken_away_is_made_anew() {
    let site = site();
    let mut following = Following::ready(&site, &[]);
    fs::remove_dir_all(site.work("r/.auwai")).unwrap();
    assert_eq!(following.changed(&["a.txt"])["mode"], "full");
    assert_eq!(paths(&site), "a.txt 0\nd/b.txt 0\n");
    // With the folder went the lock.
    ledger(&site, &["sync", "--repo", "r"], "").expect_code(3);
}

#[test]
fn status_names_what_keeps_the_index() {
    let site = site();
    let mut following = Following::ready(&site, &[]);
    following.changed(&["a.txt"]);
    let told = ledger(&site, &["status", "--repo", "r"], "").expect_code(0);
    let watched = |text: &str| -> serde_json::Value {
        let records =
            text.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
        records
            .filter(|record| record["type"] == "status")
            .map(|mut r| r["watched"].take())
            .collect()
    };
    let found = &watched(told.text())[0][0];
    assert_eq!((&found["pid"], &found["batch"]), (&json!(following.child.id()), &json!(1)));
    let mut status = site.auwai(&["status"]);
    status.current_dir(site.work("r"));
    let told = tell(status).expect_code(0);
    let line = format!("by process {}: poll, 3 folders; batch 1 at ", following.child.id());
    assert!(told.text().contains(&line), "{}", told.text());
    signal(&following, rustix::process::Signal::KILL);
    following.end();
    let told = ledger(&site, &["status", "--repo", "r"], "").expect_code(0);
    assert!(watched(told.text())[0].is_null());
}

fn barrier(session: &str, batch: u64) -> String {
    format!(r#"{{"v":1,"type":"barrier","session":"{session}","batch":{batch}}}"#) + "\n"
}

#[test]
fn a_barrier_is_awaited() {
    let site = site();
    let args = ["sync", "--repo", "r", "--await"];
    let told = ledger(&site, &args, &barrier(SESSION, 0)).expect_code(1);
    assert!(told.err.contains("no process keeps the index"), "{}", told.err);
    ledger(&site, &args, "").expect_code(1);
    let mut following = Following::ready(&site, &[]);
    ledger(&site, &args, &barrier(SESSION, 0)).expect_code(0);
    // An answer of another watcher beside that of ours counts for nothing.
    let answers = barrier("ffffffffffffffff", 9) + &barrier(SESSION, 1);
    let foreign = ledger(&site, &args, &barrier("ffffffffffffffff", 9)).expect_code(3);
    assert!(foreign.err.contains("did not answer"), "{}", foreign.err);
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| ledger(&site, &args, &answers));
        std::thread::sleep(Duration::from_millis(50));
        assert!(!waiting.is_finished());
        following.changed(&["a.txt"]);
        let told = waiting.join().unwrap().expect_code(0);
        assert_eq!(told.text(), barrier(SESSION, 1));
    });
}

#[test]
fn a_batch_that_cannot_be_done_is_not_awaited_for_ever() {
    let site = site();
    let mut following = Following::ready(&site, &[]);
    // No state can be told where there is no folder, so the index is what fails here.
    site.sh("printf garbage > r/.git/index").expect_code(0);
    following.event("a.txt");
    following.batch();
    wait_until("the failure", || state(&site)["last_error"].is_string());
    let told = ledger(&site, &["sync", "--repo", "r", "--await"], &barrier(SESSION, 1));
    let told = told.expect_code(3);
    assert!(told.err.contains("git's index"), "{}", told.err);
    site.sh("git -C r reset -q 2>/dev/null || { rm r/.git/index && git -C r reset -q; }")
        .expect_code(0);
    following.batch();
    assert_eq!(following.heard()["batch"], 2);
}
