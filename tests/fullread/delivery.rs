//! What was taken, and no more, is complete; what is left is what `--unread` prints.

use std::fs;
use std::io::Read;
use std::path::PathBuf;

use rustix::process::{Pid, Signal, kill_process};

use crate::support::site::{Site, wait_until};
use crate::support::text::{self, Line};

const COVERAGE: &str = ".auwai/fullread/coverage.sqlite";

/// One segment of one repository, handed out, and its text.
pub struct Segment {
    pub site: Site,
    pub text: String,
    /// Where each chunk ends in the text.
    ends: Vec<usize>,
}

impl Segment {
    pub fn new(options: &[&str]) -> Segment {
        let site = Site::new();
        for name in ["first", "second", "third"] {
            let lines = (1..=400).map(|n| format!("let {name}_{n} = \"{}\";\n", n * 7919));
            site.write(format!("src/{name}.rs"), lines.collect::<String>());
        }
        site.ok(&[&["plan"], options].concat());
        site.ok(&["next"]);
        // Without acknowledgements: nothing is read by this.
        let text = site.sh("auwai-ledger show --workspace . --segment read-1 \
             | auwai-ledger print --segment read-1");
        let text = text.expect_code(0).text().to_string();
        let ends = ends(&site, &text);
        Segment { site, text, ends }
    }

    /// With nothing read of it.
    fn anew(&self) {
        self.site.ok(&["plan", "--force"]);
        self.site.ok(&["next"]);
    }

    pub fn complete(&self) -> usize {
        let sql = "SELECT count(*) FROM chunks WHERE complete = 1";
        self.site.ask(COVERAGE, sql).trim().parse().unwrap()
    }

    fn due(&self, taken: usize) -> usize {
        self.ends.iter().filter(|end| **end <= taken).count()
    }

    /// Exactly the chunks of the first `taken` bytes are complete, and the rest is what is unread.
    #[track_caller]
    fn assert_taken(&self, taken: usize) {
        let due = self.due(taken);
        assert_eq!(self.complete(), due, "of {taken} bytes");
        let whole = text::bodies(&self.text);
        let before = match due {
            0 => 0,
            n => text::bodies(&self.text[..self.ends[n - 1]]).len(),
        };
        let rest = self.site.ok(&["read", "--unread"]);
        assert!(text::bodies(&rest) == whole[before..], "not the rest after {taken} bytes");
        assert_eq!(self.complete(), self.ends.len());
    }
}

/// The ends of the chunks in a text: their last lines, as the index has them.
fn ends(site: &Site, text: &str) -> Vec<usize> {
    let list = "auwai-ledger chunks --repo . \
        | jq -r 'select(.type == \"chunk\") | \"\\(.repo):\\(.path) \\(.lines[1])\"'";
    let told = site.sh(list);
    let last: Vec<&str> = told.text().lines().collect();
    let (mut open, mut found) = ("", Vec::new());
    for (line, end) in text::lines(text) {
        match line {
            Line::Frame(path) => open = path,
            Line::Body(n, _) if last.contains(&format!("{open} {n}").as_str()) => found.push(end),
            _ => {}
        }
    }
    assert_eq!(found.len(), last.len());
    found
}

#[test]
fn whoever_takes_less_has_read_less() {
    let segment = Segment::new(&[]);
    for (script, file) in [
        ("auwai read | head -5 >../got; cat ../got | wc -c >/dev/null", None),
        ("auwai read | true", Some(0)),
        ("auwai read | head -c 5000 >../got", Some(5000)),
        ("auwai read >/dev/full", Some(0)),
        ("auwai read >&-", Some(0)),
        ("auwai read | cat >../got", Some(usize::MAX)),
        ("auwai read >../got", Some(usize::MAX)),
    ] {
        segment.anew();
        let told = segment.site.sh(script);
        match file {
            Some(taken) => segment.assert_taken(taken),
            // How much head takes for five lines is its own affair, and said.
            None => segment.assert_taken(took(&told.err)),
        }
        if file == Some(usize::MAX) {
            assert!(fs::read_to_string(segment.site.path("got")).unwrap() == segment.text);
            assert_eq!(told.err, "");
        }
    }
}

/// The number in `the reader took 8,192 of …`.
fn took(err: &str) -> usize {
    let number = err.split("the reader took ").nth(1).unwrap().split(' ').next().unwrap();
    number.replace(',', "").parse().unwrap()
}

#[test]
fn a_reader_that_leaves_early_is_no_failure_and_a_full_disk_is() {
    let segment = Segment::new(&[]);
    let early = segment.site.sh("auwai read | head -1 >/dev/null; exit ${PIPESTATUS[0]}");
    assert_eq!(early.code(), 0);
    assert!(early.err.contains("stay unread"), "{}", early.err);
    assert!(early.err.contains("hint: read on with `auwai read --segment read-1 --unread`"));
    let full = segment.site.sh("auwai read >/dev/full").expect_code(3);
    assert!(full.err.contains("No space left on device"), "{}", full.err);
}

#[test]
fn a_reader_that_is_killed_has_read_what_it_took() {
    let segment = Segment::new(&[]);
    let script = "auwai read | python3 -c '
import os, time
n = 9000
while n: n -= len(os.read(0, n))
open(\"../pid\", \"w\").write(str(os.getpid()))
time.sleep(60)'; echo ${PIPESTATUS[0]} >../status";
    std::thread::scope(|scope| {
        let shell = scope.spawn(|| segment.site.sh(script));
        let pid = || fs::read_to_string(segment.site.path("pid")).ok()?.parse().ok();
        wait_until("the reader", || pid().is_some());
        wait_until("marks", || segment.complete() == segment.due(9000));
        kill_process(Pid::from_raw(pid().unwrap()).unwrap(), Signal::KILL).unwrap();
        shell.join().unwrap();
    });
    assert_eq!(fs::read_to_string(segment.site.path("status")).unwrap(), "0\n");
    segment.assert_taken(9000);
}

/// What git had is part of the evidence, in both ledgers; outside git there is nothing to say.
#[test]
fn a_read_keeps_what_git_had() {
    let site = Site::new();
    for name in ["r/same", "r/changed", "plain/file"] {
        site.write(name, "a\n");
    }
    let commit = "cd r && git init -q && git add . && \
        git -c user.name=x -c user.email=x@y commit -qm x && git rev-parse HEAD";
    let head = site.sh(commit).expect_code(0).text().trim().to_string();
    site.write("r/changed", "bb\n");
    site.write("r/new", "c\n");
    let read = "auwai plan && auwai next && auwai read >../text";
    site.sh(&format!("cd r && {read}; cd ../plain && {read}")).expect_code(0);
    let own = "cd r && auwai-ledger show --repo . same changed new \
        | auwai-ledger print --ack-fd 3 >../text 3>../acks && auwai-ledger mark --repo . <../acks";
    site.sh(own).expect_code(0);
    let kept = "SELECT CAST(path AS TEXT), head, clean FROM reads ORDER BY 1";
    let by_git = format!("changed {head} 0\nnew {head} 0\nsame {head} 1\n");
    for ledger in ["r/.auwai/fullread/coverage.sqlite", "r/.auwai/ledger.sqlite"] {
        assert_eq!(site.ask(ledger, kept), by_git, "{ledger}");
    }
    let plain = "plain/.auwai/fullread/coverage.sqlite";
    assert_eq!(site.ask(plain, kept), "file None None\n");
}

#[test]
fn a_signal_ends_all_stages_and_what_is_whole_is_committed() {
    let segment = Segment::new(&[]);
    for signal in [Signal::TERM, Signal::INT] {
        segment.anew();
        let mut reader = segment.site.start(&["read", "--drain", "1h"]);
        reader.stdout.as_mut().unwrap().read_exact(&mut vec![0; 9000]).unwrap();
        wait_until("marks", || segment.complete() == segment.due(9000));
        let stages = children(reader.id());
        assert_eq!(stages.len(), 3, "{stages:?}");
        kill_process(Pid::from_child(&reader), signal).unwrap();
        let status = reader.wait().unwrap();
        let raised = std::os::unix::process::ExitStatusExt::signal(&status);
        assert_eq!(raised, Some(signal.as_raw()));
        wait_until("the stages' end", || !stages.iter().any(|stage| stage.exists()));
        segment.assert_taken(9000);
    }
}

/// The folders in /proc of a process's children.
fn children(pid: u32) -> Vec<PathBuf> {
    let of = format!("/proc/{pid}/task/{pid}/children");
    let list = fs::read_to_string(of).unwrap();
    list.split_whitespace().map(|pid| PathBuf::from("/proc").join(pid)).collect()
}
