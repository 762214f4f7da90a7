//! `auwai workspace survey`: what there is to read, before anything is read.

mod oddities;

use std::collections::BTreeMap;

use self::oddities::{Found, Oddities};
use super::index::scan_all;
use super::nested;
use super::options::Common;
use super::pipeline::Pipeline;
use super::plan::{self, plan_stage, policy_line, summary};
use super::render::{fates, percent};
use super::target::Target;
use super::typed::Planning;
use crate::cli::Io;
use crate::counted::{count, thousands};
use crate::error::Result;
use crate::record::{self, Chunk, File, Plan, Policy, Record, Survey, Tokens};
use crate::visible::quote_path;

/// The characters of a page where the policy has none: shells of agents cut what is longer.
const PAGE: u64 = 30_000;

/// Show the tree with files, chunks, tokens and coverage, what in it is odd, and the plan that would be
/// made
///
/// Nothing is kept but the index, which is brought up to date. The files of the tree are those with
/// chunks: an empty file is text and has none.
///
/// Odd are files that are binary, cannot be read or are not in UTF-8, lines that are longer than a
/// chunk, repositories of their own that no member of the workspace is, and files that a program made
/// by their name (lock files, minified code) or by a mark in their first lines (`@generated`,
/// `DO NOT EDIT`). They are counted, with their share of the tokens, and the largest is named.
#[derive(Debug, Clone, clap::Args)]
pub struct Args {
    #[command(flatten)]
    plan: plan::Shape,
    /// Show folders down to this depth below each repository; 0 shows the repositories alone
    #[arg(long, value_name = "N", default_value_t = 2)]
    depth: usize,
}

impl Args {
    /// What was typed, for the commands that are suggested.
    pub fn planning(&self) -> Planning {
        self.plan.planning("workspace survey")
    }
}

/// Runs the command.
pub fn run(args: &Args, common: &Common, io: &mut Io<'_>) -> Result<()> {
    let target = Target::resolve(common, io)?;
    if let Some(tokenizer) = args.plan.tokenizer() {
        plan::refuse_to_count_anew(tokenizer, &target.status(io)?, &target)?;
    }
    scan_all(target.members(), args.plan.tokenizer(), common, io)?;
    let seen = Seen::of(args.depth, &target, common, io)?;
    let forecast = forecast(args, &target, common, io)?;
    let status = target.whole_status(io)?;
    if common.json {
        if let Some(survey) = forecast.survey(&seen) {
            record::write(io.out, &survey)?;
        }
        return record::write(io.out, &status);
    }
    super::line(io, &target.title())?;
    target.bounds().map_or(Ok(()), |bounds| super::line(io, &bounds))?;
    tell(&seen.tree, io)?;
    super::line(io, &format!("paths: {}", fates(status.fates.iter().flatten())))?;
    nested::tell(&seen.nested, &target, io)?;
    seen.found.tell(io)?;
    forecast.tell(&seen, io)?;
    if let (Some(policy), Some(plan)) = (&forecast.policy, &forecast.plan) {
        plan::hint_half_empty(policy, plan, status.plan.is_some(), &target, io);
    }
    Ok(())
}

/// What is in the tree.
struct Seen {
    tree: Tree,
    found: Found,
    /// Repositories that no member is.
    nested: Vec<File>,
    /// About the characters of all chunks as shown, without frames.
    chars: u64,
    chunks: u64,
}

impl Seen {
    fn of(depth: usize, target: &Target, common: &Common, io: &mut Io<'_>) -> Result<Seen> {
        let mut oddities = Oddities::default();
        let mut nested = Vec::new();
        for member in target.members() {
            let files = nested::files_stage(member, common).arg("--generated");
            Pipeline::start(&[files], io)?.records(io, |record, _| {
                if let Record::File(file) = record {
                    let nobodys = nested::is_nobodys(&file, member, target);
                    oddities.take_file(&file, nobodys);
                    nested.extend(nobodys.then_some(file));
                }
                Ok(())
            })?;
        }
        let mut tree = Tree::from([(Vec::new(), Node::default())]);
        let (mut last, mut chars, mut chunks) = (None, 0, 0);
        Pipeline::start(&[target.ledger("chunks")], io)?.records(io, |record, _| {
            if let Record::Chunk(chunk) = record {
                add(&mut tree, depth, &chunk, &mut last);
                oddities.take_chunk(&chunk);
                chars += shown_chars(&chunk);
                chunks += 1;
            }
            Ok(())
        })?;
        Ok(Seen { tree, found: oddities.end(), nested, chars, chunks })
    }
}

/// About how many characters a chunk has as shown: its bytes, and a number and a tab before each line.
fn shown_chars(chunk: &Chunk) -> u64 {
    let lines = chunk.lines.last + 1 - chunk.lines.first;
    let digits = u64::from(chunk.lines.last.checked_ilog10().unwrap_or_default()) + 1;
    chunk.bytes.to - chunk.bytes.from + lines * (digits + 1)
}

/// The plan that would be made.
#[derive(Default)]
struct Forecast {
    policy: Option<Policy>,
    plan: Option<Plan>,
    /// The tokens of each segment.
    segments: Vec<Tokens>,
}

fn forecast(args: &Args, target: &Target, common: &Common, io: &mut Io<'_>) -> Result<Forecast> {
    let stages = [target.ledger("chunks"), plan_stage(&args.plan, target, io)];
    let mut forecast = Forecast::default();
    Pipeline::start(&stages, io)?.records(io, |record, io| {
        if common.json {
            record.write(io.out)?;
        }
        match record {
            Record::Policy(policy) => forecast.policy = Some(policy),
            Record::Segment(segment) => forecast.segments.push(segment.tokens),
            Record::Plan(plan) => forecast.plan = Some(plan),
            _ => {}
        }
        Ok(())
    })?;
    Ok(forecast)
}

impl Forecast {
    fn page(&self) -> u64 {
        self.policy.as_ref().and_then(|policy| policy.page).unwrap_or(PAGE)
    }

    /// About how many pages the segments have: a page ends with a whole chunk, so half of one stays
    /// empty.
    fn pages(&self, seen: &Seen) -> u64 {
        let tokens: u64 = self.segments.iter().map(|tokens| tokens.0).sum();
        let unused = seen.chars.checked_div(seen.chunks * 2).unwrap_or_default();
        let page = u128::from(self.page().saturating_sub(unused).max(1));
        let of = |segment: &Tokens| {
            let chars = u128::from(seen.chars) * u128::from(segment.0);
            chars.checked_div(u128::from(tokens)).unwrap_or_default().div_ceil(page)
        };
        let pages: u128 = self.segments.iter().map(of).sum();
        u64::try_from(pages).unwrap_or(u64::MAX)
    }

    fn survey(&self, seen: &Seen) -> Option<Survey> {
        let plan = self.plan.as_ref()?;
        Some(Survey {
            segments: plan.segments,
            chunks: plan.chunks,
            tokens: plan.tokens,
            page: self.page(),
            pages: self.pages(seen),
            oddities: seen.found.records(),
        })
    }

    fn tell(&self, seen: &Seen, io: &mut Io<'_>) -> Result<()> {
        if let Some(policy) = &self.policy {
            super::line(io, &policy_line(policy))?;
        }
        let Some(plan) = &self.plan else { return Ok(()) };
        super::line(io, &format!("the plan that would be made: {}", summary(plan)))?;
        let pages = count(self.pages(seen), "page");
        super::line(io, &format!("about {pages} of {}", count(self.page(), "character")))
    }
}

/// Sums over a folder and all below it.
#[derive(Debug, Clone, Copy, Default)]
struct Node {
    files: u64,
    chunks: u64,
    tokens: u64,
    read: u64,
}

/// The nodes by repository and folder, in tree order.
type Tree = BTreeMap<Vec<Vec<u8>>, Node>;

/// Repository and path, as on the wire.
type Wire = (String, String, Option<String>);

/// Adds a chunk to its repository and to the folders above it. Chunks come in file order.
fn add(tree: &mut Tree, depth: usize, chunk: &Chunk, last: &mut Option<Wire>) {
    let file = (chunk.repo.clone(), chunk.path.clone(), chunk.path_b64.clone());
    let files = u64::from(last.as_ref() != Some(&file));
    *last = Some(file);
    let read = if chunk.complete { chunk.tokens.0 } else { 0 };
    for node in nodes(chunk, depth) {
        let sum = tree.entry(node).or_default();
        sum.files += files;
        sum.chunks += 1;
        sum.tokens += chunk.tokens.0;
        sum.read += read;
    }
}

fn nodes(chunk: &Chunk, depth: usize) -> Vec<Vec<Vec<u8>>> {
    let path = chunk.repo_path().map(|path| path.as_bytes().to_vec()).unwrap_or_default();
    let mut folders: Vec<Vec<u8>> = path.split(|b| *b == b'/').map(<[u8]>::to_vec).collect();
    folders.pop();
    folders.truncate(depth);
    folders.insert(0, chunk.repo.clone().into_bytes());
    (0..=folders.len()).map(|length| folders[..length].to_vec()).collect()
}

fn tell(tree: &Tree, io: &mut Io<'_>) -> Result<()> {
    let rows: Vec<(String, Node)> = tree.iter().map(|(path, node)| (label(path), *node)).collect();
    let width = rows.iter().map(|(label, _)| label.chars().count()).max().unwrap_or(0).max(4);
    let (files, chunks, tokens, read) = ("files", "chunks", "tokens", "tokens read");
    super::line(io, &format!("{:width$} {files:>9} {chunks:>9} {tokens:>13} {read:>12}", "node"))?;
    for (label, node) in rows {
        let pad = width - label.chars().count();
        let (files, chunks) = (thousands(node.files), thousands(node.chunks));
        let (tokens, share) = (thousands(node.tokens), share(&node));
        let row = format!("{label}{:pad$} {files:>9} {chunks:>9} {tokens:>13} {share:>12}", "");
        super::line(io, &row)?;
    }
    Ok(())
}

/// How much of the tokens is read.
fn share(node: &Node) -> String {
    percent(node.read, node.tokens).map_or("-".to_string(), |share| format!("{share} %"))
}

fn label(path: &[Vec<u8>]) -> String {
    match path.split_last() {
        None => "all".to_string(),
        Some((name, [])) => format!("  {}:", quote_path(name)),
        Some((name, above)) => format!("{}{}/", "  ".repeat(above.len() + 1), quote_path(name)),
    }
}
