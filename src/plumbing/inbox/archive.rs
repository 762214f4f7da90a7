//! `auwai-inbox archive`: a task is done.

use std::time::SystemTime;

use super::options::id;
use crate::cli::Io;
use crate::error::Result;
use crate::inbox::{self, Root, TaskId};
use crate::record::{self, Retired};

/// Move a task and its result to the archive, and its pointers out of every inbox
///
/// Whether it is answered is not asked. An archive that was stopped is finished by running it again. An
/// inbox whose lock another process holds is waited for. Writes a `retired` record with the number of
/// pointers.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The task
    #[arg(value_name = "ID", value_parser = id)]
    id: TaskId,
}

/// Runs the verb.
pub fn run(args: &Args, root: &Root, io: &mut Io<'_>) -> Result<()> {
    let since = (io.world.now)().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    let retired = inbox::archive(root, &args.id, since.as_secs(), &mut super::waiting)?;
    record::write(io.out, &Retired { retired, ..Retired::default() })
}
