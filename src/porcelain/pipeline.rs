//! Plumbing as processes, joined by pipes.
//!
//! Every stage is this same executable, called with a plumbing tool's name as its first argument,
//! so that the versions of the stages cannot differ. A stage tells its failure as an `error` record
//! on its standard error ([`ERRORS`]); the first failing stage in pipeline order is the one
//! reported, since those after it only saw their input cut off. But who could not acknowledge only
//! saw that the next stage had ended, and that one says why. A reader that left early is no failure.

use std::ffi::OsString;
use std::io::{BufRead, BufReader, PipeReader, PipeWriter, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread::JoinHandle;

use command_fds::{CommandFdExt, FdMapping};

use super::signals::{Forward, Stopper};
use super::trace;
use crate::cli::{ERRORS, Io, World, say_raw};
use crate::error::{Error, Kind, Result};
use crate::record::{Reader, Record};

/// The descriptor on which `auwai-ledger print` acknowledges.
const ACK_FD: i32 = 3;

/// Where a stage's output goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Output {
    /// Standard output into the next stage, or for the last one to the caller.
    Pipe,
    /// Standard output is ours; acknowledgements on descriptor 3 go into the next stage.
    Acks,
}

/// One plumbing command.
#[derive(Debug, Clone)]
pub struct Stage {
    args: Vec<OsString>,
    output: Output,
}

/// Builds a stage: the tool's name, then its arguments.
pub fn stage<I: Into<OsString>>(args: impl IntoIterator<Item = I>) -> Stage {
    Stage { args: args.into_iter().map(Into::into).collect(), output: Output::Pipe }
}

impl Stage {
    /// Adds an argument.
    pub fn arg(mut self, arg: impl Into<OsString>) -> Stage {
        self.args.push(arg.into());
        self
    }

    /// Adds `--name value` when there is a value.
    pub fn option(self, name: &str, value: Option<impl Into<OsString>>) -> Stage {
        match value {
            Some(value) => self.arg(name).arg(value),
            None => self,
        }
    }

    /// Adds `--name` when it is on.
    pub fn flag(self, name: &str, on: bool) -> Stage {
        if on { self.arg(name) } else { self }
    }

    /// Sends its acknowledgements, not its standard output, into the next stage.
    pub fn acks(mut self) -> Stage {
        self.output = Output::Acks;
        self
    }

    /// The command line, for [`trace`].
    pub fn args(&self) -> &[OsString] {
        &self.args
    }

    /// Where its output goes.
    pub fn output(&self) -> Output {
        self.output
    }
}

/// When what the stages say on standard error is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Talk {
    /// When they have ended, in their order.
    AtEnd,
    /// As it comes.
    AtOnce,
}

/// A running stage.
struct Running {
    child: Child,
    talk: JoinHandle<String>,
}

/// Stages that run at once, and the last one's output.
pub struct Pipeline {
    running: Vec<Running>,
    output: Option<PipeReader>,
    forward: Forward,
    /// It runs until it is asked to end; whoever asks a stage asks all of it.
    lives: bool,
}

impl Pipeline {
    /// Starts the stages, with nothing on the first one's standard input.
    pub fn start(stages: &[Stage], io: &mut Io<'_>) -> Result<Pipeline> {
        Self::start_with(stages, Stdio::null(), io)
    }

    /// Starts the stages; `input` is the first one's standard input.
    pub fn start_with(stages: &[Stage], input: Stdio, io: &mut Io<'_>) -> Result<Pipeline> {
        Self::join(stages, input, None, Talk::AtEnd, io)
    }

    /// Starts stages that run for long: what they say is passed on at once.
    pub fn start_live(stages: &[Stage], io: &mut Io<'_>) -> Result<Pipeline> {
        Self::join(stages, Stdio::null(), None, Talk::AtOnce, io)
    }

    /// Starts the stages, and writes `input` to the first one. One that does not take it says why
    /// itself.
    pub fn start_on(stages: &[Stage], input: &[u8], io: &mut Io<'_>) -> Result<Pipeline> {
        let (reader, mut writer) = std::io::pipe().map_err(|e| Error::io("make", "a pipe", &e))?;
        let pipeline = Self::start_with(stages, Stdio::from(reader), io)?;
        match writer.write_all(input) {
            Err(e) if e.kind() != std::io::ErrorKind::BrokenPipe => {
                Err(Error::io("write to", "a pipe", &e))
            }
            _ => Ok(pipeline),
        }
    }

    /// Starts the stages; what the acknowledging one prints goes into `sink`.
    pub fn start_into(stages: &[Stage], sink: PipeWriter, io: &mut Io<'_>) -> Result<Pipeline> {
        Self::join(stages, Stdio::null(), Some(sink), Talk::AtEnd, io)
    }

    fn empty(forward: Forward, lives: bool) -> Pipeline {
        Pipeline { running: Vec::new(), output: None, forward, lives }
    }

    fn join(
        stages: &[Stage],
        input: Stdio,
        mut sink: Option<PipeWriter>,
        talk: Talk,
        io: &mut Io<'_>,
    ) -> Result<Pipeline> {
        trace::print(stages, io);
        io.out.flush().map_err(|e| Error::io("write to", "standard output", &e))?;
        let mut pipeline = Pipeline::empty(Forward::new()?, talk == Talk::AtOnce);
        let mut input = Some(input);
        for stage in stages {
            let stdin = input.take().unwrap_or_else(Stdio::null);
            let output = pipeline.spawn(stage, stdin, &mut sink, talk, io.world)?;
            match pipeline.running.len() == stages.len() {
                true => pipeline.output = Some(output),
                false => input = Some(Stdio::from(output)),
            }
        }
        Ok(pipeline)
    }

    fn spawn(
        &mut self,
        stage: &Stage,
        stdin: Stdio,
        sink: &mut Option<PipeWriter>,
        talk: Talk,
        world: &World,
    ) -> Result<PipeReader> {
        let start = |e: &std::io::Error| Error::io("start", "auwai", e);
        let program = std::env::current_exe().map_err(|e| start(&e))?;
        let (reader, writer) = std::io::pipe().map_err(|e| start(&e))?;
        let mut command = Command::new(program);
        command.args(&stage.args).stdin(stdin).stderr(Stdio::piped()).env(ERRORS, "json");
        if world.is_elsewhere {
            // Paths among its arguments are as they were typed.
            command.current_dir(&world.cwd);
        }
        match stage.output {
            Output::Pipe => {
                command.stdout(writer);
            }
            Output::Acks => {
                if let Some(sink) = sink.take() {
                    command.stdout(sink);
                }
                let mapping = FdMapping { parent_fd: OwnedFd::from(writer), child_fd: ACK_FD };
                command.fd_mappings(vec![mapping]).map_err(|e| {
                    Error::failed("bug", "two descriptors with one number").because(e)
                })?;
            }
        }
        let mut child = command.spawn().map_err(|e| start(&e))?;
        self.forward.to(&child);
        let stderr = child.stderr.take();
        let talk = std::thread::spawn(move || collect(stderr, talk));
        self.running.push(Running { child, talk });
        Ok(reader)
    }

    /// Passes the last stage's records to `each`, then waits for all.
    ///
    /// # Errors
    /// The first failing stage's, else `each`'s own.
    pub fn records(
        mut self,
        io: &mut Io<'_>,
        mut each: impl FnMut(Record, &mut Io<'_>) -> Result<()>,
    ) -> Result<()> {
        let mut taken = Ok(());
        if let Some(output) = self.output.take() {
            let mut reader = Reader::new(BufReader::with_capacity(1 << 16, output), "-");
            while let Some(record) = transpose(&mut taken, reader.next_record()) {
                taken = each(record, io);
                if taken.is_err() {
                    break;
                }
            }
        }
        self.wait(io).and(taken)
    }

    /// Copies the last stage's lines to our standard output as they are, then waits for all.
    pub fn pass(mut self, io: &mut Io<'_>) -> Result<()> {
        let mut passed = Ok(());
        if let Some(output) = self.output.take() {
            passed = copy_lines(BufReader::with_capacity(1 << 16, output), io.out);
        }
        self.wait(io).and(passed)
    }

    /// What ends the stages from another thread, in good order: what is whole is passed on first.
    pub fn stopper(&self) -> Stopper {
        self.forward.stopper()
    }

    /// Waits for all stages and reports the first that failed.
    pub fn wait(mut self, io: &mut Io<'_>) -> Result<()> {
        drop(self.output.take());
        let mut first = Ok(());
        for Running { mut child, talk } in self.running.drain(..) {
            let status = self.forward.reap(&mut child);
            let status = status.map_err(|e| Error::io("wait for", "auwai", &e))?;
            if let (true, Some(signal)) = (self.lives, status.signal()) {
                self.forward.ended_by(signal);
            }
            let talk = talk.join().unwrap_or_default();
            let open = first.as_ref().err().is_none_or(is_echo);
            let result = judge(status, &talk, io, open);
            first = if open { result.and(first) } else { first };
        }
        self.forward.raise_again();
        first
    }
}

/// One that was not waited for failed half way: no stage of it stays behind.
impl Drop for Pipeline {
    fn drop(&mut self) {
        drop(self.output.take());
        if !self.running.is_empty() {
            self.stopper().stop();
        }
        for Running { mut child, talk } in self.running.drain(..) {
            // Why it failed is being told already.
            let _ = self.forward.reap(&mut child);
            let _ = talk.join();
        }
    }
}

/// Whether an error only says that a later stage has ended.
fn is_echo(error: &Error) -> bool {
    error.code() == "ack-closed"
}

/// The error for a pipeline that ended well and did not say what it was asked.
pub fn silent(what: &str) -> Error {
    Error::failed("cut-off", what).hint("run it again; see the stages with `AUWAI_TRACE=1`")
}

/// The records of a short pipeline whose records fit in memory.
pub fn collect_records(stages: &[Stage], io: &mut Io<'_>) -> Result<Vec<Record>> {
    let mut all = Vec::new();
    Pipeline::start(stages, io)?.records(io, |record, _| {
        all.push(record);
        Ok(())
    })?;
    Ok(all)
}

fn transpose(taken: &mut Result<()>, next: Result<Option<Record>>) -> Option<Record> {
    match next {
        Ok(record) => record,
        Err(e) => {
            *taken = Err(e);
            None
        }
    }
}

fn copy_lines(mut input: impl BufRead, out: &mut dyn Write) -> Result<()> {
    std::io::copy(&mut input, out)
        .and_then(|_| out.flush())
        .map_err(|e| Error::io("write to", "standard output", &e))
}

/// What a stage has said and is still to be told. What it says is passed on as far as it came.
fn collect(stderr: Option<impl Read>, talk: Talk) -> String {
    let mut kept = Vec::new();
    let Some(stderr) = stderr else { return String::new() };
    let mut stderr = BufReader::new(stderr);
    match talk {
        Talk::AtEnd => drop(stderr.read_to_end(&mut kept)),
        Talk::AtOnce => pass_lines(stderr, &mut kept),
    }
    String::from_utf8_lossy(&kept).into_owned()
}

/// Passes lines on as they come, and keeps the records of failures.
fn pass_lines(mut stderr: impl BufRead, kept: &mut Vec<u8>) {
    let mut line = Vec::new();
    while stderr.read_until(b'\n', &mut line).is_ok_and(|read| read > 0) {
        let text = String::from_utf8_lossy(&line);
        match crate::record::parse(text.trim_end_matches('\n')) {
            Ok(Record::Problem(_)) => kept.extend_from_slice(&line),
            _ => say_raw(&line),
        }
        line.clear();
    }
}

/// Tells what a stage said, and makes its failure ours. After the first failure the others' words
/// are only echoes of it.
fn judge(status: ExitStatus, talk: &str, io: &mut Io<'_>, tell: bool) -> Result<()> {
    let mut failure = None;
    for line in talk.lines() {
        match crate::record::parse(line) {
            Ok(Record::Problem(problem)) => failure = Some(problem),
            _ if tell => {
                let _ = writeln!(io.err, "{line}");
            }
            _ => {}
        }
    }
    let kind = match status.code() {
        Some(0) => return Ok(()),
        Some(1) => Kind::No,
        Some(2) => Kind::Usage,
        Some(_) => Kind::Failed,
        None => return stopped(status),
    };
    Err(match failure {
        Some(problem) => Error::told(kind, problem.code, problem.message, problem.hint),
        // What it said has been passed on.
        None => {
            let hint = "see the stages with `AUWAI_TRACE=1`, and run them by hand".to_string();
            let message = format!("a stage of the pipeline broke down ({status})");
            Error::told(kind, "failed".into(), message, Some(hint))
        }
    })
}

/// A stage that a signal ended. SIGPIPE means that its reader left, which is no failure.
fn stopped(status: ExitStatus) -> Result<()> {
    if status.signal() == Some(signal_hook::consts::SIGPIPE) {
        return Ok(());
    }
    let message = format!("a stage was stopped ({status})");
    Err(Error::failed("stopped", message).hint("what was committed stands: run the command again"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pipeline_that_says_nothing_is_told_with_what_to_do() {
        let error = silent("the plan was not kept");
        assert_eq!((error.code(), error.kind()), ("cut-off", Kind::Failed));
        assert!(error.hints()[0].contains("`AUWAI_TRACE=1`"));
    }

    #[test]
    fn a_pipeline_that_fails_half_way_leaves_no_stage_behind() {
        let mut pipeline = Pipeline::empty(Forward::new().unwrap(), false);
        let child = Command::new("sleep").arg("20").spawn().unwrap();
        let pid = rustix::process::Pid::from_child(&child);
        pipeline.forward.to(&child);
        pipeline.running.push(Running { child, talk: std::thread::spawn(String::new) });
        drop(pipeline);
        assert!(rustix::process::test_kill_process(pid).is_err());
    }
}
