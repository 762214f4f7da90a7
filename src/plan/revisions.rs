#![cfg(test)]
//! Properties of plans that are revised again and again, under random edits, moves and reads. The
//! tree here is a list of contents; who has read what is kept beside the plan, and what a segment
//! costs is asked of a fresh packer.

use std::collections::{BTreeMap, HashMap, HashSet};

use proptest::prelude::*;

use super::tests::pack;
use super::*;
use crate::record::{
    ByteRange, Chunk, ChunkId, LineRange, Policy, QualifiedId, RepoPath, SegmentId, SegmentKind,
    SegmentStatus, Tokens,
};

fn sha(text: &str) -> blake3::Hash {
    blake3::hash(text.as_bytes())
}

fn policy(room: u64) -> Policy {
    let options =
        PolicyOptions { fixed_prompt: 2_000, reserve: 0, safety_ppm: 0, ..Default::default() };
    PolicyOptions { context_window: room + 2_000, ..options }.resolve()
}

/// A file: its chunks' contents, and by how much their line numbers cost more than at first.
#[derive(Debug, Clone, Default, PartialEq)]
struct Text {
    contents: Vec<u64>,
    grown: u64,
}

/// Files by repository and path.
type Files = BTreeMap<(String, String), Text>;

fn chunks(files: &Files) -> Vec<Chunk> {
    files.iter().flat_map(|((repo, path), text)| file_chunks(repo, path, text)).collect()
}

fn file_chunks(repo: &str, path: &str, text: &Text) -> Vec<Chunk> {
    let file_hash = Some(sha(&format!("{:?}", text.contents)).to_hex().to_string());
    let mut seen: HashMap<u64, u64> = HashMap::new();
    let mut one = |(ord, content): (u64, &u64)| {
        let occurrence = seen.entry(*content).or_default();
        *occurrence += 1;
        let id = sha(&format!("{path} {content} {occurrence}"));
        Chunk {
            repo: repo.to_string(),
            id: ChunkId(u64::from_le_bytes(id.as_bytes()[..8].try_into().unwrap())),
            path: path.to_string(),
            path_b64: None,
            ord,
            bytes: ByteRange { from: ord * 1000, to: ord * 1000 + 1000 },
            lines: LineRange { first: ord * 10 + 1, last: ord * 10 + 10 },
            tokens: Tokens(1 + content * 7_919 % 900 + text.grown),
            frame_tokens: Tokens(20),
            piece: content % 17 == 0,
            complete: false,
            body_hash: Some(sha(&content.to_string()).to_hex().to_string()),
            file_hash: file_hash.clone(),
        }
    };
    (0u64..).zip(&text.contents).map(&mut one).collect()
}

/// A read, as the store keeps it.
#[derive(Debug, Clone)]
struct Mark {
    body: String,
    file: String,
    path: String,
    since: u64,
    segment: SegmentId,
    given: bool,
}

/// A full read, kept as simply as can be.
#[derive(Debug, Clone)]
struct Desk {
    policy: Policy,
    segments: Vec<(Old, Vec<QualifiedId>)>,
    chunks: Vec<Chunk>,
    added: HashMap<QualifiedId, u64>,
    complete: HashSet<QualifiedId>,
    marks: HashMap<QualifiedId, Mark>,
    revision: u64,
    last_read: u64,
    ever: HashSet<SegmentId>,
    /// How many times each content was really read, by repository.
    really: HashMap<(String, String), u64>,
}

fn qualified(chunk: &Chunk) -> QualifiedId {
    QualifiedId { repo: chunk.repo.clone(), id: chunk.id }
}

impl Desk {
    fn new(files: &Files, policy: Policy) -> Desk {
        let chunks = chunks(files);
        let (segments, _) = super::tests::plan(&policy, &chunks).unwrap();
        let old =
            |s: &crate::record::Segment| Old { id: s.id.clone(), kind: s.kind, status: s.status };
        Desk {
            policy,
            added: chunks.iter().map(|c| (qualified(c), 1)).collect(),
            complete: HashSet::new(),
            marks: HashMap::new(),
            revision: 1,
            last_read: segments.len() as u64 - 1,
            ever: segments.iter().map(|s| s.id.clone()).collect(),
            segments: segments.iter().map(|s| (old(s), s.chunks.clone())).collect(),
            chunks,
            really: HashMap::new(),
        }
    }

    fn read(&mut self, at: usize, how_many: usize) {
        let (old, list) = self.segments[at].clone();
        for id in list.into_iter().take(how_many) {
            if !self.complete.insert(id.clone()) {
                continue;
            }
            let chunk = self.chunks.iter().find(|c| qualified(c) == id).unwrap();
            let body = chunk.body_hash.clone().unwrap();
            *self.really.entry((chunk.repo.clone(), body.clone())).or_default() += 1;
            let (file, path) = (chunk.file_hash.clone().unwrap(), chunk.path.clone());
            let (since, segment) = (self.revision, old.id.clone());
            self.marks.insert(id, Mark { body, file, path, since, segment, given: false });
        }
    }

    fn close(&mut self, at: usize) {
        self.read(at, usize::MAX);
        self.segments[at].0.status = SegmentStatus::Done;
    }

    /// Revises the plan; whether anything changed.
    fn replan(
        &mut self,
        files: &Files,
        policy: Policy,
    ) -> std::result::Result<bool, TestCaseError> {
        let before = self.clone();
        self.chunks = chunks(files);
        let mut tree = Tree::default();
        self.chunks.iter().for_each(|chunk| tree.push(chunk).unwrap());
        tree.settle(&policy).unwrap();
        let old: Vec<Old> = self.segments.iter().map(|(old, _)| old.clone()).collect();
        let place: HashMap<&SegmentId, u32> = old.iter().map(|old| &old.id).zip(0..).collect();
        let mut held: HashMap<&QualifiedId, u32> = HashMap::new();
        for (old, list) in &self.segments {
            held.extend(list.iter().map(|id| (id, place[&old.id])));
        }
        let mut stands = vec![Stand::NEW; tree.len()];
        for chunk in &self.chunks {
            let id = qualified(chunk);
            let at = tree.find(tree.repo(&id.repo).unwrap(), id.id).unwrap();
            if let Some(segment) = held.get(&id) {
                let (complete, added) = (self.complete.contains(&id), self.added[&id]);
                stands[at as usize] = Stand { segment: Some(*segment), complete, added };
            }
        }
        let here: HashSet<QualifiedId> = self.chunks.iter().map(qualified).collect();
        let free = |(id, mark): &(&QualifiedId, &Mark)| {
            let stands = here.contains(id) && held.contains_key(id);
            !(mark.given || stands) && tree.repo(&id.repo).is_some()
        };
        let mut reads: Vec<(&QualifiedId, &Mark)> = self.marks.iter().filter(free).collect();
        reads.sort_by(|a, b| a.0.cmp(b.0));
        let freed: Vec<Freed> = reads
            .iter()
            .map(|(id, mark)| Freed {
                repo: tree.repo(&id.repo).unwrap(),
                id: id.id,
                body: *blake3::Hash::from_hex(&mark.body).unwrap().as_bytes(),
                file: Some(*blake3::Hash::from_hex(&mark.file).unwrap().as_bytes()),
                since: mark.since,
                path: RepoPath::new(mark.path.as_bytes()).unwrap(),
                segment: place.get(&mark.segment).copied(),
            })
            .collect();
        let repack = repacks(&self.policy, &policy);
        let last_read = self.last_read;
        let it = Revise {
            policy: &policy,
            repack,
            tree: &tree,
            old: &old,
            stands,
            freed: &freed,
            last_read,
        };
        let revision = revise(it).unwrap();
        let moves: Vec<(QualifiedId, QualifiedId)> = revision
            .taken
            .iter()
            .map(|taken| {
                let to = tree.leaf_at(taken.to);
                (
                    reads[taken.from].0.clone(),
                    QualifiedId { repo: to.name.to_string(), id: to.id() },
                )
            })
            .collect();
        let last_read = revision.last_read();
        let mut summed = revision.summed().unwrap();
        let revised: Vec<Revised> = summed.by_ref().collect();
        let sum = summed.plan(Vec::new());
        let chunks: usize = revised.iter().map(|it| it.segment.chunks.len()).sum();
        prop_assert_eq!((sum.segments, sum.chunks), (revised.len() as u64, chunks as u64));
        drop(reads);
        self.keep(&revised, &moves, &here, policy, last_read);
        self.check(&before, &revised)?;
        let same = self.segments == before.segments && self.complete == before.complete;
        Ok(!same)
    }

    /// Makes the revised plan the plan.
    fn keep(
        &mut self,
        revised: &[Revised],
        moves: &[(QualifiedId, QualifiedId)],
        here: &HashSet<QualifiedId>,
        policy: Policy,
        last_read: u64,
    ) {
        let held: HashMap<QualifiedId, SegmentId> = self
            .segments
            .iter()
            .flat_map(|(old, list)| list.iter().map(|id| (id.clone(), old.id.clone())))
            .collect();
        for (id, mark) in &mut self.marks {
            if let Some(segment) = held.get(id) {
                mark.segment = segment.clone();
            }
        }
        let status = |at: Option<usize>| at.map(|at| self.segments[at].0.status);
        let segments = revised
            .iter()
            .map(|it| {
                let segment = &it.segment;
                let status = status(it.old).unwrap_or(SegmentStatus::Pending);
                (Old { id: segment.id.clone(), kind: segment.kind, status }, segment.chunks.clone())
            })
            .collect();
        self.segments = segments;
        (self.policy, self.last_read, self.revision) = (policy, last_read, self.revision + 1);
        self.complete.retain(|id| here.contains(id));
        self.added.retain(|id, _| here.contains(id));
        for id in here {
            self.added.entry(id.clone()).or_insert(self.revision);
        }
        for (from, to) in moves {
            self.complete.insert(to.clone());
            if from != to {
                let chunk = self.chunks.iter().find(|c| qualified(c) == *to).unwrap();
                let (file, path) = (chunk.file_hash.clone().unwrap(), chunk.path.clone());
                let mark = Mark { file, path, ..self.marks[from].clone() };
                self.marks.get_mut(from).unwrap().given = true;
                self.marks.insert(to.clone(), mark);
            }
        }
    }

    /// What must hold after each revision, whatever came before.
    fn check(
        &mut self,
        before: &Desk,
        revised: &[Revised],
    ) -> std::result::Result<(), TestCaseError> {
        let by_id: HashMap<QualifiedId, &Chunk> =
            self.chunks.iter().map(|c| (qualified(c), c)).collect();
        let mut all: Vec<&QualifiedId> = self.segments.iter().flat_map(|(_, list)| list).collect();
        prop_assert_eq!(all.len(), by_id.len(), "each chunk once");
        all.sort();
        all.dedup();
        prop_assert_eq!(all.len(), by_id.len());
        let order: HashMap<QualifiedId, usize> =
            self.chunks.iter().map(qualified).zip(0..).collect();
        for it in revised {
            prop_assert!(it.segment.chunks.is_sorted_by_key(|id| order[id]), "in reading order");
            let list: Vec<Chunk> = it.segment.chunks.iter().map(|id| by_id[id].clone()).collect();
            let complete = it.segment.chunks.iter().filter(|id| self.complete.contains(id));
            prop_assert_eq!(it.complete, complete.count() as u64);
            let status =
                self.segments.iter().find(|(old, _)| old.id == it.segment.id).unwrap().0.status;
            if it.segment.kind == SegmentKind::Read && status == SegmentStatus::Pending {
                let packed = pack(&self.policy, &list, 1).unwrap();
                prop_assert_eq!(packed.len(), 1, "{} fits", it.segment.id);
                prop_assert_eq!(packed[0].tokens, it.segment.tokens);
                prop_assert_eq!(&packed[0].files, &it.segment.files);
            }
            if status == SegmentStatus::Done {
                prop_assert_eq!(it.complete as usize, it.segment.chunks.len());
            }
        }
        self.check_kept(before)?;
        self.check_ids(before)?;
        self.check_reads()
    }

    /// Segments that are done or active are there, with all of theirs that is.
    fn check_kept(&self, before: &Desk) -> std::result::Result<(), TestCaseError> {
        for (old, list) in
            before.segments.iter().filter(|(old, _)| old.status != SegmentStatus::Pending)
        {
            let now = &self.segments.iter().find(|(now, _)| now == old).unwrap().1;
            let still: HashSet<_> = list.iter().filter(|id| self.added.contains_key(id)).collect();
            let kept: HashSet<_> = now.iter().filter(|id| list.contains(id)).collect();
            prop_assert_eq!(still, kept, "{}", old.id);
            prop_assert!(now.iter().all(|id| list.contains(id) || self.complete.contains(id)));
        }
        Ok(())
    }

    fn check_ids(&mut self, before: &Desk) -> std::result::Result<(), TestCaseError> {
        for (now, _) in &self.segments {
            let stood = before.segments.iter().any(|(old, _)| old.id == now.id);
            prop_assert!(stood || self.ever.insert(now.id.clone()), "{} comes again", now.id);
        }
        prop_assert_eq!(self.segments.last().unwrap().0.kind, SegmentKind::Synthesis);
        Ok(())
    }

    /// Nothing counts as read that was not, and one read counts once.
    fn check_reads(&self) -> std::result::Result<(), TestCaseError> {
        let mut counted: HashMap<(String, String), u64> = HashMap::new();
        for chunk in self.chunks.iter().filter(|c| self.complete.contains(&qualified(c))) {
            *counted.entry((chunk.repo.clone(), chunk.body_hash.clone().unwrap())).or_default() +=
                1;
        }
        for (content, count) in counted {
            prop_assert!(count <= *self.really.get(&content).unwrap_or(&0), "{content:?}");
        }
        Ok(())
    }
}

#[derive(Debug, Clone)]
enum Step {
    Edit(usize, usize, u64),
    Insert(usize, usize, u64),
    Cut(usize, usize),
    Delete(usize),
    Rename(usize, u64),
    Copy(usize, u64),
    New(u64, Vec<u64>),
    Grow(usize, u64),
    Undo,
    Read(usize, usize),
    Claim(usize),
    Close(usize),
    Replan,
    Window(u64),
}

fn step() -> impl Strategy<Value = Step> {
    let (at, content) = (any::<usize>(), 0u64..400);
    prop_oneof![
        4 => (at, at, content.clone()).prop_map(|(file, at, content)| Step::Edit(file, at, content)),
        2 => (at, at, content.clone()).prop_map(|(file, at, content)| Step::Insert(file, at, content)),
        2 => (at, at).prop_map(|(file, at)| Step::Cut(file, at)),
        1 => at.prop_map(Step::Delete),
        3 => (at, 0u64..40).prop_map(|(file, to)| Step::Rename(file, to)),
        1 => (at, 0u64..40).prop_map(|(file, to)| Step::Copy(file, to)),
        1 => (0u64..40, prop::collection::vec(content, 0..12)).prop_map(|(to, all)| Step::New(to, all)),
        1 => (at, 1u64..200).prop_map(|(file, by)| Step::Grow(file, by)),
        2 => Just(Step::Undo),
        3 => (at, 0usize..20).prop_map(|(segment, chunks)| Step::Read(segment, chunks)),
        2 => at.prop_map(Step::Claim),
        4 => at.prop_map(Step::Close),
        6 => Just(Step::Replan),
        1 => (4_000u64..9_000).prop_map(Step::Window),
    ]
}

fn name(to: u64) -> (String, String) {
    (format!("r{}", to % 2), format!("d/f{to:02}.c"))
}

fn change(files: &mut Files, step: &Step) {
    let nth = |files: &Files, at: usize| files.keys().nth(at % files.len().max(1)).cloned();
    let file = match step {
        Step::Edit(at, ..) | Step::Insert(at, ..) | Step::Cut(at, _) | Step::Delete(at) => {
            nth(files, *at)
        }
        Step::Rename(at, _) | Step::Copy(at, _) | Step::Grow(at, _) => nth(files, *at),
        Step::New(to, all) => {
            files.insert(name(*to), Text { contents: all.clone(), grown: 0 });
            return;
        }
        _ => return,
    };
    let Some(file) = file else { return };
    let text = files.get_mut(&file).unwrap();
    let within = |at: usize| at % text.contents.len().max(1);
    match step {
        Step::Edit(_, at, content) if !text.contents.is_empty() => {
            let at = within(*at);
            text.contents[at] = *content;
        }
        Step::Insert(_, at, content) => text.contents.insert(within(*at), *content),
        Step::Cut(_, at) if !text.contents.is_empty() => {
            let at = within(*at);
            text.contents.remove(at);
        }
        Step::Delete(_) => drop(files.remove(&file)),
        Step::Grow(_, by) => text.grown = (text.grown + by).min(1_000),
        Step::Copy(_, to) => {
            let copy = text.clone();
            files.insert((file.0, name(*to).1), copy);
        }
        Step::Rename(_, to) => {
            let text = files.remove(&file).unwrap();
            files.insert((file.0, name(*to).1), text);
        }
        _ => {}
    }
}

fn trees() -> impl Strategy<Value = Files> {
    let file = prop::collection::vec(0u64..400, 0..14);
    let file = file.prop_map(|contents| Text { contents, grown: 0 });
    prop::collection::btree_map((0u64..40).prop_map(name), file, 1..14)
}

fn live(files: &Files, steps: &[Step]) -> std::result::Result<(), TestCaseError> {
    let (mut files, mut before) = (files.clone(), files.clone());
    let mut desk = Desk::new(&files, policy(6_000));
    for step in steps {
        let segments = desk.segments.len() - 1;
        match step {
            Step::Replan => {
                desk.replan(&files, desk.policy.clone())?;
            }
            Step::Window(room) => {
                desk.replan(&files, policy(*room))?;
            }
            Step::Undo => std::mem::swap(&mut files, &mut before),
            Step::Read(at, chunks) if segments > 0 => desk.read(at % segments, *chunks),
            Step::Claim(at) if segments > 0 => {
                let old = &mut desk.segments[at % segments].0;
                if old.status == SegmentStatus::Pending {
                    old.status = SegmentStatus::Active;
                }
            }
            Step::Close(at) if segments > 0 => desk.close(at % segments),
            Step::Read(..) | Step::Claim(_) | Step::Close(_) => {}
            edit => {
                before = files.clone();
                change(&mut files, edit);
            }
        }
    }
    desk.replan(&files, desk.policy.clone())?;
    let again = desk.replan(&files, desk.policy.clone())?;
    prop_assert!(!again, "a plan of the tree as it is stays as it is");
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 192, ..ProptestConfig::default() })]

    /// Whatever is edited, moved, read and closed between: each chunk in exactly one segment, limits
    /// held, what is done or active kept, no id twice, and no read that nobody made.
    #[test]
    fn plans_that_are_revised_keep_their_promises(
        files in trees(), steps in prop::collection::vec(step(), 1..40),
    ) {
        live(&files, &steps)?;
    }
}

fn files(of: &[(&str, &[u64])]) -> Files {
    let file = |(path, contents): &(&str, &[u64])| {
        (("r0".to_string(), path.to_string()), Text { contents: contents.to_vec(), grown: 0 })
    };
    of.iter().map(file).collect()
}

/// A plan of these files, all of it read and closed.
fn read_all(files: &Files) -> Desk {
    let mut desk = Desk::new(files, policy(6_000));
    (0..desk.segments.len() - 1).for_each(|at| desk.close(at));
    desk
}

fn unread(desk: &Desk) -> Vec<(String, u64)> {
    let left = desk.chunks.iter().filter(|chunk| !desk.complete.contains(&qualified(chunk)));
    left.map(|chunk| (chunk.path.clone(), chunk.ord)).collect()
}

fn replan(desk: &mut Desk, now: &[(&str, &[u64])]) -> Vec<(String, u64)> {
    desk.replan(&files(now), desk.policy.clone()).unwrap();
    unread(desk)
}

#[test]
fn a_move_takes_the_reads_and_their_place_along() {
    let mut desk = read_all(&files(&[("a", &[1, 2, 3]), ("b", &[4])]));
    let before = desk.segments.len();
    assert_eq!(replan(&mut desk, &[("b", &[4]), ("c", &[1, 2, 3])]), []);
    assert_eq!(desk.segments.len(), before, "no new segment for what is read");
    assert_eq!(desk.segments[0].1.len(), 4);
}

#[test]
fn a_move_in_two_batches_takes_the_reads_along() {
    let mut desk = read_all(&files(&[("a", &[1, 2])]));
    let both = replan(&mut desk, &[("a", &[1, 2]), ("b", &[1, 2])]);
    assert_eq!(both, [("b".to_string(), 0), ("b".to_string(), 1)]);
    assert_eq!(replan(&mut desk, &[("b", &[1, 2])]), []);
    let pending = desk.segments.iter().filter(|(old, _)| old.is_pending_read());
    assert_eq!(pending.count(), 0, "it went to where the reads were");
}

impl Old {
    fn is_pending_read(&self) -> bool {
        self.kind == SegmentKind::Read && self.status == SegmentStatus::Pending
    }
}

#[test]
fn a_copy_that_stood_beside_inherits_nothing() {
    let mut desk = Desk::new(&files(&[("a", &[1]), ("b", &[1])]), policy(6_000));
    desk.read(0, 1);
    assert_eq!(replan(&mut desk, &[("b", &[1])]), [("b".to_string(), 0)]);
}

#[test]
fn one_read_goes_to_one_chunk_that_of_the_same_file_first() {
    let mut desk = read_all(&files(&[("m", &[1, 2])]));
    let left = replan(&mut desk, &[("a", &[1, 3]), ("z", &[1, 2])]);
    assert_eq!(left, [("a".to_string(), 0), ("a".to_string(), 1)]);
}

#[test]
fn an_edit_that_is_undone_has_its_reads_back_unless_they_have_moved_on() {
    let mut desk = read_all(&files(&[("a", &[1, 2])]));
    assert_eq!(replan(&mut desk, &[("a", &[1, 3])]), [("a".to_string(), 1)]);
    assert_eq!(replan(&mut desk, &[("a", &[1, 2])]), []);
    assert_eq!(desk.segments.len(), 2, "back where it was");
    assert_eq!(replan(&mut desk, &[("a", &[1]), ("b", &[2])]), []);
    assert_eq!(replan(&mut desk, &[("a", &[1, 2]), ("b", &[2])]), [("a".to_string(), 1)]);
}

#[test]
fn what_is_new_tops_up_before_it_gets_segments() {
    let many: Vec<u64> = (0..30).collect();
    let mut desk = Desk::new(&files(&[("a", &many)]), policy(6_000));
    let ids: Vec<_> = desk.segments.iter().map(|(old, _)| old.id.clone()).collect();
    let mut less = many.clone();
    less.remove(4);
    less.push(400);
    replan(&mut desk, &[("a", &less)]);
    assert_eq!(desk.segments.iter().map(|(old, _)| old.id.clone()).collect::<Vec<_>>(), ids);
}

#[test]
fn a_pending_segment_that_is_empty_is_gone_with_its_id() {
    let mut desk = Desk::new(&files(&[("a", &[1])]), policy(6_000));
    replan(&mut desk, &[]);
    assert_eq!(desk.segments.len(), 1);
    replan(&mut desk, &[("a", &[1])]);
    assert_eq!(desk.segments[0].0.id.0, "read-2");
}

/// With nothing read, segments stay full enough after edits.
#[test]
fn segments_stay_full_after_edits() {
    let mut all = Files::new();
    for file in 0..400u64 {
        let contents = (0..=file % 13).map(|at| file * 31 + at).collect();
        all.insert(("r0".to_string(), format!("f{file:03}")), Text { contents, grown: 0 });
    }
    let mut desk = Desk::new(&all, policy(24_000));
    for (nth, text) in all.values_mut().enumerate().filter(|(nth, _)| nth % 9 == 0) {
        text.contents[0] = 50_000 + nth as u64;
        text.contents.push(90_000 + nth as u64);
    }
    desk.replan(&all, desk.policy.clone()).unwrap();
    let by_id: HashMap<QualifiedId, &Chunk> =
        desk.chunks.iter().map(|c| (qualified(c), c)).collect();
    let cost = |list: &[QualifiedId]| {
        let list: Vec<Chunk> = list.iter().map(|id| by_id[id].clone()).collect();
        pack(&desk.policy, &list, 1).unwrap()[0].tokens.0
    };
    let full: Vec<u64> =
        desk.segments[..desk.segments.len() - 2].iter().map(|(_, l)| cost(l)).collect();
    let share = full.iter().sum::<u64>() * 100 / (full.len() as u64 * 24_000);
    assert!(full.len() > 20 && share >= 90, "{share} % of {} segments", full.len());
}
