//! `auwai verify` and `auwai unread`: is anything in the tree unread?

use super::nested;
use super::options::Common;
use super::pipeline::Pipeline;
use super::progress::Bar;
use super::render::{self, Row, fates, percent};
use super::target::Target;
use crate::cli::parse::name;
use crate::cli::{Io, Verdict};
use crate::counted::{agree, count, thousands};
use crate::error::{Error, Kind, Result};
use crate::record::{self, Fate, Record, Status, Unread, Why};

/// Answer, by exit status, whether everything in the tree as it stands has been read
///
/// Looks at the tree first. Exit status 0: every text chunk is planned and complete. 1: something is
/// unread, changed, unplanned or unreadable; each is a row, with the segment that holds it and the
/// command that finishes it. 3: a repository is missing or not indexed. The counts of all other
/// fates are always printed.
#[derive(Debug, Clone, clap::Args)]
pub struct Args {
    /// Ask only whether the plan has been read, whatever the tree is now; the sums are the plan's
    #[arg(long)]
    planned: bool,
    /// Leave out nothing without a reason, and count no read that was only shown
    ///
    /// What git tracks and is no text is then unread, too, unless a waiver names it (see `auwai waive`):
    /// binary files, links, submodules, what is not there, and what a rule in .auwai-ignore leaves out;
    /// outside git, whatever no rule leaves out. Of reads only those count that the reader has
    /// confirmed by a mark, or that the command of `auwai run` took; one that has moved or was imported
    /// counts as the one that it stands for. What a workspace is bounded to stays its bound.
    #[arg(long, conflicts_with = "planned")]
    strict: bool,
    /// Count only what this reader has read
    #[arg(long, value_name = "NAME", value_parser = name, conflicts_with = "planned")]
    reader: Option<String>,
}

/// What is asked of a tree.
#[derive(Debug, Clone, Default)]
pub struct Question {
    /// Only the plan, whatever the tree is.
    pub planned: bool,
    /// With nothing left out.
    pub strict: bool,
    /// Of one reader.
    pub reader: Option<String>,
}

/// List what is unread, the largest first
///
/// Looks at the tree first. The exit status is 0 whether or not anything is unread; `auwai verify`
/// answers by exit status.
#[derive(Debug, Clone, clap::Args)]
pub struct UnreadArgs {}

/// Runs `verify`.
pub fn run(args: &Args, common: &Common, io: &mut Io<'_>) -> Result<()> {
    let mut out = Verdict(&mut *io.out);
    let io = &mut Io { input: &mut *io.input, out: &mut out, err: &mut *io.err, world: io.world };
    let target = Target::resolve(common, io)?;
    let (planned, strict, reader) = (args.planned, args.strict, args.reader.clone());
    let answer = ask_aloud(&Question { planned, strict, reader }, &target, common, io)?;
    finish(&answer, &target, common, io)
}

/// Tells every unread row.
pub fn ask_aloud(
    question: &Question,
    target: &Target,
    common: &Common,
    io: &mut Io<'_>,
) -> Result<Answer> {
    let mut rows = Rows::new(target, io)?;
    let answer = ask(question, target, common, io, &mut |row, io| match common.json {
        true => record::write(io.out, &row),
        false => rows.tell(row, io),
    })?;
    rows.end(io)?;
    Ok(answer)
}

/// Tells the sums, and gives the verdict.
pub fn finish(answer: &Answer, target: &Target, common: &Common, io: &mut Io<'_>) -> Result<()> {
    match common.json {
        true => record::write(io.out, &answer.status)?,
        false => tell(answer, target, common, io)?,
    }
    answer.verdict(target)
}

/// Runs `unread`.
pub fn run_unread(_: &UnreadArgs, common: &Common, io: &mut Io<'_>) -> Result<()> {
    let target = Target::resolve(common, io)?;
    let mut rows = Vec::new();
    ask(&Question::default(), &target, common, io, &mut |row, _| {
        rows.push(row);
        Ok(())
    })?;
    rows.sort_by_key(|row| std::cmp::Reverse(row.tokens));
    if common.json {
        return rows.iter().try_for_each(|row| record::write(io.out, row));
    }
    for same in rows.chunk_by(|a, b| a.lines.is_none() && render::unread(a) == render::unread(b)) {
        let row = Row { unread: same[0].clone(), chunks: same.len() as u64 };
        super::line(io, &row.told())?;
    }
    Ok(())
}

/// What verify found.
#[derive(Default)]
pub struct Answer {
    rows: u64,
    /// Whether reading on finishes some of them.
    waiting: bool,
    /// Those that cannot be read.
    unreadable: u64,
    /// Those that have no text, and no waiver.
    left_out: u64,
    /// Those of which there is a read, that does not count.
    uncounted: u64,
    status: Status,
}

impl Answer {
    fn count(&mut self, row: &Unread) {
        self.rows += 1;
        self.waiting |= matches!(row.why, Why::Pending | Why::Leased);
        match row.why {
            Why::Unreadable => self.unreadable += 1,
            Why::Shown | Why::Others => self.uncounted += 1,
            Why::Pending | Why::Leased | Why::Changed | Why::Unplanned => {}
            _ => self.left_out += 1,
        }
    }

    /// The answer as an exit status.
    ///
    /// # Errors
    /// `unread` when something is.
    pub fn verdict(&self, target: &Target) -> Result<()> {
        if self.rows == 0 {
            return Ok(());
        }
        if self.unreadable == self.rows {
            let message = format!("{} unread", is_or_are(self.rows));
            return Err(Error::no("unread", message)
                .hint("let them be read (`chmod`), or leave them out by a line in .auwai-ignore"));
        }
        if self.unreadable + self.left_out + self.uncounted == self.rows {
            return Err(
                self.strictly(Error::no("unread", format!("{} unread", is_or_are(self.rows))))
            );
        }
        let command = match (&self.status.plan, self.waiting) {
            (Some(_), true) => format!("auwai next{}", target.flag()),
            (plan, _) => target.plan_command(plan.is_some()),
        };
        Err(Error::no("unread", format!("{} unread", is_or_are(self.rows)))
            .hint(format!("go on with `{command}`")))
    }
}

impl Answer {
    /// The hints where reading on is not what is needed.
    fn strictly(&self, mut error: Error) -> Error {
        if self.uncounted > 0 {
            error = error.hint(
                "have it read so that it counts: begin anew with `auwai plan --force` and \
                 `auwai run -- CMD`, or with `auwai plan --force --marks` and give the marks back",
            );
        }
        match self.left_out + self.unreadable {
            0 => error,
            _ => error.hint("say what need not be read, and why: `auwai waive GLOB --reason TEXT`"),
        }
    }
}

fn is_or_are(rows: u64) -> String {
    format!("{} {}", count(rows, "part"), agree(rows, "is", "are"))
}

/// Passes every unread row to `each`.
fn ask(
    question: &Question,
    target: &Target,
    common: &Common,
    io: &mut Io<'_>,
    each: &mut dyn FnMut(Unread, &mut Io<'_>) -> Result<()>,
) -> Result<Answer> {
    target.members().iter().try_for_each(|member| member.root().map(|_| ()))?;
    let bar = Bar::new(common.progress, io, &format!("indexing {}", target.workspace().name()));
    let verify = target.ledger("verify").flag("--planned", question.planned);
    let verify = verify.flag("--strict", question.strict);
    let verify = verify.option("--reader", question.reader.as_ref());
    let stages = [verify.flag("--progress", bar.is_shown())];
    let mut answer = Answer::default();
    let asked = Pipeline::start(&stages, io)?.records(io, |record, io| {
        match record {
            Record::Progress(progress) => bar.scanned(&progress),
            // The index is up to date, and the answer begins.
            Record::Repo(_) => bar.clear(),
            Record::Status(status) => answer.status = status,
            Record::Unread(row) => {
                answer.count(&row);
                return each(row, io);
            }
            _ => {}
        }
        Ok(())
    });
    bar.clear();
    match asked {
        // The answer is no: told by the rows.
        Err(error) if error.kind() == Kind::No && answer.rows > 0 => Ok(answer),
        Err(error) => Err(error),
        Ok(()) => Ok(answer),
    }
}

/// Tells rows, each with the command that finishes it. Chunks of one file that follow each other, and
/// are unread for one reason, are one row.
struct Rows<'a> {
    target: &'a Target,
    /// Whether there is a plan; the record that names it comes after the rows, so it is asked for
    /// when a row is in none.
    planned: Option<bool>,
    held: Option<Row>,
    /// Who reads when nobody is named.
    reader: String,
}

impl<'a> Rows<'a> {
    /// Nothing told yet.
    fn new(target: &'a Target, io: &Io<'_>) -> Result<Self> {
        let reader = io.world.reader(None)?;
        Ok(Rows { target, planned: None, held: None, reader })
    }

    /// Takes the next row.
    fn tell(&mut self, unread: Unread, io: &mut Io<'_>) -> Result<()> {
        if self.held.as_mut().is_some_and(|held| held.take(&unread)) {
            return Ok(());
        }
        self.end(io)?;
        self.held = Some(Row { unread, chunks: 1 });
        Ok(())
    }

    fn command(&mut self, row: &Unread, io: &mut Io<'_>) -> Result<String> {
        if row.why == Why::Unplanned && self.planned.is_none() {
            self.planned = Some(self.target.status(io)?.plan.is_some());
        }
        let target = self.target;
        Ok(match (&row.segment, row.why) {
            (Some(segment), Why::Pending | Why::Leased) => {
                let reader = row.reader.as_ref().filter(|reader| **reader != self.reader);
                let reader = reader.map(|name| format!(" --reader {name}")).unwrap_or_default();
                format!("  (auwai read --segment {segment}{}{reader})", target.flag())
            }
            (_, Why::Changed | Why::Unplanned) => {
                format!("  ({})", target.plan_command(self.planned.unwrap_or(true)))
            }
            _ => String::new(),
        })
    }

    /// Tells what is held back until the next row.
    fn end(&mut self, io: &mut Io<'_>) -> Result<()> {
        let Some(row) = self.held.take() else { return Ok(()) };
        let command = self.command(&row.unread, io)?;
        super::line(io, &format!("{}{command}", row.told()))
    }
}

/// The counts, and the share that is read.
fn tell(answer: &Answer, target: &Target, common: &Common, io: &mut Io<'_>) -> Result<()> {
    let status = &answer.status;
    super::line(io, &sums(answer))?;
    target.bounds().map_or(Ok(()), |bounds| super::line(io, &bounds))?;
    super::line(io, &format!("paths: {}", fates(status.fates.iter().flatten())))?;
    let counted =
        |fate: Fate| status.fates.as_ref().is_some_and(|it| it.contains_key(fate.as_str()));
    match counted(Fate::Repository) {
        true => nested::tell(&nested::all(target, common, io)?, target, io),
        false => Ok(()),
    }
}

/// What is read of what there is. A part that is unread may have no tokens that could be counted:
/// then nothing is called 100 %.
fn sums(answer: &Answer) -> String {
    let (chunks, tokens) = (answer.status.chunks, answer.status.tokens);
    let share = match percent(tokens.complete, tokens.planned) {
        None => return "no text to read".to_string(),
        Some(100) if answer.rows > 0 => String::new(),
        Some(share) => format!(" ({share} %)"),
    };
    format!(
        "read: {} of {}, {} of {}{share}",
        thousands(chunks.complete),
        count(chunks.planned, "chunk"),
        thousands(tokens.complete),
        count(tokens.planned, "token"),
    )
}
