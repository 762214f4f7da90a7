//! `auwai-inbox accept`: a reader takes a task.

use super::options::{MarkOption, ReaderOption, id};
use crate::cli::Io;
use crate::error::Result;
use crate::inbox::{self, Root, TaskId};
use crate::record;

/// Accept a pending task
///
/// Its pointer in the reader's inbox becomes ID.accepted, and is not told any more. Of two who accept a
/// task at once, one does, and the other ends with 1. Writes the `task` record.
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
    let pointer = inbox::accept(root, &reader, &args.id)?;
    let mark = args.mark.refusal_mark.as_ref();
    record::write(io.out, &inbox::told(root, &reader, &pointer, mark)?)
}
