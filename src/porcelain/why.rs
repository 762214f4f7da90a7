//! `auwai why`: what becomes of a path.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::index::state_options;
use super::nested::files_stage;
use super::options::Common;
use super::pipeline::{Pipeline, collect_records, stage};
use super::render::fates;
use super::target::{Target, argument, repositories};
use crate::cli::Io;
use crate::cli::parse::{NamedRepo, repo_parser};
use crate::counted::count;
use crate::error::Result;
use crate::record::{self, Fate, File, Record, RepoPath};
use crate::visible::quote_path;
use crate::workspace::{Member, below};

/// Say what becomes of each PATH, and by which rule
///
/// A path has exactly one fate: text, binary, symlink, repository, special, unreadable, absent or
/// ignored. For an ignored one the rule is named: file, line and pattern. Of a folder, the paths below
/// it that the index has are counted by their fates. The exit status is 0 whatever the fate.
#[derive(Debug, Clone, clap::Args)]
pub struct Args {
    /// The repository (default: the one around the current folder)
    #[arg(long, value_name = "PATH", value_parser = repo_parser())]
    repo: Option<NamedRepo>,
    /// The paths to explain, from the current folder or from the root of a repository; in a workspace
    /// also as `REPO:PATH`
    #[arg(value_name = "PATH", required = true)]
    paths: Vec<PathBuf>,
}

/// Runs the command.
pub fn run(args: &Args, common: &Common, io: &mut Io<'_>) -> Result<()> {
    let members = match &args.repo {
        Some(repo) => repositories(std::slice::from_ref(repo), common, io)?,
        None => members(common, io)?,
    };
    // A path that cannot be explained does not keep the others from it.
    let explained = args.paths.iter().map(|typed| explain_one(typed, &members, common, io));
    explained.fold(Ok(()), Result::and)
}

fn explain_one(typed: &Path, members: &[Member], common: &Common, io: &mut Io<'_>) -> Result<()> {
    let (member, path) = place(typed, members, io);
    let several = members.len() > 1;
    match member.or(members.first()) {
        Some(member) => Asked { member, several, common }.explain(&path, io),
        None => {
            let own = repositories(&[], &Common { workspace: None, ..common.clone() }, io)?;
            own.iter().try_for_each(|member| Asked { member, several, common }.explain(&path, io))
        }
    }
}

/// The repositories of the workspace. Which workspace it is matters little: the answer names no
/// plan, so nothing is said of it.
fn members(common: &Common, io: &mut Io<'_>) -> Result<Vec<Member>> {
    let quiet =
        &mut Io { input: io.input, out: io.out, err: &mut std::io::sink(), world: io.world };
    Ok(Target::open(common, quiet)?.into_workspace().members().to_vec())
}

/// What a typed path means: one from the current folder if it is there, in the deepest repository
/// that holds it; else `repo:path`; else one from the root of a repository.
fn place<'a>(typed: &Path, members: &'a [Member], io: &Io<'_>) -> (Option<&'a Member>, PathBuf) {
    let typed_here = io.world.absolute(typed);
    let holding = members.iter().filter_map(|m| Some((m, below(&m.path, &typed_here)?)));
    let deepest = holding.max_by_key(|(member, _)| member.path.as_os_str().len());
    let (deepest, here) = match deepest {
        Some((member, path)) => (Some(member), member.path.join(path)),
        None => (None, typed_here),
    };
    if std::fs::symlink_metadata(&here).is_ok() {
        return (deepest, here);
    }
    let named = members.iter().find_map(|member| {
        let rest = typed.as_os_str().as_bytes().strip_prefix(member.name.as_bytes())?;
        let rest = rest.strip_prefix(b":")?;
        Some((Some(member), member.path.join(OsStr::from_bytes(rest))))
    });
    let has = |member: &&Member| std::fs::symlink_metadata(member.path.join(typed)).is_ok();
    let rooted = members.iter().find(has).map(|member| (Some(member), member.path.join(typed)));
    named.or(rooted).unwrap_or((deepest, here))
}

/// A repository that is asked.
struct Asked<'a> {
    member: &'a Member,
    /// Whether it is one of several: then paths are told with its name.
    several: bool,
    common: &'a Common,
}

impl Asked<'_> {
    fn explain(&self, path: &Path, io: &mut Io<'_>) -> Result<()> {
        let inside = below(&self.member.path, path).filter(|inside| inside.as_os_str().is_empty());
        if let Some(root) = inside {
            return self.folder(&root, io);
        }
        let why = stage(["auwai-ledger", "why", "--repo"]).arg(argument(self.member));
        let why = state_options(why, self.member, self.common).arg("--").arg(path);
        match collect_records(&[why], io) {
            Err(error) if error.code() == "folder" => {
                self.folder(&below(&self.member.path, path).unwrap_or_default(), io)
            }
            told => told?.into_iter().try_for_each(|record| self.tell(record, io)),
        }
    }

    fn tell(&self, record: Record, io: &mut Io<'_>) -> Result<()> {
        match record {
            Record::File(file) if self.common.json => record::write(io.out, &file),
            Record::File(file) => super::line(io, &format!("{}{}", self.name(), told(&file))),
            _ => Ok(()),
        }
    }

    /// A folder has no fate of its own: the paths below it that the index has.
    fn folder(&self, folder: &Path, io: &mut Io<'_>) -> Result<()> {
        let mut counts = BTreeMap::<String, u64>::new();
        let files = files_stage(self.member, self.common);
        Pipeline::start(&[files], io)?.records(io, |record, io| {
            let Record::File(file) = record else { return Ok(()) };
            let is_below = |path: RepoPath| os(path.as_bytes()).starts_with(folder);
            if !file.repo_path().is_ok_and(is_below) {
                return Ok(());
            }
            *counts.entry(file.fate.as_str().to_string()).or_default() += 1;
            if self.common.json { record::write(io.out, &file) } else { Ok(()) }
        })?;
        if self.common.json {
            return Ok(());
        }
        let shown = match folder.as_os_str().as_bytes() {
            [] => ".".into(),
            path => quote_path(path),
        };
        let below = match counts.is_empty() {
            true => "nothing is below it".to_string(),
            false => format!("below it {}", fates(&counts)),
        };
        super::line(io, &format!("{}{shown}: a folder ({below})", self.name()))
    }

    /// `repo:` where that is not clear by itself.
    fn name(&self) -> String {
        if self.several { format!("{}:", self.member.name) } else { String::new() }
    }
}

fn os(path: &[u8]) -> &Path {
    Path::new(OsStr::from_bytes(path))
}

fn told(file: &File) -> String {
    let path = file.repo_path().map(|path| path.display().into_owned());
    let path = path.unwrap_or_else(|_| crate::visible::one_line(&file.path).into_owned());
    let detail = match file.fate {
        Fate::Text => text(file),
        Fate::Ignored => file.rule.as_deref().map(by),
        Fate::Unreadable => file.errno.clone(),
        Fate::Binary => file.size.map(|size| count(size, "byte")),
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

/// A rule as words; what lies in another repository or beyond a link is out by its place.
fn by(rule: &str) -> String {
    let place = rule.starts_with("within ") || rule.starts_with("beyond ");
    if place { rule.to_string() } else { format!("by {rule}") }
}
