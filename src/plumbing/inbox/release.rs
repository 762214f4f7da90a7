//! `auwai-inbox release`: a task is pending again.

use super::options::{MarkOption, ReaderOption, id};
use crate::cli::Io;
use crate::error::Result;
use crate::inbox::{self, Root, TaskId};
use crate::record;

/// Give a task back that was accepted
///
/// It is pending again, and whoever watches the inbox is told. One that is pending stays so. Writes
/// the `task` record.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    reader: ReaderOption,
    #[command(flatten)]
    mark: MarkOption,
    /// The task
    #[arg(value_name = "ID", value_parser = id)]
    id: TaskId,
}

/// Runs the verb.
pub fn run(args: &Args, root: &Root, io: &mut Io<'_>) -> Result<()> {
    let reader = args.reader.resolve(io.world)?;
    let pointer = inbox::release(root, &reader, &args.id)?;
    let mark = args.mark.refusal_mark.as_ref();
    record::write(io.out, &inbox::told(root, &reader, &pointer, mark)?)
}
