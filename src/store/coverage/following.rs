#![cfg(test)]
//! Any series of steps and replans leaves tables that say what the reviser said, and frees the reads
//! of what has gone: no others, and none twice.

#![allow(clippy::unwrap_used)]

use std::collections::BTreeSet;

use proptest::prelude::*;

use super::testing::{ask, now, policy};
use super::*;
use crate::record::*;

const AT: &str = "1970-01-01T00:00:00Z";
const REPOS: [&str; 2] = ["a", "b"];

/// A chunk: its repository and its id. What it says is the id's last digit.
type Key = (usize, u64);

fn body(key: Key) -> [u8; 32] {
    [u8::try_from(key.1 % 10).unwrap(); 32]
}

fn hex(hash: [u8; 32]) -> Option<String> {
    Some(blake3::Hash::from_bytes(hash).to_hex().to_string())
}

fn qualified(key: Key) -> QualifiedId {
    QualifiedId { repo: REPOS[key.0].into(), id: ChunkId(key.1) }
}

fn read(key: Key) -> Read {
    let (path, body) = (Some("f".to_string()), hex(body(key)));
    Read { path, body: body.clone(), file: body, ..Read::of(REPOS[key.0], ChunkId(key.1)) }
}

fn segment(id: &str, chunks: &[Key]) -> Segment {
    let file = |repo: &usize| SegmentFile {
        repo: REPOS[*repo].into(),
        path: "f".into(),
        path_b64: None,
        lines: LineRange { first: 1, last: 9 },
        chunks: chunks.iter().filter(|key| key.0 == *repo).count() as u64,
    };
    Segment {
        id: SegmentId(id.into()),
        kind: if id.starts_with("read") { SegmentKind::Read } else { SegmentKind::Synthesis },
        status: SegmentStatus::Pending,
        tokens: Tokens(chunks.len() as u64 * 10),
        chunks: chunks.iter().map(|key| qualified(*key)).collect(),
        chunk_tokens: vec![Tokens(10); chunks.len()],
        files: [0, 1].iter().map(file).filter(|file| file.chunks > 0).collect(),
        reader: None,
        brief: None,
        outdated: None,
    }
}

fn sum(segments: u64, chunks: u64) -> Plan {
    let id = format!("plan of {segments} and {chunks}");
    Plan { id, segments, chunks, tokens: Tokens(chunks * 10), ..Plan::default() }
}

/// What the ledger should say.
#[derive(Default)]
struct Desk {
    tree: BTreeSet<Key>,
    repack: bool,
    /// The segments in order, each with its chunks in order.
    segments: Vec<(String, SegmentStatus, Vec<Key>)>,
    complete: BTreeSet<Key>,
    /// Reads whose chunk has gone, and that nobody has taken.
    freed: BTreeSet<Key>,
}

impl Desk {
    fn planned(&self) -> BTreeSet<Key> {
        self.segments.iter().flat_map(|(.., chunks)| chunks.iter().copied()).collect()
    }

    fn mark(&mut self, key: Key) {
        if self.planned().contains(&key) && self.complete.insert(key) {
            self.freed.remove(&key);
        }
    }
}

impl Reviser for Desk {
    fn vanished(&mut self, before: &Before) -> Result<Vec<usize>> {
        let key = |chunk: &OldChunk| (self.repo(before, chunk.repo), chunk.id.0);
        let seen: BTreeSet<Key> = before.chunks.iter().map(key).collect();
        assert_eq!(seen, self.planned());
        let all = before.chunks.iter().enumerate();
        let read = all.clone().filter(|(_, chunk)| chunk.complete).map(|(_, chunk)| key(chunk));
        assert_eq!(read.collect::<BTreeSet<_>>(), self.complete);
        let gone: Vec<_> =
            all.filter(|(_, c)| !self.tree.contains(&key(c))).map(|(at, _)| at).collect();
        let tree = &self.tree;
        self.freed.extend(self.complete.iter().filter(|key| !tree.contains(key)));
        self.complete.retain(|key| tree.contains(key));
        Ok(gone)
    }

    fn revise<'a>(&'a mut self, before: &'a Before, freed: &'a [FreedRead]) -> Result<After<'a>> {
        let key = |read: &FreedRead| (self.repo(before, read.repo), read.id.0);
        assert_eq!(freed.iter().map(key).collect::<BTreeSet<_>>(), self.freed);
        assert_eq!(freed.len(), self.freed.len());
        assert!(freed.iter().all(|read| read.body == body(key(read))));
        let planned = self.planned();
        let mut new: Vec<Key> = self.tree.difference(&planned).copied().collect();
        let any_gone = planned.iter().any(|key| !self.tree.contains(key));
        let keys: Vec<Key> = freed.iter().map(key).collect();
        let mut taken = Vec::new();
        let mut moved = Vec::new();
        for own in [true, false] {
            for (from, key) in keys.iter().enumerate() {
                let fit = |to: &Key| to == key || !own && to.0 == key.0 && to.1 % 10 == key.1 % 10;
                let Some(at) = new.iter().position(fit).filter(|_| self.freed.contains(key)) else {
                    continue;
                };
                let to = new.remove(at);
                self.freed.remove(key);
                self.complete.insert(to);
                taken.push(TakenRead { from, to: read(to) });
                moved.push((to, freed[from].segment));
            }
        }
        Ok(self.after(before, new, moved, taken, any_gone))
    }
}

impl Desk {
    fn repo(&self, before: &Before, repo: u32) -> usize {
        let name = &before.repos[repo as usize];
        REPOS.iter().position(|known| known == name).unwrap()
    }

    fn after<'a>(
        &mut self,
        before: &'a Before,
        mut new: Vec<Key>,
        moved: Vec<(Key, Option<u32>)>,
        taken: Vec<TakenRead>,
        any_gone: bool,
    ) -> After<'a> {
        let reopens = any_gone || !new.is_empty();
        let old: Vec<_> = std::mem::take(&mut self.segments).into_iter().enumerate().collect();
        let mut lists: Vec<Vec<Key>> = old.iter().map(|(_, (.., chunks))| chunks.clone()).collect();
        lists.iter_mut().for_each(|list| list.retain(|key| self.tree.contains(key)));
        for (key, place) in moved {
            match place {
                Some(at) => lists[at as usize].push(key),
                None => new.push(key),
            }
        }
        let mut all = Vec::new();
        let mut last = None;
        for ((at, (id, status, _)), mut list) in old.into_iter().zip(lists) {
            let open = status == SegmentStatus::Pending && id.starts_with("read");
            if open && self.repack {
                new.append(&mut list);
            }
            list.sort_unstable();
            match id.starts_with("read") {
                true if open && list.is_empty() => {}
                true => all.push((Some(at), id, status, list)),
                false => last = Some((Some(at), id, status, list)),
            }
        }
        new.sort_unstable();
        let fresh: Vec<Vec<Key>> = new.chunks(3).map(<[Key]>::to_vec).collect();
        let last_read = before.last_read + fresh.len() as u64;
        for (n, list) in (before.last_read + 1..).zip(fresh) {
            all.push((None, format!("read-{n}"), SegmentStatus::Pending, list));
        }
        all.extend(last.map(|(at, id, status, list)| {
            (at, id, if reopens { SegmentStatus::Pending } else { status }, list)
        }));
        let is_read = |key: &&Key| self.complete.contains(key);
        let segments: Vec<NewSegment> = all
            .iter()
            .map(|(old, id, _, list)| {
                let complete = list.iter().filter(is_read).count() as u64;
                let complete_tokens = Tokens(complete * 10);
                NewSegment { old: *old, segment: segment(id, list), complete, complete_tokens }
            })
            .collect();
        self.segments = all.into_iter().map(|(_, id, status, list)| (id, status, list)).collect();
        After {
            policy: policy(65_536),
            segments: Box::new(Summed {
                plan: sum(segments.len() as u64, self.planned().len() as u64),
                segments: segments.into_iter(),
            }),
            last_read,
            taken,
            reopens,
        }
    }
}

struct Summed {
    segments: std::vec::IntoIter<NewSegment>,
    plan: Plan,
}

impl Iterator for Summed {
    type Item = NewSegment;

    fn next(&mut self) -> Option<NewSegment> {
        self.segments.next()
    }
}

impl Segments for Summed {
    fn plan(self: Box<Self>) -> Plan {
        assert_eq!(self.segments.len(), 0, "asked before all have come");
        self.plan
    }
}

#[derive(Debug, Clone)]
enum Step {
    Change(Vec<Key>),
    Replan(bool),
    Claim(u8),
    Mark(usize, usize),
    Close(usize),
    Release(usize),
}

fn step() -> impl Strategy<Value = Step> {
    let key = (0..2usize, 1..40u64);
    prop_oneof![
        4 => prop::collection::vec(key, 1..12).prop_map(Step::Change),
        4 => any::<bool>().prop_map(Step::Replan),
        3 => (0..2u8).prop_map(Step::Claim),
        6 => (0..8usize, 1..4usize).prop_map(|(at, count)| Step::Mark(at, count)),
        4 => (0..8usize).prop_map(Step::Close),
        1 => (0..8usize).prop_map(Step::Release),
    ]
}

fn begin(dir: &Path) -> (Coverage, Desk) {
    let first: Vec<Key> = (1..=6).map(|n| ((n % 2) as usize, n * 5)).collect();
    let mut stream = Vec::new();
    write(&mut stream, &policy(65_536)).unwrap();
    let mut sorted = first.clone();
    sorted.sort_unstable();
    let segments = [("read-1", sorted.clone()), ("synthesis-1", vec![])];
    segments.iter().for_each(|(id, list)| write(&mut stream, &segment(id, list)).unwrap());
    write(&mut stream, &sum(2, 6)).unwrap();
    write(&mut stream, &End { of: "segment".into(), count: 2 }).unwrap();
    let coverage = Coverage::adopt(dir, &mut &stream[..], true, AT).unwrap().0;
    let pending = |(id, list): (&str, Vec<Key>)| (id.to_string(), SegmentStatus::Pending, list);
    let segments = segments.map(pending).into();
    (coverage, Desk { tree: sorted.into_iter().collect(), segments, ..Desk::default() })
}

fn take(coverage: &mut Coverage, desk: &mut Desk, step: &Step) {
    let (reader, count) = ("x".to_string(), desk.segments.len());
    match step {
        // What is there goes, what is not comes.
        Step::Change(keys) => {
            for key in keys {
                if !desk.tree.remove(key) {
                    desk.tree.insert(*key);
                }
            }
        }
        Step::Replan(repack) => {
            desk.repack = *repack;
            let before = coverage.in_force().unwrap().plan;
            let done = coverage.replan(desk, AT).unwrap();
            assert_eq!(
                coverage.in_force().unwrap().plan,
                if done.existing { before } else { done.plan }
            );
        }
        Step::Claim(who) => {
            if let Handed::Segment(placed) =
                coverage.claim(ask(&format!("r{who}")), &now(0)).unwrap()
            {
                let id = placed.segment.id.0;
                desk.segments.iter_mut().find(|it| it.0 == id).unwrap().1 = SegmentStatus::Active;
            }
        }
        Step::Mark(at, count) => {
            let list = desk.segments[at % desk.segments.len()].2.clone();
            let marking = Marking { reader, how: How::Shown };
            let reads: Vec<Read> = list.iter().take(*count).map(|key| read(*key)).collect();
            coverage.mark(&reads, &marking, AT).unwrap();
            list.iter().take(*count).for_each(|key| desk.mark(*key));
        }
        Step::Close(at) => {
            let (id, status, _) = &mut desk.segments[at % count];
            let id = SegmentId(id.clone());
            let closed = ["r0", "r1"].map(|who| coverage.close(&id, who, None, AT).is_ok());
            if closed.contains(&true) {
                *status = SegmentStatus::Done;
            }
        }
        Step::Release(at) => {
            let (id, status, _) = &mut desk.segments[at % count];
            if coverage.release(&SegmentId(id.clone()), None).is_ok() {
                *status = SegmentStatus::Pending;
            }
        }
    }
}

/// The ledger says what the desk says, and its sums are those of a count.
fn check(coverage: &Coverage, desk: &Desk) {
    let mut said = Vec::new();
    for progress in coverage.progress_after(0, 1000).unwrap() {
        let complete = progress.chunks().unwrap();
        let read: Vec<bool> = complete.iter().map(|chunk| chunk.complete).collect();
        let Segment { id, status, chunks, .. } = progress.placed.segment;
        said.push((id.0, status, chunks, read));
    }
    let due = desk.segments.iter().map(|(id, status, list)| {
        let chunks: Vec<_> = list.iter().map(|key| qualified(*key)).collect();
        let read: Vec<_> = list.iter().map(|key| desk.complete.contains(key)).collect();
        (id.clone(), *status, chunks, read)
    });
    assert_eq!(said, due.collect::<Vec<_>>());
    let is =
        |status: SegmentStatus| desk.segments.iter().filter(|it| it.1 == status).count() as u64;
    let totals = coverage.counters().unwrap();
    let counts = totals.segments;
    assert_eq!(
        (counts.pending, counts.active, counts.done),
        (is(SegmentStatus::Pending), is(SegmentStatus::Active), is(SegmentStatus::Done))
    );
    let left = desk.segments.iter().filter(|it| it.0.starts_with("read"));
    let left = left.filter(|it| it.1 != SegmentStatus::Done).count() as u64;
    assert_eq!(totals.read_segments_left, left);
    let chunks =
        Done { planned: desk.planned().len() as u64, complete: desk.complete.len() as u64 };
    assert_eq!(totals.chunks, chunks);
    let tokens = Done { planned: chunks.planned * 10, complete: chunks.complete * 10 };
    assert_eq!(totals.tokens, tokens);
    let pending = coverage.pending(1000).unwrap();
    let due = desk.segments.iter().filter(|it| it.1 == SegmentStatus::Pending);
    assert_eq!(pending, due.map(|it| SegmentId(it.0.clone())).collect::<Vec<_>>());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn the_plan_follows_whatever_else_is_done(steps in prop::collection::vec(step(), 1..40)) {
        let dir = tempfile::tempdir().unwrap();
        let (mut coverage, mut desk) = begin(dir.path());
        for step in &steps {
            take(&mut coverage, &mut desk, step);
            check(&coverage, &desk);
        }
    }
}
