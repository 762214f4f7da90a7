//! `auwai-inbox answered`: the rule, for scripts.

use super::options::{MarkOption, id};
use crate::cli::{Io, Verdict};
use crate::error::{Error, Result};
use crate::inbox::{self, Root, TaskId};
use crate::record::{self, VerdictReason};

/// Say, by exit status, whether a task is answered
///
/// Writes a `verdict` record with the reason. The result must be there: a regular file, UTF-8, and not
/// only white space. When the one that is there is not, the newest in the archive that is counts, of
/// exactly this ID; one in the archive alone answered an earlier question. A refusal is no answer: a
/// text whose first line begins with the mark. In the middle of a line, indented, or on a later line the
/// mark is part of an answer.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    mark: MarkOption,
    /// The task
    #[arg(value_name = "ID", value_parser = id)]
    id: TaskId,
}

/// Runs the verb.
pub fn run(args: &Args, root: &Root, io: &mut Io<'_>) -> Result<()> {
    let verdict = inbox::answered(root, &args.id, args.mark.refusal_mark.as_ref())?;
    record::write(&mut Verdict(io.out), &verdict)?;
    match verdict.answered {
        true => Ok(()),
        false => {
            let because = why(verdict.reason);
            Err(Error::no("unanswered", format!("'{}' is not answered", args.id)).because(because))
        }
    }
}

fn why(reason: VerdictReason) -> &'static str {
    match reason {
        VerdictReason::Answer | VerdictReason::ArchivedAnswer => "it is",
        VerdictReason::Refusal => "the result is a refusal",
        VerdictReason::ArchivedRefusal => "the result in the archive is a refusal",
        VerdictReason::None => "there is no result",
        VerdictReason::NotRegular => "the result is no regular file",
        VerdictReason::Blank => "the result is blank",
        VerdictReason::NotUtf8 => "the result is not UTF-8",
    }
}
