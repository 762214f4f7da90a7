//! `auwai waive`: what a strict verify need not find read, and why.

use super::options::{Common, ReaderOption};
use super::pipeline::Pipeline;
use super::target::Target;
use crate::cli::Io;
use crate::error::Result;
use crate::record::{self, Record, Waiver};
use crate::visible::one_line;

/// Say which paths `verify --strict` need not find read, and why
///
/// GLOB is a pattern as in an ignore file: `*.png` at any depth, `/docs/*.svg` from the repository's
/// root, `vendor/` a folder and all below it. Before it may stand the name of a repository and `:`;
/// else it is of all repositories. A waiver is of what has no text to read, never of text.
///
/// It is kept in the ledger, with who made it and when, and goes with `auwai-ledger export`; nothing
/// in the tree knows of it. Another reason for the same GLOB replaces the waiver.
#[derive(Debug, Clone, clap::Args)]
pub struct Args {
    #[command(flatten)]
    pub(super) reader: ReaderOption,
    /// The paths
    #[arg(value_name = "GLOB", requires = "reason", required_unless_present_any = ["list", "remove"])]
    glob: Option<String>,
    /// Why they need not be read
    #[arg(long, value_name = "TEXT", requires = "glob", allow_hyphen_values = true)]
    reason: Option<String>,
    /// Remove the waiver of GLOB; that it was there, and who removed it, is kept
    #[arg(long, value_name = "GLOB", conflicts_with_all = ["glob", "list"], allow_hyphen_values = true)]
    remove: Option<String>,
    /// List the waivers that stand
    #[arg(long, conflicts_with = "glob")]
    list: bool,
}

/// Runs the command.
pub fn run(args: &Args, common: &Common, io: &mut Io<'_>) -> Result<()> {
    let target = Target::resolve(common, io)?;
    let waive = target.ledger("waive").arg("--reader").arg(args.reader.resolve(io.world)?);
    let waive = waive.option("--reason", args.reason.as_ref()).flag("--list", args.list);
    let waive = waive.option("--remove", args.remove.as_ref());
    let waive = args.glob.iter().fold(waive, |waive, glob| waive.arg("--").arg(glob));
    Pipeline::start(&[waive], io)?.records(io, |record, io| match record {
        Record::Waiver(waiver) if common.json => record::write(io.out, &waiver),
        Record::Waiver(waiver) if args.list => super::line(io, &told(&waiver)),
        _ => Ok(()),
    })
}

fn told(waiver: &Waiver) -> String {
    let Waiver { glob, reason, reader, at, .. } = waiver;
    format!("{}  {}  ({reader}, {at})", one_line(glob), one_line(reason))
}
