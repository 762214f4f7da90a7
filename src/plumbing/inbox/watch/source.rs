//! Where events come from: `auwai-wait-events | auwai-relay`, two processes, and when they are started
//! again.

use std::ffi::{OsStr, OsString};
use std::io::Read;
use std::os::fd::{AsFd, BorrowedFd};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use crate::cli::ERRORS;
use crate::doubling::delay;
use crate::error::{Error, Result};
use crate::inbox::{Root, TaskId, task_at, watched};
use crate::record::{self, EventOp, Record};

/// Starts are at least so far apart.
const SHORTEST: Duration = Duration::from_millis(50);

/// Of those that fail, each so many are twice as far apart, up to [`LONGEST`].
const EACH: u32 = 4;

/// No two starts are further apart.
const LONGEST: Duration = Duration::from_secs(10);

/// A process that was told to end has so long for it.
const PATIENCE: Duration = Duration::from_secs(1);

/// What the source tells, as far as it is of concern here.
#[derive(Debug, PartialEq, Eq)]
pub enum News {
    /// Its watches stand.
    Stands,
    /// Something may have happened to a task or its pointer.
    Came(TaskId),
    /// Something has happened that it cannot name.
    Lost,
}

/// The processes. They end with this.
pub struct Source {
    children: Vec<Child>,
    output: Option<ChildStdout>,
    begun: Vec<u8>,
    reader: String,
}

impl Source {
    /// Starts them.
    ///
    /// # Errors
    /// When the system refuses.
    pub fn start(root: &Root, reader: &str) -> Result<Source> {
        let reader = reader.to_string();
        let mut source = Source { children: Vec::new(), output: None, begun: Vec::new(), reader };
        for words in stages(root, &source.reader) {
            source.spawn(&words)?;
        }
        Ok(source)
    }

    /// Starts a stage behind those that are there. It is this same executable.
    fn spawn(&mut self, words: &[OsString]) -> Result<()> {
        let input = self.output.take().map_or_else(Stdio::null, Stdio::from);
        let mut command = Command::new(std::env::current_exe().map_err(|e| cannot_start(&e))?);
        // What it has to say is said by itself, to people.
        command.args(words).stdin(input).stdout(Stdio::piped()).env_remove(ERRORS);
        let mut child = command.spawn().map_err(|e| cannot_start(&e))?;
        self.output = child.stdout.take();
        self.children.push(child);
        Ok(())
    }

    /// What to wait for.
    pub fn output(&self) -> Option<BorrowedFd<'_>> {
        self.output.as_ref().map(AsFd::as_fd)
    }

    /// What it has told since the last call; `None` when it has ended. Waits when it has told nothing.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn news(&mut self) -> Result<Option<Vec<News>>> {
        let mut block = [0; 1 << 16];
        let read = self.output.as_mut().map_or(Ok(0), |output| output.read(&mut block));
        match read {
            Err(e) if e.kind() == std::io::ErrorKind::Interrupted => return Ok(Some(Vec::new())),
            Err(e) => return Err(Error::io("read", "the events", &e)),
            Ok(0) => return Ok(None),
            Ok(read) => self.begun.extend_from_slice(&block[..read]),
        }
        let whole = memchr::memrchr(b'\n', &self.begun).map_or(0, |last| last + 1);
        let rest = self.begun.split_off(whole);
        let whole = std::mem::replace(&mut self.begun, rest);
        let lines = whole.split(|b| *b == b'\n').filter(|line| !line.is_empty());
        Ok(Some(lines.filter_map(|line| news_of(line, &self.reader)).collect()))
    }
}

/// What a line says. One that is no record was torn by a kill, and stands for anything.
fn news_of(line: &[u8], reader: &str) -> Option<News> {
    match std::str::from_utf8(line).map_err(|e| e.to_string()).and_then(record::parse) {
        Ok(Record::Ready(_)) => Some(News::Stands),
        Ok(Record::Rescan(_)) | Err(_) => Some(News::Lost),
        Ok(Record::Event(event)) if event.op != EventOp::Remove => {
            task_at(&event.path, reader).map(News::Came)
        }
        Ok(_) => None,
    }
}

impl Drop for Source {
    fn drop(&mut self) {
        drop(self.output.take());
        for child in &self.children {
            // One that has ended cannot be told.
            let _ = kill_process(Pid::from_child(child), Signal::TERM);
        }
        self.children.iter_mut().for_each(end);
    }
}

/// Waits for a process that was told to end, and kills one that does not.
fn end(child: &mut Child) {
    let begun = Instant::now();
    while begun.elapsed() < PATIENCE {
        if !matches!(child.try_wait(), Ok(None)) {
            return;
        }
        std::thread::sleep(Duration::from_millis(2));
    }
    let _ = child.kill();
    let _ = child.wait();
}

/// The command lines of the processes.
fn stages(root: &Root, reader: &str) -> [Vec<OsString>; 2] {
    let mut events =
        ["auwai-wait-events", "--no-ignore", "--settle", "0"].map(OsString::from).to_vec();
    let only = watched(reader).into_iter().flat_map(|folder| ["--only".to_string(), folder]);
    events.extend(only.map(OsString::from));
    events.extend(["--repo".into(), root.path().into()]);
    [events, vec!["auwai-relay".into()]]
}

/// The processes as a line for `sh`.
pub fn line(root: &Root, reader: &str) -> String {
    stages(root, reader)
        .map(|words| words.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" "))
        .join(" | ")
}

fn quoted(word: &OsStr) -> String {
    let plain = |b: &u8| b.is_ascii_alphanumeric() || b"_-./".contains(b);
    match word.as_encoded_bytes().iter().all(plain) {
        true => word.to_string_lossy().into_owned(),
        false => format!("'{}'", word.to_string_lossy().replace('\'', r"'\''")),
    }
}

fn cannot_start(e: &std::io::Error) -> Error {
    Error::io("start", "auwai-wait-events", e)
}

/// When the next start may be.
#[derive(Debug, Default)]
pub struct Launches {
    last: Option<Instant>,
    failed: u32,
}

impl Launches {
    /// One is begun.
    pub fn begun(&mut self, now: Instant) {
        self.last = Some(now);
    }

    /// It has ended; `stood`: it had come so far that it told what happens. How long to wait.
    pub fn ended(&mut self, stood: bool, now: Instant) -> Duration {
        self.failed = if stood { 0 } else { self.failed.saturating_add(1) };
        let gap = delay(SHORTEST, LONGEST, self.failed / EACH);
        self.last.map_or(Duration::ZERO, |last| (last + gap).saturating_duration_since(now))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_source_that_stood_is_started_again_soon_and_one_that_cannot_start_ever_later() {
        let (mut launches, mut now) = (Launches::default(), Instant::now());
        let mut wait = |stood, lived: u64| {
            launches.begun(now);
            now += Duration::from_millis(lived);
            let wait = launches.ended(stood, now);
            now += wait;
            wait.as_millis()
        };
        assert_eq!([wait(true, 5), wait(true, 40), wait(true, 3000)], [45, 10, 0]);
        let failing: Vec<u128> = (0..100).map(|_| wait(false, 0)).collect();
        assert_eq!(failing[..9], [50, 50, 50, 100, 100, 100, 100, 200, 200]);
        assert_eq!((failing[19], failing[40], failing[99]), (1600, 10_000, 10_000));
        assert_eq!(wait(true, 0), 50);
    }

    #[test]
    fn news_are_of_this_reader_and_what_is_torn_is_something_lost() {
        let event = |op: &str, path: &str| {
            format!(r#"{{"v":1,"type":"event","op":"{op}","kind":"file","path":"{path}"}}"#)
        };
        let news = |line: &str| news_of(line.as_bytes(), "ann");
        let came = |id: &str| Some(News::Came(id.parse().unwrap()));
        assert_eq!(news(&event("create", "deliveries/ann/a.txt")), came("a"));
        assert_eq!(news(&event("modify", "tasks/a-1.txt")), came("a-1"));
        for nothing in [
            event("remove", "deliveries/ann/a.txt"),
            event("create", "deliveries/ann/a.accepted"),
            event("create", "deliveries/ann/archive/a.txt"),
            event("create", "deliveries/bob/a.txt"),
            event("create", "deliveries/ann/.a.txt.7-0.new"),
            event("create", "deliveries/ann/a b.txt"),
            event("create", "results/a.txt"),
            r#"{"v":1,"type":"batch","n":1,"events":1,"rescans":0}"#.to_string(),
        ] {
            assert_eq!(news(&nothing), None, "{nothing}");
        }
        assert_eq!(
            news(r#"{"v":1,"type":"rescan","path":".","reason":"overflow"}"#),
            Some(News::Lost)
        );
        assert_eq!(news(r#"{"v":1,"type":"ev"#), Some(News::Lost));
    }
}
