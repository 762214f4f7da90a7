//! The policy of one root: everything that decides what is in, opened once.

use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::fs::{Mode, OFlags};

use super::chain::{Dir, Ruling};
use super::config::{self, Settings};
use super::gitdir::GitDir;
use super::head::Head;
use super::rules::{self, GIT_RULES, OWN_RULES, Rule, RuleFiles, RuleList};
use super::{Stat, Surroundings, Tracked};
use crate::error::{Error, Result};
use crate::record::RepoPath;
use crate::visible;

/// Directories that no source lives in, outside git; `.auwai-ignore` may re-include them.
const CACHES: [&[u8]; 11] = [
    b".gradle",
    b".hg",
    b".jj",
    b".mypy_cache",
    b".pytest_cache",
    b".ruff_cache",
    b".svn",
    b".tox",
    b".venv",
    b"__pycache__",
    b"node_modules",
];

/// What makes a repository of a root that is in none.
const GIT_DECIDES: [&str; 4] = [".git", ".git/HEAD", ".git/objects", ".git/refs"];

/// Decides what is in, below one root.
#[derive(Debug)]
pub struct Policy {
    root: PathBuf,
    git: Option<Git>,
    tracked: Tracked,
    /// Git's rules from outside the tree, strongest first.
    outside: Vec<Arc<RuleList>>,
    scope: Vec<RepoPath>,
    top: Dir,
    controls: Vec<PathBuf>,
    /// Everything is in but our own state.
    all: bool,
}

#[derive(Debug)]
struct Git {
    dir: GitDir,
    head: Head,
    settings: Settings,
}

impl Policy {
    /// Opens the policy of `root`, a directory. With a `scope` only those subtrees are in.
    ///
    /// Fails when `root` is no directory, or when git's index or configuration there is damaged.
    pub fn open(root: &Path, around: &Surroundings, scope: &[RepoPath]) -> Result<Self> {
        let shown = || visible::quote_path(root.as_os_str().as_bytes()).into_owned();
        let real = root.canonicalize().map_err(|e| Error::io("open", shown(), &e))?;
        open_dir(&real).map_err(|e| Error::io("open", shown(), &e.into()))?;
        let Some(dir) = GitDir::around(&real) else {
            return Ok(Self::outside_git(real, scope));
        };
        let head = Head::read(&dir);
        let settings = config::read(&dir, around, head.name.as_deref())?;
        let tracked = Tracked::open(&dir.own.join("index"), settings.hash)?;
        let controls = git_controls(&dir, &settings);
        let outside = outside_rules(&dir, &settings);
        let top = Dir::new(None, Vec::new(), tracked.all(), None, None);
        let git = Some(Git { dir, head, settings });
        let scope = scope.to_vec();
        let all = false;
        let mut policy = Policy { root: real, git, tracked, outside, scope, top, controls, all };
        policy.go_down_to_root();
        Ok(policy)
    }

    fn outside_git(root: PathBuf, scope: &[RepoPath]) -> Self {
        let top = Dir::new(None, Vec::new(), 0..0, None, None);
        let controls = GIT_DECIDES.map(|name| root.join(name)).to_vec();
        Policy {
            root,
            git: None,
            tracked: Tracked::default(),
            outside: Vec::new(),
            scope: scope.to_vec(),
            top,
            controls,
            all: false,
        }
    }

    /// The policy of `root` that knows no rules: all is in, git's own directories and nested
    /// repositories too, but for `.auwai`.
    ///
    /// Fails when `root` is no directory.
    pub fn everything(root: &Path, scope: &[RepoPath]) -> Result<Self> {
        let shown = || visible::quote_path(root.as_os_str().as_bytes()).into_owned();
        let real = root.canonicalize().map_err(|e| Error::io("open", shown(), &e))?;
        open_dir(&real).map_err(|e| Error::io("open", shown(), &e.into()))?;
        Ok(Policy { all: true, controls: Vec::new(), ..Self::outside_git(real, scope) })
    }

    /// Takes in the ignore files from the top of the work tree to above the root.
    fn go_down_to_root(&mut self) {
        let Some(git) = &self.git else { return };
        let Ok(inside) = self.root.strip_prefix(&git.dir.top) else { return };
        let mut at = git.dir.top.clone();
        for name in inside {
            self.controls.extend([at.join(GIT_RULES), at.join(OWN_RULES)]);
            let files = open_dir(&at).map(|dir| RuleFiles::read(dir, true)).unwrap_or_default();
            let here = self.with_rules(&self.top, files);
            let path = here.join(name.as_bytes());
            let below = self.tracked.find(&path).1;
            self.top = Dir::new(Some(&here), path, below, None, None);
            at.push(name);
        }
        self.top = self.top.clone().named();
    }

    /// The root, as an absolute path without links.
    pub fn root_path(&self) -> &Path {
        &self.root
    }

    /// The root's path relative to the top of the work tree; empty when it is the top.
    pub(super) fn top_path(&self) -> &[u8] {
        self.top.path()
    }

    /// Whether rules hold at all: see [`Policy::everything`].
    pub fn has_rules(&self) -> bool {
        !self.all
    }

    /// What git tracks at `name` in `dir`: the entry of exactly this path, and those below it.
    pub fn tracked_at(&self, dir: &Dir, name: &[u8]) -> (Option<usize>, std::ops::Range<usize>) {
        match dir.tracked().is_empty() {
            true => (None, 0..0),
            false => self.tracked.find(&dir.join(name)),
        }
    }

    /// Whether the root is in a git repository.
    pub fn in_git(&self) -> bool {
        self.git.is_some()
    }

    /// Whether the repository around the root is still this one, or there is still none.
    pub fn is_where_it_was(&self) -> bool {
        let now = GitDir::around(&self.root);
        let known = self.git.as_ref().map(|git| &git.dir);
        now.as_ref().map(|dir| (&dir.top, &dir.own)) == known.map(|dir| (&dir.top, &dir.own))
    }

    /// The commit that HEAD names, in hex.
    pub fn head(&self) -> Option<&str> {
        self.git.as_ref()?.head.commit.as_deref()
    }

    /// What git tracks.
    pub fn tracked(&self) -> &Tracked {
        &self.tracked
    }

    /// Passes what git tracks below the root to `each`, once each, in git's order.
    ///
    /// # Errors
    /// What `each` says.
    pub fn each_tracked(&self, mut each: impl FnMut(RepoPath) -> Result<()>) -> Result<()> {
        let mut last = None;
        for at in self.top.tracked() {
            let path = self.tracked.path(at).get(self.top.prefix()..).unwrap_or_default();
            // What a sparse index has collapsed ends in `/`; a conflict has several entries.
            let path = RepoPath::new(path.strip_suffix(b"/").unwrap_or(path));
            if path != last {
                path.clone().map_or(Ok(()), &mut each)?;
                last = path;
            }
        }
        Ok(())
    }

    /// The files outside the walk that admission has read or looked for: git's index, HEAD,
    /// configuration, excludes, and the ignore files above the root; outside git, what would make the
    /// root a repository. They need not exist.
    pub fn control_files(&self) -> &[PathBuf] {
        &self.controls
    }

    /// The root's directory, to go down from, with the rules of its own files.
    pub fn root(&self, files: RuleFiles) -> Dir {
        self.with_rules(&self.top, files).named()
    }

    /// The directory `name` in `parent`, with the tracked entries below it and its ignore files.
    pub fn enter(
        &self,
        parent: &Dir,
        name: &[u8],
        tracked: std::ops::Range<usize>,
        files: RuleFiles,
    ) -> Dir {
        self.new_dir(Some(parent), parent.join(name), tracked, files)
    }

    fn with_rules(&self, dir: &Dir, files: RuleFiles) -> Dir {
        self.new_dir(dir.parent(), dir.path().to_vec(), dir.tracked(), files)
    }

    fn new_dir(
        &self,
        parent: Option<&Dir>,
        path: Vec<u8>,
        tracked: std::ops::Range<usize>,
        files: RuleFiles,
    ) -> Dir {
        let base = if path.is_empty() { 0 } else { path.len() + 1 };
        let list = |bytes: Option<Vec<u8>>, name: &str| {
            let source = [&path[..], if base > 0 { b"/" } else { b"" }, name.as_bytes()].concat();
            bytes.map(|bytes| RuleList::parse(&bytes, source, base, self.fold()))
        };
        let (git, own) = (list(files.git, GIT_RULES), list(files.own, OWN_RULES));
        Dir::new(parent, path, tracked, git, own)
    }

    /// The path of a directory relative to the root; `None` for the root itself.
    pub fn path_of_dir(&self, dir: &Dir) -> Option<RepoPath> {
        RepoPath::new(dir.path().get(self.top.prefix()..)?)
    }

    /// The path of `name` in `dir`, relative to the root; `None` when it is no name at all.
    pub fn path_of(&self, dir: &Dir, name: &[u8]) -> Option<RepoPath> {
        RepoPath::new(dir.join(name).split_off(self.top.prefix()))
    }

    /// Judges `name` in `dir`. `is_dir`: a directory and no link to one. `tracked`: git's index has
    /// this very file, or something below this directory.
    ///
    /// A directory with tracked files in it is gone into anyway, so it may count as admitted here
    /// though git's rules exclude it; that is judged when something untracked is met there.
    pub fn judge(&self, dir: &Dir, name: &[u8], is_dir: bool, tracked: bool) -> Ruling {
        let plain = tracked && self.scope.is_empty() && !dir.has_own_rules();
        if plain && !self.is_reserved(name, is_dir) {
            return Ruling::Admitted;
        }
        self.judge_fully(dir, name, is_dir, tracked)
    }

    pub(super) fn judge_fully(
        &self,
        dir: &Dir,
        name: &[u8],
        is_dir: bool,
        tracked: bool,
    ) -> Ruling {
        if self.is_reserved(name, is_dir) {
            return Ruling::Ignored(Rule::Builtin);
        }
        let path = dir.join(name);
        if !self.in_scope(&path[self.top.prefix()..], is_dir) {
            return Ruling::Ignored(Rule::Scope);
        }
        if self.all {
            return Ruling::Admitted;
        }
        let excluded = match dir.own_match(&path, is_dir) {
            Some(found) if found.excludes => return Ruling::Ignored(found.rule),
            _ if tracked && !is_dir => None,
            Some(_) => self.excluded_above(dir),
            None => self.excluded_above(dir).or_else(|| self.git_rule(dir, name, &path, is_dir)),
        };
        match excluded {
            None => Ruling::Admitted,
            Some(rule) if tracked => Ruling::TrackedOnly(rule),
            Some(rule) => Ruling::Ignored(rule),
        }
    }

    /// Whether a folder is git's own or our state, or lies in one.
    pub fn is_reserved_folder(&self, path: &RepoPath) -> bool {
        path.as_bytes().split(|b| *b == b'/').any(|name| self.is_reserved(name, true))
    }

    /// Git's own directory and our state are out whatever any rule says.
    fn is_reserved(&self, name: &[u8], is_dir: bool) -> bool {
        let git = name == b".git" || self.fold() && name.eq_ignore_ascii_case(b".git");
        git && !self.all || is_dir && name == b".auwai"
    }

    fn in_scope(&self, path: &[u8], is_dir: bool) -> bool {
        let below = |path: &[u8], dir: &[u8]| {
            path.strip_prefix(dir).is_some_and(|rest| rest.is_empty() || rest[0] == b'/')
        };
        self.scope.is_empty()
            || self
                .scope
                .iter()
                .any(|only| below(path, only.as_bytes()) || is_dir && below(only.as_bytes(), path))
    }

    /// The rule that the directory around is excluded by: it is open for tracked files only.
    fn excluded_above(&self, dir: &Dir) -> Option<Rule> {
        // From the top down, and not by recursion: trees can be deeper than the stack.
        for (parent, dir) in dir.unjudged().iter().rev() {
            let name = &dir.path()[parent.prefix()..];
            dir.stand(self.judge_fully(parent, name, true, true));
        }
        match dir.standing() {
            None | Some(Ruling::Admitted) => None,
            Some(Ruling::TrackedOnly(rule) | Ruling::Ignored(rule)) => Some(rule.clone()),
        }
    }

    fn git_rule(&self, dir: &Dir, name: &[u8], path: &[u8], is_dir: bool) -> Option<Rule> {
        if !self.in_git() {
            return (is_dir && CACHES.contains(&name)).then_some(Rule::Builtin);
        }
        let outside = || self.outside.iter().find_map(|list| list.last_match(path, is_dir));
        let found = dir.git_match(path, is_dir).or_else(outside)?;
        found.excludes.then_some(found.rule)
    }

    /// The rule files above the root and those outside the tree, each once.
    pub(super) fn rules_from_outside(&self) -> impl Iterator<Item = &Arc<RuleList>> {
        self.top.lists().into_iter().chain(&self.outside)
    }

    pub(super) fn fold(&self) -> bool {
        self.git.as_ref().is_some_and(|git| git.settings.ignore_case)
    }

    /// Whether the file now at a tracked entry (`None`: nothing) differs from git's index by its
    /// stat data.
    pub fn is_dirty(&self, entry: usize, now: Option<&Stat>) -> bool {
        self.git.as_ref().is_some_and(|g| self.tracked.differs(entry, now, g.settings.trust))
    }
}

fn open_dir(path: &Path) -> rustix::io::Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    rustix::fs::open(path, flags, Mode::empty())
}

fn info_exclude(dir: &GitDir) -> PathBuf {
    dir.common.join("info").join("exclude")
}

fn outside_rules(dir: &GitDir, settings: &Settings) -> Vec<Arc<RuleList>> {
    let files = [Some(info_exclude(dir)), settings.excludes_file.clone()];
    let list = |file: PathBuf| {
        let source = file.strip_prefix(&dir.top).unwrap_or(&file);
        let source = source.as_os_str().as_bytes().to_vec();
        rules::read_outside(&file)
            .map(|bytes| RuleList::parse(&bytes, source, 0, settings.ignore_case))
    };
    files.into_iter().flatten().filter_map(list).collect()
}

fn git_controls(dir: &GitDir, settings: &Settings) -> Vec<PathBuf> {
    let mut files = vec![dir.own.join("index"), dir.own.join("HEAD"), info_exclude(dir)];
    files.extend(settings.excludes_file.clone());
    files.extend(settings.files.iter().cloned());
    files
}
