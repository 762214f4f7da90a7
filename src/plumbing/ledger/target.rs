//! What a verb acts on: repositories or a workspace.

use std::path::PathBuf;

use crate::cli::World;
use crate::cli::parse::{NamedRepo, repo_parser};

/// Where a repository's state is kept.
#[derive(Debug, Clone, clap::Args)]
pub struct StateOption {
    /// Keep state in a folder of its own below DIR instead of in the repository's .auwai, for a
    /// tree that cannot be written (default: $AUWAI_STATE_DIR)
    #[arg(long, value_name = "DIR")]
    pub state_dir: Option<PathBuf>,
}

impl StateOption {
    /// The folder as meant: the option, else the variable, seen from the current folder.
    pub fn resolve(&self, world: &World) -> Option<PathBuf> {
        let named = self.state_dir.clone();
        let named = named.or_else(|| world.var("AUWAI_STATE_DIR").map(PathBuf::from))?;
        Some(world.absolute(&named))
    }
}

/// One or more repositories.
#[derive(Debug, Clone, clap::Args)]
pub struct Repos {
    /// The repository at PATH, called NAME (default: its folder's name)
    #[arg(long = "repo", value_name = "[NAME=]PATH", value_parser = repo_parser())]
    pub repos: Vec<NamedRepo>,
}

/// A workspace.
#[derive(Debug, Clone, clap::Args)]
pub struct WorkspaceOption {
    /// The workspace: its root folder, or its name
    #[arg(long, short = 'W', value_name = "NAME|PATH")]
    pub workspace: Option<PathBuf>,
}
