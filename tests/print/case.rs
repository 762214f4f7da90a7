//! Bodies to print, and what a reader of so many bytes must have been acknowledged.

use std::fs;
use std::io::Read;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use auwai::record::{self, Body, ByteRange, ChunkId, End, LineRange, Repo};
use command_fds::{CommandFdExt, FdMapping};

pub const PRINT: &str = env!("CARGO_BIN_EXE_auwai-ledger");

/// A file's bodies: chunks of `step` lines; ids count up from `id`.
pub fn file(path: &str, text: &str, step: usize, id: u64) -> Vec<Body> {
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let (mut from, mut first) = (0, 1);
    let chunks = lines.chunks(step).zip(id..).map(|(chunk, id)| {
        let text = chunk.concat();
        let (to, last) = (from + text.len() as u64, first + chunk.len() as u64 - 1);
        let body = body(path, &text, id);
        let ranges = (ByteRange { from, to }, LineRange { first, last });
        (from, first) = (to, last + 1);
        Body { bytes: ranges.0, lines: ranges.1, ..body }
    });
    let all: Vec<Body> = chunks.collect();
    let whole = |b| Body { size: text.len() as u64, of_lines: lines.len() as u64, ..b };
    all.into_iter().map(whole).collect()
}

/// A file of one line and one body.
pub fn body(path: &str, text: &str, id: u64) -> Body {
    let body = serde_json::json!({
        "repo": "r", "id": ChunkId(id), "path": path,
        "bytes": [0, text.len()], "size": text.len(), "lines": [1, 1], "of_lines": 1,
        "encoding": "utf-8", "text": text,
    });
    serde_json::from_value(body).unwrap()
}

/// Three files, `lines` lines in all, one without a newline at its end, in chunks of 20 lines.
pub fn some(lines: usize) -> Vec<Body> {
    let text = |n: usize| (0..n).map(|i| format!("line {i} é {}\n", "x".repeat(i % 60))).collect();
    let part: String = text(lines / 3);
    let mut all = file("a/first.rs", &part, 20, 100);
    all.extend(file("a/second.rs", part.trim_end(), 20, 2000));
    all.extend(file("third.rs", &part, 20, 30000));
    all
}

/// The stream that `auwai-ledger show` would write.
pub fn stream(bodies: &[Body]) -> Vec<u8> {
    let mut out = unfinished(bodies);
    let end = End { of: "body".into(), count: bodies.len() as u64 };
    record::write(&mut out, &end).unwrap();
    out
}

/// The same, cut off before its end record.
pub fn unfinished(bodies: &[Body]) -> Vec<u8> {
    let mut out = Vec::new();
    record::write(&mut out, &Repo { name: "r".into(), path: "/r".into(), ..Repo::default() })
        .unwrap();
    bodies.iter().for_each(|body| record::write(&mut out, body).unwrap());
    out
}

/// A folder with an input, and where acknowledgements and talk go.
pub struct Case {
    dir: tempfile::TempDir,
    pub bodies: Vec<Body>,
    /// The text that is printed, as it is without acknowledgements.
    pub text: Vec<u8>,
    /// Where each chunk ends in it.
    pub ends: Vec<(u64, usize)>,
    args: Vec<String>,
}

impl Case {
    pub fn new(bodies: Vec<Body>) -> Case {
        Case::with(bodies, &["--segment", "read-3"])
    }

    pub fn with(bodies: Vec<Body>, args: &[&str]) -> Case {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("in"), stream(&bodies)).unwrap();
        let args: Vec<String> = args.iter().map(|arg| arg.to_string()).collect();
        let plain = plain(&stream(&bodies), &args);
        assert!(plain.status.success(), "{}", String::from_utf8_lossy(&plain.stderr));
        assert_eq!(plain.stderr, b"");
        let ends = ends(&plain.stdout, &bodies);
        Case { dir, bodies, text: plain.stdout, ends, args }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    pub fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap_or_default()
    }

    /// `auwai-ledger print --ack-fd 3 ARGS < in 3> acks 2> err`, ready to be spawned.
    pub fn command(&self) -> Command {
        let acks = fs::File::create(self.path("acks")).unwrap();
        self.command_with_acks(acks.into())
    }

    pub fn command_with_acks(&self, acks: OwnedFd) -> Command {
        let mut command = Command::new(PRINT);
        command.args(["print", "--ack-fd", "3"]).args(&self.args);
        command.stdin(fs::File::open(self.path("in")).unwrap());
        command.stderr(fs::File::create(self.path("err")).unwrap());
        command.fd_mappings(vec![FdMapping { parent_fd: acks, child_fd: 3 }]).unwrap();
        command
    }

    /// The same, written by hand in a shell as `$P`; returns the status of `$P` alone, which the
    /// script leaves in the file `status`.
    pub fn shell(&self, script: &str) -> i32 {
        let print = format!(
            "{PRINT} print --ack-fd 3 {} <in 3>acks 2>err; echo $? >status",
            self.args.join(" ")
        );
        let script = script.replace("$P", &format!("{{ {print}; }}"));
        let done = Command::new("sh").arg("-c").arg(&script).current_dir(self.dir.path()).status();
        assert!(done.is_ok(), "{script}");
        wait_until("the status", || self.read("status").ends_with('\n'));
        self.read("status").trim().parse().unwrap()
    }

    /// The chunks acknowledged so far, in order.
    pub fn acked(&self) -> Vec<u64> {
        let text = self.read("acks");
        let lines = text.lines().map(|line| {
            let ack: serde_json::Value = serde_json::from_str(line).unwrap();
            assert_eq!(
                (&ack["v"], &ack["type"], &ack["repo"]),
                (&1.into(), &"read".into(), &"r".into())
            );
            u64::from_str_radix(ack["id"].as_str().unwrap(), 16).unwrap()
        });
        lines.collect()
    }

    /// What must have been acknowledged when a reader took so many bytes: read off the text.
    pub fn due(&self, taken: usize) -> Vec<u64> {
        self.ends.iter().filter(|(_, end)| *end <= taken).map(|(id, _)| *id).collect()
    }

    /// Exactly the chunks of the first `taken` bytes are acknowledged, and what is not is named.
    pub fn assert_taken(&self, taken: usize) {
        assert_eq!(self.acked(), self.due(taken), "of {taken} bytes: {}", self.read("err"));
        let (all, left) = (self.bodies.len(), self.bodies.len() - self.due(taken).len());
        if taken == self.text.len() {
            return assert_eq!(self.read("err"), "");
        }
        let named = match left {
            0 => "auwai-ledger: only the last line stays unread: ".to_string(),
            1 => format!("auwai-ledger: 1 of {all} chunks stays unread: "),
            _ => format!("auwai-ledger: {left} of {all} chunks stay unread: "),
        };
        assert!(self.read("err").starts_with(&named), "{named}: {}", self.read("err"));
        let took = format!("took {} of {} bytes", taken, self.text.len());
        assert!(self.read("err").replace(',', "").contains(&took), "{took}: {}", self.read("err"));
    }
}

/// Where each chunk ends in a printed text, found by its frames and line numbers.
fn ends(text: &[u8], bodies: &[Body]) -> Vec<(u64, usize)> {
    let (mut path, mut at, mut found) = (String::new(), 0, Vec::new());
    for line in text.split_inclusive(|b| *b == b'\n') {
        at += line.len();
        let line = String::from_utf8_lossy(line);
        if let Some(frame) = line.strip_prefix("=== r:") {
            path = frame.split(' ').next().unwrap().to_string();
            continue;
        }
        let Some(number) = line.split('\t').next().and_then(|n| n.parse::<u64>().ok()) else {
            continue;
        };
        let last = bodies.iter().filter(|b| b.path == path && b.lines.last == number);
        found.extend(last.map(|b| (b.id.0, at)));
    }
    found
}

/// Prints without acknowledgements.
pub fn plain<S: AsRef<str>>(input: &[u8], args: &[S]) -> Output {
    let mut command = Command::new(PRINT);
    command.arg("print").args(args.iter().map(AsRef::as_ref));
    assert_cmd::Command::from_std(command).write_stdin(input).output().unwrap()
}

/// Waits for a condition, with a deadline.
pub fn wait_until(what: &str, mut holds: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !holds() {
        assert!(begun.elapsed() < Duration::from_secs(20), "waited in vain for {what}");
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Reads exactly `count` bytes of a child's output.
pub fn take(child: &mut Child, count: usize) {
    child.stdout.as_mut().unwrap().read_exact(&mut vec![0; count]).unwrap();
}

/// Starts python with standard input from `stdin`.
pub fn python(script: &str, stdin: impl Into<Stdio>, dir: &Path) -> Child {
    let mut command = Command::new(crate::support::site::python());
    command.args(["-c", script]).stdin(stdin).current_dir(dir).spawn().unwrap()
}
