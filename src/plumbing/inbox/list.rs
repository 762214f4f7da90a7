//! `auwai-inbox list`: what is in an inbox.

use super::options::{MarkOption, ReaderOption};
use crate::cli::Io;
use crate::error::Result;
use crate::inbox::{self, Listed, Root};
use crate::record::{self, End, TaskState};

/// List an inbox, in the order in which a sweep tells it
///
/// `task` records, then `end`: of the larger priority first (a line `priority: N` in the task; without
/// one it is 0), and of those that are alike the older first.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    reader: ReaderOption,
    #[command(flatten)]
    mark: MarkOption,
    /// Every inbox, one after the other
    #[arg(long, conflicts_with = "reader")]
    all: bool,
    /// Only tasks that are pending
    #[arg(long)]
    pending: bool,
}

/// Runs the verb.
pub fn run(args: &Args, root: &Root, io: &mut Io<'_>) -> Result<()> {
    let readers = match args.all {
        true => root.readers()?,
        false => vec![args.reader.resolve(io.world)?],
    };
    let mut count = 0;
    for reader in readers {
        let Listed { all, odd } = inbox::listed(root, &reader, args.mark.refusal_mark.as_ref())?;
        super::warn_of_odd(&odd, &reader);
        let wanted = |state| !args.pending || state == Some(TaskState::Pending);
        for task in all.iter().filter(|task| wanted(task.state)) {
            count += 1;
            record::write(io.out, task)?;
        }
    }
    record::write(io.out, &End { of: "task".to_string(), count })
}
