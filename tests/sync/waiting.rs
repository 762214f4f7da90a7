//! `auwai watch --sync` when all is not well: processes that are stopped, a disk that is full, state
//! that others have taken away.

use std::fs;
use std::io::{BufRead, BufReader};
use std::process::Child;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use super::following::{Following, state};
use super::watch::{Watch, site, texts};
use crate::support::disk::SmallDisk;
use crate::support::site::{Site, Told, wait_until};
use crate::watch::watcher::halt;

/// A process that is stopped, and goes on with the end of this value.
struct Stopped(Pid);

impl Stopped {
    fn of(pid: Pid) -> Stopped {
        halt(pid);
        Stopped(pid)
    }
}

impl Drop for Stopped {
    fn drop(&mut self) {
        let _ = kill_process(self.0, Signal::CONT);
    }
}

fn sync(site: &Site, more: &[&str]) -> Told {
    site.run(&[&["watch", "--repo", "r", "--sync"], more].concat())
}

/// The first line that a process says.
fn said(child: &mut Child) -> String {
    let mut line = String::new();
    BufReader::new(child.stderr.as_mut().unwrap()).read_line(&mut line).unwrap();
    line
}

/// It waited for ever for a process that did not move.
#[test]
fn who_waits_gives_up_in_time_and_says_what_for() {
    let site = site();
    let watch = Watch::start(&site, &[]);
    let [watcher, keeper] = watch.stages()[..] else { panic!("two stages") };
    let root = site.work("r").display().to_string();
    let stopped = Stopped::of(keeper);
    site.write("r/b.txt", "two\n");
    let told = sync(&site, &["--max-seconds", "0.5"]).expect_code(1);
    let pid = keeper.as_raw_pid();
    let expected = format!(
        "auwai: process {pid}, which keeps the index of '{root}', is at batch 0 of 1 after 500ms\n\
         hint: see what it does: `auwai-ledger status --repo {root}`"
    );
    assert!(told.err.starts_with(&expected), "{}", told.err);
    drop(stopped);
    sync(&site, &["--max-seconds", "50"]).expect_code(0);
    let stopped = Stopped::of(watcher);
    let told = sync(&site, &["--max-seconds", "0.3"]).expect_code(1);
    let expected = format!(
        "auwai: the watcher of process {pid}, which keeps the index of '{root}', has not answered after 300ms\n"
    );
    assert!(told.err.starts_with(&expected), "{}", told.err);
    let told = site.sh("auwai-wait-events --sync --max-seconds 0.3 r").expect_code(1);
    let pid = watcher.as_raw_pid();
    let expected = format!(
        "auwai-wait-events: process {pid}, which watches '{root}', did not answer in 300ms\n\
         hint: see whether it runs: `ps -o stat,args -p {pid}`\n\
         hint: it answers when what it has written before has been taken by its reader\n"
    );
    assert_eq!(told.err, expected);
    drop(stopped);
    sync(&site, &[]).expect_code(0);
}

/// And without a word.
#[test]
fn who_waits_for_long_says_so_once() {
    let site = site();
    let watch = Watch::start(&site, &[]);
    let root = site.work("r").display().to_string();
    let what = [format!("which watches '{root}'"), format!("which keeps the index of '{root}'")];
    let tools = ["auwai-wait-events", "auwai-ledger"];
    for ((pid, tool), what) in watch.stages().into_iter().zip(tools).zip(what) {
        let stopped = Stopped::of(pid);
        site.write("r/b.txt", tool);
        let mut waiting = site.start(&["watch", "--repo", "r", "--sync"]);
        let pid = pid.as_raw_pid();
        assert_eq!(said(&mut waiting), format!("{tool}: waiting for process {pid}, {what}\n"));
        drop(stopped);
        wait_until("the end", || waiting.try_wait().unwrap().is_some());
        assert!(waiting.wait().unwrap().success());
    }
    assert_eq!(sync(&site, &[]).expect_code(0).err, "");
}

/// The state could not be written either, so nobody learnt of it, and who waited waited on.
#[test]
fn a_full_disk_is_told_to_who_waits_until_there_is_room() {
    let site = &Site::new();
    let Some(disk) = SmallDisk::mount(&site.work(""), "3m") else { return };
    let text: String = (0..20_000).map(|n| format!("let x{n} = {n};\n")).collect();
    site.write("r/big.log", text);
    site.write("r/.gitignore", "*.log\n");
    site.sh("git init -q r").expect_code(0);
    let _watch = Watch::start(site, &[]);
    site.ask("r/.auwai/ledger.sqlite", "PRAGMA wal_checkpoint(TRUNCATE)");
    disk.fill(0);
    fs::rename(site.work("r/big.log"), site.work("r/big.txt")).unwrap();
    let told = sync(site, &[]).expect_code(3);
    assert!(told.err.contains("is not up to date: "), "{}", told.err);
    assert!(
        told.err.contains("no space left") || told.err.contains("No space left"),
        "{}",
        told.err
    );
    assert!(state(site)["last_error"].is_string());
    // By itself it tries again ever more rarely, at the end every ten seconds.
    for _ in 0..3 {
        sync(site, &[]).expect_code(3);
    }
    disk.free();
    sync(site, &[]).expect_code(0);
    assert!(texts(site).contains("big.txt"));
    assert!(state(site)["last_error"].is_null());
}

/// Nothing in the tree changed, so nobody looked.
#[test]
fn state_that_was_taken_away_is_made_anew_for_who_waits() {
    let site = site();
    let _watch = Watch::start(&site, &[]);
    for gone in ["watch.lock", "watch-state.json", ""] {
        let path = site.work("r/.auwai").join(gone);
        if gone.is_empty() { fs::remove_dir_all(&path) } else { fs::remove_file(&path) }.unwrap();
        let told = sync(&site, &[]).expect_code(0);
        assert_eq!(told.err, "", "{gone}");
        assert_eq!(texts(&site), ".gitignore\na.txt\n", "{gone}");
        assert!(state(&site)["session"].is_string(), "{gone}");
        let second = site.run(&["watch", "--repo", "r"]).expect_code(3);
        assert!(second.err.contains("keeps the index of"), "{}", second.err);
    }
    site.write("r/b.txt", "two\n");
    sync(&site, &[]).expect_code(0);
    assert_eq!(texts(&site), ".gitignore\na.txt\nb.txt\n");
}

#[test]
fn who_has_lost_its_lock_to_another_ends_and_says_to_whom() {
    let site = site();
    let first = Watch::start(&site, &[]);
    fs::remove_file(site.work("r/.auwai/watch.lock")).unwrap();
    let second = Watch::start(&site, &[]);
    let keeper = second.stages()[1].as_raw_pid();
    sync(&site, &[]).expect_code(0);
    let (status, said) = first.end();
    assert_eq!(status.code(), Some(3), "{said}");
    assert!(said.contains(&format!("auwai: process {keeper} keeps the index of")), "{said}");
    sync(&site, &[]).expect_code(0);
}

/// It was put off up to ten seconds after a storm.
#[test]
fn a_scan_that_somebody_waits_for_is_not_put_off() {
    let site = site();
    let mut following = Following::ready(&site, &[]);
    let mut scan = |asked: bool| {
        following.rescan(".");
        let batch = following.batch();
        if asked {
            following.asked();
        }
        let begun = Instant::now();
        assert_eq!(following.heard()["batch"], batch);
        begun.elapsed()
    };
    let mut longest = Duration::ZERO;
    while longest < Duration::from_millis(700) {
        longest = scan(false);
    }
    // The next would be put off twice as long.
    let waited = scan(true);
    assert!(waited < longest, "{waited:?}, {longest:?}");
    let again = scan(true);
    assert!(again > Duration::from_millis(500), "a storm of questions is one of scans: {again:?}");
}

/// The answer came before the state was there again, where nothing had changed in between.
#[test]
fn state_that_was_removed_is_there_when_the_wait_ends() {
    let site = site();
    let _watch = Watch::start(&site, &[]);
    for remove in ["rm -rf r/.auwai", "rm r/.auwai/ledger.sqlite*"] {
        site.sh(remove).expect_code(0);
        site.ok(&["watch", "--repo", "r", "--sync"]);
        site.sh("auwai-ledger files --repo r").expect_code(0);
    }
}

#[test]
fn git_s_head_is_where_it_is_when_the_wait_ends() {
    let site = site();
    site.sh("git -C r add -A && git -C r -c user.name=a -c user.email=a@b commit -qm one")
        .expect_code(0);
    let _watch = Watch::start(&site, &[]);
    site.ok(&["watch", "--repo", "r", "--sync"]);
    for round in 0..3 {
        site.sh("git -C r -c user.name=a -c user.email=a@b commit -q --allow-empty -m more")
            .expect_code(0);
        site.ok(&["watch", "--repo", "r", "--sync"]);
        let head = site.sh("git -C r rev-parse HEAD").text().trim().to_string();
        let told = site.sh("auwai-ledger files --repo r | jq -r 'select(.type == \"repo\").head'");
        assert_eq!(told.text().trim(), head, "round {round}");
    }
}

#[test]
fn a_file_that_has_the_name_of_our_state_comes_and_goes_as_any_other() {
    let site = site();
    let _watch = Watch::start(&site, &[]);
    let has = || site.sh("auwai-ledger files --repo r --fate text").text().contains("\"d/.auwai\"");
    for text in ["one\n", "two\n"] {
        site.write("r/d/.auwai", text);
        site.ok(&["watch", "--repo", "r", "--sync"]);
        assert!(has());
        fs::remove_file(site.work("r/d/.auwai")).unwrap();
        site.ok(&["watch", "--repo", "r", "--sync"]);
        assert!(!has());
    }
}

#[test]
fn who_cannot_be_asked_is_named() {
    let site = site();
    let watch = Watch::start(&site, &[]);
    let told = site.sh("XDG_RUNTIME_DIR=$PWD/other auwai watch --sync --repo r").expect_code(1);
    let pid = watch.stages().iter().map(|pid| pid.as_raw_nonzero().get()).find(|pid| {
        told.err.contains(&format!("hint: process {pid} keeps its index and cannot be asked: "))
    });
    assert!(pid.is_some(), "{}", told.err);
}

/// A scan under few descriptors noted `EMFILE` as what is so of a file, and a barrier passed over it.
#[test]
fn a_scan_that_has_too_few_descriptors_takes_nothing_for_unreadable() {
    let site = site();
    for n in 0..40 {
        site.write(format!("r/many/{n}/deep/file"), "text\n");
    }
    site.ok(&["index", "--repo", "r"]);
    let before = site
        .sh("auwai-ledger files --repo r | jq -c 'select(.type == \"file\")'")
        .text()
        .to_string();
    for limit in 8..20 {
        site.write("r/many/1/deep/file", format!("text {limit}\n"));
        let told = site.sh(&format!("ulimit -n {limit}; exec auwai-ledger scan --repo r"));
        let unreadable =
            site.sh("auwai-ledger files --repo r --fate unreadable | grep -c '\"type\":\"file\"'");
        assert_eq!(unreadable.text().trim(), "0", "{limit}: {}", told.err);
        assert!([0, 3].contains(&told.code()), "{limit}: {}", told.err);
    }
    site.write("r/many/1/deep/file", "text\n");
    site.ok(&["index", "--repo", "r"]);
    let after = site
        .sh("auwai-ledger files --repo r | jq -c 'select(.type == \"file\")'")
        .text()
        .to_string();
    assert_eq!(before, after);
}

/// It was the same directory, so what is above it now was not watched.
#[test]
fn a_root_that_comes_back_by_another_way_is_followed_there() {
    let site = Site::new();
    site.write("p/r/a", "one\n");
    let mut watch = site.start(&["watch", "--repo", "p/r"]);
    let sync = || site.run(&["watch", "--repo", "p/r", "--sync", "--max-seconds", "20"]).code();
    wait_until("the watcher", || sync() == 0);
    let lines = |path: &str| {
        let ask = format!("auwai-ledger files --repo p/r | jq 'select(.path == \"{path}\").lines'");
        site.sh(&ask).text().trim().to_string()
    };
    // The same root below another parent, which then goes.
    site.sh("mkdir p2 && mv p/r p2/r && mv p old && mv p2 p").expect_code(0);
    assert_eq!(sync(), 0);
    site.sh("mv p p3 && mkdir -p p/r && echo new > p/r/n").expect_code(0);
    wait_until("the new root", || sync() == 0 && lines("n") == "1");
    site.sh("echo more >> p/r/n").expect_code(0);
    assert_eq!((sync(), lines("n").as_str()), (0, "2"));
    // A link to where it was moved, which then goes.
    site.sh("mv p/r moved && ln -s ../moved p/r").expect_code(0);
    site.sh("rm p/r && mkdir p/r && echo newer > p/r/m").expect_code(0);
    wait_until("the newer root", || sync() == 0 && lines("m") == "1");
    site.sh("echo more >> p/r/m").expect_code(0);
    assert_eq!((sync(), lines("m").as_str()), (0, "2"));
    watch.kill().unwrap();
    watch.wait().unwrap();
}
