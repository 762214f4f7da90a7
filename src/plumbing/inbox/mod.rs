//! `auwai-inbox`: tasks and answers of several readers. One file a verb.

mod accept;
mod answered;
mod archive;
mod list;
mod options;
mod post;
mod release;
mod retire_archived;
mod watch;

use std::path::PathBuf;

use crate::cli::{Io, Tool};
use crate::error::{Error, Result};
use crate::inbox::Root;
use crate::visible::quote;

/// Tasks and answers of several readers, as plain files that any program can take part in
#[derive(Debug, clap::Parser)]
#[command(name = "auwai-inbox", version, max_term_width = 100)]
pub struct Inbox {
    /// The folder that tasks, results and inboxes are in (default: the current folder)
    #[arg(long, value_name = "DIR", global = true)]
    root: Option<PathBuf>,
    /// Tell a failure as an `error` record on standard output too
    #[arg(long, global = true)]
    json: bool,
    /// What to do
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, clap::Subcommand)]
enum Verb {
    Post(post::Args),
    Watch(watch::Args),
    List(list::Args),
    Accept(accept::Args),
    Release(release::Args),
    Answered(answered::Args),
    Archive(archive::Args),
    RetireArchived(retire_archived::Args),
}

impl Tool for Inbox {
    const NAME: &'static str = "auwai-inbox";

    fn json(&self) -> bool {
        self.json
    }

    fn run(self, io: &mut Io<'_>) -> Result<()> {
        let typed = self.root.as_deref();
        let root = Root::open(&typed.map_or(io.world.cwd.clone(), |dir| io.world.absolute(dir)))?;
        let done = match self.verb {
            Verb::Post(args) => post::run(args, &root, io),
            Verb::Watch(args) => watch::run(&args, &root, io),
            Verb::List(args) => list::run(&args, &root, io),
            Verb::Accept(args) => accept::run(&args, &root, io),
            Verb::Release(args) => release::run(&args, &root, io),
            Verb::Answered(args) => answered::run(&args, &root, io),
            Verb::Archive(args) => archive::run(&args, &root, io),
            Verb::RetireArchived(args) => retire_archived::run(&args, &root, io),
        };
        done.map_err(|error| match typed {
            Some(typed) => at_root(error, &quote(typed)),
            None => error,
        })
    }
}

/// The error with the root that was typed in the commands of its hints.
fn at_root(error: Error, root: &str) -> Error {
    let here = format!("`{} --root {root} ", Inbox::NAME);
    error.map_hints(|hint| hint.replace(&format!("`{} ", Inbox::NAME), &here))
}

/// A word about a lock that another process holds.
fn waiting(message: &str) {
    crate::cli::last_words(Inbox::NAME, message);
}

/// Says which names in an inbox are no pointers: the first, and how many more.
fn warn_of_odd(odd: &[Vec<u8>], reader: &str) {
    let Some(first) = odd.first() else { return };
    let name = crate::visible::quote_path(first);
    let more = match odd.len() as u64 - 1 {
        0 => String::new(),
        more => format!(", and {} like it", crate::counted::count(more, "name")),
    };
    let why = "its name is no id, or it is no regular file";
    crate::cli::last_words(
        Inbox::NAME,
        &format!("'{name}' in the inbox of {reader} is no pointer: {why}{more}"),
    );
}
