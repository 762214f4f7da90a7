//! Nothing is lost between two runs with one file.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use auwai::record::{self, EventOp, Record};

use rustix::process::{Pid, Signal, kill_process};

use super::watcher::{PATIENCE, command, sh};
use crate::support::git::Sandbox;

/// Runs a watcher that goes on from the file, for a while, while a script works in the tree; then
/// it is killed. What it wrote.
fn killed(sandbox: &Sandbox, since: &str, script: &str, after: Duration) -> Vec<Record> {
    let mut watcher = command(sandbox);
    watcher.args(["--settle", "1ms", "--since", since, "."]);
    let mut child = watcher.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let out = child.stdout.take().unwrap();
    let reader = std::thread::spawn(move || std::io::read_to_string(out).unwrap());
    let mut work = Command::new("sh");
    work.args(["-c", script]).current_dir(sandbox.root()).stderr(Stdio::null());
    let mut work = work.spawn().unwrap();
    std::thread::sleep(after);
    child.kill().unwrap();
    child.wait().unwrap();
    work.wait().unwrap();
    records(&reader.join().unwrap())
}

/// The whole lines.
fn records(text: &str) -> Vec<Record> {
    let whole = text.rfind('\n').map_or("", |end| &text[..=end]);
    whole.lines().map(|line| record::parse(line).unwrap()).collect()
}

/// Takes in what was told: paths that are there as far as somebody knows who looks where he is told.
fn learn(known: &mut BTreeMap<String, ()>, told: &[Record]) {
    let below = |path: &str, dir: &str| {
        dir == "."
            || path == dir
            || path.strip_prefix(dir).is_some_and(|rest| rest.starts_with('/'))
    };
    for record in told {
        match record {
            Record::Event(event) if event.op == EventOp::Remove => {
                known.retain(|path, ()| !below(path, &event.path));
            }
            Record::Event(event) => {
                known.insert(event.path.clone(), ());
            }
            // Looked at by then, or at the latest by the last call.
            Record::Rescan(rescan) => known.retain(|path, ()| !below(path, &rescan.path)),
            _ => {}
        }
    }
}

/// The file had what stood in the part of a batch that nobody took.
#[test]
fn what_was_cut_off_is_told_by_the_next() {
    let sandbox = Sandbox::empty();
    let since = sandbox.home("since").into_os_string().into_string().unwrap();
    sh(&sandbox, "for d in $(seq 4); do mkdir $d; (cd $d; seq -f %0100g 400 | xargs touch); done");
    let mut own = command(&sandbox);
    own.args(["--settle", "500ms", "--since", &since, "."]).stdout(Stdio::piped());
    let mut child = own.spawn().unwrap();
    let mut out = BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    while !line.contains("\"batch\",\"n\"") {
        line.clear();
        assert!(out.read_line(&mut line).unwrap() > 0, "it has ended");
    }
    sh(&sandbox, "rm */*");
    let until = Instant::now() + PATIENCE;
    while rustix::io::ioctl_fionread(out.get_ref()).unwrap() < 50_000 {
        assert!(Instant::now() < until, "the pipe is never full");
        std::thread::sleep(Duration::from_millis(5));
    }
    kill_process(Pid::from_child(&child), Signal::TERM).unwrap();
    child.wait().unwrap();
    let told = records(&std::io::read_to_string(out).unwrap());
    let next = command(&sandbox).args(["--scan", "--since", &since, "."]).output().unwrap();
    let next = records(&String::from_utf8(next.stdout).unwrap());
    let files = told.iter().chain(&next).filter_map(|record| match record {
        Record::Event(event) if event.op == EventOp::Remove => Some(event.path.clone()),
        _ => None,
    });
    assert_eq!(files.collect::<BTreeSet<_>>().len(), 1600);
}

/// A user's file, and a link, in the way of the new file.
#[test]
fn nobodys_file_is_in_the_way_of_the_new_one() {
    let sandbox = Sandbox::empty();
    sh(&sandbox, "mkdir s; echo mine > seen.new; echo mine > victim; ln -s victim .seen.new");
    let out = command(&sandbox).args(["--scan", "--since", "seen", "s"]).output().unwrap();
    assert!(out.status.success());
    for name in ["seen.new", "victim"] {
        assert_eq!(std::fs::read(sandbox.root().join(name)).unwrap(), b"mine\n", "{name}");
    }
    sh(&sandbox, "mkfifo pipe");
    let out = command(&sandbox).args(["--scan", "--since", "pipe", "s"]).output().unwrap();
    assert_eq!(out.status.code(), Some(3), "a FIFO is not waited for");
}

/// Made, told, the watcher killed before the file was written, and removed while nobody watched: the
/// removal was never told.
#[test]
fn every_path_that_was_told_and_has_gone_is_told_to_have_gone() {
    let sandbox = Sandbox::empty();
    let since = sandbox.home("since").into_os_string().into_string().unwrap();
    let (mut known, mut told_in_all) = (BTreeMap::new(), 0);
    // Much to write makes the file come late.
    sh(&sandbox, "mkdir big; cd big; seq 3000 | xargs touch");
    for round in 0..25_u64 {
        let script = format!(
            "mkdir d{round}; for n in $(seq 40); do echo x > f{round}-$n; echo x > d{round}/$n; done; \
             rm f{round}-1; echo y > f{round}-3"
        );
        let after = Duration::from_millis(30 + (round * 37) % 160);
        let told = killed(&sandbox, &since, &script, after);
        told_in_all += told.iter().filter(|r| matches!(r, Record::Event(_))).count();
        learn(&mut known, &told);
        let script = format!("rm -f f{round}-*; [ $(({round} % 2)) = 0 ] || rm -rf d{round}");
        sh(&sandbox, &script);
    }
    let last = command(&sandbox).args(["--scan", "--since", &since, "."]).output().unwrap();
    learn(&mut known, &records(&String::from_utf8(last.stdout).unwrap()));
    let gone: Vec<&String> =
        known.keys().filter(|path| !sandbox.root().join(path).exists()).collect();
    assert!(gone.is_empty(), "{gone:?}");
    assert!(told_in_all > 100, "{told_in_all}");
}

/// The same for one that only looks.
#[test]
fn a_scan_that_could_not_write_its_file_has_told_nevertheless() {
    let sandbox = Sandbox::empty();
    // Beside a name so long there is none for the file that would replace it.
    let (since, long) = (sandbox.home("since"), sandbox.home(&"s".repeat(250)));
    let scan = |since: &std::path::Path| {
        let args = ["--scan", "--format", "path", ".", "--since"];
        let out = command(&sandbox).args(args).arg(since).output().unwrap();
        (String::from_utf8(out.stdout).unwrap(), out.status.code())
    };
    assert_eq!(scan(&since), ("./\n".to_string(), Some(0)));
    sh(&sandbox, "echo x > new");
    std::fs::rename(&since, &long).unwrap();
    assert_eq!(scan(&long), ("new\n".to_string(), Some(3)));
    std::fs::rename(&long, &since).unwrap();
    sh(&sandbox, "rm new");
    assert_eq!(scan(&since), ("new\n".to_string(), Some(0)));
    assert_eq!(scan(&since), (String::new(), Some(0)));
}
