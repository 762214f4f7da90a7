//! One worker: takes a segment, feeds it to the command, and settles what came of it.

use std::ffi::OsString;
use std::io::{PipeWriter, Read, Write};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread::JoinHandle;

use super::queue::Queue;
use crate::cli::{Io, World};
use crate::error::{Error, Result};
use crate::porcelain::pipeline::{Pipeline, collect_records, stage};
use crate::porcelain::progress::Bar;
use crate::porcelain::target::Target;
use crate::record::{Read as Delivered, Record, Segment, SegmentKind};

/// The most of a command's output that becomes a finding, in bytes.
const FINDING: u64 = 64 << 10;

/// The exit status that leaves a segment unread, as in `git bisect run`.
const LEAVE: i32 = 125;

/// Works until there is nothing more to do. Returns what is to be said on standard error.
///
/// # Errors
/// `command-failed` when the command ends otherwise than with 0 or 125, `not-taken` when it ends
/// with 0 and leaves input.
pub fn work(
    reader: &str,
    command: &[OsString],
    target: &Target,
    queue: &Queue<'_>,
    bar: &Bar,
    world: &World,
) -> Result<String> {
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let io = &mut Io { input: &mut std::io::empty(), out: &mut out, err: &mut err, world };
    let worker = Worker { reader, command, target, queue };
    while let Some(segment) = queue.next(reader, io)? {
        worker.feed(&segment, io)?;
        bar.advance(&segment.id.to_string());
    }
    Ok(String::from_utf8_lossy(&err).into_owned())
}

struct Worker<'a> {
    reader: &'a str,
    command: &'a [OsString],
    target: &'a Target,
    queue: &'a Queue<'a>,
}

/// What a command did with a segment.
struct Fed {
    status: ExitStatus,
    delivered: Vec<Delivered>,
    finding: String,
}

impl Worker<'_> {
    fn feed(&self, segment: &Segment, io: &mut Io<'_>) -> Result<()> {
        let id = segment.id.to_string();
        let fed = match self.command(segment, io) {
            Ok(fed) => fed,
            Err(error) => {
                self.queue.stop(&id, io)?;
                return Err(error);
            }
        };
        match fed.status.code() {
            Some(0) => self.settle(segment, &fed, io),
            Some(LEAVE) => self.queue.leave(&id, io),
            _ => {
                self.queue.stop(&id, io)?;
                Err(self.failed(&id, fed.status))
            }
        }
    }

    /// The command ended well: what it took is read, and all of it closes the segment.
    fn settle(&self, segment: &Segment, fed: &Fed, io: &mut Io<'_>) -> Result<()> {
        self.mark(segment, &fed.delivered, io)?;
        if fed.delivered.len() < segment.chunks.len() {
            self.queue.stop(&segment.id.to_string(), io)?;
            return Err(self.not_taken(segment, fed.delivered.len()));
        }
        let close = self.target.ledger("close").arg("--reader").arg(self.reader);
        let close = close.arg("--segment").arg(segment.id.to_string());
        let close = match fed.finding.trim().is_empty() {
            true => close,
            false => close.arg("--summary").arg(&fed.finding),
        };
        collect_records(&[close], io).map(|_| ())
    }

    fn mark(&self, segment: &Segment, delivered: &[Delivered], io: &mut Io<'_>) -> Result<()> {
        if delivered.is_empty() {
            return Ok(());
        }
        let mark = self.target.ledger("mark").arg("--reader").arg(self.reader);
        let mark = mark.arg("--segment").arg(segment.id.to_string()).arg("--how").arg("run");
        let (input, mut writer) = pipe()?;
        let marking = Pipeline::start_with(&[mark], Stdio::from(input), io)?;
        let sent = delivered.iter().try_for_each(|read| crate::record::write(&mut writer, read));
        drop(writer);
        marking.wait(io).and(sent)
    }

    /// Runs the command on a segment.
    fn command(&self, segment: &Segment, io: &mut Io<'_>) -> Result<Fed> {
        let (input, writer) = pipe()?;
        let mut child = self.spawn(segment, Stdio::from(input))?;
        let output = child.stdout.take();
        let finding = std::thread::spawn(move || capture(output));
        let fed = match segment.kind {
            SegmentKind::Read => self.send(segment, writer, io),
            SegmentKind::Synthesis => self.send_findings(segment, writer).map(|()| Vec::new()),
        };
        finish(child, finding, fed)
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

    /// Sends brief and bodies, and returns the chunks that the command took.
    fn send(
        &self,
        segment: &Segment,
        writer: PipeWriter,
        io: &mut Io<'_>,
    ) -> Result<Vec<Delivered>> {
        brief(segment, &writer)?;
        let id = segment.id.to_string();
        let show = self.target.ledger("show").arg("--segment").arg(&id);
        let print = stage(["auwai-ledger", "print", "--ack-fd", "3", "--segment"]).arg(&id);
        // The command may think for long before it reads on; only its end ends the wait.
        let print = print.arg("--drain").arg("1000weeks").acks();
        let mut delivered = Vec::new();
        Pipeline::start_into(&[show, print], writer, io)?.records(io, |record, _| {
            if let Record::Read(read) = record {
                delivered.push(read);
            }
            Ok(())
        })?;
        Ok(delivered)
    }

    fn send_findings(&self, segment: &Segment, mut writer: PipeWriter) -> Result<()> {
        brief(segment, &writer)?;
        let path = self.target.workspace().fullread_dir().join("findings.md");
        let findings = match std::fs::File::open(&path) {
            Ok(mut file) => std::io::copy(&mut file, &mut writer).map(|_| ()),
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => Ok(()),
            Err(e) => Err(e),
        };
        closed_is_fine(findings)
    }

    fn failed(&self, id: &str, status: ExitStatus) -> Error {
        let command = self.command[0].to_string_lossy();
        let command = crate::visible::one_line(&command).into_owned();
        Error::failed("command-failed", format!("'{command}' failed on {id} ({status})"))
            .hint("what was done stands: run the same again to go on")
            .hint("exit status 125 leaves a segment and goes on")
    }

    fn not_taken(&self, segment: &Segment, taken: usize) -> Error {
        let command = self.command[0].to_string_lossy();
        let command = crate::visible::one_line(&command).into_owned();
        let all = segment.chunks.len();
        let message = format!(
            "'{command}' ended well but took {taken} of the {all} chunks of {}",
            segment.id
        );
        Error::failed("not-taken", message).hint("give a command that reads its input to the end")
    }
}

fn pipe() -> Result<(std::io::PipeReader, PipeWriter)> {
    std::io::pipe().map_err(|e| Error::io("make", "a pipe", &e))
}

fn brief(segment: &Segment, mut writer: &PipeWriter) -> Result<()> {
    let brief = segment.brief.as_deref().unwrap_or_default();
    closed_is_fine(writeln!(writer, "{brief}"))
}

/// A command that does not read is judged by its exit status and by what it took.
fn closed_is_fine(result: std::io::Result<()>) -> Result<()> {
    match result {
        Err(e) if e.kind() != std::io::ErrorKind::BrokenPipe => {
            Err(Error::io("write to", "the command", &e))
        }
        _ => Ok(()),
    }
}

/// Reads a command's output to its end, and keeps as much as a finding may hold.
fn capture(output: Option<impl Read>) -> String {
    let Some(mut output) = output else { return String::new() };
    let mut kept = Vec::new();
    // A finding that cannot be read is an empty one; the segment was read all the same.
    let _ = output.by_ref().take(FINDING).read_to_end(&mut kept);
    let more = std::io::copy(&mut output, &mut std::io::sink()).unwrap_or(0);
    // The finding travels as an argument, which cannot hold a NUL.
    let mut text = String::from_utf8_lossy(&kept).replace('\0', "\\x00");
    if more > 0 {
        text.push_str(&format!("\n[{more} more bytes were not kept]"));
    }
    text
}

fn finish(
    mut child: Child,
    finding: JoinHandle<String>,
    fed: Result<Vec<Delivered>>,
) -> Result<Fed> {
    let status = child.wait().map_err(|e| Error::io("wait for", "the command", &e))?;
    let finding = finding.join().unwrap_or_default();
    Ok(Fed { status, delivered: fed?, finding })
}
