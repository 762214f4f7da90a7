//! Packing: chunks in, in reading order; full segments out, as soon as they are full.
//!
//! Every chunk goes into exactly one segment, in order. A file that fits an empty segment is kept
//! whole where that leaves at most a tenth of the budget unused. Only the open segment and the
//! chunks of one file, at most a segment's worth, are held, however long the input is.

use std::mem;
use std::rc::Rc;

use super::cost::{Cost, Last, cost};
use super::part::{File, Part};
use super::policy::{options, smallest_window, text_budget};
use crate::counted::{count, thousands};
use crate::error::{Error, Result};
use crate::record::{
    Policy, QualifiedId, Segment, SegmentFile, SegmentId, SegmentKind, SegmentStatus, Tokens,
};
use crate::visible::quote_path;

/// Takes a finished segment.
pub(super) type Emit<'a> = &'a mut dyn FnMut(Segment) -> Result<()>;

/// The state between two chunks.
pub(super) struct Packer {
    policy: Policy,
    limits: Cost,
    need: Need,
    open: Open,
    held: Option<Held>,
    next: u64,
}

impl Packer {
    /// Nothing packed yet; the first segment will be `read-<first>`.
    pub fn new(policy: &Policy, first: u64) -> Self {
        Packer {
            policy: policy.clone(),
            limits: Cost { shown: text_budget(policy).0, listed: policy.fixed_prompt.0 },
            need: Need::default(),
            open: Open::default(),
            held: None,
            next: first,
        }
    }

    /// Takes the next chunk. After one that no segment can hold, nothing more is emitted, and
    /// [`Packer::finish`] reports the largest.
    pub fn push(&mut self, file: &Rc<File>, part: Part, emit: Emit<'_>) -> Result<()> {
        self.need.see(file, &part);
        if !self.need.within(self.limits) {
            self.held = None;
            return Ok(());
        }
        if self.held.as_ref().is_none_or(|held| !Rc::ptr_eq(&held.file, file)) {
            self.place(emit)?;
            self.held = Some(Held::new(file));
        }
        match &mut self.held {
            Some(held) => {
                held.push(part);
                held.whole &= Cost::EMPTY.plus(held.cost).within(self.limits);
                if held.whole { Ok(()) } else { self.fill(emit) }
            }
            None => Ok(()),
        }
    }

    /// Emits what is left; the error is that of a window in which not every chunk fits.
    pub fn finish(mut self, emit: Emit<'_>) -> Result<()> {
        if !self.need.within(self.limits) {
            return Err(self.need.too_small(&self.policy));
        }
        self.place(emit)?;
        self.close(emit)
    }

    /// Places the held file, all of which has come.
    fn place(&mut self, emit: Emit<'_>) -> Result<()> {
        let Some(held) = &self.held else { return Ok(()) };
        let fits = self.open.cost.plus(held.cost).within(self.limits);
        let unused = self.limits.shown.saturating_sub(self.open.cost.shown);
        if held.whole && !fits && unused.saturating_mul(10) <= self.limits.shown {
            self.close(emit)?;
        }
        self.fill(emit)
    }

    /// Moves the held chunks into segments, and closes each when the next chunk does not fit.
    fn fill(&mut self, emit: Emit<'_>) -> Result<()> {
        let Some(mut held) = self.held.take() else { return Ok(()) };
        for part in held.parts.drain(..) {
            let adds = cost(self.open.last.as_ref(), &held.file, &part);
            if !self.open.cost.plus(adds).within(self.limits) {
                self.close(emit)?;
            }
            self.open.add(&held.file, &part);
        }
        self.held = Some(held);
        Ok(())
    }

    fn close(&mut self, emit: Emit<'_>) -> Result<()> {
        if self.open.chunks.is_empty() {
            return Ok(());
        }
        let id = SegmentId(format!("read-{}", self.next));
        let segment = mem::take(&mut self.open).into_segment(id);
        self.next += 1;
        emit(segment)
    }
}

/// The file whose chunks are coming.
struct Held {
    file: Rc<File>,
    /// The chunks that no segment has yet.
    parts: Vec<Part>,
    /// Of all its chunks, in one segment.
    cost: Cost,
    last: Option<Last>,
    /// Whether it fits an empty segment, as far as it has come.
    whole: bool,
}

impl Held {
    fn new(file: &Rc<File>) -> Self {
        let cost = Cost { shown: 0, listed: 0 };
        Held { file: Rc::clone(file), parts: Vec::new(), cost, last: None, whole: true }
    }

    fn push(&mut self, part: Part) {
        self.cost = self.cost.plus(cost(self.last.as_ref(), &self.file, &part));
        self.last = Some(Last::new(&self.file, &part));
        self.parts.push(part);
    }
}

/// The segment that is being filled.
pub(super) struct Open {
    cost: Cost,
    last: Option<Last>,
    chunks: Vec<QualifiedId>,
    chunk_tokens: Vec<Tokens>,
    files: Vec<SegmentFile>,
}

impl Default for Open {
    fn default() -> Self {
        let (chunks, chunk_tokens, files) = (Vec::new(), Vec::new(), Vec::new());
        Open { cost: Cost::EMPTY, last: None, chunks, chunk_tokens, files }
    }
}

impl Open {
    /// Puts the next chunk into it.
    pub fn add(&mut self, file: &Rc<File>, part: &Part) {
        self.cost = self.cost.plus(cost(self.last.as_ref(), file, part));
        self.chunks.push(QualifiedId { repo: file.repo.clone(), id: part.id });
        self.chunk_tokens.push(Tokens(part.tokens));
        let joins = self.last.as_ref().is_some_and(|last| last.joins(file, part));
        match self.files.last_mut().filter(|_| joins) {
            Some(entry) => {
                entry.lines.last = part.lines.last;
                entry.chunks += 1;
            }
            None => self.files.push(SegmentFile {
                repo: file.repo.clone(),
                path: file.path.clone(),
                path_b64: file.path_b64.clone(),
                lines: part.lines,
                chunks: 1,
            }),
        }
        self.last = Some(Last::new(file, part));
    }

    /// The segment as a record, of which nothing has been read.
    pub fn into_segment(self, id: SegmentId) -> Segment {
        Segment {
            id,
            kind: SegmentKind::Read,
            status: SegmentStatus::Pending,
            tokens: Tokens(self.cost.shown),
            chunks: self.chunks,
            chunk_tokens: self.chunk_tokens,
            files: self.files,
            reader: None,
            brief: None,
            outdated: None,
        }
    }
}

/// What a segment must hold at the least: the most that a segment of one chunk costs.
struct Need {
    cost: Cost,
    /// The chunk that is largest as shown.
    largest: Option<String>,
}

impl Default for Need {
    fn default() -> Self {
        // A budget with no room beside what is set aside could hold nothing.
        Need { cost: Cost::EMPTY.plus(Cost { shown: 1, listed: 1 }), largest: None }
    }
}

impl Need {
    fn see(&mut self, file: &Rc<File>, part: &Part) {
        let alone = Cost::EMPTY.plus(cost(None, file, part));
        if alone.shown > self.cost.shown {
            let path = match &file.path_b64 {
                Some(_) => file.path.clone(),
                None => quote_path(file.path.as_bytes()).into_owned(),
            };
            self.largest = Some(format!("chunk '{}:{}' of '{path}'", file.repo, part.id));
        }
        self.cost = self.cost.max(alone);
    }

    fn within(&self, limits: Cost) -> bool {
        self.cost.within(limits)
    }

    fn too_small(&self, policy: &Policy) -> Error {
        let Cost { shown, listed } = self.cost;
        if listed > policy.fixed_prompt.0 {
            let window = smallest_window(policy, listed, shown);
            let grown = |window: u64| Policy {
                context_window: policy.context_window.max(Tokens(window)),
                fixed_prompt: Tokens(listed),
                ..policy.clone()
            };
            let what = format!("the brief of one chunk needs {listed}");
            return too_small("fixed prompt", policy.fixed_prompt, &what)
                .hint(smallest(window.map(grown)));
        }
        let window = smallest_window(policy, policy.fixed_prompt.0, shown);
        let grown = |window| Policy { context_window: Tokens(window), ..policy.clone() };
        let largest = self.largest.as_deref().unwrap_or("a segment");
        let what = format!(
            "{largest} needs {shown} as shown, and beside {} for the prompt and {} for the answer a \
             segment may have {}",
            thousands(policy.fixed_prompt.0),
            thousands(policy.reserve.0),
            policy.segment_budget
        );
        let error = too_small("context window", policy.context_window, &what);
        let error = error.hint(smallest(window.map(grown)));
        match self.in_less_room(policy) {
            Some(room) => {
                error.hint(format!("or keep less beside it: `auwai plan{}`", options(&room)))
            }
            None => error,
        }
    }

    /// The policy of the same window with less kept beside the text, where that is enough.
    fn in_less_room(&self, policy: &Policy) -> Option<Policy> {
        let kept = (policy.fixed_prompt.min(KEPT), policy.reserve.min(KEPT));
        let fits = smallest_window(
            &Policy { reserve: kept.1, ..policy.clone() },
            kept.0.0,
            self.cost.shown,
        )
        .is_some_and(|window| window <= policy.context_window.0);
        let room = Policy { fixed_prompt: kept.0, reserve: kept.1, ..policy.clone() };
        (fits && self.cost.listed <= kept.0.0).then_some(room)
    }
}

/// What is enough to keep for prompt and answer in a small window, each.
const KEPT: Tokens = Tokens(1000);

/// The hint that names what works.
fn smallest(policy: Option<Policy>) -> String {
    match policy {
        Some(policy) => format!("the smallest that works: `auwai plan{}`", options(&policy)),
        None => "no window is large enough: give less to `--reserve` or to `--safety`".to_string(),
    }
}

fn too_small(option: &str, given: Tokens, what: &str) -> Error {
    Error::failed(
        "window-too-small",
        format!("a {option} of {} is too small: {what}", count(given.0, "token")),
    )
}
