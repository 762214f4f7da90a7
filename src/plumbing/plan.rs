//! `auwai-plan`: chunk records in; `policy`, `segment`, `plan` and `end` records out.
//!
//! Segments go out as they become full. Should the input turn out bad later, no `end` record
//! follows them, and a consumer changes nothing.

use std::fs::File;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};

use crate::cli::{Io, Tool};
use crate::error::{Error, Result};
pub use crate::plan::{BRIEF_TOKENS, options};
use crate::plan::{
    Input, Planner, PolicyOptions, TOKENIZERS, parse_order, parse_share, parse_tokens,
};
use crate::record::{self, End, Policy, Reader, Record, Segment};
use crate::visible::quote;

/// Pack chunks into segments that fit a context window.
///
/// Reads the records of `auwai-ledger chunks` and writes the plan: one `policy` record, a `segment`
/// record for each part to read, the synthesis segment, one `plan` record, one `end` record. The
/// same input and options give the same bytes.
#[derive(Debug, Clone, clap::Args)]
pub struct Args {
    #[command(flatten)]
    policy: PolicyArgs,

    /// Read files that match an earlier glob of FILE first, as `git diff -O` does.
    ///
    /// One glob a line; empty lines and lines that begin with `#` are passed over. `*` also matches
    /// `/`, and a file matches when its path or a directory above it does. A glob without `/` may
    /// begin at any component of the path; `/` in front holds it to the root of a repository. Files
    /// that match no glob come last. Files that match the same glob keep the order of the tree. All
    /// chunks are then held in memory.
    #[arg(long, value_name = "FILE")]
    order: Option<PathBuf>,

    /// The same with one glob on the command line, after those of FILE (may be given several times).
    #[arg(long, value_name = "GLOB", allow_hyphen_values = true)]
    order_glob: Vec<String>,

    /// Record that the plan is bounded to this subtree, as `REPO/DIR` (may be given several times).
    ///
    /// The chunks are not filtered: who writes them does that.
    #[arg(long, value_name = "SCOPE", allow_hyphen_values = true)]
    scope: Vec<String>,

    /// Plan what has come even if the stream ends without its `end` record.
    #[arg(long)]
    partial: bool,

    /// The records to read; standard input if absent or `-`.
    #[arg(value_name = "FILE")]
    input: Option<PathBuf>,
}

/// The budget of a plan. What is absent is the default.
#[derive(Debug, Clone, Default, clap::Args)]
pub struct PolicyArgs {
    /// The reader's context window in tokens [default: 65536].
    ///
    /// `200_000`, `200k` and `1m` are understood; `k` is 1,000.
    #[arg(long, value_name = "TOKENS", value_parser = parse_tokens)]
    pub context_window: Option<u64>,

    /// The tokens kept for the prompt around a segment [default: 4096].
    ///
    /// The brief of a segment and its list of chunk ids fit in it, and a segment closes when they
    /// would outgrow it: give a sixteenth of the window, or the segments of a large window stay
    /// half empty.
    #[arg(long, value_name = "TOKENS", value_parser = parse_tokens)]
    pub fixed_prompt: Option<u64>,

    /// The tokens kept for the reader's answer [default: 8192].
    #[arg(long, value_name = "TOKENS", value_parser = parse_tokens)]
    pub reserve: Option<u64>,

    /// The share of the rest that is left free, since other tokenizers count otherwise
    /// [default: 0.10].
    ///
    /// From 0 to under 1, with at most six decimals. The segment budget is the window less prompt
    /// and reserve, times one less this share, rounded down.
    #[arg(long, value_name = "SHARE", value_parser = parse_share)]
    pub safety: Option<u64>,

    /// The tokenizer that the chunks were counted with [default: that of their index].
    #[arg(long, value_name = "NAME", value_parser = TOKENIZERS)]
    pub tokenizer: Option<String>,

    /// The size in characters of a page that `read` prints at once [default: no limit].
    #[arg(long, value_name = "CHARS", value_parser = parse_page)]
    pub page: Option<u64>,
}

/// A page of no characters could hold nothing.
fn parse_page(text: &str) -> std::result::Result<u64, String> {
    match parse_tokens(text) {
        Ok(0) | Err(_) => Err("not a number of characters, such as 30000 or 30k".to_string()),
        Ok(page) => Ok(page),
    }
}

impl PolicyArgs {
    /// The options as they would be typed, for the command line of `auwai-plan`.
    pub fn typed(&self) -> Vec<(&'static str, String)> {
        let number = |number: Option<u64>| number.map(|number| number.to_string());
        let all = [
            ("--context-window", number(self.context_window)),
            ("--fixed-prompt", number(self.fixed_prompt)),
            ("--reserve", number(self.reserve)),
            ("--safety", self.safety.map(|ppm| format!("0.{ppm:06}"))),
            ("--tokenizer", self.tokenizer.clone()),
            ("--page", number(self.page)),
        ];
        all.into_iter().filter_map(|(name, value)| Some((name, value?))).collect()
    }

    /// The options that make this policy again.
    pub fn of(policy: &Policy) -> PolicyArgs {
        PolicyArgs {
            context_window: Some(policy.context_window.0),
            fixed_prompt: Some(policy.fixed_prompt.0),
            reserve: Some(policy.reserve.0),
            safety: Some(policy.safety_ppm),
            tokenizer: Some(policy.tokenizer.clone()),
            page: policy.page,
        }
    }

    /// What is meant, over `base`.
    pub fn over(&self, base: PolicyOptions) -> PolicyOptions {
        PolicyOptions {
            context_window: self.context_window.unwrap_or(base.context_window),
            fixed_prompt: self.fixed_prompt.unwrap_or(base.fixed_prompt),
            reserve: self.reserve.unwrap_or(base.reserve),
            safety_ppm: self.safety.unwrap_or(base.safety_ppm),
            tokenizer: self.tokenizer.clone().unwrap_or(base.tokenizer),
            page: self.page.or(base.page),
            ..base
        }
    }
}

/// Pack chunks into segments that fit a context window
#[derive(Debug, clap::Parser)]
#[command(name = "auwai-plan", version, max_term_width = 100)]
pub struct PlanTool {
    /// Tell a failure as an `error` record on standard output too
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    args: Args,
}

impl Tool for PlanTool {
    const NAME: &'static str = "auwai-plan";

    fn json(&self) -> bool {
        self.json
    }

    fn run(self, io: &mut Io<'_>) -> Result<()> {
        run(&self.args, &mut *io.input, io.out)
    }
}

/// Runs the tool: reads `input` unless a file is named, writes the plan to `sink`.
pub fn run(args: &Args, input: impl BufRead, sink: &mut dyn Write) -> Result<()> {
    let policy = Asked { policy: policy(args)?, tokenizer: args.policy.tokenizer.is_some() };
    match args.input.as_deref().filter(|path| *path != Path::new("-")) {
        Some(path) => {
            let file = File::open(path).map_err(|e| {
                Error::io("open", quote(path), &e)
                    .hint("write it first: `auwai-ledger chunks --workspace . >FILE`")
            })?;
            let reader = Reader::new(BufReader::with_capacity(1 << 16, file), quote(path));
            plan(policy, reader, args.partial, sink)
        }
        None => plan(policy, Reader::new(input, "-"), args.partial, sink),
    }
}

fn policy(args: &Args) -> Result<Policy> {
    let mut order = args.order.as_deref().map(read_order).transpose()?.unwrap_or_default();
    order.extend(args.order_glob.iter().cloned());
    let base = PolicyOptions { order, scope: args.scope.clone(), ..PolicyOptions::default() };
    Ok(args.policy.over(base).resolve())
}

/// No list of globs is longer; a device without end is.
const LONGEST_ORDER: u64 = 16 << 20;

fn read_order(path: &Path) -> Result<Vec<String>> {
    if path == Path::new("-") {
        let message = "cannot read the order from '-': the records come from there";
        return Err(Error::usage(message).hint("write the globs to a file: --order FILE"));
    }
    let mut text = String::new();
    let read =
        File::open(path).and_then(|file| file.take(LONGEST_ORDER + 1).read_to_string(&mut text));
    let hint = "give a file with one glob a line: `echo 'src/*' >FILE`";
    read.map_err(|e| Error::io("read", quote(path), &e).hint(hint))?;
    if text.len() as u64 > LONGEST_ORDER {
        let message = format!("'{}' is longer than 16 MiB, which no list of globs is", quote(path));
        return Err(Error::failed("bad-input", message).hint(hint));
    }
    Ok(parse_order(&text))
}

/// The policy as asked for.
struct Asked {
    policy: Policy,
    /// Whether its tokenizer was named; else it is that of the first index.
    tokenizer: bool,
}

impl Asked {
    /// The policy for a stream that begins with this record.
    fn meant(mut self, first: Option<&Record>) -> Policy {
        if let (false, Some(Record::Repo(repo))) = (self.tokenizer, first) {
            self.policy.tokenizer = repo.tokenizer.clone().unwrap_or(self.policy.tokenizer);
        }
        self.policy
    }
}

/// Tokens of two tokenizers do not add up to anything.
fn check_tokenizer(record: &Record, policy: &Policy) -> std::result::Result<(), String> {
    let Record::Repo(repo) = record else { return Ok(()) };
    match repo.tokenizer.as_deref() {
        Some(counted) if counted != policy.tokenizer => Err(format!(
            "repository '{}' is counted with {counted}, not with {}",
            repo.name, policy.tokenizer
        )),
        _ => Ok(()),
    }
}

fn plan<R: BufRead>(
    asked: Asked,
    mut reader: Reader<R>,
    partial: bool,
    sink: &mut dyn Write,
) -> Result<()> {
    let mut coming = next(&mut reader, partial)?;
    let policy = &asked.meant(coming.as_ref());
    let (mut input, mut planner) = (Input::default(), Planner::new(policy)?);
    record::write(sink, policy)?;
    let mut emit = |segment: Segment| record::write(sink, &segment);
    while let Some(record) = coming {
        check_tokenizer(&record, policy).map_err(|e| {
            let hint = format!("count it anew: `auwai index --tokenizer {}`", policy.tokenizer);
            reader.bad(&e).hint(hint)
        })?;
        if let Some(chunk) = input.take(record).map_err(|e| reader.bad(&e))? {
            planner.push(&chunk, &mut emit)?;
        }
        coming = next(&mut reader, partial)?;
    }
    if !input.ended() && !partial {
        return Err(reader.cut_off());
    }
    let plan = planner.finish(input.into_repos(), &mut emit)?;
    record::write(sink, &plan)?;
    record::write(sink, &End { of: "segment".to_string(), count: plan.segments })
}

/// The next record. With `partial`, a line that its writer did not finish is the end.
fn next<R: BufRead>(reader: &mut Reader<R>, partial: bool) -> Result<Option<Record>> {
    match reader.next_record() {
        Err(error) if partial && error.code() == "cut-off" => Ok(None),
        other => other,
    }
}

#[cfg(test)]
mod tests;
