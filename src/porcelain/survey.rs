//! `auwai workspace survey`: what there is to read, before anything is read.

use std::collections::BTreeMap;

use super::index::scan_all;
use super::options::Common;
use super::pipeline::Pipeline;
use super::plan::{self, plan_stage, policy_line, summary};
use super::render::{fates, percent};
use super::target::Target;
use crate::cli::Io;
use crate::counted::thousands;
use crate::error::Result;
use crate::record::{self, Chunk, Record};
use crate::visible::quote_path;

/// Show the tree with files, chunks, tokens and coverage, and the plan that would be made
///
/// Nothing is kept but the index, which is brought up to date. The files of the tree are those with
/// chunks: an empty file is text and has none.
#[derive(Debug, Clone, clap::Args)]
pub struct Args {
    #[command(flatten)]
    plan: plan::Shape,
    /// Show folders down to this depth below each repository; 0 shows the repositories alone
    #[arg(long, value_name = "N", default_value_t = 2)]
    depth: usize,
}

/// Runs the command.
pub fn run(args: &Args, common: &Common, io: &mut Io<'_>) -> Result<()> {
    let target = Target::resolve(common, io)?;
    if let Some(tokenizer) = args.plan.tokenizer() {
        plan::refuse_to_count_anew(tokenizer, &target, io)?;
    }
    scan_all(target.members(), args.plan.tokenizer(), common, io)?;
    let tree = tree(args.depth, &target, io)?;
    if !common.json {
        super::line(io, &target.title())?;
        target.bounds().map_or(Ok(()), |bounds| super::line(io, &bounds))?;
        tell(&tree, io)?;
    }
    let stages = [target.ledger("chunks"), plan_stage(&args.plan, &target, io)];
    let (mut asked, mut made) = (None, None);
    Pipeline::start(&stages, io)?.records(io, |record, io| match record {
        _ if common.json => record.write(io.out),
        Record::Policy(policy) => {
            super::line(io, &policy_line(&policy))?;
            asked = Some(policy);
            Ok(())
        }
        Record::Plan(plan) => {
            super::line(io, &format!("the plan that would be made: {}", summary(&plan)))?;
            made = Some(plan);
            Ok(())
        }
        _ => Ok(()),
    })?;
    let status = target.status(io)?;
    if let (Some(policy), Some(plan)) = (asked, made) {
        plan::hint_half_empty(&policy, &plan, status.plan.is_some(), &target, io);
    }
    match common.json {
        true => record::write(io.out, &status),
        false => super::line(io, &format!("paths: {}", fates(&status.fates))),
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

fn tree(depth: usize, target: &Target, io: &mut Io<'_>) -> Result<Tree> {
    let mut tree = Tree::from([(Vec::new(), Node::default())]);
    let mut last = None;
    Pipeline::start(&[target.ledger("chunks")], io)?.records(io, |record, _| {
        if let Record::Chunk(chunk) = record {
            add(&mut tree, depth, &chunk, &mut last);
        }
        Ok(())
    })?;
    Ok(tree)
}

/// Adds a chunk to its repository and to the folders above it. Chunks come in file order.
fn add(tree: &mut Tree, depth: usize, chunk: &Chunk, last: &mut Option<(String, String)>) {
    let file = (chunk.repo.clone(), chunk.path.clone());
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
