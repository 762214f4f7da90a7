//! `auwai-relay`, as processes: a producer that never waits, a FIFO that several writers share.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Command, Stdio};

use crate::support::site::{Site, skipped, tell, wait_until};

/// Starts the relay with pipes on both sides.
fn start(site: &Site, args: &[&str]) -> std::process::Child {
    let mut command = site.command("auwai-relay");
    command.args(args).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap()
}

/// A number out of /proc/PID/status, in KiB.
fn kib(pid: u32, key: &str) -> u64 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status.lines().find(|line| line.starts_with(key)).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

#[test]
fn every_line_is_one_write() {
    let site = Site::new();
    let trace = site.work("trace");
    let script = format!(
        "printf '%s\\n' one two three | strace -f -e trace=write -e write=1 -o {} auwai-relay | cat",
        trace.display()
    );
    if Command::new("strace").arg("-V").output().is_err() {
        return skipped("strace is not here");
    }
    assert_eq!(site.sh(&script).expect_code(0).text(), "one\ntwo\nthree\n");
    let trace = fs::read_to_string(trace).unwrap();
    let writes: Vec<&str> = trace.lines().filter(|line| line.contains("write(1, ")).collect();
    assert_eq!(writes.len(), 3, "{trace}");
}

#[test]
fn lines_may_end_with_nul() {
    let site = Site::new();
    let told = site.sh("printf 'a\\nb\\0c' | auwai-relay -0 | tr '\\0' '!'").expect_code(0);
    assert_eq!(told.text(), "a\nb!c!");
}

#[test]
fn a_reader_that_leaves_ends_the_relay_quietly() {
    let site = Site::new();
    let told = site
        .sh("mkfifo in; exec 8<>in; echo a >&8; auwai-relay <&8 | head -1; exit ${PIPESTATUS[0]}");
    let told = told.expect_code(0);
    assert_eq!((told.text(), told.err.as_str()), ("a\n", ""));
}

#[test]
fn a_folder_to_spill_to_that_is_not_there_is_told_at_once() {
    let site = Site::new();
    let told = site.sh("auwai-relay --spill nowhere < /dev/null").expect_code(3);
    assert!(told.err.contains("cannot make a file in '") && told.err.contains("hint: "));
}

#[test]
fn a_spilled_backlog_is_whole_and_not_in_memory() {
    const MIB: usize = 200;
    let site = Site::new();
    let mut relay = start(&site, &["--spill", "."]);
    let line = [&[b'x'; 127][..], b"\n"].concat();
    let block = line.repeat((1 << 20) / line.len());
    let mut input = relay.stdin.take().unwrap();
    // None of it is read yet, so the writer would stop here after 64 KiB without the relay.
    (0..MIB).for_each(|_| input.write_all(&block).unwrap());
    drop(input);
    let mut lines = BufReader::new(relay.stdout.take().unwrap());
    let mut first = String::new();
    lines.read_line(&mut first).unwrap();
    let most = kib(relay.id(), "VmHWM:");
    assert!(most < 64 << 10, "{most} KiB");
    let rest = std::io::copy(&mut lines, &mut std::io::sink()).unwrap();
    assert_eq!(first.len() as u64 + rest, (MIB * block.len()) as u64);
    assert!(relay.wait().unwrap().success());
    assert_eq!(fs::read_dir(site.work("")).unwrap().count(), 0);
}

#[test]
fn a_full_disk_is_told_once_and_nothing_is_lost() {
    let site = Site::new();
    fs::create_dir(site.work("small")).unwrap();
    let mut mount = Command::new("mount");
    mount.args(["-t", "tmpfs", "-o", "size=1m", "tmpfs"]).arg(site.work("small"));
    if !mount.output().is_ok_and(|done| done.status.success()) {
        return skipped("mounting a tmpfs needs root");
    }
    let script =
        "seq 6000000 | auwai-relay --spill small | (sleep 1; sha256sum); seq 6000000 | sha256sum";
    let told = site.sh(script);
    let _ = Command::new("umount").arg("-l").arg(site.work("small")).status();
    let told = told.expect_code(0);
    let sums: Vec<&str> = told.text().lines().collect();
    assert_eq!(sums[0], sums[1]);
    assert_eq!(told.err.matches("what waits stays in memory").count(), 1, "{}", told.err);
}

/// Reads the FIFO `events` in pieces of 256 bytes with 2 ms between, until `ticks` lines of the
/// other writer and a line for each file have come, or nothing new comes for 20 s.
const SLOW_READER: &str = r#"
import os, re, select, sys, time
files, ticks = int(sys.argv[1]), int(sys.argv[2])
fd, rest, seen, bad = os.open("events", os.O_RDONLY), b"", set(), []
while len(seen) < files + ticks:
    if not select.select([fd], [], [], 20)[0]: break
    rest += os.read(fd, 256)
    *lines, rest = rest.split(b"\n")
    for line in lines:
        found = re.fullmatch(rb"(?:.*/w/(file-\d{6})|(tick-\d{6}))", line)
        if found: seen.add(found[1] or found[2])
        elif not re.fullmatch(rb".*/w", line): bad.append(line)
    time.sleep(0.002)
print(len(bad), "malformed,", files + ticks - len(seen), "missing")
"#;

/// A reader that is slower than two writers on one FIFO; a watcher that waited for it would lose
/// events, and lines of one would stand in those of the other.
fn burst(files: usize) {
    let site = Site::new();
    site.write("reader.py", SLOW_READER);
    let script = format!(
        r#"mkdir w; mkfifo events; exec 9<>events
        fswatch --allow-overflow -l 0.1 --event Created "$PWD/w" > >(exec auwai-relay >&9) & watcher=$!
        python3 reader.py {files} 3000 > verdict & reader=$!
        until grep -qs '^inotify wd' /proc/$watcher/fdinfo/*; do sleep 0.01; done
        (for n in $(seq 3000); do printf 'tick-%06d\n' $n >&9; done) &
        (cd w && seq -f 'file-%06.0f' {files} | xargs touch)
        wait $reader; cat verdict
        kill $watcher && echo alive"#
    );
    let told = site.sh(&script);
    assert_eq!(told.text(), "0 malformed, 0 missing\nalive\n", "{files} files: {}", told.err);
}

#[test]
fn a_burst_behind_a_fifo_that_two_writers_share_is_whole() {
    if Command::new("fswatch").arg("--version").output().is_err() {
        return skipped("fswatch is not here");
    }
    [300, 600, 1_000, 3_000, 9_000].into_iter().for_each(burst);
}

#[test]
fn a_million_lines_come_as_they_went() {
    let site = Site::new();
    let mut relay = start(&site, &[]);
    let mut input = relay.stdin.take().unwrap();
    let text: String = (0..1_000_000).map(|n| format!("{n}\n")).collect();
    input.write_all(text.as_bytes()).unwrap();
    drop(input);
    let mut out = String::new();
    relay.stdout.take().unwrap().read_to_string(&mut out).unwrap();
    assert!(out == text);
    wait_until("the end of the relay", || relay.try_wait().unwrap().is_some());
}

#[test]
fn a_reader_that_is_not_there_is_no_failure() {
    let site = Site::new();
    let mut relay = site.command("auwai-relay");
    relay.stdout(Stdio::null());
    let told = tell(relay);
    assert_eq!((told.code(), told.err.as_str()), (0, ""));
}
