//! Standard streams as scripts and daemons leave them.

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use auwai::record::{self, Record};
use rustix::fs::{OFlags, fcntl_setfl};

use super::watcher::{command, sh};
use crate::support::git::Sandbox;
use crate::support::site::wait_until;

/// How much of it was ever resident, in KiB.
fn peak(pid: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status.lines().find(|line| line.starts_with("VmHWM")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

/// Another process may have made the pipe one that does not block: EAGAIN is no failure, and no line
/// is lost or cut.
#[test]
fn a_full_pipe_that_does_not_block_gets_every_line_whole() {
    let sandbox = Sandbox::empty();
    sh(&sandbox, "for n in $(seq 20); do mkdir $n; done");
    let (reader, writer) = std::io::pipe().unwrap();
    fcntl_setfl(&writer, OFlags::NONBLOCK).unwrap();
    let mut own = command(&sandbox);
    let mut child = own.args(["--settle", "0", "."]).stdout(writer).spawn().unwrap();
    drop(own);
    let mut lines = BufReader::new(reader).lines().map(|line| line.unwrap());
    assert!(lines.next().unwrap().contains("\"ready\""));
    sh(&sandbox, "for d in $(seq 20); do for n in $(seq 100); do : > $d/$n; done; done");
    let mut missing: BTreeSet<String> =
        (1..=20).flat_map(|d| (1..=100).map(move |n| format!("{d}/{n}"))).collect();
    while !missing.is_empty() {
        match record::parse(&lines.next().unwrap()).unwrap() {
            Record::Event(event) => drop(missing.remove(&event.path)),
            Record::Rescan(rescan) => missing.retain(|path| {
                rescan.path != "." && !path.starts_with(&format!("{}/", rescan.path))
            }),
            _ => {}
        }
    }
    drop(lines);
    assert_eq!(child.wait().unwrap().code(), Some(0));
}

/// Who takes nothing kept it from its end.
#[test]
fn it_ends_in_time_though_its_reader_takes_nothing() {
    let sandbox = Sandbox::empty();
    let mut own = command(&sandbox);
    own.args(["--settle", "0", "--max-seconds", "3", "."]).stdout(Stdio::piped());
    let mut child = own.spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.as_mut().unwrap()).lines();
    assert!(lines.next().unwrap().unwrap().contains("\"ready\""));
    // More than a pipe takes.
    sh(&sandbox, "for d in a b c; do mkdir $d; (cd $d; seq -f %0150g 400 | xargs touch); done");
    wait_until("its end", || child.try_wait().unwrap().is_some());
    assert_eq!(child.wait().unwrap().code(), Some(0));
}

/// A reader that takes nothing while much happens: names collapse, memory stays bounded.
#[test]
fn a_reader_that_takes_nothing_costs_no_memory() {
    let sandbox = Sandbox::empty();
    sh(&sandbox, "mkdir a b c d e f g h");
    let mut own = command(&sandbox);
    let mut child = own.args(["--settle", "0", "."]).stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map(|l| l.unwrap());
    assert!(lines.next().unwrap().contains("\"ready\""));
    let before = peak(child.id());
    sh(&sandbox, "for d in *; do (cd $d; seq 900 | xargs touch); done");
    let grown = peak(child.id()) - before;
    assert!(grown < 8 << 10, "{grown} KiB");
    // What was not taken is told as directories.
    assert!(lines.any(|line| line.contains("\"rescan\"")));
    drop(lines);
    assert_eq!(child.wait().unwrap().code(), Some(0));
}

/// In the background, with streams closed or full: what it has to say is lost, its exit status is not.
#[test]
fn streams_may_be_closed_or_full() {
    let sandbox = Sandbox::empty();
    sh(&sandbox, "echo x > f");
    let program = command(&sandbox);
    for (streams, code) in [
        ("<&-", 0),
        (">&-", 0),
        ("2>&-", 0),
        ("<&- >&- 2>&-", 0),
        ("2>/dev/full", 0),
        (">/dev/full", 3),
        (">/dev/full 2>/dev/full", 3),
        (">/dev/null", 0),
    ] {
        // A file that is none of its own is warned of.
        let script = format!(
            "echo auwai-since nonsense > \"$1\"; \"$0\" --max-seconds 0.2 --since \"$1\" . {streams} & wait $!"
        );
        let mut sh = Command::new("bash");
        sh.args(["-c", &script]).arg(program.get_program()).arg(sandbox.home("since"));
        sh.current_dir(sandbox.root()).env_clear().envs(sandbox.vars());
        sh.env("XDG_RUNTIME_DIR", sandbox.home(""));
        let done = sh.output().unwrap();
        assert_eq!(done.status.code(), Some(code), "{streams}: {done:?}");
        if streams == ">/dev/full" {
            let said = String::from_utf8_lossy(&done.stderr).into_owned();
            assert!(said.contains("cannot write to 'standard output': No space left"), "{said}");
        }
        if code == 0 {
            // No line went into the file in the place of a stream that was closed.
            let out = command(&sandbox)
                .args(["--scan", "--format", "path", "--since"])
                .arg(sandbox.home("since"))
                .arg(".")
                .output()
                .unwrap();
            assert_eq!(String::from_utf8_lossy(&out.stderr), "", "{streams}");
        }
    }
}
