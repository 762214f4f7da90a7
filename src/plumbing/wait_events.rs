//! `auwai-wait-events`: what changes below a directory, as records.

use std::ffi::OsString;
use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use crate::admit::is_pattern;
use crate::cli::parse::span;
use crate::cli::{Io, Signals, Tool, World};
use crate::error::{Error, Result};
use crate::record::{self, Barrier, EventOp, RepoPath, WatchBackend};
use crate::visible::{one_line, quote_path};
use crate::watch::{self, Beside, Filter, Format, Options, Pace, Site, Warning};

/// Tell what changes below a directory, as it happens.
///
/// Writes one `ready` record when the watches stand, then batches: `event` records, `rescan` records
/// for what is not told one by one, and a `batch` record. Which files are in is decided by the same
/// rules as the index; directories that are ignored are not watched.
///
/// No change is lost, though one may be told twice: an event says where to look, not what happened.
/// Ends when its reader has gone.
#[derive(Debug, Clone, clap::Args)]
pub struct Args {
    /// The directory; it or --repo must be given
    #[arg(value_name = "DIR", required_unless_present = "repo", conflicts_with = "repo")]
    dir: Option<PathBuf>,
    /// The directory, named as for other tools
    #[arg(long, value_name = "DIR")]
    repo: Option<PathBuf>,
    /// Bound the watching to the subtree SUBDIR (may be given several times)
    #[arg(long, value_name = "SUBDIR", allow_hyphen_values = true)]
    only: Vec<OsString>,
    /// How to watch
    ///
    /// `auto` is inotify on Linux, FSEvents on macOS and polling elsewhere, or, with a warning, where
    /// those cannot start; with inotify, directories on a file system that does not tell of all changes
    /// (NFS, SMB, FUSE and the like) are polled. `inotify` trusts every file system. `notify` is the library of that name, with what it uses on this system.
    #[arg(long, value_name = "BACKEND", value_enum, default_value = "auto")]
    backend: BackendName,
    /// How often to look at directories that cannot be watched
    #[arg(long, value_name = "TIME", value_parser = span, default_value = "1s")]
    interval: Duration,
    /// A batch ends when nothing came for this long, and at the latest after ten times this (at
    /// least 500ms)
    ///
    /// A plain number is seconds. With 0 nothing is held back.
    #[arg(long, visible_alias = "debounce", value_name = "TIME", value_parser = span, default_value = "50ms")]
    settle: Duration,
    /// Also tell everything that exists but directories, as `create`, while live events go first
    #[arg(long, conflicts_with_all = ["since", "scan"])]
    initial: bool,
    /// Only look once, tell what differs from FILE of `--since`, and end
    #[arg(long, requires = "since")]
    scan: bool,
    /// First tell what differs from FILE, then watch; FILE is replaced when a batch went out
    ///
    /// When FILE is not there, or cannot be used, a `rescan` of everything is told and FILE is made.
    #[arg(long, value_name = "FILE")]
    since: Option<PathBuf>,
    /// End after this many seconds, with 0; with 1 where `-1` or `--sync` got no answer by then
    #[arg(long, value_name = "SECONDS", value_parser = span)]
    max_seconds: Option<Duration>,
    /// End after the first batch that tells something, with 0
    #[arg(short = '1', long = "one")]
    once: bool,
    /// Only tell events of these kinds: `create`, `modify`, `remove`
    #[arg(long, value_name = "OP", value_delimiter = ',', value_parser = op)]
    op: Vec<EventOp>,
    /// Only tell events of paths that match GLOB (may be given several times; the last match counts)
    ///
    /// A glob is written as a line of a `.gitignore`, where also `{a,b}` means either and `./` the
    /// root, and `!` before it takes out what matches. One that matches a directory matches what is in it. What
    /// is told of directories is told unless a `!` takes it out. A rescan is never left out.
    #[arg(short = 'g', long = "glob", value_name = "GLOB", value_parser = glob, allow_hyphen_values = true)]
    glob: Vec<String>,
    /// Watch everything but .auwai, whatever ignore rules say
    #[arg(long)]
    no_ignore: bool,
    /// What a line is: a record; a path, quoted as git quotes one where it is not plain (a rescan is its
    /// directory with `/`); or the number of a batch's events and rescans
    #[arg(long, value_name = "FORMAT", value_enum, default_value = "jsonl")]
    format: FormatName,
    /// With `--format path`, end paths with NUL, and do not quote them
    #[arg(short = '0', short_alias = 'z', long = "null")]
    null: bool,
    /// Wait until every watcher of DIR has told all that happened before now
    ///
    /// Writes the `barrier` record of each. Nothing is watched by this. With no watcher there, the
    /// exit status is 1, and so it is when one has not answered within `--max-seconds`.
    #[arg(long, conflicts_with_all = ["initial", "scan", "since", "once", "op", "glob", "null"])]
    sync: bool,
    /// When a `--sync` of another process asks, also write its `barrier` record here, behind all
    /// that it stands for: for a consumer that somebody waits for
    #[arg(long, conflicts_with_all = ["scan", "sync"])]
    barriers: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum BackendName {
    Auto,
    Inotify,
    Fsevents,
    Poll,
    Notify,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum FormatName {
    Jsonl,
    Path,
    Batch,
}

fn op(text: &str) -> std::result::Result<EventOp, String> {
    let found = EventOp::ALL.into_iter().find(|op| op.as_str() == text);
    found.ok_or_else(|| "one of create, modify, remove".to_string())
}

fn glob(text: &str) -> std::result::Result<String, String> {
    match is_pattern(text) {
        true => Ok(text.to_string()),
        false => Err("not a pattern that matches anything, as in a .gitignore".to_string()),
    }
}

/// Tell what changes below a directory, as it happens
#[derive(Debug, clap::Parser)]
#[command(name = "auwai-wait-events", version, max_term_width = 100)]
pub struct WaitEvents {
    /// Tell a failure as an `error` record on standard output too
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    args: Args,
}

impl Tool for WaitEvents {
    const NAME: &'static str = "auwai-wait-events";

    fn json(&self) -> bool {
        self.json
    }

    fn run(self, io: &mut Io<'_>) -> Result<()> {
        run(&self.args, io)
    }
}

/// Runs the tool.
pub fn run(args: &Args, io: &mut Io<'_>) -> Result<()> {
    let root = root(args, io.world)?;
    if args.sync {
        return sync(args, &root, io);
    }
    if args.null && args.format != FormatName::Path {
        return Err(Error::usage("`--null` ends paths").hint("add `--format path`"));
    }
    if !args.scan {
        io.warn_of_own_output(WaitEvents::NAME, &root);
    }
    let options = options(args, root, io.world)?;
    let (signals, stop) = Signals::catch_and_wake()?;
    let output = rustix::io::dup(rustix::stdio::stdout()).ok().map(Arc::new);
    let beside = Beside { output, stop: Some(Arc::new(stop)), ..Beside::default() };
    let err = &mut *io.err;
    let mut warn = |warning: &Warning| say(err, warning);
    let ended = match args.scan {
        true => watch::scan(&options, beside, io.out, &mut warn),
        false => watch::watch(&options, beside, io.out, &mut warn),
    };
    signals.obey();
    ended
}

fn say(err: &mut dyn Write, warning: &Warning) {
    // Nobody can be told that standard error does not work.
    let _ = writeln!(err, "{}: {}", WaitEvents::NAME, one_line(&warning.message));
    if let Some(hint) = &warning.hint {
        let _ = writeln!(err, "hint: {}", one_line(hint));
    }
}

fn root(args: &Args, world: &World) -> Result<PathBuf> {
    let Some(typed) = args.dir.as_deref().or(args.repo.as_deref()) else {
        return Err(Error::usage("watch what?").hint("name a directory: `auwai-wait-events .`"));
    };
    let shown = || quote_path(typed.as_os_str().as_bytes()).into_owned();
    let real = world.absolute(typed).canonicalize().map_err(|e| Error::io("watch", shown(), &e))?;
    match real.is_dir() {
        true => Ok(real),
        false => Err(Error::failed("not-a-folder", format!("'{}' is not a folder", shown()))),
    }
}

fn options(args: &Args, root: PathBuf, world: &World) -> Result<Options> {
    let scope = args.only.iter().map(|dir| subtree(dir, &root)).collect::<Result<_>>()?;
    let site = Site {
        root,
        around: world.surroundings(),
        scope,
        rules: !args.no_ignore,
        now: world.now,
        // Who asks for inotify takes what it gives.
        remote: match args.backend {
            BackendName::Inotify => watch::trusted,
            _ => watch::remote,
        },
        limit: watch::limit_of_watches,
    };
    let format = match args.format {
        FormatName::Jsonl => Format::Jsonl,
        FormatName::Path => Format::Path,
        FormatName::Batch => Format::Batch,
    };
    Ok(Options {
        site,
        backend: backend(args.backend),
        // A poll that never rests would be no poll.
        pace: Pace { settle: args.settle, interval: args.interval.max(Duration::from_millis(1)) },
        format: (format, args.null),
        filter: Filter::new(&args.op, &args.glob),
        once: args.once,
        longest: args.max_seconds,
        initial: args.initial,
        since: args.since.as_deref().map(|file| world.absolute(file)),
        barriers: args.barriers,
        runtime: Some(world.runtime_dir()),
        session: watch::session((world.now)()),
    })
}

fn backend(name: BackendName) -> Option<WatchBackend> {
    match name {
        BackendName::Auto => None,
        BackendName::Inotify => Some(WatchBackend::Inotify),
        BackendName::Fsevents => Some(WatchBackend::Fsevents),
        BackendName::Poll => Some(WatchBackend::Poll),
        BackendName::Notify => Some(WatchBackend::Notify),
    }
}

/// A subtree as typed: below the root, and relative to it or absolute.
fn subtree(dir: &OsString, root: &Path) -> Result<RepoPath> {
    let inside = Path::new(dir).strip_prefix(root).map_or(dir.as_os_str(), Path::as_os_str);
    let bytes = inside.as_bytes();
    let bytes = bytes.strip_prefix(b"./").unwrap_or(bytes);
    let bytes = bytes.strip_suffix(b"/").unwrap_or(bytes);
    RepoPath::new(bytes).ok_or_else(|| {
        let shown = quote_path(dir.as_bytes());
        Error::usage(format!("'{shown}' is not a path inside the directory"))
            .hint("give it relative to DIR: `--only src`")
    })
}

fn sync(args: &Args, root: &Path, io: &mut Io<'_>) -> Result<()> {
    let (out, err) = (&mut *io.out, &mut *io.err);
    let mut tell = |barrier: &Barrier| {
        record::write(out, barrier)?;
        out.flush().map_err(|e| Error::io("write to", "standard output", &e))
    };
    let mut wait = |message: &str| {
        say(err, &Warning { message: message.to_string(), hint: None });
    };
    watch::ask(&io.world.runtime_dir(), root, args.max_seconds, &mut tell, &mut wait)
}
