//! The brief of a segment: what it holds and what to do with it, in words.
//!
//! The brief and the list of ids fit the policy's fixed prompt: `auwai-plan` sets aside 512 tokens
//! for the words here, and for each file its frame and 8 tokens more, which is what a line costs.

use std::fmt::Write;

use crate::cli::DEFAULT_READER;
use crate::counted::count;
use crate::record::{Segment, SegmentFile, SegmentKind, Tokens};
use crate::store::coverage::Placed;
use crate::visible::quote_path;

/// What a brief is made from.
pub(super) struct Brief<'a> {
    /// The segment and its place.
    pub placed: &'a Placed,
    /// Which segment of the plan it is, from 1.
    pub rank: u64,
    /// How many segments the plan has.
    pub of: u64,
    /// The workspace's name.
    pub workspace: &'a str,
    /// The plan's id.
    pub plan: &'a str,
    /// Who reads.
    pub reader: &'a str,
    /// Options to repeat in the commands.
    pub with: &'a str,
    /// What the brief and the ids may cost.
    pub fixed_prompt: Tokens,
}

/// The brief; the last lines are the commands to run.
pub(super) fn brief(it: &Brief<'_>) -> String {
    let segment = &it.placed.segment;
    let mut out = place(it);
    match segment.kind {
        SegmentKind::Read => add_files(&mut out, segment, room(it)),
        SegmentKind::Synthesis => {
            out.push_str("\nEvery read segment is done. Review the findings and sum them up.\n");
        }
    }
    add_commands(&mut out, it);
    out
}

fn place(it: &Brief<'_>) -> String {
    let (segment, plan) = (&it.placed.segment, it.plan.get(..12).unwrap_or(it.plan));
    let (rank, of, workspace) = (it.rank, it.of, it.workspace);
    let mut out =
        format!("{}: segment {rank} of {of} in workspace {workspace}, plan {plan}\n", segment.id);
    if segment.kind == SegmentKind::Read {
        let tokens = count(segment.tokens.0, "token");
        let chunks = count(segment.chunks.len() as u64, "chunk");
        let _ = writeln!(out, "{tokens}, {chunks}, {}", files(segment));
    }
    out
}

/// `7 files of 2 repositories (core, lib)`.
fn files(segment: &Segment) -> String {
    let mut repos: Vec<&str> = segment.files.iter().map(|file| file.repo.as_str()).collect();
    repos.dedup();
    let of = match repos.as_slice() {
        [one] => format!("repository {one}"),
        many => count(many.len() as u64, "repository"),
    };
    let mut paths = segment.files.clone();
    paths.dedup_by(|a, b| (&a.repo, &a.path, &a.path_b64) == (&b.repo, &b.path, &b.path_b64));
    format!("{} of {of}", count(paths.len() as u64, "file"))
}

/// The bytes that file lines may take. A plan of `auwai-plan` has room for all of them; four bytes
/// a token, ids included, bound what any other plan can do.
fn room(it: &Brief<'_>) -> usize {
    let ids: usize = it.placed.segment.chunks.iter().map(|id| id.repo.len() + 18).sum();
    let all = usize::try_from(it.fixed_prompt.0.saturating_mul(4)).unwrap_or(usize::MAX);
    all.saturating_sub(ids).saturating_sub(1024)
}

fn add_files(out: &mut String, segment: &Segment, room: usize) {
    let end = out.len().saturating_add(room);
    for (at, file) in segment.files.iter().enumerate() {
        let line = line(file);
        if out.len() + line.len() > end {
            let left = segment.files.len() - at;
            let _ = writeln!(out, "  and {left} more: auwai-ledger segments {}", segment.id);
            return;
        }
        out.push_str(&line);
    }
}

/// `  core:src/a.rs:12-80`.
fn line(file: &SegmentFile) -> String {
    let path = file.repo_path().map(|path| path.as_bytes().to_vec());
    let path = path.unwrap_or_else(|_| file.path.clone().into_bytes());
    format!("  {}:{}:{}\n", file.repo, quote_path(&path), file.lines)
}

fn add_commands(out: &mut String, it: &Brief<'_>) {
    let id = &it.placed.segment.id;
    let reader = match it.reader {
        DEFAULT_READER => String::new(),
        reader => format!(" --reader {reader}"),
    };
    let with = if it.with.is_empty() { String::new() } else { format!(" {}", it.with) };
    if it.placed.segment.kind == SegmentKind::Read {
        out.push_str("\nRead all of it, to its last line, then close it with what you found.\n");
        let _ = writeln!(out, "  auwai read --segment {id}{with}{reader}");
    }
    let _ = writeln!(out, "  auwai done --segment {id}{with}{reader} --summary '…'");
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::{LineRange, SegmentId, SegmentStatus};

    fn placed(files: u64) -> Placed {
        let file = |n: u64| SegmentFile {
            repo: if n.is_multiple_of(2) { "a" } else { "b" }.into(),
            path: format!("src/\u{202e}{n}\n"),
            path_b64: None,
            lines: LineRange { first: 1, last: n },
            chunks: 1,
        };
        let segment = Segment {
            id: SegmentId("read-3".into()),
            kind: SegmentKind::Read,
            status: SegmentStatus::Active,
            tokens: Tokens(46_120),
            chunks: vec![],
            chunk_tokens: vec![],
            files: (0..files).map(file).collect(),
            reader: None,
            brief: None,
            outdated: None,
        };
        Placed { seq: 3, segment }
    }

    fn words(placed: &Placed, reader: &str) -> String {
        let fixed_prompt = Tokens(4096);
        brief(&Brief {
            rank: 3,
            placed,
            of: 12,
            workspace: "demo",
            plan: "0123",
            reader,
            with: "",
            fixed_prompt,
        })
    }

    #[test]
    fn it_ends_with_the_commands() {
        let text = words(&placed(2), "alice");
        assert!(
            text.starts_with("read-3: segment 3 of 12 in workspace demo, plan 0123\n"),
            "{text}"
        );
        assert!(text.contains("  auwai read --segment read-3 --reader alice\n"), "{text}");
        assert!(text.ends_with("  auwai done --segment read-3 --reader alice --summary '…'\n"));
    }

    #[test]
    fn no_path_breaks_a_line() {
        let text = words(&placed(1), "default");
        assert!(text.contains("  a:\"src/\\342\\200\\2560\\n\":1-0\n"), "{text}");
    }

    #[test]
    fn a_foreign_plan_cannot_make_it_long() {
        let text = words(&placed(10_000), "default");
        assert!(text.len() < 4 * 4096, "{}", text.len());
        assert!(text.contains(" more: auwai-ledger segments read-3\n"));
    }
}
