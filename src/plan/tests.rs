#![cfg(test)]
//! Examples of whole plans, and how full segments are.

use super::*;
use crate::error::Result;
use crate::record::{
    ByteRange, Chunk, ChunkId, LineRange, Plan, PlanRepo, Policy, Segment, Tokens,
};

/// A chunk as it is drawn: tokens, and whether it is a piece of a long line.
pub(super) type Drawn = (u64, bool);

/// Files of chunks into a stream: repository `r<n>`, file `f<n>`, ids that are well spread.
pub(super) fn stream(repos: &[Vec<(u64, Vec<Drawn>)>]) -> Vec<Chunk> {
    let mut chunks = Vec::new();
    for (r, files) in repos.iter().enumerate() {
        for (f, (frame, drawn)) in files.iter().enumerate() {
            for (ord, (tokens, piece)) in drawn.iter().enumerate() {
                let id = (chunks.len() as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
                let (ord, path) = (ord as u64, format!("d/f{f:05}.c"));
                chunks.push(Chunk {
                    repo: format!("r{r}"),
                    id: ChunkId(id),
                    path,
                    path_b64: None,
                    ord,
                    bytes: ByteRange { from: ord * 1000, to: ord * 1000 + 1000 },
                    lines: LineRange { first: ord * 10 + 1, last: ord * 10 + 10 },
                    tokens: Tokens(*tokens),
                    frame_tokens: Tokens(*frame),
                    piece: *piece,
                    complete: false,
                    body_hash: None,
                    file_hash: None,
                });
            }
        }
    }
    chunks
}

pub(super) fn plan(policy: &Policy, chunks: &[Chunk]) -> Result<(Vec<Segment>, Plan)> {
    let mut segments = Vec::new();
    let mut emit = |segment| {
        segments.push(segment);
        Ok(())
    };
    let mut planner = Planner::new(policy)?;
    for chunk in chunks {
        planner.push(chunk, &mut emit)?;
    }
    let sum = planner.finish(Vec::new(), &mut emit)?;
    Ok((segments, sum))
}

/// Packs `chunks` as what is left of a plan whose read segments before `read-<first>` have gone.
pub(super) fn pack(policy: &Policy, chunks: &[Chunk], first: u64) -> Result<Vec<Segment>> {
    let mut tree = Tree::default();
    for chunk in chunks {
        let hash = Some(blake3::hash(&chunk.id.0.to_le_bytes()).to_hex().to_string());
        let chunk = Chunk { body_hash: hash.clone(), file_hash: hash, ..chunk.clone() };
        tree.push(&chunk).unwrap();
    }
    tree.settle(policy)?;
    let (stands, last_read) = (vec![Stand::NEW; tree.len()], first - 1);
    let all =
        Revise { policy, repack: false, tree: &tree, old: &[], stands, freed: &[], last_read };
    Ok(revise(all)?.summed()?.map(|revised| revised.segment).collect())
}

/// Chunks of 100 to 999 tokens (550 on average), files of 1 to 60 chunks, most of them small, as
/// in the Linux source (12 chunks a file).
fn realistic(files: u64) -> Vec<Chunk> {
    let mut state = 1u64;
    let mut draw = move |below: u64| {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % below
    };
    let mut drawn = Vec::new();
    for _ in 0..files {
        let most = [2, 4, 8, 16, 32, 60][draw(6) as usize];
        let chunks = (0..=draw(most)).map(|_| (100 + draw(900), false)).collect();
        drawn.push((15 + draw(15), chunks));
    }
    stream(&[drawn])
}

#[test]
fn segments_are_at_least_95_percent_full() {
    for window in [32_768, 65_536, 200_000] {
        let options = PolicyOptions { context_window: window, ..PolicyOptions::default() };
        let policy = PolicyOptions { fixed_prompt: 10_000.min(window / 16), ..options }.resolve();
        let (segments, _) = plan(&policy, &realistic(5_000)).unwrap();
        let full = &segments[..segments.len() - 2];
        let tokens: u64 = full.iter().map(|s| s.tokens.0).sum();
        let share = tokens * 1_000 / (policy.segment_budget.0 * full.len() as u64);
        assert!(share >= 950, "{share} per mille of {} segments at {window}", full.len());
    }
}

#[test]
fn a_long_file_does_not_pile_up() {
    let chunks = stream(&[vec![(20, vec![(500, false); 20_000])]]);
    let mut planner = Planner::new(&PolicyOptions::default().resolve()).unwrap();
    let (mut given, mut emitted) = (0, 0);
    for chunk in &chunks {
        given += 1;
        let emit = &mut |segment: Segment| {
            emitted += segment.chunks.len();
            Ok(())
        };
        planner.push(chunk, emit).unwrap();
        assert!(given - emitted <= 2 * 47_923 / 500, "{} chunks are held", given - emitted);
    }
}

#[test]
fn a_small_fixed_prompt_is_named_with_the_one_that_works() {
    let chunks = stream(&[vec![(20, vec![(500, false)])]]);
    let with = |fixed_prompt| PolicyOptions { fixed_prompt, ..PolicyOptions::default() }.resolve();
    let error = plan(&with(512), &chunks).unwrap_err();
    assert_eq!(error.code(), "window-too-small");
    let hint = error.hints()[0].as_str();
    let command = "the smallest that works: `auwai plan --context-window 65536 --fixed-prompt ";
    let named: u64 = hint.strip_prefix(command).unwrap().trim_end_matches('`').parse().unwrap();
    assert!(plan(&with(named), &chunks).is_ok());
    assert!(plan(&with(named - 1), &chunks).is_err());
}

#[test]
fn a_plan_of_nothing_is_the_synthesis() {
    let (segments, sum) = plan(&PolicyOptions::default().resolve(), &[]).unwrap();
    assert_eq!(segments.iter().map(|s| s.id.0.as_str()).collect::<Vec<_>>(), ["synthesis-1"]);
    assert_eq!((sum.segments, sum.chunks, sum.tokens), (1, 0, Tokens(0)));
}

#[test]
fn the_id_changes_with_policy_and_skeleton_and_nothing_else() {
    let chunks = stream(&[vec![(20, vec![(500, false); 200])]]);
    let id = |policy: &Policy, chunks: &[Chunk]| plan(policy, chunks).unwrap().1.id;
    let policy = PolicyOptions::default().resolve();
    let first = id(&policy, &chunks);
    assert_eq!((first.len(), &first), (64, &id(&policy, &chunks)));
    let read: Vec<_> = chunks.iter().map(|c| Chunk { complete: true, ..c.clone() }).collect();
    assert_eq!(first, id(&policy, &read));
    assert_ne!(first, id(&policy, &chunks[1..]));
    assert_ne!(first, id(&Policy { page: Some(30_000), ..policy.clone() }, &chunks));
    let renamed: Vec<_> = chunks.iter().map(|c| Chunk { repo: "r1".into(), ..c.clone() }).collect();
    assert_ne!(first, id(&policy, &renamed));
}

#[test]
fn a_gap_in_a_file_has_a_frame_and_an_entry_of_its_own() {
    let mut chunks = stream(&[vec![(20, vec![(500, false); 4])]]);
    chunks.remove(1);
    let segments = pack(&PolicyOptions::default().resolve(), &chunks, 1).unwrap();
    assert_eq!(segments[0].tokens, Tokens(64 + 3 * 500 + 2 * 20));
    let lines: Vec<_> = segments[0].files.iter().map(|f| (f.lines.to_string(), f.chunks)).collect();
    assert_eq!(lines, [("1-10".to_string(), 1), ("21-40".to_string(), 2)]);
}

#[test]
fn repositories_without_chunks_are_in_the_sum() {
    let planner = Planner::new(&PolicyOptions::default().resolve()).unwrap();
    let repos = vec![PlanRepo { name: "a".into(), chunks: 0, fingerprint: None }];
    let sum = planner.finish(repos.clone(), &mut |_| Ok(())).unwrap();
    assert_eq!(sum.repos, repos);
}
