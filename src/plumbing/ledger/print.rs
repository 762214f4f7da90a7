//! `auwai-ledger print`: `body` records in, pages for a reader out, acknowledgements beside them.

mod input;
mod output;

use std::io::BufRead;
use std::time::Duration;

use crate::cli::Io;
use crate::delivery::{Acks, LastLine, PageOf, Passage, Random, Sheet, divide, fit, prove};
use crate::error::{Error, Result};
use crate::record::MARK_CHARS;
use input::{Bodies, Collected};
use output::Output;

/// The most text, in bytes, that waits for its frame. A run of chunks that is longer gets another
/// frame; no segment that fits a window comes near it.
const RUN: usize = 16 << 20;

/// Print bodies, and acknowledge the chunks that were delivered
///
/// Reads `body` records, as `auwai-ledger show` writes them. Before each run of contiguous chunks
/// of one file goes a line that begins with `=`: repository, path and lines. Then come the lines,
/// each with its number and a tab; a character that could deceive is shown escaped. No line of a
/// body begins with `=`.
///
/// With --segment or --max-chars the whole input is read before anything is printed, a last line
/// says where the reader is and what to do next, and an input without its `end` record prints
/// nothing. Without both, text is printed as it comes and there is no last line; when the input is
/// cut off, what came whole is printed and acknowledged, and the exit status is 3.
///
/// A chunk is acknowledged when its last byte has left: on a pipe, when the reader has taken it (on
/// Linux; on other systems when write() returned); on a regular file, when all is written and
/// fsync() succeeded; on a terminal, a socket or a device, when write() returned. A standard output
/// that is closed, or is a /dev/null opened for reading and writing, takes nothing.
#[derive(Debug, Clone, clap::Args)]
pub struct Args {
    /// Write a `read` record to descriptor N for each chunk that was delivered, and name on
    /// standard error what stays unread. N is a pipe or a file
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(3..))]
    pub ack_fd: Option<u32>,

    /// After the last write, wait until the reader has taken everything; give up when it takes
    /// nothing for this long (0s: do not wait)
    #[arg(long, value_name = "TIME", default_value = "5s", value_parser = humantime::parse_duration)]
    pub drain: Duration,

    /// The segment that the bodies are, for the last line
    #[arg(long, value_name = "ID")]
    pub segment: Option<String>,

    /// Print only chunks that are not complete
    #[arg(long)]
    pub unread: bool,

    /// Print one page of at most N characters, frames and last line included. Pages are whole
    /// chunks and do not depend on what has been read; a chunk that is longer has a page of its own
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub max_chars: Option<u64>,

    /// Print page N (default: the first that is not complete; when all are, only the last line)
    #[arg(long, value_name = "N", requires = "max_chars", value_parser = clap::value_parser!(u64).range(1..))]
    pub page: Option<u64>,

    /// Print at most N marks, lines of a number each that nobody can foresee, between the lines, one in each
    /// chunk or few chunks and one at the end; each acknowledgement says which of them prove its chunk
    #[arg(long, value_name = "N", requires = "segment", value_parser = clap::value_parser!(u64).range(2..))]
    pub marks: Option<u64>,

    /// The command that goes on, for the last line (default: `auwai read --segment ID`)
    #[arg(long, value_name = "COMMAND")]
    pub next: Option<String>,

    /// The command for when all is read, for the last line (default: `auwai done --segment ID`)
    #[arg(long, value_name = "COMMAND")]
    pub done: Option<String>,

    /// Take what came of an input that was cut off
    #[arg(long)]
    pub partial: bool,
}

impl Args {
    /// A command of the last line: as given, else for the segment.
    fn command(&self, given: Option<&String>, verb: &str) -> Option<String> {
        let own = || self.segment.as_ref().map(|id| format!("auwai {verb} --segment {id}"));
        given.cloned().or_else(own)
    }

    /// What to do about chunks that stay unread.
    fn hint(&self) -> String {
        match self.command(self.next.as_ref(), "read") {
            // The next page that is not complete is this one.
            Some(next) if self.max_chars.is_some() => format!("read on with `{next}`"),
            Some(next) => format!("read on with `{next} --unread`"),
            None => "print them again, with --unread".to_string(),
        }
    }

    /// Whether a passage is to be printed as far as --unread goes.
    fn wants(&self, passage: &Passage) -> bool {
        !(self.unread && passage.complete)
    }
}

/// Runs it.
///
/// # Errors
/// `bad-input` and `cut-off` from the input; `ack-closed`; `no-page`; an output that fails. A reader
/// that has gone is no error.
pub fn run(args: Args, io: &mut Io<'_>) -> Result<()> {
    // First of all: nothing of our own may have taken the descriptor.
    let acks = args.ack_fd.map(Acks::open).transpose()?;
    let bodies = Bodies::new(&mut *io.input, args.partial);
    if args.segment.is_none() && args.max_chars.is_none() {
        let mut output = Output::start(&args, acks, io.out, io.err)?;
        let sent = stream(&args, bodies, &mut output);
        return output.finish(sent);
    }
    let seed = (io.world.seed)().map_err(|e| Error::io("read", "/dev/urandom", &e))?;
    let (sheet, warning) = compose(&args, &bodies.collect()?, &mut Random::of(&seed))?;
    let mut output = Output::start(&args, acks, io.out, io.err)?;
    warning.into_iter().for_each(|warning| output.say(&warning));
    let sent = output.send(sheet);
    output.finish(sent)
}

/// Prints runs as they become complete. What came before an error goes out too.
fn stream(args: &Args, mut bodies: Bodies<impl BufRead>, output: &mut Output) -> Result<()> {
    let mut run: Vec<Passage> = Vec::new();
    let mut weight = 0;
    loop {
        let next = bodies.next_passage();
        let goes_on = match (&next, run.last()) {
            (Ok(Some(next)), Some(last)) => last.is_followed_by(next) && weight < RUN,
            _ => false,
        };
        if !goes_on {
            output.send(sheet_of(&run))?;
            run.clear();
            weight = 0;
        }
        let Some(next) = next? else { return Ok(()) };
        if args.wants(&next) {
            weight += next.weight();
            run.push(next);
        }
    }
}

fn sheet_of(passages: &[Passage]) -> Sheet {
    Sheet::of(&passages.iter().collect::<Vec<_>>())
}

/// All that is printed of a whole input, and a warning.
fn compose(args: &Args, input: &Collected, random: &mut Random) -> Result<(Sheet, Option<String>)> {
    let (passages, cut) = (&input.passages[..], input.cut);
    let next = args.command(args.next.as_ref(), "read");
    let done = args.command(args.done.as_ref(), "done");
    let last = LastLine {
        label: args.segment.as_deref(),
        next: next.as_deref(),
        done: done.as_deref(),
        chunks: passages.len() as u64,
        withheld: input.withheld,
    };
    match args.max_chars {
        Some(most) => paged(args, passages, &last, (most, cut), random),
        None => Ok((unpaged(args, passages, &last, cut, random), None)),
    }
}

fn unpaged(
    args: &Args,
    passages: &[Passage],
    last: &LastLine,
    cut: bool,
    random: &mut Random,
) -> Sheet {
    let wanted: Vec<&Passage> = passages.iter().filter(|p| args.wants(p)).collect();
    let mut sheet = with_marks(args, Sheet::of(&wanted), random);
    sheet.push_line(&match (cut, args.unread) {
        (true, _) => last.cut(),
        (false, true) => last.unread(wanted.len() as u64),
        (false, false) => last.whole(),
    });
    sheet
}

fn paged(
    args: &Args,
    passages: &[Passage],
    last: &LastLine,
    (most, cut): (u64, bool),
    random: &mut Random,
) -> Result<(Sheet, Option<String>)> {
    // Each chunk may have a mark, and the page one more at its end.
    let each = args.marks.map_or(0, |_| MARK_CHARS);
    let reserve = last.longest_page() + each;
    let pages = divide(passages, most, reserve, each);
    let of = pages.len() as u64;
    let first_unread = passages.iter().position(|p| !p.complete);
    let page_of = |chunk: usize| pages.iter().position(|range| range.contains(&chunk));
    let Some(page) = args.page.map(|n| n as usize - 1).or(first_unread.and_then(page_of)) else {
        return Ok((nothing_left(last, of, cut), None));
    };
    let Some(range) = pages.get(page) else { return Err(no_page(args, page + 1, of)) };
    let wanted: Vec<usize> = range.clone().filter(|i| args.wants(&passages[*i])).collect();
    let mut shown: Vec<&Passage> = wanted.iter().map(|i| &passages[*i]).collect();
    // Leaving chunks out can cost a frame more than it saves.
    shown.truncate(fit(&shown, most, reserve, each));
    let printed = &wanted[..shown.len()];
    let is_left = |i: &usize| !passages[*i].complete && !printed.contains(i);
    let left = (0..passages.len()).find(is_left).and_then(page_of).map(|page| page as u64 + 1);
    // What was cut off is left too.
    let left = left.or(cut.then_some(of + 1));
    let mut sheet = with_marks(args, Sheet::of(&shown), random);
    sheet.push_line(&last.page(PageOf { page: page as u64 + 1, of, left }));
    let warning = (sheet.chars() > most).then(|| too_long(page + 1, sheet.chars(), most));
    Ok((sheet, warning))
}

fn with_marks(args: &Args, sheet: Sheet, random: &mut Random) -> Sheet {
    match args.marks {
        Some(most) => prove(sheet, most, random),
        None => sheet,
    }
}

fn nothing_left(last: &LastLine, pages: u64, cut: bool) -> Sheet {
    let mut sheet = Sheet::default();
    sheet.push_line(&if cut { last.cut() } else { last.nothing_left(pages) });
    sheet
}

fn too_long(page: usize, chars: u64, most: u64) -> String {
    format!("page {page} is one chunk that needs --max-chars {chars}; it was given {most}")
}

fn no_page(args: &Args, page: usize, of: u64) -> Error {
    let what = args.segment.as_deref().unwrap_or("the input");
    let error = Error::failed("no-page", format!("there is no page {page}: '{what}' has {of}"));
    match args.command(args.next.as_ref(), "read") {
        Some(next) => error.hint(format!("read the first page that is not complete: `{next}`")),
        None => error,
    }
}
