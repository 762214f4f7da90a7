#![cfg(test)]
//! Properties of whole plans, against costs reckoned here from the rules and not by the packer.

use std::collections::HashMap;

use proptest::prelude::*;

use super::tests::{pack, plan, stream};
use super::*;
use crate::record::{Chunk, Policy, Segment, SegmentKind};

fn streams() -> impl Strategy<Value = Vec<Chunk>> {
    let chunk = (1u64..1024, prop::bool::weighted(0.1));
    let file = (4u64..60, prop::collection::vec(chunk, 0..25));
    let repo = prop::collection::vec(file, 0..12);
    prop::collection::vec(repo, 0..4).prop_map(|repos| stream(&repos))
}

/// Streams of many small chunks, so that the list of ids fills up before the text does.
fn small_chunk_streams() -> impl Strategy<Value = Vec<Chunk>> {
    let file = (4u64..20, prop::collection::vec((1u64..60, Just(false)), 0..4));
    prop::collection::vec(prop::collection::vec(file, 0..80), 1..3).prop_map(|repos| stream(&repos))
}

fn policies() -> impl Strategy<Value = Policy> {
    (1_500u64..12_000, 650u64..4_096, 0u64..200_000).prop_map(|(room, fixed_prompt, safety_ppm)| {
        let context_window = room + fixed_prompt + 100;
        let options = PolicyOptions {
            context_window,
            fixed_prompt,
            reserve: 100,
            safety_ppm,
            ..PolicyOptions::default()
        };
        options.resolve()
    })
}

/// A number of tokens anywhere from none to the last one that can be written.
fn extreme() -> impl Strategy<Value = u64> {
    let near = |at: u64| (0u64..3_000).prop_map(move |by| at.saturating_sub(by));
    prop_oneof![0u64..20_000, near(1 << 53), near(i64::MAX as u64), near(u64::MAX), any::<u64>()]
}

/// What a segment of these chunks costs: as shown, and in the brief.
fn reckon(chunks: &[&Chunk]) -> (u64, u64) {
    let (mut shown, mut listed) = (64, 512);
    for (at, chunk) in chunks.iter().enumerate() {
        let before = at.checked_sub(1).map(|at| chunks[at]);
        let same = before.filter(|b| b.path == chunk.path && b.repo == chunk.repo);
        if same.is_none_or(|b| b.piece || chunk.piece) {
            shown += chunk.frame_tokens.0;
        }
        if same.is_none() {
            listed += chunk.frame_tokens.0 + 8;
        }
        shown += chunk.tokens.0;
        listed += longest(&format!("{}:{}\n", chunk.repo, chunk.id));
    }
    (shown, listed)
}

/// Tokens of a text whose digits go three to a token and nothing else together.
fn longest(text: &str) -> u64 {
    let runs = text.split(|c: char| !c.is_ascii_digit()).map(|run| run.len().div_ceil(3));
    let others = text.bytes().filter(|b| !b.is_ascii_digit()).count();
    (runs.sum::<usize>() + others) as u64
}

struct Case<'a> {
    policy: &'a Policy,
    /// The chunks of each read segment.
    read: Vec<Vec<&'a Chunk>>,
    /// The chunks of each file.
    files: HashMap<(&'a str, &'a str), Vec<&'a Chunk>>,
}

impl<'a> Case<'a> {
    fn new(policy: &'a Policy, chunks: &'a [Chunk], segments: &[Segment]) -> Self {
        let by_id: HashMap<_, _> = chunks.iter().map(|c| (c.id, c)).collect();
        let read = segments.iter().filter(|s| s.kind == SegmentKind::Read);
        let read = read.map(|s| s.chunks.iter().map(|q| by_id[&q.id]).collect()).collect();
        let mut files: HashMap<_, Vec<_>> = HashMap::new();
        for chunk in chunks {
            files.entry(key(chunk)).or_default().push(chunk);
        }
        Case { policy, read, files }
    }

    fn fits(&self, chunks: &[&Chunk]) -> bool {
        let (shown, listed) = reckon(chunks);
        shown <= self.policy.segment_budget.0 && listed <= self.policy.fixed_prompt.0
    }

    /// Whether at most a tenth of the budget is unused after `chunks`.
    fn nearly_full(&self, chunks: &[&Chunk]) -> bool {
        (self.policy.segment_budget.0 - reckon(chunks).0) * 10 <= self.policy.segment_budget.0
    }

    /// Whether segment `at` was rightly closed before the next one's first chunk.
    fn closed_rightly(&self, at: usize) -> bool {
        let (this, next) = (&self.read[at], self.read[at + 1][0]);
        let file = &self.files[&key(next)];
        let before: Vec<_> = this.iter().copied().filter(|c| key(c) != key(next)).collect();
        let with_next = [this.as_slice(), &[next]].concat();
        let with_file = [before.as_slice(), file].concat();
        let keep_whole = self.fits(file)
            && !self.fits(&with_file)
            && !before.is_empty()
            && self.nearly_full(&before);
        if keep_whole { before.len() == this.len() } else { !self.fits(&with_next) }
    }
}

fn key(chunk: &Chunk) -> (&str, &str) {
    (&chunk.repo, &chunk.path)
}

fn check(policy: &Policy, chunks: &[Chunk]) -> std::result::Result<(), TestCaseError> {
    let (segments, sum) = plan(policy, chunks).unwrap();
    let case = Case::new(policy, chunks, &segments);
    let packed: Vec<_> = case.read.iter().flatten().map(|c| c.id).collect();
    prop_assert_eq!(packed, chunks.iter().map(|c| c.id).collect::<Vec<_>>());
    for (at, (segment, read)) in segments.iter().zip(&case.read).enumerate() {
        prop_assert_eq!(&segment.id.0, &format!("read-{}", at + 1));
        prop_assert_eq!(segment.tokens.0, reckon(read).0);
        prop_assert!(case.fits(read), "{} is over", segment.id);
        let parts: u64 = segment.files.iter().map(|f| f.chunks).sum();
        prop_assert_eq!(parts, segment.chunks.len() as u64);
    }
    for at in 1..case.read.len() {
        prop_assert!(case.closed_rightly(at - 1), "after read-{at}");
    }
    prop_assert_eq!(sum.segments, segments.len() as u64);
    prop_assert_eq!(sum.chunks, chunks.len() as u64);
    prop_assert_eq!(sum.tokens, segments.iter().map(|s| s.tokens).sum());
    prop_assert_eq!(&segments.last().unwrap().id.0, "synthesis-1");
    Ok(())
}

proptest! {
    /// Each chunk once, in order; both budgets held; files kept whole where the rule says so, and
    /// segments filled where it does not.
    #[test]
    fn a_plan_keeps_its_promises(policy in policies(), chunks in streams()) {
        check(&policy, &chunks)?;
    }

    #[test]
    fn a_plan_of_small_chunks_keeps_its_promises(policy in policies(), chunks in small_chunk_streams()) {
        check(&policy, &chunks)?;
    }

    #[test]
    fn a_plan_is_the_same_twice(policy in policies(), chunks in streams()) {
        prop_assert_eq!(plan(&policy, &chunks).unwrap(), plan(&policy, &chunks).unwrap());
    }

    /// `replan` packs as `plan` does, with later numbers.
    #[test]
    fn packing_a_list_is_planning_it(policy in policies(), chunks in streams()) {
        let (mut planned, _) = plan(&policy, &chunks).unwrap();
        planned.pop();
        let mut packed = pack(&policy, &chunks, 7).unwrap();
        for (at, segment) in packed.iter_mut().enumerate() {
            prop_assert_eq!(&segment.id.0, &format!("read-{}", at + 7));
            segment.id = planned[at].id.clone();
        }
        prop_assert_eq!(packed, planned);
    }

    /// An order only moves files: those of the first glob, then the second, then the rest.
    #[test]
    fn an_order_sorts_files_and_nothing_else(chunks in streams(), policy in policies()) {
        let order = vec!["f*3.c".to_string(), "f0000[12].c".to_string()];
        let (segments, _) = plan(&Policy { order, ..policy }, &chunks).unwrap();
        let rank = |c: &&Chunk| match c.path.as_str() {
            "d/f00003.c" => 0,
            "d/f00001.c" | "d/f00002.c" => 1,
            _ => 2,
        };
        let mut wanted: Vec<_> = chunks.iter().collect();
        wanted.sort_by_key(rank);
        let wanted: Vec<_> = wanted.iter().map(|c| c.id).collect();
        let planned: Vec<_> = segments.iter().flat_map(|s| &s.chunks).map(|q| q.id).collect();
        prop_assert_eq!(planned, wanted);
    }

    /// Whatever is asked for, at any extreme: it works, or the error names what works, and one token
    /// less does not; or the sum is beyond every number.
    #[test]
    fn what_a_refusal_names_works(
        window in extreme(), fixed_prompt in extreme(), reserve in extreme(),
        safety_ppm in prop_oneof![0u64..1_000_000, Just(999_999)], chunks in streams(),
    ) {
        let asked = PolicyOptions {
            context_window: window, fixed_prompt, reserve, safety_ppm, ..PolicyOptions::default()
        };
        let Err(error) = plan(&asked.resolve(), &chunks) else { return Ok(()) };
        prop_assert_eq!(error.code(), "window-too-small");
        let named = |option: &str| {
            let rest = error.hints()[0].split_once(option)?.1;
            Some(rest.split([' ', '`']).next().unwrap().parse::<u64>().unwrap())
        };
        // What was asked for is in the command too.
        let prompt = named("--fixed-prompt ").filter(|named| *named != fixed_prompt);
        let wide = named("--context-window ").filter(|named| *named != window);
        let fixed_prompt = prompt.unwrap_or(fixed_prompt);
        let with = |fixed_prompt, context_window| {
            plan(&PolicyOptions { fixed_prompt, context_window, ..asked.clone() }.resolve(), &chunks)
        };
        match (prompt, wide) {
            (None, None) => {
                prop_assert!(error.hints()[0].contains("--reserve"));
                prop_assert!(with(fixed_prompt, u64::MAX).is_err());
            }
            (_, Some(wide)) => {
                prop_assert!(with(fixed_prompt, wide).is_ok());
                prop_assert!(with(fixed_prompt, wide - 1).is_err());
            }
            (Some(prompt), None) => {
                prop_assert!(with(prompt, window).is_ok());
                prop_assert!(with(prompt - 1, window).is_err());
            }
        }
    }

    /// Where less is to be kept beside the text, that is enough, and where it would not be it is not
    /// said.
    #[test]
    fn less_room_beside_the_text_is_offered_where_it_is_enough(
        window in 2_000u64..14_000, chunks in streams(),
    ) {
        let with = |kept: Option<u64>| {
            let usual = PolicyOptions { context_window: window, ..PolicyOptions::default() };
            let less = kept.map(|kept| PolicyOptions { fixed_prompt: kept, reserve: kept, ..usual.clone() });
            plan(&less.unwrap_or(usual).resolve(), &chunks)
        };
        let Err(error) = with(None) else { return Ok(()) };
        let offered = error.hints().iter().any(|hint| {
            hint.ends_with(&format!("`auwai plan --context-window {window} --fixed-prompt 1000 --reserve 1000`"))
        });
        prop_assert_eq!(offered, with(Some(1000)).is_ok(), "{:?}", error.hints());
    }

    /// The window that the error names works, and the one below it does not.
    #[test]
    fn the_window_that_is_named_is_the_smallest(chunks in streams(), ppm in 0u64..500_000) {
        let with = |context_window| PolicyOptions {
            context_window, safety_ppm: ppm, ..PolicyOptions::default()
        }.resolve();
        let error = plan(&with(1_000), &chunks).unwrap_err();
        prop_assert_eq!((error.code(), error.kind().exit_code()), ("window-too-small", 3));
        let named = error.hints()[0].split_once("--context-window ").unwrap().1;
        let named: u64 = named.split([' ', '`']).next().unwrap().parse().unwrap();
        prop_assert!(plan(&with(named), &chunks).is_ok());
        prop_assert!(plan(&with(named - 1), &chunks).is_err());
    }
}
