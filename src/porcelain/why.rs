//! `auwai why`: what becomes of a path.

use std::path::PathBuf;

use super::index::state_options;
use super::options::Common;
use super::pipeline::{collect_records, stage};
use super::render::{count, thousands};
use super::target::{argument, repositories};
use crate::cli::Io;
use crate::cli::parse::{NamedRepo, repo_parser};
use crate::error::Result;
use crate::record::{self, Fate, File, Record};

/// Say what becomes of each PATH, and by which rule
///
/// A path has exactly one fate: text, binary, symlink, repository, special, unreadable, absent or
/// ignored. For an ignored one the rule is named: file, line and pattern. The exit status is 0
/// whatever the fate.
#[derive(Debug, Clone, clap::Args)]
pub struct Args {
    /// The repository (default: the one around the current folder)
    #[arg(long, value_name = "PATH", value_parser = repo_parser())]
    repo: Option<NamedRepo>,
    /// The paths to explain
    #[arg(value_name = "PATH", required = true)]
    paths: Vec<PathBuf>,
}

/// Runs the command.
pub fn run(args: &Args, common: &Common, io: &mut Io<'_>) -> Result<()> {
    let named: Vec<NamedRepo> = args.repo.iter().cloned().collect();
    for member in repositories(&named, common, io)? {
        let why = stage(["auwai-ledger", "why", "--repo"]).arg(argument(&member));
        let why = state_options(why, &member).arg("--");
        let why = args.paths.iter().fold(why, |why, path| why.arg(io.world.absolute(path)));
        for record in collect_records(&[why], io)? {
            match record {
                Record::File(file) if common.json => record::write(io.out, &file)?,
                Record::File(file) => super::line(io, &told(&file))?,
                _ => {}
            }
        }
    }
    Ok(())
}

fn told(file: &File) -> String {
    let path = file.repo_path().map(|path| path.display().into_owned());
    let path = path.unwrap_or_else(|_| crate::visible::one_line(&file.path).into_owned());
    let detail = match file.fate {
        Fate::Text => text(file),
        Fate::Ignored => file.rule.clone().map(|rule| format!("by {rule}")),
        Fate::Unreadable => file.errno.clone(),
        Fate::Binary => file.size.map(|size| format!("{} bytes", thousands(size))),
        Fate::Repository => Some("a repository of its own: add it to read it".to_string()),
        _ => None,
    };
    let detail = detail.map(|detail| format!(" ({detail})")).unwrap_or_default();
    format!("{path}: {}{detail}", file.fate.as_str())
}

fn text(file: &File) -> Option<String> {
    let encoding = file.encoding.as_deref()?;
    Some(format!(
        "{encoding}, {}, {}, {}",
        count(file.lines?, "line"),
        count(file.tokens?.0, "token"),
        count(file.chunks?, "chunk")
    ))
}
