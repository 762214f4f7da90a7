//! What the reading verbs work on: sources, what is complete in them, and the chunks that a
//! command line or a segment names.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use super::not_text;
use super::source::Source;
use super::target::{self, Repos, StateOption, WorkspaceOption, owner};
use crate::cli::{Io, World};
use crate::error::{Error, Result, no_plan};
use crate::record::{ChunkId, RepoPath, Segment, SegmentId, Waiver};
use crate::store::coverage::Coverage;
use crate::store::ledger::{Cut, Ledger, Row};
use crate::visible::quote_path;
use crate::workspace::{Registry, Terms, Workspace};

/// The fewest digits of an id that may stand for it.
const SHORTEST_PREFIX: usize = 6;

/// What a reading verb is about: repositories, or a workspace.
#[derive(Debug, Clone, clap::Args)]
#[group(skip)]
pub struct ReadingOptions {
    #[command(flatten)]
    repos: Repos,
    #[command(flatten)]
    workspace: WorkspaceOption,
    #[command(flatten)]
    state: StateOption,
}

/// Repositories, and the coverage ledger when they are a workspace's and it has a plan.
pub struct Reading {
    sources: Vec<Source>,
    coverage: Option<Coverage>,
    workspace: Option<Workspace>,
}

/// A chunk that somebody wants to see.
pub enum Wanted {
    /// The index has it.
    Here(Box<Here>),
    /// It was planned, and the index has it no more.
    Gone(RepoPath, ChunkId),
}

/// A chunk in the index.
pub struct Here {
    /// Its file.
    pub row: Row,
    /// Where it is there.
    pub cut: Cut,
    /// Whether it is complete.
    pub complete: bool,
}

impl Wanted {
    fn here(row: &Row, cut: &Cut, complete: bool) -> Wanted {
        Wanted::Here(Box::new(Here { row: row.clone(), cut: cut.clone(), complete }))
    }

    fn id(&self) -> ChunkId {
        match self {
            Wanted::Here(here) => here.cut.id,
            Wanted::Gone(_, id) => *id,
        }
    }

    fn gone(self) -> Wanted {
        match self {
            Wanted::Here(here) => Wanted::Gone(here.row.path, here.cut.id),
            gone => gone,
        }
    }

    /// Whether it is complete; what is gone is not.
    pub fn complete(&self) -> bool {
        matches!(self, Wanted::Here(here) if here.complete)
    }
}

/// Wanted chunks of one repository, in the order they are to be shown.
pub type Part = (Source, Vec<Wanted>);

/// The chunks of a repository that are complete, each with the hash of what was read, where that is
/// known.
pub struct Complete(HashMap<ChunkId, Option<[u8; 32]>>);

impl Complete {
    /// Whether a chunk is. An id alone does not say that the bytes are those that were read.
    pub fn has(&self, cut: &Cut) -> bool {
        self.0.get(&cut.id).is_some_and(|body| body.is_none_or(|body| body == cut.body))
    }
}

impl Reading {
    /// Opens what `--repo` or `--workspace` names.
    ///
    /// # Errors
    /// Usage when neither or both are given.
    pub fn open(of: &ReadingOptions, world: &World) -> Result<Reading> {
        let ReadingOptions { repos, workspace, state } = of;
        let terms = state.resolve(world);
        match (&workspace.workspace, repos.repos.is_empty()) {
            (Some(typed), true) => Self::of_workspace(typed, &terms, world),
            (None, false) => {
                let one = |repo| Source::named(repo, &terms, world);
                let mut sources = repos.repos.iter().map(one).collect::<Result<Vec<_>>>()?;
                sources.sort_by(|a, b| a.name.as_bytes().cmp(b.name.as_bytes()));
                refuse_twice(&sources)?;
                Ok(Reading { sources, coverage: None, workspace: None })
            }
            _ => {
                Err(Error::usage("name repositories with --repo, or a workspace with --workspace")
                    .hint(format!("such as `{} --workspace .`", super::TYPED)))
            }
        }
    }

    fn of_workspace(typed: &Path, terms: &Terms, world: &World) -> Result<Reading> {
        let registry = Registry::below(world.state_home().as_deref());
        let workspace = Workspace::open(typed, &world.cwd, &registry, terms)?;
        let coverage = target::find(&workspace, world)?;
        let source = |member| Source::member(member, workspace.trust());
        let mut sources = workspace.members().iter().map(source).collect::<Result<Vec<_>>>()?;
        sources.sort_by(|a, b| a.name.as_bytes().cmp(b.name.as_bytes()));
        Ok(Reading { sources, coverage, workspace: Some(workspace) })
    }

    /// The repositories, by name.
    pub fn sources(&self) -> &[Source] {
        &self.sources
    }

    /// Makes sure that there is something to ask about.
    ///
    /// # Errors
    /// `no-repositories` for a workspace that is still empty.
    pub fn some(&self) -> Result<()> {
        self.workspace.as_ref().map_or(Ok(()), Workspace::some_members)
    }

    /// Whether they are a workspace's.
    pub fn is_workspace(&self) -> bool {
        self.workspace.is_some()
    }

    /// Writes `fullread.json` anew where there is a plan and it is old.
    pub fn export(&self, io: &mut Io<'_>) {
        if let (Some(workspace), Some(coverage)) = (&self.workspace, &self.coverage) {
            let exported = coverage.export_if_stale(owner(workspace), (io.world.now)());
            super::warn_export(exported, io);
        }
    }

    /// The coverage ledger of a workspace that has a plan.
    pub fn coverage(&self) -> Option<&Coverage> {
        self.coverage.as_ref()
    }

    /// The waivers of a workspace that stand, which do not wait for a plan.
    ///
    /// # Errors
    /// The ledger's.
    pub fn waivers(&self) -> Result<Vec<Waiver>> {
        let Some(workspace) = &self.workspace else { return Ok(Vec::new()) };
        Coverage::find_history(&workspace.fullread_dir())?
            .map_or(Ok(Vec::new()), |coverage| coverage.waivers(false))
    }

    /// Which chunks of a repository are complete, by the ledger that was asked.
    pub fn complete(&self, source: &Source, ledger: &Ledger) -> Result<Complete> {
        Ok(Complete(match &self.coverage {
            Some(coverage) => coverage.complete(&source.name)?,
            None if self.is_workspace() => HashMap::new(),
            None => ledger.read_ids()?.into_iter().map(|id| (id, None)).collect(),
        }))
    }

    /// A segment and its chunks, in reading order.
    pub fn segment(&self, id: &SegmentId) -> Result<(Segment, Vec<Part>)> {
        let coverage = self.coverage.as_ref().ok_or_else(no_plan)?;
        let progress = coverage.progress(id)?;
        let mut parts = Vec::new();
        for planned in progress.chunks()? {
            let path = planned.file.repo_path().map_err(damaged)?;
            if parts.last().is_none_or(|open: &Open| open.source.name != planned.id.repo) {
                parts.push(Open::new(self.source(&planned.id.repo)?)?);
            }
            if let Some(open) = parts.last_mut() {
                open.add(path, planned.id.id, planned.complete)?;
            }
        }
        let parts = parts.into_iter().map(|open| (open.source, open.wanted)).collect();
        Ok((progress.placed.segment, parts))
    }

    fn source(&self, name: &str) -> Result<&Source> {
        self.sources.iter().find(|source| source.name == name).ok_or_else(|| {
            Error::failed(
                "missing-repository",
                format!("repository '{name}' is not in the workspace"),
            )
            .hint(format!("add it again: `auwai workspace add PATH --as {name}`"))
        })
    }

    /// The chunks that a command line names: ids, prefixes of ids, paths.
    pub fn find(&self, wanted: &[OsString], world: &World) -> Result<Vec<Part>> {
        let shelf = |source| Ok(Shelf { source, ledger: source.ledger()?, complete: None });
        let mut shelves = self.sources.iter().map(shelf).collect::<Result<Vec<_>>>()?;
        wanted.iter().map(|word| self.find_one(word, &mut shelves, world)).collect()
    }

    fn find_one(&self, word: &OsStr, shelves: &mut [Shelf<'_>], world: &World) -> Result<Part> {
        let found = by_id(word, shelves)?;
        match found.len() {
            1 => {}
            0 => {
                let found = self.by_path(word, shelves, world)?;
                return found.ok_or_else(|| self.not_indexed(word, world));
            }
            _ => return Err(ambiguous(word, &found)),
        }
        let (at, id, row) = found.into_iter().next().ok_or_else(|| self.unknown(word))?;
        let shelf = &mut shelves[at];
        let cut = shelf.ledger.cuts(row.id)?.into_iter().find(|cut| cut.id == id);
        let cut = cut.ok_or_else(|| self.unknown(word))?;
        let complete = shelf.complete(self)?.has(&cut);
        Ok((shelf.source.clone(), vec![Wanted::here(&row, &cut, complete)]))
    }

    /// All chunks of the file that a path names: `repo:path`, from a repository's root, or from the
    /// current folder.
    fn by_path(
        &self,
        word: &OsStr,
        shelves: &mut [Shelf<'_>],
        world: &World,
    ) -> Result<Option<Part>> {
        for shelf in shelves {
            for path in shelf.source.paths(word, world) {
                let Some((row, cuts)) = open_file(&shelf.ledger, &path)? else { continue };
                if cuts.is_empty() {
                    return Err(not_text::no_text(word, &row));
                }
                let complete = shelf.complete(self)?;
                let here = |cut: &Cut| Wanted::here(&row, cut, complete.has(cut));
                let wanted = cuts.iter().map(here).collect();
                return Ok(Some((shelf.source.clone(), wanted)));
            }
        }
        Ok(None)
    }

    /// The error for a word that no index knows: it may be a path all the same.
    fn not_indexed(&self, word: &OsStr, world: &World) -> Error {
        let paths = self.sources.iter().map(|source| (source, source.paths(word, world)));
        let there = paths.flat_map(|(source, paths)| {
            paths.into_iter().map(move |path| (source, path.under(&source.root)))
        });
        let look = |(source, path)| Some((source, std::fs::symlink_metadata(path).ok()?));
        match there.filter_map(look).next() {
            Some((source, found)) => not_text::unseen(word, source, found.is_dir()),
            None => self.unknown(word),
        }
    }

    /// The error for a word that is neither a chunk nor a path.
    fn unknown(&self, word: &OsStr) -> Error {
        let shown = quote_path(word.as_bytes());
        let error = Error::failed("unknown-chunk", format!("no chunk and no file is '{shown}'"));
        if !word.as_bytes().iter().all(u8::is_ascii_hexdigit) {
            return error.hint(format!("see what becomes of it and why: `auwai why {shown}`"));
        }
        let repos =
            self.sources.iter().map(|it| format!(" --repo {}={}", it.name, it.shown_root()));
        let list = match self.is_workspace() {
            true => "coverage".to_string(),
            false => format!("chunks{}", repos.collect::<String>()),
        };
        error.hint(format!(
            "an id is 16 hex digits or a unique prefix of 6 or more: `auwai-ledger {list}` lists them"
        ))
    }

    /// Holds what was found for `words` against the plan: a chunk that it does not have is gone.
    ///
    /// # Errors
    /// `no-plan`; `not-planned` for a word of which the plan has nothing.
    pub fn planned(&self, words: &[OsString], found: Vec<Part>) -> Result<Vec<Part>> {
        let coverage = self.coverage.as_ref().ok_or_else(no_plan)?;
        let (mut parts, mut plans) = (Vec::new(), HashMap::new());
        for (word, (source, wanted)) in words.iter().zip(found) {
            let plan = match plans.entry(source.name.clone()) {
                Entry::Occupied(known) => known.into_mut(),
                Entry::Vacant(new) => new.insert(coverage.planned(&source.name)?),
            };
            let is_planned = |it: &Wanted| plan.contains_key(&it.id());
            if !wanted.iter().any(is_planned) {
                return Err(not_text::not_planned(word, &source));
            }
            let wanted = wanted.into_iter();
            let held = wanted.map(|it| if is_planned(&it) { it } else { it.gone() });
            parts.push((source, held.collect()));
        }
        Ok(parts)
    }
}

/// A repository that is looked into for several words: what is complete in it is asked once.
struct Shelf<'a> {
    source: &'a Source,
    ledger: Ledger,
    complete: Option<Complete>,
}

impl Shelf<'_> {
    fn complete(&mut self, reading: &Reading) -> Result<&Complete> {
        match &mut self.complete {
            Some(known) => Ok(known),
            unknown => Ok(unknown.insert(reading.complete(self.source, &self.ledger)?)),
        }
    }
}

/// The chunks that an id or a prefix of one can mean, with the place of their repository.
fn by_id(word: &OsStr, shelves: &[Shelf<'_>]) -> Result<Vec<(usize, ChunkId, Row)>> {
    let text = word.to_str().unwrap_or_default();
    let (repo, prefix) = match text.rsplit_once(':') {
        Some((repo, prefix)) => (Some(repo), prefix),
        None => (None, text),
    };
    let mut found = Vec::new();
    if prefix.len() < SHORTEST_PREFIX {
        return Ok(found);
    }
    for (at, shelf) in shelves.iter().enumerate() {
        if repo.is_none_or(|repo| repo == shelf.source.name) {
            found.extend(shelf.ledger.find(prefix)?.into_iter().map(|(id, row)| (at, id, row)));
        }
    }
    Ok(found)
}

fn damaged(what: String) -> Error {
    Error::failed("damaged", format!("the coverage ledger holds what is {what}"))
        .hint("make the plan again: `auwai plan --force` (what was read stays in the ledger)")
}

/// A part that is being collected, with the file that it is in open.
struct Open {
    source: Source,
    ledger: Ledger,
    file: Option<(Row, Vec<Cut>)>,
    wanted: Vec<Wanted>,
}

impl Open {
    fn new(source: &Source) -> Result<Open> {
        let ledger = source.ledger()?;
        Ok(Open { source: source.clone(), ledger, file: None, wanted: Vec::new() })
    }

    fn add(&mut self, path: RepoPath, id: ChunkId, complete: bool) -> Result<()> {
        if self.file.as_ref().is_none_or(|(row, _)| row.path != path) {
            self.file = open_file(&self.ledger, &path)?;
        }
        self.wanted.push(place(self.file.as_ref(), path, id, complete));
        Ok(())
    }
}

fn open_file(ledger: &Ledger, path: &RepoPath) -> Result<Option<(Row, Vec<Cut>)>> {
    let Some(row) = ledger.file(path)? else { return Ok(None) };
    let cuts = ledger.cuts(row.id)?;
    Ok(Some((row, cuts)))
}

fn place(file: Option<&(Row, Vec<Cut>)>, path: RepoPath, id: ChunkId, complete: bool) -> Wanted {
    let found = file.and_then(|(row, cuts)| Some((row, cuts.iter().find(|cut| cut.id == id)?)));
    match found {
        Some((row, cut)) => Wanted::here(row, cut, complete),
        None => Wanted::Gone(path, id),
    }
}

/// Two repositories of one name would make qualified ids mean two things.
fn refuse_twice(sources: &[Source]) -> Result<()> {
    let twice = sources.windows(2).find(|pair| pair[0].name == pair[1].name);
    match twice {
        None => Ok(()),
        Some(pair) => Err(Error::usage(format!("two repositories are called '{}'", pair[0].name))
            .hint("give one another name: `--repo NAME=PATH`")),
    }
}

fn ambiguous(word: &OsStr, found: &[(usize, ChunkId, Row)]) -> Error {
    let shown = quote_path(word.as_bytes());
    let ids: Vec<String> = found.iter().take(3).map(|(_, id, _)| id.to_string()).collect();
    let more = if found.len() > 3 { ", …" } else { "" };
    Error::failed("ambiguous-chunk", format!("'{shown}' could be {}{more}", ids.join(", ")))
        .hint("give more digits, or the repository's name: `repo:id`")
}
