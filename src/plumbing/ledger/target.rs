//! What a verb acts on: repositories or a workspace.

use std::path::{Path, PathBuf};

use crate::cli::parse::{NamedRepo, name, repo_parser};
use crate::cli::{Io, World};
use crate::error::{Error, Result};
use crate::store::coverage::{Coverage, Owner};
use crate::workspace::{Registry, Workspace, repository_around, workspace_around};

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
    #[arg(allow_hyphen_values = true)]
    pub repos: Vec<NamedRepo>,
}

impl Repos {
    /// The repositories, of which there must be one.
    ///
    /// # Errors
    /// Usage when there is none.
    pub fn required(&self) -> Result<&[NamedRepo]> {
        match self.repos.is_empty() {
            false => Ok(&self.repos),
            true => Err(Error::usage("which repository?").hint("name one: `--repo .`")),
        }
    }

    /// The repository, for a verb that takes exactly one.
    ///
    /// # Errors
    /// Usage when there is none, or more.
    pub fn one(&self) -> Result<&NamedRepo> {
        match self.required()? {
            [repo] => Ok(repo),
            _ => Err(Error::usage("one repository at a time").hint("give `--repo` once")),
        }
    }
}

/// A workspace.
#[derive(Debug, Clone, clap::Args)]
pub struct WorkspaceOption {
    /// The workspace: its root folder, or its name
    #[arg(long, short = 'W', value_name = "NAME|PATH")]
    pub workspace: Option<PathBuf>,
}

/// The full read of a workspace, and where its state is.
#[derive(Debug, Clone, clap::Args)]
pub struct FullReadOptions {
    /// Which workspace.
    #[command(flatten)]
    pub workspace: WorkspaceOption,
    /// Where a repository alone has its state.
    #[command(flatten)]
    pub state: StateOption,
}

impl FullReadOptions {
    /// The workspace as meant: the option, else `AUWAI_WORKSPACE`, else the nearest one upwards,
    /// else the repository around the current folder as a workspace of one.
    pub fn workspace(&self, world: &World) -> Result<Workspace> {
        let elsewhere = self.state.resolve(world);
        let named = self.workspace.workspace.as_deref();
        if let Some(typed) = named.or_else(|| world.var("AUWAI_WORKSPACE").map(Path::new)) {
            let registry = Registry::below(world.state_home().as_deref());
            return Workspace::open(typed, &world.cwd, &registry, elsewhere.as_deref());
        }
        let around = workspace_around(&world.cwd).unwrap_or_else(|| repository_around(&world.cwd));
        Workspace::at(&around, elsewhere.as_deref())
    }

    /// The workspace and its coverage ledger, which must hold a plan.
    ///
    /// # Errors
    /// As [`FullReadOptions::workspace`] and [`Coverage::open`].
    pub fn open(&self, io: &Io<'_>) -> Result<(Workspace, Coverage)> {
        let workspace = self.workspace(io.world)?;
        let coverage = Coverage::open(&workspace.fullread_dir())?;
        Ok((workspace, coverage))
    }
}

/// Whose plan it is, for the export.
pub fn owner(workspace: &Workspace) -> Owner<'_> {
    Owner { name: workspace.name(), root: workspace.root() }
}

/// Who reads.
#[derive(Debug, Clone, clap::Args)]
pub struct ReaderOption {
    /// Act as the reader NAME (default: $AUWAI_READER, else `default`)
    #[arg(long, value_name = "NAME", value_parser = name)]
    pub reader: Option<String>,
}

impl ReaderOption {
    /// The reader as typed or set; `None` when it is the default one.
    ///
    /// # Errors
    /// A usage error when `AUWAI_READER` is not a name.
    pub fn named(&self, world: &World) -> Result<Option<String>> {
        let set = world.var("AUWAI_READER").map(|set| set.to_string_lossy().into_owned());
        match (self.reader.clone(), set) {
            (Some(typed), _) => Ok(Some(typed)),
            (None, None) => Ok(None),
            (None, Some(set)) => name(&set)
                .map(Some)
                .map_err(|e| Error::usage("AUWAI_READER is not the name of a reader").because(e)),
        }
    }

    /// The reader.
    ///
    /// # Errors
    /// As [`ReaderOption::named`].
    pub fn resolve(&self, world: &World) -> Result<String> {
        Ok(self.named(world)?.unwrap_or_else(|| DEFAULT_READER.to_string()))
    }
}

/// The reader that acts when none is named.
pub const DEFAULT_READER: &str = "default";
