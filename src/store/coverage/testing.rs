#![cfg(test)]
//! Small plans for tests.

use std::time::{Duration, UNIX_EPOCH};

use super::{Ask, Moment, Uptime};
use crate::record::*;

/// So many seconds after the start of a machine, which was in 1970.
pub(crate) fn now(seconds: u64) -> Moment {
    let for_so_long = Duration::from_secs(seconds);
    let up = Some(Uptime { boot: "first".into(), for_so_long });
    Moment { day: UNIX_EPOCH + for_so_long, up }
}

/// A reader asks for a segment, for half an hour.
pub(crate) fn ask(reader: &str) -> Ask<'_> {
    Ask { reader, except: &[], term: Some(Duration::from_secs(1800)) }
}

/// A policy with this window.
pub(crate) fn policy(window: u64) -> Policy {
    Policy {
        context_window: Tokens(window),
        fixed_prompt: Tokens(4096),
        reserve: Tokens(8192),
        safety_ppm: 100_000,
        segment_budget: Tokens(window - 12288),
        tokenizer: "o200k_base".into(),
        scope: vec![],
        order: vec![],
        page: None,
        marks: false,
    }
}

/// A chunk's id in these plans: of the `n`th chunk of the `segment`th segment.
pub(crate) fn id(segment: u64, n: u64) -> ChunkId {
    ChunkId(segment << 32 | n)
}

/// A plan of `segments` read segments of `chunks` chunks each, of repositories `a` and `b` by
/// turns, and the synthesis, as the stream that `auwai-plan` writes.
pub(crate) fn plan(segments: u64, chunks: u64, window: u64) -> Vec<u8> {
    let mut out = Vec::new();
    write(&mut out, &policy(window)).unwrap();
    for n in 1..=segments {
        write(&mut out, &segment(n, chunks)).unwrap();
    }
    let synthesis = Segment {
        id: SegmentId("synthesis-1".into()),
        kind: SegmentKind::Synthesis,
        tokens: Tokens(0),
        chunks: vec![],
        chunk_tokens: vec![],
        files: vec![],
        ..segment(1, 1)
    };
    write(&mut out, &synthesis).unwrap();
    let repos = ["a", "b"].map(|name| PlanRepo {
        name: name.into(),
        chunks: chunks * segments / 2,
        fingerprint: None,
    });
    let plan = Plan {
        id: format!("plan-{segments}-{chunks}-{window}"),
        segments: segments + 1,
        chunks: segments * chunks,
        tokens: Tokens(segments * (chunks * 10 + 64)),
        repos: repos.into(),
        ..Plan::default()
    };
    write(&mut out, &plan).unwrap();
    write(&mut out, &End { of: "segment".into(), count: segments + 1 }).unwrap();
    out
}

/// The `n`th segment: the first half of its chunks of `a`, the rest of `b`.
fn segment(n: u64, chunks: u64) -> Segment {
    let half = chunks / 2;
    let repo = |at| if at < half { "a" } else { "b" };
    let file = |repo: &str, chunks| SegmentFile {
        repo: repo.into(),
        path: format!("src/{n}.rs"),
        path_b64: None,
        lines: LineRange { first: 1, last: chunks * 5 },
        chunks,
    };
    let files = [file("a", half), file("b", chunks - half)];
    Segment {
        id: SegmentId(format!("read-{n}")),
        kind: SegmentKind::Read,
        status: SegmentStatus::Pending,
        tokens: Tokens(chunks * 10 + 64),
        chunks: (0..chunks)
            .map(|at| QualifiedId { repo: repo(at).into(), id: id(n, at) })
            .collect(),
        chunk_tokens: vec![Tokens(10); usize::try_from(chunks).unwrap()],
        files: files.into_iter().filter(|file| file.chunks > 0).collect(),
        reader: None,
        brief: None,
        outdated: None,
    }
}

/// The deliveries of every chunk of the `n`th segment.
pub(crate) fn reads(n: u64, chunks: u64) -> Vec<Read> {
    segment(n, chunks).chunks.into_iter().map(|id| Read::of(id.repo, id.id)).collect()
}
