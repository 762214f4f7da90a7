//! `auwai-ledger replan`: the plan in force follows the tree.

use std::collections::{BTreeSet, HashSet};

use super::adopt::located;
use super::target::{FullReadOptions, owner};
use crate::cli::Io;
use crate::cli::policy::{OrderArgs, PolicyArgs};
use crate::error::{Error, Result};
use crate::plan::{
    self, Freed, Input, Old, PolicyOptions, Revise, Revised, Stand, Summed, Taken, Tree,
};
use crate::record::{self, End, Plan, Policy, Read, Reader, Record, Repo};
use crate::store::coverage::{
    After, Before, Coverage, FreedRead, NewSegment, Replanned, Reviser, Segments, TakenRead,
};
use crate::workspace::{Member, Workspace};

/// Make the plan in force follow the tree
///
/// The input is what `auwai-ledger chunks --workspace W --hashes` writes; without its `end` nothing
/// changes. Chunks that are gone leave the plan. New ones top up pending segments, and then get
/// segments of their own, under ids that none had before. Segments that are done or active keep
/// their ids and get nothing new. A chunk that has moved keeps its read and its place. The synthesis
/// is to be done again when there is something new to sum up.
///
/// Options of the policy that are not given stay as the plan has them; with others, all that is
/// pending is packed anew. Prints the `plan` record; where nothing differs it is the plan that is
/// there.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    target: FullReadOptions,
    #[command(flatten)]
    policy: PolicyArgs,
    #[command(flatten)]
    order: OrderArgs,
}

/// Runs the verb.
pub fn run(args: Args, io: &mut Io<'_>) -> Result<()> {
    let order = args.order.is_given().then(|| args.order.globs()).transpose()?;
    let (workspace, mut coverage) = args.target.open(io)?;
    let tree = Stream::read(Reader::new(&mut *io.input, "-"), &workspace)?;
    let scope = workspace.members().iter().flat_map(Member::scope).collect();
    let asked = Asked { policy: args.policy, order, scope };
    let replanned = replan(&mut coverage, tree, asked, &io.world.timestamp())?;
    if !replanned.existing {
        super::warn_export(coverage.export(owner(&workspace)), io);
    }
    record::write(io.out, &told(replanned, &workspace))?;
    record::write(io.out, &End { of: "plan".to_string(), count: 1 })
}

fn told(replanned: Replanned, workspace: &Workspace) -> Plan {
    let Replanned { plan, existing, added, removed, moved } = replanned;
    let some = |count: u64| (count > 0).then_some(count);
    let (added, removed, moved) = (some(added), some(removed), some(moved));
    Plan { added, removed, moved, ..located(plan, existing, workspace) }
}

fn replan(coverage: &mut Coverage, stream: Stream, asked: Asked, at: &str) -> Result<Replanned> {
    // Before the transaction, which takes a lock that others wait for; again in it only where the
    // policy has changed meanwhile.
    let policy = asked.over(&coverage.in_force()?.policy);
    let mut follow = Follow {
        stream: stream.settled(&policy)?,
        asked,
        policy,
        old: Vec::new(),
        stands: Vec::new(),
        gone: HashSet::new(),
        freed: Vec::new(),
        from: Vec::new(),
    };
    // What would be planned is planned already.
    coverage.replan(&mut follow, at).map_err(|error| match error.code() {
        "window-too-small" => error.map_hints(|hint| hint.replace("`auwai plan", "`auwai replan")),
        _ => error,
    })
}

/// The tree as it came.
struct Stream {
    tree: Tree,
    repos: Vec<record::PlanRepo>,
    /// The tokenizers that it was counted with, each with a repository.
    tokenizers: Vec<(String, String)>,
}

impl Stream {
    /// Takes the whole stream, which must be of all repositories of the workspace: what it lacks
    /// would leave the plan.
    fn read<R: std::io::BufRead>(mut reader: Reader<R>, workspace: &Workspace) -> Result<Stream> {
        let (mut input, mut tree, mut tokenizers) = (Input::default(), Tree::default(), Vec::new());
        while let Some(record) = reader.next_record()? {
            if let Record::Repo(Repo { name, tokenizer: Some(tokenizer), .. }) = &record {
                tokenizers.push((tokenizer.clone(), name.clone()));
            }
            if let Some(chunk) = input.take(record).map_err(|e| reader.bad(&e))? {
                tree.push(&chunk).map_err(|e| {
                    reader.bad(&e).hint("list them with it: `auwai-ledger chunks --hashes`")
                })?;
            }
        }
        if !input.ended() {
            return Err(reader.cut_off());
        }
        let repos = input.into_repos();
        let came: BTreeSet<&str> = repos.iter().map(|repo| repo.name.as_str()).collect();
        let members: BTreeSet<&str> =
            workspace.members().iter().map(|member| member.name.as_str()).collect();
        match members.symmetric_difference(&came).next() {
            Some(name) => Err(other_repositories(name, came.contains(name))),
            None => Ok(Stream { tree, repos, tokenizers }),
        }
    }

    /// The same in the order of a policy.
    fn settled(mut self, policy: &Policy) -> Result<Stream> {
        self.tree.settle(policy)?;
        Ok(self)
    }
}

fn other_repositories(name: &str, came: bool) -> Error {
    let what = if came { "which is not in the workspace" } else { "which did not come" };
    Error::failed("bad-input", format!("-: not the chunks of the workspace: '{name}', {what}"))
        .hint("list them all: `auwai-ledger chunks --hashes --workspace .`")
}

/// What was asked for beside the plan's own policy.
struct Asked {
    policy: PolicyArgs,
    order: Option<Vec<String>>,
    scope: Vec<String>,
}

impl Asked {
    fn over(&self, policy: &Policy) -> Policy {
        let base = PolicyOptions::of(policy);
        let order = self.order.clone().unwrap_or(base.order.clone());
        self.policy.over(PolicyOptions { order, scope: self.scope.clone(), ..base }).resolve()
    }
}

/// Revises a plan after the tree.
struct Follow {
    stream: Stream,
    asked: Asked,
    /// The policy that the tree is settled under.
    policy: Policy,
    old: Vec<Old>,
    stands: Vec<Stand>,
    /// The chunks that are gone now.
    gone: HashSet<(u32, record::ChunkId)>,
    freed: Vec<Freed>,
    /// The places of those among the reads of the store.
    from: Vec<usize>,
}

impl Reviser for Follow {
    fn vanished(&mut self, before: &Before) -> Result<Vec<usize>> {
        let policy = self.asked.over(&before.policy);
        self.refuse_tokenizer(&before.policy, &policy)?;
        if policy != self.policy {
            self.stream.tree.settle(&policy)?;
            self.policy = policy;
        }
        let repos = self.repos(before);
        self.stands = vec![Stand::NEW; self.stream.tree.len()];
        let mut vanished = Vec::new();
        for (place, chunk) in before.chunks.iter().enumerate() {
            let repo = repos[chunk.repo as usize];
            let found = repo.and_then(|repo| self.stream.tree.find(repo, chunk.id));
            // An id alone does not say that the bytes are those that were read.
            let same = |at: &u32| {
                let body = chunk.body.filter(|_| chunk.complete);
                body.is_none_or(|body| body == self.stream.tree.leaf_at(*at).body)
            };
            match found.filter(same) {
                Some(at) => {
                    let segment = Some(chunk.segment);
                    let (complete, added) = (chunk.complete, chunk.added);
                    self.stands[at as usize] = Stand { segment, complete, added };
                }
                None => vanished.push(place),
            }
        }
        let key = |at: &usize| (before.chunks[*at].repo, before.chunks[*at].id);
        self.gone = vanished.iter().map(key).collect();
        Ok(vanished)
    }

    fn revise<'a>(&'a mut self, before: &'a Before, freed: &'a [FreedRead]) -> Result<After<'a>> {
        self.take_freed(before, freed);
        let old = |it: &crate::store::coverage::OldSegment| Old {
            id: it.id.clone(),
            kind: it.kind,
            status: it.status,
        };
        self.old = before.segments.iter().map(old).collect();
        let policy = &self.policy;
        let revision = plan::revise(Revise {
            policy,
            repack: plan::repacks(&before.policy, policy),
            tree: &self.stream.tree,
            old: &self.old,
            stands: std::mem::take(&mut self.stands),
            freed: &self.freed,
            last_read: before.last_read,
        })?;
        let is_gone = |taken: &&Taken| {
            let read = &freed[self.from[taken.from]];
            self.gone.contains(&(read.repo, read.id))
        };
        let kept = revision.taken.iter().filter(is_gone).count();
        let taken = revision.taken.iter().map(|taken| TakenRead {
            from: self.from[taken.from],
            to: evidence(&self.stream.tree, taken.to),
        });
        let repos = self.stream.repos.clone();
        Ok(After {
            policy: policy.clone(),
            last_read: revision.last_read(),
            taken: taken.collect(),
            reopens: revision.unread_new() > 0
                || revision.last_read() > before.last_read
                || kept < self.gone.len(),
            segments: Box::new(Coming { summed: revision.summed()?, repos }),
        })
    }
}

impl Follow {
    /// Tokens of two tokenizers do not add up, and another one cuts everything anew.
    fn refuse_tokenizer(&self, before: &Policy, after: &Policy) -> Result<()> {
        let counted = self.stream.tokenizers.iter();
        let mut others = counted.filter(|(tokenizer, _)| *tokenizer != before.tokenizer);
        let other = match (others.next(), after.tokenizer != before.tokenizer) {
            (Some((tokenizer, _)), _) => tokenizer,
            (None, true) => &after.tokenizer,
            (None, false) => return Ok(()),
        };
        let planned = &before.tokenizer;
        let message = format!("the plan is counted with {planned}, and cannot go on with {other}");
        Err(Error::no("planned", message)
            .hint(format!(
                "begin anew, with nothing read: `auwai plan --force --tokenizer {other}`"
            ))
            .hint(format!("or count as before: `auwai index --tokenizer {planned}`")))
    }

    /// The number in the tree of each repository of the plan.
    fn repos(&self, before: &Before) -> Vec<Option<u32>> {
        before.repos.iter().map(|name| self.stream.tree.repo(name)).collect()
    }

    /// The reads that may move: those of repositories that still have text.
    fn take_freed(&mut self, before: &Before, freed: &[FreedRead]) {
        let repos = self.repos(before);
        for (place, read) in freed.iter().enumerate() {
            let Some(repo) = repos.get(read.repo as usize).copied().flatten() else { continue };
            self.from.push(place);
            self.freed.push(Freed {
                repo,
                id: read.id,
                body: read.body,
                file: read.file,
                since: read.since,
                path: read.path.clone(),
                segment: read.segment,
            });
        }
    }
}

/// The segments on their way into the store.
struct Coming<'a> {
    summed: Summed<'a>,
    repos: Vec<record::PlanRepo>,
}

impl Iterator for Coming<'_> {
    type Item = NewSegment;

    fn next(&mut self) -> Option<NewSegment> {
        let Revised { old, segment, complete, complete_tokens } = self.summed.next()?;
        Some(NewSegment { old, segment, complete, complete_tokens })
    }
}

impl Segments for Coming<'_> {
    fn plan(self: Box<Self>) -> Plan {
        self.summed.plan(self.repos)
    }
}

/// A chunk as evidence of a read that it takes over.
fn evidence(tree: &Tree, at: u32) -> Read {
    let found = tree.leaf_at(at);
    let hex = |hash| Some(blake3::Hash::from_bytes(hash).to_hex().to_string());
    let (path, path_b64) = found.path;
    Read {
        path: Some(path.to_string()),
        path_b64: path_b64.map(str::to_string),
        bytes: Some(found.bytes()),
        body: hex(found.body),
        file: hex(found.file),
        ..Read::of(found.name, found.id())
    }
}
