//! `auwai-ledger why`: what becomes of a path, and by which rule.

use std::ffi::{OsStr, OsString};
use std::io::Read;
use std::os::unix::ffi::OsStrExt;

use rustix::fs::FileType;

use super::files::file;
use super::source::{BoundedOptions, Source};
use super::words::StdinOption;
use crate::admit::{GIT_RULES, OWN_RULES, Policy, Verdict};
use crate::beneath::Root;
use crate::cli::{Io, Tool};
use crate::error::{Error, Result};
use crate::record::{self, End, Fate, File, Repo, RepoPath};
use crate::store::ledger::{Ledger, Row};
use crate::text::{self, Class};
use crate::visible::quote_path;
use crate::walk::errno_text;

/// Say what becomes of each PATH and why, as `file` records
///
/// The answer is about the tree as it is now; the numbers of a text file are those of the last
/// scan. A path is taken from the current folder, else from the repository's root. The exit status
/// is 0 whatever the fate, and 3 for a path that is not there.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    of: BoundedOptions,
    /// The paths to explain
    #[arg(value_name = "PATH", required_unless_present = "stdin", conflicts_with_all = ["stdin", "null"])]
    paths: Vec<OsString>,
    #[command(flatten)]
    stdin: StdinOption,
}

/// Runs the verb.
pub fn run(args: Args, io: &mut Io<'_>) -> Result<()> {
    let source = args.of.one(io.world)?;
    let why = Why { policy: source.policy(io.world)?, ledger: source.ledger_if_indexed()?, source };
    record::write(io.out, &why.repo()?)?;
    let (mut count, mut words) = (0, Vec::new());
    for word in args.stdin.words(&args.paths, io.input) {
        let word = word?;
        let paths = why.source.paths(&word, io.world);
        let told = paths.iter().find_map(|path| why.explain(path).transpose());
        let told = told.ok_or_else(|| missing(&word, &why.source))??;
        words.extend(no_rules(&told));
        record::write(io.out, &told)?;
        count += 1;
    }
    words.iter().for_each(|word| io.say(super::Ledger::NAME, word));
    record::write(io.out, &End { of: "file".into(), count })
}

struct Why {
    source: Source,
    policy: Policy,
    ledger: Option<Ledger>,
}

impl Why {
    /// The record that opens the answers; without an index it says only where the repository is.
    fn repo(&self) -> Result<Repo> {
        match &self.ledger {
            Some(ledger) => self.source.record(ledger),
            None => Ok(Repo::at(&self.source.name, &self.source.root)),
        }
    }

    /// The record of a path; `None` for one that is neither there nor tracked.
    fn explain(&self, path: &RepoPath) -> Result<Option<File>> {
        let root = Root::open(&self.source.root);
        let found = root.and_then(|root| root.file_type(path));
        let is_dir = matches!(found, Ok(FileType::Directory));
        let verdict = self.policy.verdict(path, is_dir);
        if let Some(absent) = self.absent(path, &verdict, is_dir, &found) {
            return Ok(Some(absent));
        }
        match (verdict, found) {
            (_, Err(e)) if is_missing(&e) => Ok(None),
            (Verdict::Ignored(rule), _) => Ok(Some(self.ignored(path, rule.to_string()))),
            (Verdict::Nested(at), _) => Ok(Some(self.nested(path, &at))),
            (Verdict::Beyond(at), _) => {
                Ok(Some(self.ignored(path, format!("beyond link {}", at.display()))))
            }
            (Verdict::Closed(_, errno), _) => Ok(Some(self.unreadable(path, &errno.into()))),
            (Verdict::Admitted, Err(e)) => Ok(Some(self.unreadable(path, &e))),
            (Verdict::Admitted, Ok(found)) => self.admitted(path, found).map(Some),
        }
    }

    /// A tracked path that is not in the tree: gone, with something else in its place, or beyond a
    /// link or a file that stands where a folder was.
    fn absent(
        &self,
        path: &RepoPath,
        verdict: &Verdict,
        is_dir: bool,
        found: &std::io::Result<FileType>,
    ) -> Option<File> {
        let gone = matches!(found, Err(e) if is_missing(e))
            || matches!(verdict, Verdict::Beyond(_))
            || is_dir && self.policy.is_tracked_file(path);
        if !gone || !self.policy.is_tracked(path) {
            return None;
        }
        match self.policy.verdict(path, false) {
            Verdict::Ignored(rule) => Some(self.ignored(path, rule.to_string())),
            _ => Some(self.plain(path, Fate::Absent)),
        }
    }

    fn admitted(&self, path: &RepoPath, found: FileType) -> Result<File> {
        match found {
            FileType::RegularFile => return self.regular(path),
            FileType::Symlink => return Ok(self.plain(path, Fate::Symlink)),
            FileType::Directory => {}
            _ => return Ok(self.plain(path, Fate::Special)),
        }
        let row = self.row(path)?;
        let row = row.filter(|row| matches!(row.fate, Fate::Repository | Fate::Unreadable));
        row.map(|row| file(&self.source.name, &row)).ok_or_else(|| folder(path, &self.source))
    }

    /// A regular file: what the last scan found in it; one that no scan has seen is looked at.
    fn regular(&self, path: &RepoPath) -> Result<File> {
        let known = |row: &Row| matches!(row.fate, Fate::Text | Fate::Binary | Fate::Unreadable);
        if let Some(row) = self.row(path)?.filter(known) {
            return Ok(file(&self.source.name, &row));
        }
        let read = || {
            let mut bytes = Vec::new();
            Root::open(&self.source.root)?.open_file(path)?.read_to_end(&mut bytes)?;
            Ok(bytes)
        };
        Ok(match read() {
            Err(e) => self.unreadable(path, &e),
            Ok(bytes) => match text::detect(&bytes) {
                Class::Binary => self.plain(path, Fate::Binary),
                Class::Text(encoding) => {
                    let encoding = Some(encoding.to_string());
                    File { encoding, ..self.plain(path, Fate::Text) }
                }
            },
        })
    }

    fn row(&self, path: &RepoPath) -> Result<Option<Row>> {
        Ok(self.ledger.as_ref().map(|ledger| ledger.file(path)).transpose()?.flatten())
    }

    /// The nested repository itself, or something in it.
    fn nested(&self, path: &RepoPath, at: &RepoPath) -> File {
        match path == at {
            true => self.plain(path, Fate::Repository),
            false => self.ignored(path, format!("within repository {}", at.display())),
        }
    }

    fn ignored(&self, path: &RepoPath, rule: String) -> File {
        File { rule: Some(rule), ..self.plain(path, Fate::Ignored) }
    }

    fn unreadable(&self, path: &RepoPath, e: &std::io::Error) -> File {
        File { errno: Some(errno_text(e)), ..self.plain(path, Fate::Unreadable) }
    }

    fn plain(&self, path: &RepoPath, fate: Fate) -> File {
        let (path, path_b64) = path.to_wire();
        File {
            repo: self.source.name.clone(),
            path,
            path_b64,
            fate,
            size: None,
            hash: None,
            lines: None,
            tokens: None,
            chunks: None,
            encoding: None,
            rule: None,
            errno: None,
            generated: None,
        }
    }
}

/// What is called as an ignore file and is no regular file gives no rules: worth a word.
fn no_rules(file: &File) -> Option<String> {
    let path = file.repo_path().ok()?;
    let name = path.as_bytes().rsplit(|b| *b == b'/').next()?;
    let rules = name == GIT_RULES.as_bytes() || name == OWN_RULES.as_bytes();
    let odd = rules && matches!(file.fate, Fate::Symlink | Fate::Special);
    odd.then(|| format!("no rules are read from '{}': it is no regular file", path.display()))
}

fn is_missing(e: &std::io::Error) -> bool {
    matches!(e.kind(), std::io::ErrorKind::NotFound | std::io::ErrorKind::NotADirectory)
}

fn folder(path: &RepoPath, source: &Source) -> Error {
    let shown = path.display();
    Error::failed(
        "folder",
        format!("'{shown}' is a folder: it is walked, and its files have fates"),
    )
    .hint(format!(
        "list the paths of the index: `auwai-ledger files --repo {}={}`",
        source.name,
        source.shown_root()
    ))
}

fn missing(word: &OsStr, source: &Source) -> Error {
    let shown = quote_path(word.as_bytes());
    let message = format!("there is no '{shown}' in '{}'", source.shown_root());
    Error::failed("not-found", message)
        .hint("paths are taken from the current folder, else from the root")
}
