//! A whole plan: chunks in reading order through the packer, then the synthesis and the sum.

use std::rc::Rc;

use super::id::PlanId;
use super::order::Order;
use super::pack::{Emit, Packer};
use super::part::{File, Files, Part};
use crate::error::{Error, Result};
use crate::record::{
    Chunk, Plan, PlanRepo, Policy, Segment, SegmentId, SegmentKind, SegmentStatus, Tokens,
};

/// Makes one plan. Memory is constant without an order; with one, it grows with the number of
/// chunks, since the first chunk to read may come last.
pub struct Planner {
    files: Files,
    sorter: Option<Sorter>,
    packer: Packer,
    sum: Sum,
}

impl Planner {
    /// A plan under `policy`; a usage error for a glob of its order that is not one.
    pub fn new(policy: &Policy) -> Result<Self> {
        let sorter = match policy.order.as_slice() {
            [] => None,
            globs => Some(Sorter { order: Order::new(globs)?, files: Vec::new() }),
        };
        let (packer, sum) = (Packer::new(policy, 1), Sum::new(policy)?);
        Ok(Planner { files: Files::default(), sorter, packer, sum })
    }

    /// Takes the next chunk, in the order of the tree, and hands every segment that became full to
    /// `emit`.
    pub fn push(&mut self, chunk: &Chunk, emit: Emit<'_>) -> Result<()> {
        let (file, part) = self.files.part(chunk);
        match &mut self.sorter {
            Some(sorter) => sorter.push(file, part, chunk),
            None => self.packer.push(&file, part, &mut self.sum.before(emit)),
        }
    }

    /// Emits the segments that are left, the synthesis last, and returns the sum.
    ///
    /// A plan of no chunks has the synthesis alone. The error `window-too-small` names the smallest
    /// window that works; what was emitted before is then no plan.
    pub fn finish(mut self, repos: Vec<PlanRepo>, emit: Emit<'_>) -> Result<Plan> {
        for ranked in self.sorter.map(Sorter::sorted).unwrap_or_default() {
            for part in ranked.parts {
                self.packer.push(&ranked.file, part, &mut self.sum.before(&mut *emit))?;
            }
        }
        self.packer.finish(&mut self.sum.before(&mut *emit))?;
        self.sum.before(emit)(synthesis())?;
        Ok(self.sum.plan(repos))
    }
}

/// The last segment of a plan.
pub(super) fn synthesis() -> Segment {
    Segment {
        id: SegmentId("synthesis-1".to_string()),
        kind: SegmentKind::Synthesis,
        status: SegmentStatus::Pending,
        tokens: Tokens(0),
        chunks: Vec::new(),
        chunk_tokens: Vec::new(),
        files: Vec::new(),
        reader: None,
        brief: None,
        outdated: None,
    }
}

/// What the plan record sums up.
pub(super) struct Sum {
    id: PlanId,
    segments: u64,
    chunks: u64,
    tokens: Tokens,
}

impl Sum {
    /// Of no segments yet.
    pub fn new(policy: &Policy) -> Result<Self> {
        Ok(Sum { id: PlanId::new(policy)?, segments: 0, chunks: 0, tokens: Tokens(0) })
    }

    /// Counts a segment.
    pub fn add(&mut self, segment: &Segment) {
        self.id.add(segment);
        self.segments += 1;
        self.chunks += segment.chunks.len() as u64;
        self.tokens += segment.tokens;
    }

    /// Counts each segment before it is emitted.
    fn before<'a>(&'a mut self, emit: Emit<'a>) -> impl FnMut(Segment) -> Result<()> + 'a {
        move |segment| {
            self.add(&segment);
            emit(segment)
        }
    }

    /// The record.
    pub fn plan(&self, repos: Vec<PlanRepo>) -> Plan {
        Plan {
            id: self.id.finish(),
            segments: self.segments,
            chunks: self.chunks,
            tokens: self.tokens,
            repos,
            ..Plan::default()
        }
    }
}

/// Holds all files until the last has come.
struct Sorter {
    order: Order,
    files: Vec<Ranked>,
}

struct Ranked {
    rank: usize,
    file: Rc<File>,
    parts: Vec<Part>,
}

impl Sorter {
    fn push(&mut self, file: Rc<File>, part: Part, chunk: &Chunk) -> Result<()> {
        if let Some(ranked) = self.files.last_mut().filter(|last| Rc::ptr_eq(&last.file, &file)) {
            ranked.parts.push(part);
            return Ok(());
        }
        let path = chunk.repo_path().map_err(|e| Error::failed("bad-input", e))?;
        self.files.push(Ranked { rank: self.order.rank(&path), file, parts: vec![part] });
        Ok(())
    }

    /// By rank; files of one rank stay in the order in which they came.
    fn sorted(mut self) -> Vec<Ranked> {
        self.files.sort_by_key(|ranked| ranked.rank);
        self.files
    }
}
