//! Leases by real processes: who sleeps too long, who waits, who is killed.

use std::process::{Child, Output};

use rustix::process::{Pid, Signal, kill_process};

use crate::support::site::{Site, wait_until};

const COVERAGE: &str = ".auwai/fullread/coverage.sqlite";

/// A repository with a plan of a few segments.
fn planned() -> Site {
    let site = Site::new();
    for name in ["a", "b"] {
        let lines = (1..=300).map(|n| format!("let {name} = line({n});\n"));
        site.write(format!("{name}.rs"), lines.collect::<String>());
    }
    site.ok(&["plan", "--context-window", "8k", "--fixed-prompt", "2500", "--reserve", "1000"]);
    site
}

fn ask(site: &Site, sql: &str) -> String {
    site.ask(COVERAGE, sql).trim().replace('\n', " ")
}

/// Each segment has a reader of its own, for good.
fn take_all(site: &Site) {
    let total: u64 = ask(site, "SELECT count(*) FROM queue").parse().unwrap();
    for n in 0..total {
        site.ok(&["next", "--reader", &format!("r{n}"), "--lease", "never"]);
    }
}

fn send(child: &Child, signal: Signal) {
    kill_process(Pid::from_child(child), signal).unwrap();
}

/// Waits until a command has ended by itself.
fn end(mut child: Child) -> Output {
    wait_until("the end of a command", || child.try_wait().unwrap().is_some());
    child.wait_with_output().unwrap()
}

/// Whether a process whose command line holds all these words runs.
fn process_with(words: &[&str]) -> Option<Pid> {
    let processes = std::fs::read_dir("/proc").unwrap().filter_map(Result::ok);
    let mut ids = processes.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    let found = ids.find(|id| {
        let line = std::fs::read(format!("/proc/{id}/cmdline")).unwrap_or_default();
        let line = String::from_utf8_lossy(&line).replace('\0', " ");
        words.iter().all(|word| line.contains(word))
    });
    found.and_then(Pid::from_raw)
}

#[test]
fn a_reader_that_slept_too_long_finds_its_segment_with_another() {
    let site = planned();
    site.ok(&["next", "--reader", "ann", "--lease", "1s"]);
    let mut read = site.auwai(&["read", "--reader", "ann"]);
    let (mut taken, out) = std::io::pipe().unwrap();
    let (_, err) = std::io::pipe().unwrap();
    // Its output is a pipe that nobody takes from: it waits, and then it is stopped.
    let child = read.args(["--drain", "10m"]).stdout(out).stderr(err).spawn().unwrap();
    drop(read);
    wait_until("text", || rustix::io::ioctl_fionread(&taken).unwrap() > 0);
    let parent = child.id();
    let stages: Vec<Pid> =
        std::fs::read_to_string(format!("/proc/{parent}/task/{parent}/children"))
            .unwrap()
            .split_whitespace()
            .filter_map(|id| Pid::from_raw(id.parse().unwrap()))
            .collect();
    send(&child, Signal::STOP);
    stages.iter().for_each(|stage| kill_process(*stage, Signal::STOP).unwrap());
    let mut bob = String::new();
    wait_until("the segment", || {
        bob = site.run(&["next", "--reader", "bob", "--lease", "1h", "--json"]).text().to_string();
        bob.contains("\"read-1\"")
            || {
                site.sh("auwai-ledger release --segment $(auwai status --json | jq -r '.active[] | select(.reader == \"bob\").segment')");
                false
            }
    });
    stages.iter().for_each(|stage| kill_process(*stage, Signal::CONT).unwrap());
    send(&child, Signal::CONT);
    let text = std::io::read_to_string(&mut taken).unwrap();
    assert!(text.contains("=== end of read-1"), "{text}");
    assert_eq!(end(child).status.code(), Some(1), "the reader is told");
    let late = site.run(&["done", "--reader", "ann", "-m", "late"]).expect_code(1);
    assert!(late.err.contains("the lease of 'read-1' ran out"), "{}", late.err);
    assert!(late.err.contains("reader 'bob' has it since"), "{}", late.err);
    site.run(&["read", "--reader", "ann"]).expect_code(1);
    site.run(&["read", "--reader", "ann", "--segment", "read-1"]).expect_code(1);
    // What ann took is read; bob closes it, once.
    site.ok(&["done", "--reader", "bob", "-m", "found"]);
    assert_eq!(ask(&site, "SELECT reader, text FROM findings"), "bob found");
    assert_eq!(ask(&site, "SELECT count(*) - count(DISTINCT chunk_id) FROM reads"), "0");
}

#[test]
fn who_waits_gets_what_is_given_back() {
    let site = planned();
    take_all(&site);
    let child = site.start(&["next", "--reader", "eve", "--wait", "1h"]);
    wait_until("the wait", || {
        process_with(&["claim", "eve", &site.path("w").to_string_lossy()]).is_some()
    });
    site.sh("auwai-ledger release --segment read-2").expect_code(0);
    let told = end(child);
    assert!(String::from_utf8_lossy(&told.stdout).starts_with("read-2: "), "{told:?}");
    assert_eq!(told.status.code(), Some(0));
}

#[test]
fn who_waits_gets_what_runs_out() {
    let site = planned();
    take_all(&site);
    site.sh("auwai-ledger release --segment read-2").expect_code(0);
    site.ok(&["next", "--reader", "ann", "--lease", "1s"]);
    let told = end(site.start(&["next", "--reader", "eve", "--wait", "1h"]));
    assert!(String::from_utf8_lossy(&told.stdout).starts_with("read-2: "), "{told:?}");
}

#[test]
fn who_waits_gets_the_synthesis_when_the_last_is_done_or_is_told_that_all_is() {
    let site = planned();
    let total: u64 = ask(&site, "SELECT count(*) FROM queue").parse().unwrap();
    for _ in 1..total {
        site.ok(&["next"]);
        site.ok(&["read"]);
        site.ok(&["done"]);
    }
    site.ok(&["next"]);
    let eve = site.start(&["next", "--reader", "eve", "--wait", "1h", "--json"]);
    site.ok(&["read"]);
    site.ok(&["done"]);
    let told = String::from_utf8(end(eve).stdout).unwrap();
    assert!(told.contains("\"synthesis-1\""), "{told}");
    let bob = site.start(&["next", "--reader", "bob", "--wait", "1h", "--json"]);
    site.ok(&["done", "--reader", "eve", "-m", "all"]);
    let told = end(bob);
    assert_eq!(told.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&told.stdout).contains("\"code\":\"done\""), "{told:?}");
}

#[test]
fn a_wait_ends_by_its_time() {
    let site = planned();
    take_all(&site);
    let told = site.run(&["next", "--reader", "eve", "--wait", "0.3", "--json"]).expect_code(1);
    assert!(told.text().contains("\"code\":\"held\""), "{}", told.text());
    let told = site.run(&["next", "--reader", "eve"]).expect_code(1);
    assert!(
        told.err.contains("hint: wait for them: `auwai next --wait 10m --reader eve`"),
        "{}",
        told.err
    );
}

#[test]
fn nothing_is_handed_to_one_who_was_killed_while_it_waited() {
    let site = planned();
    take_all(&site);
    let place = site.path("w").to_string_lossy().into_owned();
    let mut child = site.start(&["next", "--reader", "eve", "--wait", "1h"]);
    let mut stage = None;
    wait_until("the wait", || {
        stage = process_with(&["auwai-ledger", "claim", "eve", &place]);
        stage.is_some()
    });
    child.kill().unwrap();
    child.wait().unwrap();
    site.sh("auwai-ledger release --segment read-1").expect_code(0);
    wait_until("its end", || process_with(&["auwai-ledger", "claim", "eve", &place]).is_none());
    assert_eq!(ask(&site, "SELECT count(*) FROM claims WHERE reader = 'eve'"), "0");
}

#[test]
fn a_signal_ends_a_wait() {
    let site = planned();
    take_all(&site);
    let place = site.path("w").to_string_lossy().into_owned();
    let child = site.start(&["next", "--reader", "eve", "--wait", "1h"]);
    wait_until("the wait", || process_with(&["auwai-ledger", "claim", "eve", &place]).is_some());
    send(&child, Signal::TERM);
    let status = end(child).status;
    assert_eq!(std::os::unix::process::ExitStatusExt::signal(&status), Some(Signal::TERM.as_raw()));
}

#[test]
fn a_run_is_heard_of_while_its_command_thinks() {
    let site = planned();
    let script = "cat > /dev/null; until test -e ../go; do sleep 0.02; done";
    let child = site.start(&["run", "--lease", "1s", "--", "timeout", "100", "sh", "-c", script]);
    let until = "SELECT until - length FROM claims WHERE reader = 'run-1'";
    let mut renewed = std::collections::BTreeSet::new();
    wait_until("a lease that is renewed", || {
        let told = ask(&site, until);
        let begun = told.parse::<u64>().ok();
        renewed.extend(begun);
        let [first, last] = [renewed.first(), renewed.last()].map(|at| at.copied().unwrap_or(0));
        // Each look gives back what has run out.
        site.ok(&["status"]);
        last - first > 3000
    });
    assert_eq!(ask(&site, "SELECT count(*) FROM lapses"), "0");
    std::fs::write(site.path("go"), "").unwrap();
    assert_eq!(end(child).status.code(), Some(0));
}

#[test]
fn what_a_killed_run_had_comes_back_to_other_readers() {
    let site = planned();
    let script = "cat > /dev/null; touch ../at; exec sleep 300";
    let mut child = site.start(&["run", "--lease", "1s", "--", "sh", "-c", script]);
    wait_until("the command", || site.path("at").exists());
    child.kill().unwrap();
    child.wait().unwrap();
    wait_until("the lease's end", || {
        site.ok(&["status"]);
        ask(&site, "SELECT count(*) FROM claims") == "0"
    });
    assert!(site.ok(&["next"]).starts_with("read-1: "));
}
