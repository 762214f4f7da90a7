//! A plan follows the tree: what vanished leaves it, what is new finds room.
//!
//! Segments that are done or active keep their ids and get nothing new but what moved into them. New
//! chunks top up the pending ones; what is left gets segments of its own, under numbers that no
//! segment had before. With another budget or order all that is pending is packed anew.

use std::collections::{BTreeMap, HashMap};

use super::cost::Cost;
use super::moves::{Freed, Stand, Taken, takers};
use super::pack::Packer;
use super::planner::Sum;
use super::policy::text_budget;
use super::tree::Tree;
use crate::error::Result;
use crate::record::{
    Plan, PlanRepo, Policy, Segment, SegmentId, SegmentKind, SegmentStatus, Tokens,
};

/// A segment of the plan that is revised.
#[derive(Debug, Clone, PartialEq)]
pub struct Old {
    /// Its id.
    pub id: SegmentId,
    /// What it is for.
    pub kind: SegmentKind,
    /// Where it stands.
    pub status: SegmentStatus,
}

impl Old {
    fn is_open(&self) -> bool {
        self.kind == SegmentKind::Read && self.status == SegmentStatus::Pending
    }
}

/// What a plan is revised from.
#[derive(Debug)]
pub struct Revise<'a> {
    /// What it shall be under.
    pub policy: &'a Policy,
    /// Whether what is pending is packed anew.
    pub repack: bool,
    /// The tree, settled under that policy.
    pub tree: &'a Tree,
    /// The segments in their order.
    pub old: &'a [Old],
    /// How each chunk of the tree stands.
    pub stands: Vec<Stand>,
    /// The reads that may be taken over.
    pub freed: &'a [Freed],
    /// The number of the last read segment that there ever was.
    pub last_read: u64,
}

/// The plan revised.
#[derive(Debug)]
pub struct Revision<'a> {
    tree: &'a Tree,
    policy: &'a Policy,
    old: &'a [Old],
    /// The chunks of each old segment; none of one that is dropped.
    kept: Vec<Option<Vec<u32>>>,
    /// The chunks of each new segment.
    fresh: Vec<Vec<u32>>,
    first: u64,
    stands: Vec<Stand>,
    /// The reads that are taken over.
    pub taken: Vec<Taken>,
}

/// Where a segment of the revised plan is.
#[derive(Debug, Clone, Copy)]
enum Place {
    Old(usize),
    Fresh(usize),
}

/// A segment of the revised plan.
#[derive(Debug, Clone, PartialEq)]
pub struct Revised {
    /// Its place among the old ones, if it is one of them.
    pub old: Option<usize>,
    /// The segment; what is not in the plan itself, such as its status, is that of a new one.
    pub segment: Segment,
    /// How many of its chunks are read.
    pub complete: u64,
    /// Their tokens.
    pub complete_tokens: Tokens,
}

/// Whether what is pending is to be packed anew when the policy changes so: budget, prompt and order
/// decide how it is packed, all else does not.
pub fn repacks(before: &Policy, after: &Policy) -> bool {
    let decides = |policy: &Policy| (text_budget(policy), policy.fixed_prompt);
    decides(before) != decides(after) || before.order != after.order
}

/// Revises a plan. The same input gives the same plan.
///
/// # Errors
/// `window-too-small` when a chunk fits no segment.
pub fn revise(it: Revise<'_>) -> Result<Revision<'_>> {
    let Revise { policy, repack, tree, old, mut stands, freed, last_read } = it;
    let limits = Cost { shown: text_budget(policy).0, listed: policy.fixed_prompt.0 };
    let taken = takers(tree, &stands, freed);
    move_in(tree, old, freed, &taken, limits, &mut stands);
    let mut shelf = Shelf::new(tree, limits, old, &stands);
    let left = match repack {
        true => shelf.empty(),
        false => {
            shelf.trim();
            shelf.top_up()
        }
    };
    let fresh = pack(tree, policy, &left, last_read + 1)?;
    Ok(Revision {
        tree,
        policy,
        old,
        kept: shelf.lists,
        fresh,
        first: last_read + 1,
        stands,
        taken,
    })
}

/// Gives the chunks that take over a read its place too, where there is room: a reader may have an
/// active segment open, and it must not outgrow the window.
fn move_in(
    tree: &Tree,
    old: &[Old],
    freed: &[Freed],
    taken: &[Taken],
    limits: Cost,
    stands: &mut [Stand],
) {
    let mut active = Active::of(old, stands);
    for taken in taken {
        let stand = &mut stands[taken.to as usize];
        stand.complete = true;
        let stays = stand.segment.is_some_and(|at| !old[at as usize].is_open());
        let Some(segment) = freed[taken.from].segment.filter(|_| !stays) else { continue };
        if active.has_room(tree, segment, taken.to, limits) {
            stand.segment = Some(segment);
        }
    }
}

/// The chunks of the active segments.
struct Active(BTreeMap<u32, Vec<u32>>);

impl Active {
    fn of(old: &[Old], stands: &[Stand]) -> Self {
        let active = |at: &u32| old[*at as usize].status == SegmentStatus::Active;
        let all = (0u32..).take(old.len()).filter(active);
        let mut lists: BTreeMap<u32, Vec<u32>> = all.map(|at| (at, Vec::new())).collect();
        for (at, stand) in (0u32..).zip(stands) {
            if let Some(list) = stand.segment.and_then(|segment| lists.get_mut(&segment)) {
                list.push(at);
            }
        }
        Active(lists)
    }

    /// Whether a segment may have one more; an active one has it then.
    fn has_room(&mut self, tree: &Tree, segment: u32, more: u32, limits: Cost) -> bool {
        let Some(list) = self.0.get_mut(&segment) else { return true };
        let wider = with(list, &[more]);
        let fits = tree.cost(&wider).within(limits);
        if fits {
            *list = wider;
        }
        fits
    }
}

/// The segments while chunks are put into them.
struct Shelf<'a> {
    tree: &'a Tree,
    limits: Cost,
    /// The pending ones.
    open: Vec<usize>,
    /// The chunks of all, in reading order; none of one that is dropped.
    lists: Vec<Option<Vec<u32>>>,
    /// The chunks that no segment has, in reading order.
    pool: Vec<u32>,
}

impl<'a> Shelf<'a> {
    fn new(tree: &'a Tree, limits: Cost, old: &[Old], stands: &[Stand]) -> Self {
        let mut lists: Vec<Vec<u32>> = vec![Vec::new(); old.len()];
        let mut pool = Vec::new();
        for (at, stand) in (0u32..).zip(stands) {
            match stand.segment {
                Some(segment) => lists[segment as usize].push(at),
                None => pool.push(at),
            }
        }
        let open = (0..old.len()).filter(|at| old[*at].is_open()).collect();
        Shelf { tree, limits, open, lists: lists.into_iter().map(Some).collect(), pool }
    }

    /// Takes everything out of the pending segments, which are dropped.
    fn empty(&mut self) -> Vec<u32> {
        let mut left = std::mem::take(&mut self.pool);
        for at in &self.open {
            left.extend(self.lists[*at].take().unwrap_or_default());
        }
        left.sort_unstable();
        left
    }

    /// Takes out of the pending segments what has outgrown them, and drops those with nothing left.
    fn trim(&mut self) {
        for at in &self.open {
            let Some(list) = &mut self.lists[*at] else { continue };
            let fit = self.tree.fitting(list, self.limits);
            self.pool.extend(list.drain(fit..));
            if list.is_empty() {
                self.lists[*at] = None;
            }
        }
        self.pool.sort_unstable();
        let lists = &self.lists;
        self.open.retain(|at| lists[*at].is_some());
    }

    /// Puts chunks into pending segments: beside others of their file first, then what is left of a
    /// file together. Returns what has found no room.
    fn top_up(&mut self) -> Vec<u32> {
        let (homes, mut sums) = (self.homes(), HashMap::new());
        let mut left = Vec::new();
        for chunk in std::mem::take(&mut self.pool) {
            let homes = homes.get(&self.tree.file(chunk)).map(Vec::as_slice).unwrap_or_default();
            if !homes.iter().any(|at| self.add_one(*at, chunk, &mut sums)) {
                left.push(chunk);
            }
        }
        let mut costs: Vec<(usize, Cost)> =
            self.open.iter().map(|at| (*at, self.tree.cost(self.list(*at)))).collect();
        let tree = self.tree;
        let files = left.chunk_by(|a, b| tree.file(*a) == tree.file(*b));
        files.filter(|file| !self.add_all(file, &mut costs)).flatten().copied().collect()
    }

    /// The pending segments that hold something of a file.
    fn homes(&self) -> HashMap<u32, Vec<usize>> {
        let mut homes: HashMap<u32, Vec<usize>> = HashMap::new();
        for at in &self.open {
            for chunk in self.list(*at) {
                let homes = homes.entry(self.tree.file(*chunk)).or_default();
                if homes.last() != Some(at) {
                    homes.push(*at);
                }
            }
        }
        homes
    }

    fn list(&self, at: usize) -> &[u32] {
        self.lists[at].as_deref().unwrap_or_default()
    }

    /// Puts a chunk into a segment that holds something of its file. `sums` is what segments cost: a
    /// file may have a thousand of them, and be new by the half, so one that is full is passed by at
    /// a glance.
    fn add_one(&mut self, at: usize, chunk: u32, sums: &mut HashMap<usize, Cost>) -> bool {
        let sum = *sums.entry(at).or_insert_with(|| self.tree.cost(self.list(at)));
        if !self.tree.may_join(sum, chunk, self.limits) {
            return false;
        }
        let wider = with(self.list(at), &[chunk]);
        let cost = self.tree.cost(&wider);
        let fits = cost.within(self.limits);
        if fits {
            self.lists[at] = Some(wider);
            sums.insert(at, cost);
        }
        fits
    }

    /// Puts chunks of one file into the first segment with room for them all.
    fn add_all(&mut self, file: &[u32], costs: &mut [(usize, Cost)]) -> bool {
        let more = self.tree.block(file);
        let limits = self.limits;
        let room = costs.iter_mut().find(|(_, cost)| cost.plus(more).within(limits));
        let Some((at, cost)) = room else { return false };
        let wider = with(self.list(*at), file);
        *cost = self.tree.cost(&wider);
        self.lists[*at] = Some(wider);
        true
    }
}

/// A list with more in it, in reading order.
fn with(list: &[u32], more: &[u32]) -> Vec<u32> {
    let mut wider = [list, more].concat();
    wider.sort_unstable();
    wider
}

/// Packs what is left into new segments.
fn pack(tree: &Tree, policy: &Policy, left: &[u32], first: u64) -> Result<Vec<Vec<u32>>> {
    let mut packer = Packer::new(policy, first);
    let (mut fresh, mut rest) = (Vec::new(), left.iter().copied());
    let mut keep = |segment: Segment| {
        fresh.push(rest.by_ref().take(segment.chunks.len()).collect());
        Ok(())
    };
    for at in left {
        let (file, part) = tree.part(*at);
        packer.push(file, part.clone(), &mut keep)?;
    }
    packer.finish(&mut keep)?;
    Ok(fresh)
}

/// The segments of a revised plan in their order: the old ones, the new ones, the synthesis. Each is
/// made once, and summed up on its way.
pub struct Summed<'a> {
    revision: Revision<'a>,
    places: std::vec::IntoIter<Place>,
    sum: Sum,
}

impl Iterator for Summed<'_> {
    type Item = Revised;

    fn next(&mut self) -> Option<Revised> {
        let revised = self.revision.segment(self.places.next()?);
        self.sum.add(&revised.segment);
        Some(revised)
    }
}

impl Summed<'_> {
    /// The sum of all, over repositories that count their chunks themselves.
    pub fn plan(mut self, repos: Vec<PlanRepo>) -> Plan {
        self.by_ref().for_each(drop);
        self.sum.plan(repos)
    }
}

impl<'a> Revision<'a> {
    /// Its segments.
    ///
    /// # Errors
    /// None that a policy can cause.
    pub fn summed(self) -> Result<Summed<'a>> {
        let sum = Sum::new(self.policy)?;
        Ok(Summed { places: self.places().into_iter(), sum, revision: self })
    }

    fn places(&self) -> Vec<Place> {
        let kept = (0..self.old.len()).filter(|at| self.kept[*at].is_some());
        let (read, other): (Vec<_>, Vec<_>) =
            kept.partition(|at| self.old[*at].kind == SegmentKind::Read);
        let fresh = (0..self.fresh.len()).map(Place::Fresh);
        let old = |places: Vec<usize>| places.into_iter().map(Place::Old);
        old(read).chain(fresh).chain(old(other)).collect()
    }

    /// The number of the last read segment that there ever was.
    pub fn last_read(&self) -> u64 {
        self.first - 1 + self.fresh.len() as u64
    }

    /// How many chunks came in that nobody has read.
    pub fn unread_new(&self) -> u64 {
        let new = |stand: &&Stand| stand.added == Stand::NEW.added && !stand.complete;
        self.stands.iter().filter(new).count() as u64
    }

    fn segment(&self, place: Place) -> Revised {
        let (old, id, kind, list) = match place {
            Place::Old(at) => {
                let Old { id, kind, .. } = &self.old[at];
                (Some(at), id.clone(), *kind, self.kept[at].as_deref().unwrap_or_default())
            }
            Place::Fresh(at) => {
                let id = SegmentId(format!("read-{}", self.first + at as u64));
                (None, id, SegmentKind::Read, self.fresh[at].as_slice())
            }
        };
        let segment = match (kind, list) {
            // It has no text, so no last line of one.
            (SegmentKind::Synthesis, []) => Segment { id, ..super::planner::synthesis() },
            _ => Segment { kind, ..self.tree.open(list).into_segment(id) },
        };
        let read = || list.iter().filter(|at| self.stands[**at as usize].complete);
        let tokens = read().map(|at| Tokens(self.tree.leaf_at(*at).tokens())).sum();
        Revised { old, segment, complete: read().count() as u64, complete_tokens: tokens }
    }
}
