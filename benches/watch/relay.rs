//! S9: the relay's speed, and what a backlog costs when nobody reads yet.

use std::io::{Read, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::process::Process;

/// A backlog of 1 GiB.
const BACKLOG: u64 = 1 << 30;

pub fn run(folder: &Path) {
    crate::head(&["auwai-relay", "figure", "target"]);
    let text: Vec<u8> = (0..1_000_000).flat_map(|n| format!("line {n}\n").into_bytes()).collect();
    let best = (0..3).map(|_| through(&text)).min().unwrap();
    let speed = 1.0 / best.as_secs_f64();
    println!("| S9 to a fast reader | {speed:.2} million lines a second | 1 |");
    backlog(folder);
}

fn relay(args: &[&str]) -> Child {
    let mut relay = Command::new(crate::AUWAI);
    relay.arg("auwai-relay").args(args).stdin(Stdio::piped()).stdout(Stdio::piped());
    relay.spawn().unwrap()
}

/// How long a text takes to a reader that is as fast as it can be.
fn through(text: &[u8]) -> Duration {
    let mut child = relay(&[]);
    let (mut input, mut output) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
    let start = Instant::now();
    let taken = std::thread::scope(|scope| {
        scope.spawn(move || input.write_all(text).unwrap());
        std::io::copy(&mut output, &mut std::io::sink()).unwrap()
    });
    let time = start.elapsed();
    assert!(child.wait().unwrap().success() && taken == text.len() as u64);
    time
}

/// All of it is written before any of it is read.
fn backlog(folder: &Path) {
    let mut child = relay(&["--spill", folder.to_str().unwrap()]);
    let block = [&[b'x'; 127][..], b"\n"].concat().repeat(1 << 13);
    let mut input = child.stdin.take().unwrap();
    let start = Instant::now();
    (0..BACKLOG / block.len() as u64).for_each(|_| input.write_all(&block).unwrap());
    drop(input);
    let taken = start.elapsed().as_secs_f64();
    let mut output = child.stdout.take().unwrap();
    output.read_exact(&mut [0; 128]).unwrap();
    let peak = Process(child.id()).peak() / 1024;
    let rest = std::io::copy(&mut output, &mut std::io::sink()).unwrap();
    assert_eq!(rest + 128, BACKLOG);
    assert!(child.wait().unwrap().success());
    println!(
        "| --spill, 1 GiB taken in {taken:.1} s before any is read: peak | {peak} MiB | 64 MiB |"
    );
}
