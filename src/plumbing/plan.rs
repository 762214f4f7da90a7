//! `auwai-plan`: chunk records in; `policy`, `segment`, `plan` and `end` records out.
//!
//! Segments go out as they become full. Should the input turn out bad later, no `end` record
//! follows them, and a consumer changes nothing.

use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};

use crate::cli::policy::OrderArgs;
pub use crate::cli::policy::PolicyArgs;
use crate::cli::{Io, Tool};
use crate::error::{Error, Result};
pub use crate::plan::{BRIEF_TOKENS, most_marks, options};
use crate::plan::{Input, Planner, PolicyOptions};
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

    #[command(flatten)]
    order: OrderArgs,

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
    let order = args.order.globs()?;
    let base = PolicyOptions { order, scope: args.scope.clone(), ..PolicyOptions::default() };
    Ok(args.policy.over(base).resolve())
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
    let mut coming = reader.next_or_cut(partial, PARTIAL)?;
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
        coming = reader.next_or_cut(partial, PARTIAL)?;
    }
    if !input.ended() && !partial {
        return Err(reader.cut_off().hint(PARTIAL));
    }
    let plan = planner.finish(input.into_repos(), &mut emit)?;
    record::write(sink, &plan)?;
    record::write(sink, &End { of: "segment".to_string(), count: plan.segments })
}

/// What else can be done with a stream that was cut off.
const PARTIAL: &str = "or plan what came: `auwai-plan --partial`";

#[cfg(test)]
mod tests;
