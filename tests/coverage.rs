//! The workspace's full read as processes: many at once, and killed at any moment.

#![allow(clippy::unwrap_used)]

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::io::Write as _;
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use crate::support::disk::SmallDisk;

/// A plan as `auwai-plan` writes it: `chunks` chunks in each of `segments` segments.
fn plan(id: &str, segments: u64, chunks: u64) -> String {
    let mut out = "{\"v\":1,\"type\":\"policy\",\"context_window\":65536,\"fixed_prompt\":4096,\
        \"reserve\":8192,\"safety_ppm\":100000,\"segment_budget\":47923,\
        \"tokenizer\":\"o200k_base\"}\n"
        .to_string();
    for n in 1..=segments {
        let ids: Vec<String> = (0..chunks).map(|at| format!("\"r:{}\"", chunk(n, at))).collect();
        let _ = writeln!(
            out,
            "{{\"v\":1,\"type\":\"segment\",\"id\":\"read-{n}\",\"kind\":\"read\",\
             \"status\":\"pending\",\"tokens\":900,\"chunks\":[{}],\"files\":[{{\"repo\":\"r\",\
             \"path\":\"src/{n}.rs\",\"lines\":[1,9],\"chunks\":{chunks}}}]}}",
            ids.join(",")
        );
    }
    let _ = writeln!(
        out,
        "{{\"v\":1,\"type\":\"plan\",\"id\":\"{id}\",\"segments\":{segments},\"chunks\":{},\
         \"tokens\":9,\"repos\":[]}}\n{{\"v\":1,\"type\":\"end\",\"of\":\"segment\",\
         \"count\":{segments}}}",
        segments * chunks
    );
    out
}

/// A chunk's id: scattered, as hashes are.
fn chunk(segment: u64, at: u64) -> String {
    format!("{:016x}", (segment << 20 | at).wrapping_mul(0x9e37_79b9_7f4a_7c15))
}

fn delivery(segment: u64, at: u64) -> String {
    format!("{{\"v\":1,\"type\":\"read\",\"repo\":\"r\",\"id\":\"{}\"}}\n", chunk(segment, at))
}

/// A repository alone, and the tool run in it.
struct Desk {
    root: PathBuf,
    _dir: Option<tempfile::TempDir>,
}

impl Desk {
    fn new() -> Desk {
        let dir = tempfile::tempdir().unwrap();
        Desk { root: dir.path().to_owned(), _dir: Some(dir) }
    }

    fn planned(segments: u64, chunks: u64) -> Desk {
        let desk = Desk::new();
        assert_ok(&desk.feed(&["adopt"], &plan("first", segments, chunks)));
        desk
    }

    fn start(&self, args: &[&str]) -> Child {
        Command::new(env!("CARGO_BIN_EXE_auwai-ledger"))
            .args(args)
            .env_clear()
            .env("HOME", &self.root)
            .current_dir(&self.root)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap()
    }

    fn feed(&self, args: &[&str], input: &str) -> Output {
        let mut child = self.start(args);
        // A tool that refuses its input closes the pipe, and says why on standard error.
        let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
        child.wait_with_output().unwrap()
    }

    fn run(&self, args: &[&str]) -> Output {
        self.feed(args, "")
    }

    fn state(&self, name: &str) -> PathBuf {
        self.root.join(".auwai/fullread").join(name)
    }

    fn status(&self) -> serde_json::Value {
        let out = self.run(&["status"]);
        assert_ok(&out);
        serde_json::from_slice(&out.stdout).unwrap()
    }

    /// Asks the ledger with another SQLite than ours.
    fn ask(&self, sql: &str) -> String {
        let script = "import sqlite3,sys;print(sqlite3.connect(sys.argv[1]).execute(sys.argv[2]).fetchall())";
        let mut python = Command::new(crate::support::site::python());
        let out = python.args(["-c", script]).arg(self.state("coverage.sqlite")).arg(sql).output();
        let out = out.unwrap();
        assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
        String::from_utf8(out.stdout).unwrap().trim().to_string()
    }
}

fn assert_ok(out: &Output) {
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
}

fn said(out: &Output) -> String {
    String::from_utf8(out.stderr.clone()).unwrap()
}

/// What a kill left: a test that never saw both has hit nothing.
#[derive(Default)]
struct Seen {
    old: u64,
    new: u64,
}

impl Seen {
    fn count(&mut self, is_new: bool) {
        *(if is_new { &mut self.new } else { &mut self.old }) += 1;
    }

    fn both(&self) -> bool {
        self.old > 0 && self.new > 0
    }

    fn assert_both(&self) {
        assert!(self.both(), "{} times before, {} times after", self.old, self.new);
    }
}

/// Waits for a condition, at most ten seconds.
fn until(mut done: impl FnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(10);
    while !done() {
        assert!(Instant::now() < deadline, "not within ten seconds");
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn processes_that_claim_at_once_get_different_segments() {
    let desk = Desk::planned(16, 1);
    let children: Vec<Child> =
        (0..16).map(|n| desk.start(&["claim", "--reader", &format!("r{n}")])).collect();
    let mut ids = BTreeSet::new();
    for child in children {
        let out = child.wait_with_output().unwrap();
        assert_ok(&out);
        let segment: serde_json::Value = serde_json::from_slice(&out.stdout).unwrap();
        ids.insert(segment["id"].as_str().unwrap().to_string());
    }
    assert_eq!(ids.len(), 16);
    assert_eq!(desk.status()["segments"]["active"], 16);
    let out = desk.run(&["--json", "claim", "--reader", "late"]);
    assert_eq!(out.status.code(), Some(1));
    let error: serde_json::Value = serde_json::from_slice(&out.stdout).unwrap();
    assert_eq!((&error["type"], &error["code"]), (&"error".into(), &"held".into()));
}

#[test]
fn processes_that_plan_at_once_leave_one_plan() {
    let desk = Desk::new();
    let stream = plan("first", 40, 25);
    let outs: Vec<Output> = std::thread::scope(|scope| {
        let all: Vec<_> = (0..4).map(|_| scope.spawn(|| desk.feed(&["adopt"], &stream))).collect();
        all.into_iter().map(|one| one.join().unwrap()).collect()
    });
    outs.iter().for_each(assert_ok);
    let fresh = outs
        .iter()
        .filter(|out| String::from_utf8_lossy(&out.stdout).contains("\"existing\":false"));
    assert_eq!(fresh.count(), 1);
    assert_eq!(desk.ask("SELECT count(*) FROM plans"), "[(1,)]");
}

#[test]
fn adopt_killed_at_any_moment_leaves_the_old_plan_or_the_new() {
    let desk = Desk::new();
    let streams = [plan("even", 150, 80), plan("odd", 100, 100)];
    let begun = Instant::now();
    assert_ok(&desk.feed(&["adopt"], &streams[0]));
    let whole = begun.elapsed();
    let mut seen = Seen::default();
    for round in 0..48 {
        if round >= 16 && seen.both() {
            break;
        }
        let target = usize::from(desk.status()["plan"] == "even");
        let mut child = desk.start(&["adopt", "--force"]);
        let mut input = child.stdin.take().unwrap();
        let stream = streams[target].clone();
        let feeder = std::thread::spawn(move || input.write_all(stream.as_bytes()));
        std::thread::sleep(whole * round / 12);
        child.kill().unwrap();
        child.wait().unwrap();
        let _ = feeder.join().unwrap();
        let plan = desk.status()["plan"].as_str().unwrap().to_string();
        seen.count(plan == ["even", "odd"][target]);
        let (segments, chunks) = if plan == "even" { (150, 12_000) } else { (100, 10_000) };
        let counts = "SELECT (SELECT count(*) FROM segments), (SELECT count(*) FROM chunks),
            (SELECT count(*) FROM places), (SELECT count(*) FROM queue),
            (SELECT chunks_planned FROM counters)";
        assert_eq!(
            desk.ask(counts),
            format!("[({segments}, {chunks}, {chunks}, {segments}, {chunks})]")
        );
    }
    seen.assert_both();
    assert_eq!(desk.ask("PRAGMA integrity_check"), "[('ok',)]");
    assert_ok(&desk.feed(&["adopt", "--force"], &streams[1]));
    assert_eq!(desk.status()["plan"], "odd");
}

#[test]
fn close_killed_at_any_moment_keeps_each_finding_once() {
    let rounds = 24;
    let desk = Desk::planned(rounds, 1);
    let all: String = (1..=rounds).map(|n| delivery(n, 0)).collect();
    assert_ok(&desk.feed(&["mark"], &all));
    let text = |n: u64| format!("finding of segment {n}\n<!-- finding {n} end -->");
    let close =
        |n: u64| ["close".into(), "--segment".into(), format!("read-{n}"), "-m".into(), text(n)];
    let begun = Instant::now();
    assert_ok(&desk.run(&close(1).each_ref().map(String::as_str)));
    let whole = begun.elapsed();
    let mut seen = Seen::default();
    for n in 2..=rounds {
        let mut child = desk.start(&close(n).each_ref().map(String::as_str));
        std::thread::sleep(whole * u32::try_from(n - 2).unwrap() / 10);
        child.kill().unwrap();
        child.wait().unwrap();
        seen.count(desk.status()["segments"]["done"] == n);
        // Done means that its finding is kept, whatever became of findings.md.
        let lost = "SELECT count(*) FROM segments s WHERE status = 'done' AND NOT EXISTS
            (SELECT 1 FROM findings f WHERE f.segment = s.segment_id)";
        assert_eq!(desk.ask(lost), "[(0,)]");
        assert_ok(&desk.run(&close(n).each_ref().map(String::as_str)));
    }
    seen.assert_both();
    let findings = fs::read_to_string(desk.state("findings.md")).unwrap();
    for n in 1..=rounds {
        let body = format!("\n    finding of segment {n}\n    <!-- finding {n} end -->\n");
        assert_eq!(findings.matches(&body).count(), 1, "{findings}");
    }
    let markers =
        |word: &str| findings.lines().filter(|l| l.starts_with("<!--") && l.contains(word)).count();
    assert_eq!((markers("begin"), markers("end")), (24, 24), "{findings}");
    assert_eq!(desk.status()["segments"]["done"], rounds);
}

#[test]
fn marks_are_committed_while_the_input_stands_still_and_before_a_signal_ends_it() {
    let desk = Desk::planned(1, 8);
    let mut child = desk.start(&["mark"]);
    let mut input = child.stdin.take().unwrap();
    let complete = || desk.status()["chunks"]["complete"].as_u64().unwrap();
    (0..3).for_each(|at| input.write_all(delivery(1, at).as_bytes()).unwrap());
    until(|| complete() == 3);
    (3..5).for_each(|at| input.write_all(delivery(1, at).as_bytes()).unwrap());
    until(|| complete() == 5);
    let pid = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
    assert_eq!(child.wait().unwrap().signal(), Some(15));
    assert_eq!(complete(), 5);
}

#[test]
fn mark_killed_at_any_moment_counts_what_it_committed() {
    let desk = Desk::planned(40, 50);
    let all: String = (1..=40).flat_map(|n| (0..50).map(move |at| delivery(n, at))).collect();
    let (mut seen, mut before) = (Seen::default(), 0);
    for round in 0..64 {
        if round >= 8 && seen.both() {
            break;
        }
        let mut child = desk.start(&["mark"]);
        let mut input = child.stdin.take().unwrap();
        // One group for each kill, so that each has something to commit.
        let part: String = all.split_inclusive('\n').take((round + 1) * 200).collect();
        let feeder = std::thread::spawn(move || {
            let _ = input.write_all(part.as_bytes());
            input
        });
        std::thread::sleep(Duration::from_millis(round as u64 * 12));
        child.kill().unwrap();
        child.wait().unwrap();
        drop(feeder.join().unwrap());
        let complete = desk.status()["chunks"]["complete"].as_u64().unwrap();
        seen.count(complete > before);
        before = complete;
        let agree = "SELECT chunks_complete = (SELECT sum(complete) FROM chunks)
            AND chunks_complete = (SELECT count(*) FROM reads)
            AND chunks_planned - chunks_complete = (SELECT sum(unread) FROM segment_progress)
            FROM counters";
        assert_eq!(desk.ask(agree), "[(1,)]");
    }
    seen.assert_both();
    assert_ok(&desk.feed(&["mark"], &all));
    assert_eq!(desk.status()["chunks"]["complete"], 2000);
}

#[test]
fn a_full_disk_is_said_and_what_was_committed_stands() {
    let dir = tempfile::tempdir().unwrap();
    let Some(_disk) = SmallDisk::mount(dir.path(), "1m") else { return };
    let desk = Desk { root: dir.path().to_owned(), _dir: None };
    assert_ok(&desk.feed(&["adopt"], &plan("small", 2, 3)));
    assert_ok(&desk.feed(&["mark"], &delivery(1, 0)));
    // The first is too large for its tables, the second for its own text.
    for segments in [120, 600] {
        let out = desk.feed(&["--json", "adopt", "--force"], &plan("large", segments, 100));
        assert_eq!(out.status.code(), Some(3), "{}", said(&out));
        assert!(String::from_utf8_lossy(&out.stdout).contains("\"code\":\"disk-full\""), "{out:?}");
        assert!(said(&out).contains("hint: make room"), "{}", said(&out));
        let status = desk.status();
        assert_eq!((&status["plan"], &status["chunks"]["complete"]), (&"small".into(), &1.into()));
    }
}

#[test]
fn a_read_record_that_is_cut_off_is_named() {
    let desk = Desk::planned(1, 2);
    let out = desk.feed(&["mark"], &(delivery(1, 0) + "{\"v\":1,\"type\":\"read\""));
    assert_eq!(out.status.code(), Some(3));
    let message = "auwai-ledger: -:2: the line is cut off\n";
    assert!(said(&out).starts_with(message), "{}", said(&out));
    assert_eq!(desk.status()["chunks"]["complete"], 1);
}

#[test]
fn the_first_finding_is_on_the_disk_before_it_counts_as_appended() {
    use crate::support::site::{Site, skipped};
    if Command::new("strace").arg("-V").output().is_err() {
        return skipped("strace is not here");
    }
    let site = Site::new();
    site.write("r/a.txt", "one\n");
    site.ok(&["workspace", "init", "demo"]);
    site.ok(&["workspace", "add", "r"]);
    for args in [&["plan"][..], &["next"], &["read"]] {
        site.ok(args);
    }
    site.sh("strace -f -y -e trace=fsync -o ../trace auwai done -m found").expect_code(0);
    let trace = fs::read_to_string(site.path("trace")).unwrap();
    let mut synced = trace.lines().filter_map(|line| Some(line.split_once('<')?.1));
    let file = synced.find(|path| path.contains("workspace/findings.md>"));
    assert!(file.is_some(), "{trace}");
    assert!(synced.next().is_some_and(|path| path.contains(".auwai/workspace>")), "{trace}");
}
