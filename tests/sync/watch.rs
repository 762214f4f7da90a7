//! `auwai watch` as it is used: three processes, and a tree that changes under them.

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, ChildStdout, ExitStatus};

use rustix::process::{Pid, Signal, kill_process, test_kill_process};

use super::following::state;
use crate::support::site::{Site, wait_until};

/// A place with a small repository `r`.
pub fn site() -> Site {
    let site = Site::new();
    site.write("r/a.txt", "one\n");
    site.write("r/.gitignore", "*.log\n");
    site.sh("git init -q r").expect_code(0);
    site
}

/// A running `auwai watch`.
pub struct Watch {
    pub child: Child,
    output: Option<BufReader<ChildStdout>>,
}

impl Watch {
    /// Begins, and waits for the first line.
    pub fn start(site: &Site, options: &[&str]) -> Watch {
        let mut child = site.start(&[&["watch", "--repo", "r"], options].concat());
        let output = child.stdout.take().map(BufReader::new);
        let mut watch = Watch { child, output };
        let first = watch.line();
        assert!(first.starts_with("r: "), "{first}");
        watch
    }

    pub fn line(&mut self) -> String {
        let mut line = String::new();
        self.output.as_mut().unwrap().read_line(&mut line).unwrap();
        line
    }

    /// The processes of the stages, in the order of the pipeline.
    pub fn stages(&self) -> Vec<Pid> {
        let id = self.child.id();
        let children = fs::read_to_string(format!("/proc/{id}/task/{id}/children")).unwrap();
        let pids = children.split_whitespace().map(|pid| pid.parse().unwrap());
        let pids: Vec<Pid> = pids.map(|pid| Pid::from_raw(pid).unwrap()).collect();
        assert_eq!(pids.len(), 2);
        pids
    }

    /// How it ended, and what it said.
    pub fn end(mut self) -> (ExitStatus, String) {
        wait_until("the end", || self.child.try_wait().unwrap().is_some());
        let mut said = String::new();
        self.child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
        (self.child.wait().unwrap(), said)
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Other watchers of the tree come and go, and have readers that do not read.
#[test]
fn sync_waits_for_the_watcher_that_is_followed_alone() {
    let site = site();
    let _watch = Watch::start(&site, &["--settle", "5s"]);
    let mut stuck = site.command(env!("CARGO_BIN_EXE_auwai-wait-events"));
    let stuck = stuck.args(["--settle", "0", "r"]).stdout(std::process::Stdio::piped());
    let mut stuck = stuck.spawn().unwrap();
    std::thread::sleep(std::time::Duration::from_millis(200));
    let brief = site
        .command("sh")
        .args(["-c", "while sleep 0.01; do auwai-wait-events -1 --settle 0 r >at; done 2>at"])
        .spawn();
    let mut brief = brief.unwrap();
    for n in 0..30 {
        for k in 0..100 {
            site.write(format!("r/a-name-that-is-long-enough-to-fill-a-pipe-{n}-{k}"), "x");
        }
        site.run(&["watch", "--repo", "r", "--sync"]).expect_code(0);
    }
    for child in [&mut stuck, &mut brief] {
        child.kill().unwrap();
        child.wait().unwrap();
    }
}

/// New directories are watched, and `status` says so.
#[test]
fn the_number_of_watches_is_that_of_now() {
    let site = site();
    let mut watch = Watch::start(&site, &[]);
    assert_eq!(state(&site)["watches"], 1);
    site.write("r/new/deep/b.txt", "two\n");
    assert!(watch.line().starts_with("r: "));
    wait_until("the state", || state(&site)["watches"] == 3);
    assert!(site.ok(&["-C", "r", "status"]).contains("inotify, 3 folders"));
}

/// The texts of the index.
pub fn texts(site: &Site) -> String {
    let sql = "SELECT cast(key AS TEXT) FROM files WHERE fate = 0 ORDER BY key";
    site.ask("r/.auwai/ledger.sqlite", sql).replace('\0', "/")
}

#[test]
fn a_file_that_comes_is_in_the_index() {
    let site = site();
    let mut watch = Watch::start(&site, &[]);
    assert_eq!(texts(&site), ".gitignore\na.txt\n");
    site.write("r/new/b.txt", "two\n");
    assert_eq!(watch.line(), "r: 1 path changed; 1 chunk added, 0 removed\n");
    assert_eq!(texts(&site), ".gitignore\na.txt\nnew/b.txt\n");
    fs::remove_dir_all(site.work("r/new")).unwrap();
    assert_eq!(watch.line(), "r: 1 path changed; 0 chunks added, 1 removed\n");
    assert_eq!(state(&site)["counters"]["scans"], 1);
}

#[test]
fn sync_returns_when_what_was_changed_is_in() {
    let site = site();
    let told = site.run(&["watch", "--repo", "r", "--sync"]).expect_code(1);
    assert!(told.err.contains("hint: start it: `auwai watch --repo "), "{}", told.err);
    let _watch = Watch::start(&site, &["--settle", "5s"]);
    for n in 0..10 {
        let name = format!("d{}/f{n}.txt", n % 3);
        site.write(format!("r/{name}"), format!("text {n}\n"));
        site.run(&["watch", "--repo", "r", "--sync"]).expect_code(0);
        assert!(texts(&site).contains(&name), "{name}");
    }
}

#[test]
fn the_index_is_that_of_a_scan_after_a_storm() {
    let site = site();
    let _watch = Watch::start(&site, &["--max-files", "200"]);
    site.sh(
        "cd r && for i in $(seq 300); do mkdir -p d$((i % 17))/e; echo $i > d$((i % 17))/e/$i.txt; done
         mv d3 moved && rm -r d4 && git -C . add -A && echo 'd5/' >> .gitignore && ln -s a.txt link",
    )
    .expect_code(0);
    site.run(&["watch", "--repo", "r", "--sync"]).expect_code(0);
    let all = || {
        site.ask("r/.auwai/ledger.sqlite", "SELECT cast(key AS TEXT), fate, detail, stat, size, hash, chunks FROM files ORDER BY key")
    };
    let watched = all();
    let told = site.ok(&["index", "--repo", "r"]);
    assert_eq!(told, "r: nothing has changed\n");
    assert_eq!(all(), watched);
}

/// The system tells of the name through which a file is written, and of no other.
#[test]
fn what_is_written_through_one_name_is_in_by_all_names_of_the_file() {
    let site = site();
    site.write("r/d/one", "a\n");
    fs::hard_link(site.work("r/d/one"), site.work("r/two")).unwrap();
    let _watch = Watch::start(&site, &[]);
    let lines = || {
        site.run(&["watch", "--repo", "r", "--sync"]).expect_code(0);
        let sql =
            "SELECT lines FROM files WHERE cast(key AS TEXT) IN ('d' || char(0) || 'one', 'two')";
        site.ask("r/.auwai/ledger.sqlite", sql)
    };
    assert_eq!(lines(), "1\n1\n");
    site.write("r/two", "a\nb\n");
    assert_eq!(lines(), "2\n2\n");
    site.write("r/two", "a\nb\nc\n");
    fs::remove_file(site.work("r/two")).unwrap();
    fs::rename(site.work("r/d/one"), site.work("r/two")).unwrap();
    fs::hard_link(site.work("r/two"), site.work("r/d/one")).unwrap();
    assert_eq!(lines(), "3\n3\n");
    assert_eq!(site.ok(&["index", "--repo", "r"]), "r: nothing has changed\n");
}

#[test]
fn once_is_a_scan() {
    let site = site();
    let told = site.ok(&["watch", "--repo", "r", "--once"]);
    assert_eq!(told, "r: 4 paths changed; 2 chunks added, 0 removed\n");
    assert_eq!(site.ok(&["watch", "--repo", "r", "--once"]), "r: nothing has changed\n");
    let json = site.ok(&["watch", "--repo", "r", "--once", "--json"]);
    assert!(json.contains(r#""type":"sync""#), "{json}");
}

#[test]
fn the_second_is_told_who_is_first() {
    let site = site();
    let watch = Watch::start(&site, &[]);
    let sync = watch.stages()[1].as_raw_pid();
    let second = site.run(&["watch", "--repo", "r"]).expect_code(3);
    assert!(
        second.err.contains(&format!("auwai: process {sync} keeps the index")),
        "{}",
        second.err
    );
}

#[test]
fn it_ends_after_max_seconds() {
    let site = site();
    let mut watch = Watch::start(&site, &["--max-seconds", "1"]);
    assert_eq!(watch.line(), "");
    let (status, said) = watch.end();
    assert_eq!((status.code(), said.as_str()), (Some(0), ""));
    assert!(state(&site)["ended"].is_string());
}

#[test]
fn whoever_is_killed_nobody_is_left() {
    for victim in 0..3 {
        let site = site();
        let watch = Watch::start(&site, &[]);
        let stages = watch.stages();
        let own = Pid::from_child(&watch.child);
        let all = [stages[0], stages[1], own];
        kill_process(all[victim], Signal::KILL).unwrap();
        let (status, said) = watch.end();
        let expected = if victim == 2 { None } else { Some(3) };
        assert_eq!(status.code(), expected, "{said}");
        // Orphans go to init, which buries them.
        wait_until("the others", || stages.iter().all(|pid| test_kill_process(*pid).is_err()));
        Watch::start(&site, &[]);
    }
}

#[test]
fn a_signal_reaches_every_stage() {
    for signal in [Signal::INT, Signal::TERM] {
        let site = site();
        let watch = Watch::start(&site, &[]);
        let stages = watch.stages();
        kill_process(Pid::from_child(&watch.child), signal).unwrap();
        let (status, said) = watch.end();
        assert_eq!(status.signal(), Some(signal.as_raw()), "{said}");
        assert!(stages.iter().all(|pid| test_kill_process(*pid).is_err()));
        assert!(state(&site)["ended"].is_string());
    }
}

/// `auwai status` names the process that keeps the index, which is a stage.
#[test]
fn a_stage_that_is_asked_to_end_ends_all_of_it() {
    for signal in [Signal::INT, Signal::TERM] {
        let site = site();
        let watch = Watch::start(&site, &[]);
        let pid = state(&site)["pid"].as_i64().unwrap();
        kill_process(Pid::from_raw(pid as i32).unwrap(), signal).unwrap();
        let (status, said) = watch.end();
        assert_eq!((status.signal(), said.as_str()), (Some(signal.as_raw()), ""));
    }
}

#[test]
fn it_ends_when_nobody_reads_it_any_more() {
    let site = site();
    let mut watch = Watch::start(&site, &[]);
    watch.output = None;
    let (status, said) = watch.end();
    assert_eq!((status.code(), said.as_str()), (Some(0), ""));
}

#[test]
fn what_a_stage_says_is_told_at_once() {
    let site = site();
    let mut watch = Watch::start(&site, &[]);
    fs::rename(site.work("r"), site.work("elsewhere")).unwrap();
    let mut said = BufReader::new(watch.child.stderr.take().unwrap());
    let mut line = String::new();
    said.read_line(&mut line).unwrap();
    assert!(line.contains("cannot open"), "{line}");
    assert!(watch.child.try_wait().unwrap().is_none());
    fs::rename(site.work("elsewhere"), site.work("r")).unwrap();
    site.write("r/back.txt", "back\n");
    wait_until("the file", || texts(&site).contains("back.txt"));
    watch.child.stderr = Some(said.into_inner());
}

#[test]
fn git_that_looks_in_a_loop_causes_no_scan() {
    let site = site();
    site.sh("git -C r add . && git -C r -c user.name=t -c user.email=t@e.org commit -qm x")
        .expect_code(0);
    let _watch = Watch::start(&site, &[]);
    site.sh("for i in $(seq 20); do touch r/a.txt; git -C r status -s; sleep 0.02; done")
        .expect_code(0);
    site.run(&["watch", "--repo", "r", "--sync"]).expect_code(0);
    assert_eq!(state(&site)["counters"]["scans"], 1);
}
