//! Plans: which chunks are read together, under what policy. Pure: records in, records out; no
//! file, clock, environment or database.
//!
//! ```text
//! records ─ input ─ planner ─┬─ order (only with --order: sorts)
//!                            ├─ pack ── cost: what a chunk adds to a segment
//!                            └─ id: a hash of policy and skeleton
//! records ─ input ─ tree ─ revise ─┬─ moves: who takes over which read
//!                                  └─ pack, id: as above
//! ```
//!
//! It promises: each chunk in exactly one segment, in reading order; no segment costs more than the
//! segment budget as printed, nor its brief and list of ids more than the fixed prompt; the same
//! input and policy give the same plan, byte for byte; a new plan without an order takes constant
//! memory, a revision that of all chunks without their text. A plan that is revised keeps what is done and under way, holds its pending segments to the same limits, and
//! never gives a segment's id again.

mod cost;
mod id;
mod input;
mod moves;
mod order;
mod pack;
mod part;
mod planner;
mod policy;
#[cfg(test)]
mod properties;
mod revise;
#[cfg(test)]
mod revisions;
#[cfg(test)]
mod tests;
mod tree;

pub use cost::{BRIEF_LINE_TOKENS, BRIEF_TOKENS, LAST_LINE_TOKENS, printed};
pub use input::Input;
pub use moves::{Freed, Stand, Taken};
pub use order::parse_order;
pub use planner::Planner;
pub use policy::{
    PolicyOptions, TOKENIZERS, most_marks, options, parse_share, parse_tokens, text_budget,
};
pub use revise::{Old, Revise, Revised, Revision, Summed, repacks, revise};
pub use tree::{Found, Hash, Tree};
