//! `auwai-inbox post`: tasks go into inboxes.

use std::fs::File;
use std::io::{BufRead, Read, Write};
use std::path::{Path, PathBuf};

use super::options::{MarkOption, ReaderOption, id};
use crate::cli::Io;
use crate::error::{Error, Kind, Result};
use crate::inbox::{self, Posting, Root, TaskId};
use crate::record::{self, Reader, Record, Task, is_name};
use crate::visible::{one_line, quote};

/// No task is longer; a device without end is.
const LONGEST: u64 = 16 << 20;

/// Put a task into a reader's inbox
///
/// With ID, one whose text is that of -m, of FILE, or of standard input. Without, standard input is
/// `task` records with `id`, `text` and, where they are given, `reader` and `priority`; other records
/// are passed over. Each is posted as it comes, and told by its `task` record.
///
/// Twice is once: a task that is there with the same text is left as it is. One that is there with another
/// text is refused, with 1, at the end; all others are posted.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    reader: ReaderOption,
    #[command(flatten)]
    mark: MarkOption,
    /// Put a line `priority: N` before the text: the larger comes first in a sweep
    #[arg(long, value_name = "N", requires = "id")]
    priority: Option<u32>,
    /// What the task says
    #[arg(short = 'm', long = "text", value_name = "TEXT", requires = "id")]
    #[arg(allow_hyphen_values = true, conflicts_with = "file")]
    text: Option<String>,
    /// Take what it says from FILE
    #[arg(short = 'F', long, value_name = "FILE", requires = "id")]
    file: Option<PathBuf>,
    /// The task
    #[arg(value_name = "ID", value_parser = id)]
    id: Option<TaskId>,
}

/// Runs the verb.
pub fn run(args: Args, root: &Root, io: &mut Io<'_>) -> Result<()> {
    let reader = args.reader.resolve(io.world)?;
    let Some(id) = &args.id else { return stream(&args, &reader, root, io) };
    let text = match (&args.text, &args.file) {
        (Some(text), _) => text.clone().into_bytes(),
        (None, Some(file)) if file != Path::new("-") => {
            read(&mut open(&io.world.absolute(file), file)?, file)?
        }
        (None, _) => read(&mut io.input, Path::new("-"))?,
    };
    if text.trim_ascii().is_empty() {
        return Err(Error::failed("empty-task", format!("the task '{id}' says nothing"))
            .hint(format!("give its text: `auwai-inbox post {id} -m TEXT`")));
    }
    let text = file_of(args.priority.unwrap_or(0), text);
    put(&Posting { id, reader: &reader, text: &text }, &args, root, io.out)
}

fn open(path: &Path, typed: &Path) -> Result<File> {
    File::open(path).map_err(|e| {
        Error::io("read", quote(typed), &e).hint("give a file that is there: `-F FILE`")
    })
}

fn read(input: &mut dyn Read, name: &Path) -> Result<Vec<u8>> {
    let mut text = Vec::new();
    let read = input.take(LONGEST + 1).read_to_end(&mut text);
    read.map_err(|e| Error::io("read", quote(name), &e))?;
    match text.len() as u64 > LONGEST {
        true => Err(Error::failed(
            "bad-input",
            format!("'{}' is longer than 16 MiB, which no task is", quote(name)),
        )
        .hint("name what is to be read, not all of its text: `-m TEXT`")),
        false => Ok(text),
    }
}

/// The text of a task's file, whose last line has its end.
fn file_of(priority: u32, mut text: Vec<u8>) -> Vec<u8> {
    if text.last() != Some(&b'\n') {
        text.push(b'\n');
    }
    match priority {
        0 => text,
        priority => [format!("priority: {priority}\n").into_bytes(), text].concat(),
    }
}

fn put(posting: &Posting<'_>, args: &Args, root: &Root, out: &mut dyn Write) -> Result<()> {
    let pointer = inbox::post(root, posting, &mut super::waiting)?;
    let mark = args.mark.refusal_mark.as_ref();
    record::write(out, &inbox::told(root, posting.reader, &pointer, mark)?)?;
    out.flush().map_err(|e| Error::io("write to", "standard output", &e))
}

/// Posts the records of standard input.
fn stream(args: &Args, reader: &str, root: &Root, io: &mut Io<'_>) -> Result<()> {
    let (mut input, mut refused) = (Reader::new(&mut *io.input, "-"), Ok(()));
    loop {
        let Some((id, task)) = next(&mut input)? else { return refused };
        let text = file_of(task.priority, task.text.unwrap_or_default().into_bytes());
        let reader = task.reader.as_deref().unwrap_or(reader);
        match put(&Posting { id: &id, reader, text: &text }, args, root, io.out) {
            Err(error) if error.kind() == Kind::No => refused = refused.and(Err(error)),
            other => other?,
        }
    }
}

const MEND: &str =
    "those before it are posted: mend it, and run the pipeline again: `… | auwai-inbox post`";

/// The next `task` record of the input, which has all that is needed.
fn next<R: BufRead>(input: &mut Reader<R>) -> Result<Option<(TaskId, Task)>> {
    loop {
        match input.next_record()? {
            None => return Ok(None),
            Some(Record::Task(task)) => return checked(task, input).map(Some),
            Some(_) => {}
        }
    }
}

fn checked<R: BufRead>(task: Task, input: &Reader<R>) -> Result<(TaskId, Task)> {
    let bad = |what: String| input.bad(&what).hint(MEND);
    let id = task.id.parse::<TaskId>();
    let id = id.map_err(|e| bad(format!("'{}' is no id: {e}", one_line(&task.id))))?;
    if let Some(reader) = task.reader.as_deref().filter(|reader| !is_name(reader)) {
        return Err(bad(format!("'{}' is no name of a reader", one_line(reader))));
    }
    match task.text.as_deref().is_none_or(|text| text.trim().is_empty()) {
        true => Err(bad(format!("the task '{id}' says nothing"))),
        false => Ok((id, task)),
    }
}
