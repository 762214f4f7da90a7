//! One worker: takes a segment, feeds it to the command, and settles what came of it.

use std::collections::HashSet;
use std::ffi::OsString;
use std::io::{PipeWriter, Write, sink};
use std::os::fd::AsFd;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};

use super::alive::keep_alive;
use super::call::{Finding, until_its_end};
use super::queue::Queue;
use crate::cli::{Io, World};
use crate::counted::count;
use crate::delivery::all_taken;
use crate::error::{Error, Result};
use crate::porcelain::pipeline::{Pipeline, collect_records, stage};
use crate::porcelain::progress::Bar;
use crate::porcelain::signals::Stopper;
use crate::porcelain::target::Target;
use crate::record::{Read as Delivered, Record, Segment, SegmentId, SegmentKind};
use crate::regular::{self, Links};
use crate::visible::quote;

/// The exit status that leaves a segment unread, as in `git bisect run`.
const LEAVE: i32 = 125;

/// Works until there is nothing more to do; `again` is the command that goes on where this one ends.
/// Returns what is to be said on standard error.
///
/// # Errors
/// `command-failed` when the command ends otherwise than with 0 or 125, `not-taken` when it ends
/// with 0 and leaves input.
pub fn work(
    reader: &str,
    (command, again): (&[OsString], &str),
    target: &Target,
    queue: &Queue<'_>,
    bar: &Bar,
    world: &World,
) -> Result<String> {
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let io = &mut Io { input: &mut std::io::empty(), out: &mut out, err: &mut err, world };
    let worker = Worker { reader, command, again, target, queue };
    while let Some(segment) = queue.next(reader, io).inspect_err(|_| queue.stop())? {
        let own = (reader, &segment.id);
        let fed = keep_alive(target, own, queue.lease.0, world, || worker.feed(&segment, io));
        if let Err(error) = fed {
            // The run was not heard of for too long, and another reader has the segment: it is theirs.
            if matches!(error.code(), "lost-lease" | "held") {
                continue;
            }
            // The file has changed since the plan, and nothing of the segment counts; or a chunk has
            // moved into it since it was printed; or it has outgrown the budget, and is divided when
            // it is given back and the plan follows. The run goes on.
            if matches!(error.code(), "changed" | "not-read" | "over-budget") {
                queue.pass_over(&segment.id, reader, io)?;
                continue;
            }
            queue.stop();
            // What cannot be given back is told less urgently than what failed before.
            let _ = queue.release(&segment.id, reader, io);
            return Err(error);
        }
        bar.advance(&segment.id.to_string());
    }
    Ok(String::from_utf8_lossy(&err).into_owned())
}

struct Worker<'a> {
    reader: &'a str,
    command: &'a [OsString],
    again: &'a str,
    target: &'a Target,
    queue: &'a Queue<'a>,
}

/// What a command did with a segment.
struct Fed {
    status: ExitStatus,
    taken: Taken,
    finding: String,
}

/// What a command has taken of its input.
enum Taken {
    /// These chunks of a read segment.
    Chunks(Vec<Delivered>),
    /// All of the findings, or not all.
    Findings(bool),
}

impl Worker<'_> {
    fn feed(&self, segment: &Segment, io: &mut Io<'_>) -> Result<()> {
        let fed = self.command(segment, io)?;
        match fed.status.code() {
            Some(0) => self.settle(segment, &fed, io),
            Some(LEAVE) => self.queue.leave(&segment.id, self.reader, io),
            _ => Err(self.failed(&segment.id, fed.status)),
        }
    }

    /// The command ended well: what it took is read, and all of it closes the segment.
    fn settle(&self, segment: &Segment, fed: &Fed, io: &mut Io<'_>) -> Result<()> {
        let all = match &fed.taken {
            Taken::Chunks(delivered) => {
                self.mark(segment, delivered, io)?;
                self.took_all(segment, delivered, io)?
            }
            Taken::Findings(all) => *all,
        };
        if !all {
            return Err(self.not_taken(segment, &fed.taken));
        }
        let close = self.target.ledger("close").arg("--reader").arg(self.reader);
        // When this process is killed, nothing that it has begun may close what another has by then.
        let close = close.arg("--segment").arg(segment.id.to_string()).arg("--while-heard");
        if fed.finding.trim().is_empty() {
            return collect_records(&[close], io).map(|_| ());
        }
        // Not as an argument: those are limited to 128 KiB.
        let close = close.arg("--file").arg("-");
        let close = close.arg("--bytes").arg(fed.finding.len().to_string());
        Pipeline::start_on(&[close], fed.finding.as_bytes(), io)?.records(io, |_, _| Ok(()))
    }

    /// Whether what was taken is the whole segment: as it was claimed, or as a replan has left it.
    fn took_all(&self, segment: &Segment, taken: &[Delivered], io: &mut Io<'_>) -> Result<bool> {
        if taken.len() >= segment.chunks.len() {
            return Ok(true);
        }
        let taken: HashSet<_> = taken.iter().map(|read| (read.repo.as_str(), read.id)).collect();
        let list = self.target.ledger("segments").arg(segment.id.to_string());
        let now = collect_records(&[list], io)?.into_iter().find_map(|record| match record {
            Record::Segment(segment) => Some(segment),
            _ => None,
        });
        let all =
            |now: Segment| now.chunks.iter().all(|c| taken.contains(&(c.repo.as_str(), c.id)));
        Ok(now.is_some_and(all))
    }

    /// Marks what was taken. A replan may have taken some of it out of the plan meanwhile: all others
    /// are marked.
    fn mark(&self, segment: &Segment, delivered: &[Delivered], io: &mut Io<'_>) -> Result<()> {
        if delivered.is_empty() {
            return Ok(());
        }
        let mark = self.target.ledger("mark").arg("--reader").arg(self.reader);
        let mark = mark.arg("--segment").arg(segment.id.to_string()).arg("--how").arg("run");
        let mut reads = Vec::new();
        delivered.iter().try_for_each(|read| crate::record::write(&mut reads, read))?;
        match Pipeline::start_on(&[mark], &reads, io)?.wait(io) {
            Err(error) if error.code() == "not-planned" => Ok(()),
            marked => marked,
        }
    }

    /// Runs the command on a segment.
    fn command(&self, segment: &Segment, io: &mut Io<'_>) -> Result<Fed> {
        let (input, writer) = pipe()?;
        let mut child = self.spawn(segment, Stdio::from(input))?;
        self.queue.signals().to(&child);
        let finding = Finding::of(&mut child);
        let ended = match segment.kind {
            SegmentKind::Read => self.send(segment, writer, &mut child, io),
            SegmentKind::Synthesis => self.send_findings(segment, writer, &mut child),
        };
        // Its input is closed by now: a command that could not be fed ends too.
        let waited = self.queue.signals().reap(&mut child);
        waited.map_err(|e| Error::io("wait for", "the command", &e))?;
        let (status, taken) = ended?;
        Ok(Fed { status, taken, finding: finding.text() })
    }

    fn spawn(&self, segment: &Segment, input: Stdio) -> Result<Child> {
        let name = self.command[0].to_string_lossy();
        let mut command = Command::new(&self.command[0]);
        command
            .args(&self.command[1..])
            .env("AUWAI_SEGMENT", &segment.id.0)
            .env("AUWAI_WORKSPACE", self.target.workspace().root())
            .stdin(input)
            .stdout(Stdio::piped());
        command.spawn().map_err(|e| {
            Error::io("run", crate::visible::one_line(&name), &e)
                .hint("give a command that is installed, with its arguments: `auwai run -- wc -w`")
        })
    }

    /// Sends brief and bodies; returns how the command ended and the chunks that were taken.
    fn send(
        &self,
        segment: &Segment,
        writer: PipeWriter,
        child: &mut Child,
        io: &mut Io<'_>,
    ) -> Result<(ExitStatus, Taken)> {
        let id = segment.id.to_string();
        let show = self.target.ledger("show").arg("--segment").arg(&id);
        let print = stage(["auwai-ledger", "print", "--ack-fd", "3", "--segment"]).arg(&id);
        // The command may think for long before it reads on; only its end ends the wait.
        let print = print.arg("--drain").arg("1000weeks").acks();
        // What stays unread is told by the command's end, not as for a reader at a shell.
        let io = &mut Io { input: io.input, out: io.out, err: &mut sink(), world: io.world };
        let (sender, briefed) = channel();
        let (halt, stop) = (Halt::default(), sender.clone());
        let stop = || {
            halt.stop();
            let _ = stop.send(None);
        };
        send_brief(segment, writer, sender);
        let mut delivered = Vec::new();
        let feed = || {
            let Some(writer) = briefed.recv().ok().flatten() else { return Ok(()) };
            let pipeline = Pipeline::start_into(&[show, print], writer?, io)?;
            halt.set(pipeline.stopper());
            pipeline.records(io, |record, _: &mut Io<'_>| {
                if let Record::Read(read) = record {
                    delivered.push(read);
                }
                Ok(())
            })
        };
        let (status, sent) = until_its_end(child, self.queue.signals(), stop, feed)?;
        // What was stopped here was not taken, and that is judged by what came.
        if !halt.is_stopped() {
            sent?;
        }
        Ok((status, Taken::Chunks(delivered)))
    }

    /// Sends brief and findings; returns how the command ended and whether it took all.
    fn send_findings(
        &self,
        segment: &Segment,
        writer: PipeWriter,
        child: &mut Child,
    ) -> Result<(ExitStatus, Taken)> {
        let brief = segment.brief.clone().unwrap_or_default();
        let path = self.target.workspace().fullread_dir().join("findings.md");
        let ((sender, sent), over) = (channel(), Arc::new(AtomicBool::new(false)));
        let (stop, late) = (sender.clone(), Arc::clone(&over));
        std::thread::spawn(move || {
            let taken = pour(&brief, &path, writer, &|| late.load(Ordering::SeqCst));
            // Nobody waits any more for what came too late.
            let _ = sender.send(taken);
        });
        let stop = move || {
            over.store(true, Ordering::SeqCst);
            let _ = stop.send(Ok(false));
        };
        let (status, sent) =
            until_its_end(child, self.queue.signals(), stop, || sent.recv().unwrap_or(Ok(false)))?;
        sent.map(|all| (status, Taken::Findings(all)))
    }

    fn failed(&self, id: &SegmentId, status: ExitStatus) -> Error {
        let command = self.command[0].to_string_lossy();
        let command = crate::visible::one_line(&command).into_owned();
        Error::failed("command-failed", format!("'{command}' failed on {id} ({status})"))
            .hint(format!("what was done stands; go on with `{}`", self.again))
            .hint("exit status 125 leaves a segment and goes on")
    }

    fn not_taken(&self, segment: &Segment, taken: &Taken) -> Error {
        let command = self.command[0].to_string_lossy();
        let command = crate::visible::one_line(&command).into_owned();
        let (id, all) = (&segment.id, count(segment.chunks.len() as u64, "chunk"));
        let what = match taken {
            Taken::Chunks(taken) => format!("took {} of {all} of {id}", taken.len()),
            Taken::Findings(_) => format!("left some of the findings, the input of {id}"),
        };
        Error::failed("not-taken", format!("'{command}' ended well but {what}"))
            .hint("give a command that reads its input to the end")
    }
}

fn pipe() -> Result<(std::io::PipeReader, PipeWriter)> {
    std::io::pipe().map_err(|e| Error::io("make", "a pipe", &e))
}

/// What ends the feeding of a command, before its stages have begun and after.
#[derive(Default)]
struct Halt(Mutex<(bool, Option<Stopper>)>);

impl Halt {
    fn stop(&self) {
        let mut halt = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        halt.0 = true;
        halt.1.iter().for_each(Stopper::stop);
    }

    fn set(&self, stopper: Stopper) {
        let mut halt = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if halt.0 {
            stopper.stop();
        }
        halt.1 = Some(stopper);
    }

    fn is_stopped(&self) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).0
    }
}

/// Writes the brief, and gives the writer back. On a thread of its own: a command that has ended may
/// have left somebody who holds its input open and reads nothing.
fn send_brief(segment: &Segment, writer: PipeWriter, back: Sender<Option<Result<PipeWriter>>>) {
    let brief = segment.brief.clone().unwrap_or_default();
    std::thread::spawn(move || {
        let written = unless_closed(writeln!(&writer, "{brief}"));
        // Nobody waits any more for what came too late.
        let _ = back.send(Some(written.map(|_| writer)));
    });
}

/// Sends a brief, and a file if there is one, and waits until they are taken; whether they were.
fn pour(brief: &str, path: &Path, mut writer: PipeWriter, over: &dyn Fn() -> bool) -> Result<bool> {
    let briefed = unless_closed(writeln!(writer, "{brief}"))?;
    let cannot = |e: &std::io::Error| Error::io("read", quote(path), e);
    let open = match regular::open(path, Links::Refuse) {
        Ok(mut file) => unless_closed(std::io::copy(&mut file, &mut writer).map(|_| ()))?,
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => true,
        Err(e) => return Err(cannot(&e)),
    };
    let all = all_taken(writer.as_fd(), over);
    Ok(briefed && open && all.map_err(|e| Error::io("write to", "the command", &e))?)
}

/// A command that does not read is judged by its exit status and by what it took.
fn unless_closed(written: std::io::Result<()>) -> Result<bool> {
    match written {
        Ok(()) => Ok(true),
        Err(e) if e.kind() == std::io::ErrorKind::BrokenPipe => Ok(false),
        Err(e) => Err(Error::io("write to", "the command", &e)),
    }
}
