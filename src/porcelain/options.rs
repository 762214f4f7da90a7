//! Options that porcelain commands share.

use std::path::PathBuf;

use super::pipeline::Stage;
use super::run::is_worker;
use crate::cli::World;
use crate::cli::parse::{Lease, lease};
use crate::error::{Error, Result};
use crate::record::SegmentId;
use crate::workspace::Terms;

/// Options of every command.
#[derive(Debug, Clone, Default, clap::Args)]
pub struct Common {
    /// Work as if started in DIR
    #[arg(short = 'C', global = true, value_name = "DIR", help_heading = "General options")]
    pub dir: Option<PathBuf>,
    /// Act on this workspace, given by name or by its root (default: $AUWAI_WORKSPACE, else the
    /// nearest workspace upwards, else the repository around here as a workspace of one)
    #[arg(
        short = 'W',
        long,
        global = true,
        value_name = "NAME|PATH",
        help_heading = "General options"
    )]
    pub workspace: Option<PathBuf>,
    /// Keep state in a folder of its own below DIR instead of in .auwai, for a tree that cannot be
    /// written (default: $AUWAI_STATE_DIR)
    #[arg(long, global = true, value_name = "DIR", help_heading = "General options")]
    pub state_dir: Option<PathBuf>,
    /// Believe state that belongs to another user, that git tracks, or that was made in another place,
    /// and let the last belong here from now on
    #[arg(long, global = true, help_heading = "General options")]
    pub trust_state: bool,
    /// Write records (JSON Lines) instead of text; a failure is an `error` record too
    #[arg(long, global = true, help_heading = "General options")]
    pub json: bool,
    /// Show progress on standard error: on a terminal (auto), always or never
    #[arg(
        long,
        global = true,
        value_name = "WHEN",
        default_value = "auto",
        help_heading = "General options"
    )]
    pub progress: When,
}

impl Common {
    /// On what terms state is used.
    pub fn terms(&self, world: &World) -> Terms {
        world.terms(self.state_dir.as_deref(), self.trust_state)
    }
}

/// On a terminal only, always, or never.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum When {
    /// On a terminal.
    #[default]
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

/// Who reads.
#[derive(Debug, Clone, Default, clap::Args)]
pub struct ReaderOption {
    /// The reader's name (default: $AUWAI_READER, else `default`)
    #[arg(long, value_name = "NAME", value_parser = crate::cli::parse::name)]
    pub reader: Option<String>,
}

impl ReaderOption {
    /// The reader as meant: the option, else the variable, else the default one.
    ///
    /// # Errors
    /// Usage for the name of a run's worker, and as [`World::reader`].
    pub fn resolve(&self, world: &World) -> Result<String> {
        let reader = world.reader(self.reader.as_deref())?;
        match is_worker(&reader) {
            false => Ok(reader),
            true => Err(Error::usage(format!("'{reader}' is a reader of `auwai run`"))
                .hint("read under another name: `--reader NAME`")),
        }
    }
}

impl ReaderOption {
    /// ` --reader NAME` where it was typed, for commands that are suggested.
    pub fn flag(&self) -> String {
        self.reader.as_ref().map(|name| format!(" --reader {name}")).unwrap_or_default()
    }
}

/// For how long a segment is handed out.
#[derive(Debug, Clone, Default, clap::Args)]
pub struct LeaseOption {
    /// Take the segment back when nothing is heard of the reader for so long, such as 90s or 2h; `never`:
    /// only `auwai-ledger release` does (default: 30m)
    #[arg(long, value_name = "DURATION", value_parser = lease)]
    lease: Option<Lease>,
}

impl LeaseOption {
    /// `auwai-ledger claim` with the option, where it was typed.
    pub fn pass(&self, claim: Stage) -> Stage {
        claim.option("--lease", self.lease.map(|lease| lease.to_string()))
    }
}

/// Which segment.
#[derive(Debug, Clone, Default, clap::Args)]
pub struct SegmentOption {
    /// The segment (default: the reader's active one)
    #[arg(long, value_name = "ID")]
    pub segment: Option<String>,
}

impl SegmentOption {
    /// The id as typed.
    pub fn id(&self) -> Option<SegmentId> {
        self.segment.clone().map(SegmentId)
    }

    /// The error of a segment that is not there, with what was meant when a number was typed.
    pub fn explain(&self, error: Error, verb: &str) -> Error {
        let number = self.segment.as_deref().filter(|id| id.bytes().all(|b| b.is_ascii_digit()));
        match number {
            Some(number) if error.code() == "unknown-segment" => {
                error.hint_instead(format!("give its name: `auwai {verb} --segment read-{number}`"))
            }
            _ => error,
        }
    }
}
