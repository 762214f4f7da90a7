//! `auwai-inbox retire-archived`: the migration, by hand.

use super::options::MarkOption;
use crate::cli::Io;
use crate::error::Result;
use crate::inbox::{self, Root};
use crate::record;

/// Take pointers whose tasks are archived out of all inboxes, once for a root
///
/// A pointer whose task is pending is never taken out. `watch` does this by itself when it begins. The
/// marker state/migrations/retire-archived.v1.done, which is left when all went well, says that it was
/// done, and then nothing is looked at. Writes a `retired` record.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    mark: MarkOption,
    /// Do it also where the marker says that it was done
    #[arg(long)]
    again: bool,
}

/// Runs the verb.
pub fn run(args: &Args, root: &Root, io: &mut Io<'_>) -> Result<()> {
    let mark = args.mark.refusal_mark.as_ref();
    let retired = inbox::retire_archived(root, mark, args.again, &mut super::waiting)?;
    record::write(io.out, &retired)
}
