//! Whether the text of a segment fits the reader's window. It did when it was planned; since then its
//! lines may have got longer numbers, and chunks may have moved into it.

use super::chunks::{FrameCosts, chunk};
use super::reading::{Here, Part, Wanted};
use crate::counted::{count, thousands};
use crate::error::{Error, Result};
use crate::plan;
use crate::record::{Chunk, Policy, Segment, SegmentStatus, Tokens};
use crate::store::ledger::Ledger;
use crate::text::shown_tokens;

/// Refuses a segment of which more would be printed than its budget; `parts` is what of it is to be
/// shown, as the index has it.
///
/// # Errors
/// `over-budget` with the way out.
pub(super) fn check(segment: &Segment, policy: &Policy, parts: &[Part]) -> Result<()> {
    let budget = plan::text_budget(policy);
    if as_planned(segment, parts).is_some_and(|tokens| tokens <= budget) {
        return Ok(());
    }
    match exact(policy, parts)?.filter(|tokens| *tokens > budget) {
        None => Ok(()),
        Some(tokens) => Err(over(segment, tokens, is_asked(segment, parts), budget)),
    }
}

/// What is printed, by the sums that are kept alone: what was planned, with the lines as they are
/// numbered now. `None` where the frames may be others than were planned. A tokenizer is not loaded
/// for this, which would take longer than all else.
fn as_planned(segment: &Segment, parts: &[Part]) -> Option<Tokens> {
    let known = segment.chunk_tokens.len() == segment.chunks.len();
    if !known || !is_all(segment, parts) || runs(parts) > segment.files.len() {
        return None;
    }
    let planned: Tokens = segment.chunk_tokens.iter().copied().sum();
    let frames = segment.tokens.0.checked_sub(planned.0)?;
    let now = parts.iter().flat_map(|(_, wanted)| here(wanted));
    let now: u64 = now.map(|here| shown_tokens(here.cut.tokens, here.cut.lines)).sum();
    Some(Tokens(frames + now))
}

/// Whether all of the segment was asked for.
fn is_asked(segment: &Segment, parts: &[Part]) -> bool {
    parts.iter().map(|(_, wanted)| wanted.len()).sum::<usize>() == segment.chunks.len()
}

/// Whether all of the segment is shown.
fn is_all(segment: &Segment, parts: &[Part]) -> bool {
    parts.iter().map(|(_, wanted)| here(wanted).count()).sum::<usize>() == segment.chunks.len()
}

/// How many runs of chunks without a gap there are.
fn runs(parts: &[Part]) -> usize {
    let goes_on = |pair: &[&Here]| {
        let (one, next) = (pair[0], pair[1]);
        one.row.path == next.row.path && one.cut.bytes.to == next.cut.bytes.from
    };
    let of = |wanted: &[Wanted]| {
        let all: Vec<&Here> = here(wanted).collect();
        all.len() - all.windows(2).filter(|pair| goes_on(pair)).count()
    };
    parts.iter().map(|(_, wanted)| of(wanted)).sum()
}

fn here(wanted: &[Wanted]) -> impl Iterator<Item = &Here> {
    wanted.iter().filter_map(|wanted| match wanted {
        Wanted::Here(here) => Some(&**here),
        Wanted::Gone(..) => None,
    })
}

/// What is printed, counted as a plan counts it. `None` where a repository has been counted with
/// another tokenizer since: its chunks are others then.
fn exact(policy: &Policy, parts: &[Part]) -> Result<Option<Tokens>> {
    let mut chunks = Vec::new();
    for (source, wanted) in parts {
        let ledger = source.ledger()?;
        if ledger.meta("tokenizer")?.as_deref() != Some(&policy.tokenizer) {
            return Ok(None);
        }
        chunks.extend(counted(&source.name, &ledger, wanted)?);
    }
    Ok(Some(plan::printed(&chunks)))
}

fn counted(repo: &str, ledger: &Ledger, wanted: &[Wanted]) -> Result<Vec<Chunk>> {
    let tokenizer = super::tokenizer_of(ledger)?;
    let mut chunks = Vec::new();
    for here in here(wanted) {
        let frame = FrameCosts::new(tokenizer, repo, &here.row).of(here.cut.piece);
        chunks.push(chunk(repo, &here.row, 0, &here.cut, frame, here.complete));
    }
    Ok(chunks)
}

fn over(segment: &Segment, tokens: Tokens, all: bool, budget: Tokens) -> Error {
    let id = &segment.id;
    let (tokens, budget) = (count(tokens.0, "token"), thousands(budget.0));
    let what = if all { "" } else { "what is left of " };
    let message =
        format!("{what}segment '{id}' has outgrown its budget: {tokens} as printed, of {budget}");
    let error = Error::failed("over-budget", message);
    let error = match segment.status {
        // With what was read already in between there are fewer frames.
        _ if !all => error.hint(format!("print all of it: `auwai read --segment {id}`")),
        SegmentStatus::Done => error,
        SegmentStatus::Pending => error.hint("let the plan divide it anew: `auwai replan`"),
        SegmentStatus::Active => error
            .hint(format!("give it back: `auwai-ledger release --segment {id}`"))
            .hint("then let the plan divide it anew: `auwai replan`"),
    };
    error.hint(format!("or print it in pages: `auwai read --segment {id} --max-chars 30000`"))
}
