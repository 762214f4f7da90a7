//! Plans: which chunks are read together, under what policy. Pure: records in, records out; no
//! file, clock, environment or database.
//!
//! ```text
//! records ─ input ─ planner ─┬─ order (only with --order: sorts)
//!                            ├─ pack ── cost: what a chunk adds to a segment
//!                            └─ id: a hash of policy and skeleton
//! ```
//!
//! It promises: each chunk in exactly one segment, in reading order; no segment costs more than the
//! segment budget as printed, nor its brief and list of ids more than the fixed prompt; the same
//! input and policy give the same plan, byte for byte; constant memory without an order.

mod cost;
mod id;
mod input;
mod order;
mod pack;
mod part;
mod planner;
mod policy;
#[cfg(test)]
mod properties;
#[cfg(test)]
mod tests;

pub use cost::{BRIEF_LINE_TOKENS, BRIEF_TOKENS, LAST_LINE_TOKENS};
pub use input::Input;
pub use order::parse_order;
pub use pack::pack;
pub use planner::Planner;
pub use policy::{PolicyOptions, TOKENIZERS, options, parse_share, parse_tokens};
