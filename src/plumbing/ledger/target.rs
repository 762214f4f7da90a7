//! What a verb acts on: repositories or a workspace.

use std::path::{Path, PathBuf};

use crate::cli::parse::{NamedRepo, name, repo_parser};
use crate::cli::{Io, World};
use crate::error::{Error, Result, no_plan};
use crate::store::coverage::{Coverage, Owner};
use crate::workspace::{Registry, Terms, Workspace};

/// Where a repository's state is kept.
#[derive(Debug, Clone, clap::Args)]
pub struct StateOption {
    /// Keep state in a folder of its own below DIR instead of in the repository's .auwai, for a
    /// tree that cannot be written (default: $AUWAI_STATE_DIR)
    #[arg(long, value_name = "DIR")]
    pub state_dir: Option<PathBuf>,
    /// Believe state that belongs to another user, that git tracks, or that was made in another place,
    /// and let the last belong here from now on
    #[arg(long)]
    pub trust_state: bool,
}

impl StateOption {
    /// On what terms state is used: the options, else the variable, seen from the current folder.
    pub fn resolve(&self, world: &World) -> Terms {
        world.terms(self.state_dir.as_deref(), self.trust_state)
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
            true => Err(Error::usage("which repository?")
                .hint(format!("name one: `{} --repo .`", super::TYPED))),
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
        let terms = self.state.resolve(world);
        let named = self.workspace.workspace.as_deref();
        if let Some(typed) = named.or_else(|| world.var("AUWAI_WORKSPACE").map(Path::new)) {
            let registry = Registry::below(world.state_home().as_deref());
            return Workspace::open(typed, &world.cwd, &registry, &terms);
        }
        Workspace::around(&world.cwd, &terms)
    }

    /// The workspace and its coverage ledger, which must hold a plan.
    ///
    /// # Errors
    /// As [`FullReadOptions::workspace`] and [`Coverage::open`].
    pub fn open(&self, io: &Io<'_>) -> Result<(Workspace, Coverage)> {
        let workspace = self.workspace(io.world)?;
        let coverage = find(&workspace, io.world)?.ok_or_else(no_plan)?;
        Ok((workspace, coverage))
    }
}

/// The coverage ledger of a workspace that has a plan, with what has run out given back.
///
/// # Errors
/// As [`Coverage::open`].
pub fn find(workspace: &Workspace, world: &World) -> Result<Option<Coverage>> {
    let Some(mut coverage) = Coverage::find(&workspace.fullread_dir())? else { return Ok(None) };
    if coverage.give_back(&world.moment())? {
        // The export is behind then, until the next command that writes it can.
        let _ = coverage.export_if_small(owner(workspace));
    }
    Ok(Some(coverage))
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
    /// As [`World::named_reader`].
    pub fn named(&self, world: &World) -> Result<Option<String>> {
        world.named_reader(self.reader.as_deref())
    }

    /// The reader.
    ///
    /// # Errors
    /// As [`World::reader`].
    pub fn resolve(&self, world: &World) -> Result<String> {
        world.reader(self.reader.as_deref())
    }
}

/// A full read, and who acts on it.
#[derive(Debug, Clone, clap::Args)]
#[group(skip)]
pub struct ActingOptions {
    /// Which full read.
    #[command(flatten)]
    pub target: FullReadOptions,
    /// Who.
    #[command(flatten)]
    pub reader: ReaderOption,
}
