//! `auwai-ledger files`: every path and its fate.

use std::io::Read;

use crate::beneath::Root;
use crate::cli::Io;
use crate::error::{Error, Result};
use crate::plumbing::ledger::source::{BoundedOptions, Source};
use crate::record::{self, End, Fate, File};
use crate::store::ledger::{Ledger, Row};
use crate::text::generated;

/// List every path of indexed repositories with its fate, as `file` records
///
/// In tree order: by path component, byte by byte. An ignored folder is one row.
#[derive(Debug, Clone, clap::Args)]
pub struct Args {
    #[command(flatten)]
    of: BoundedOptions,
    /// List only paths of this fate: text, binary, symlink, repository, special, unreadable, absent
    /// or ignored; may be repeated
    #[arg(long = "fate", value_name = "FATE", value_parser = super::parse_fate)]
    fates: Vec<Fate>,
    /// Tell which text files a program seems to have made, by their names or their first lines: lock
    /// files, minified code, code out of generators
    #[arg(long)]
    generated: bool,
    /// Print only the paths, as they are, each ended by NUL: for one repository; there is no `end`
    #[arg(short = '0', long, visible_short_alias = 'z', conflicts_with = "generated")]
    null: bool,
}

impl Args {
    fn wants(&self, row: &Row) -> bool {
        self.fates.is_empty() || self.fates.contains(&row.fate)
    }
}

/// Runs the verb.
pub fn run(args: Args, io: &mut Io<'_>) -> Result<()> {
    if args.null {
        return write_paths(&args, &args.of.one(io.world)?.ledger()?, io);
    }
    let mut count = 0;
    for source in args.of.sources(io.world)? {
        let ledger = source.ledger()?;
        record::write(io.out, &source.record(&ledger)?)?;
        let signs = args.generated.then(|| Signs::of(&source)).transpose()?;
        ledger.each_file(|row| {
            if !args.wants(&row) {
                return Ok(());
            }
            count += 1;
            let generated = signs.as_ref().and_then(|signs| signs.find(&row)).map(str::to_string);
            record::write(io.out, &File { generated, ..file(&source.name, &row) })
        })?;
    }
    record::write(io.out, &End { of: "file".into(), count })
}

fn write_paths(args: &Args, ledger: &Ledger, io: &mut Io<'_>) -> Result<()> {
    ledger.each_file(|row| {
        if !args.wants(&row) {
            return Ok(());
        }
        let sent = io.out.write_all(row.path.as_bytes()).and_then(|()| io.out.write_all(b"\0"));
        sent.map_err(|e| Error::io("write to", "standard output", &e))
    })
}

/// Looks for signs that a file was made by a program.
struct Signs {
    root: Root,
}

impl Signs {
    fn of(source: &Source) -> Result<Signs> {
        Ok(Signs { root: source.open_root()? })
    }

    /// The sign in a row's name, or in the file's first lines as they are now; what cannot be read has
    /// none.
    fn find(&self, row: &Row) -> Option<&'static str> {
        if row.fate != Fate::Text {
            return None;
        }
        generated::by_name(row.path.as_bytes()).or_else(|| {
            let (file, mut head) = (self.root.open_file(&row.path).ok()?, Vec::new());
            file.take(generated::HEAD as u64).read_to_end(&mut head).ok()?;
            generated::by_head(&head)
        })
    }
}

/// The record of a row.
pub fn file(repo: &str, row: &Row) -> File {
    let (path, path_b64) = row.path.to_wire();
    let text = row.fate == Fate::Text;
    let detail = |fate: Fate| row.detail.clone().filter(|_| row.fate == fate);
    File {
        repo: repo.to_string(),
        path,
        path_b64,
        fate: row.fate,
        size: row.size,
        hash: row.hash.map(|hash| blake3::Hash::from_bytes(hash).to_hex().to_string()),
        lines: text.then_some(row.lines),
        tokens: text.then_some(row.tokens),
        chunks: text.then_some(row.chunks),
        encoding: row.encoding.clone(),
        rule: detail(Fate::Ignored),
        errno: detail(Fate::Unreadable),
        generated: None,
    }
}
