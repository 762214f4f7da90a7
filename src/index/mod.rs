//! The index: walk, text and store brought together. [`scan`] makes the ledger say what the tree
//! is; [`sync`] does the same for some paths alone, and [`Follower`] for one change after the other.
//!
//! Only files whose stat data differ are read, and an entry whose times lie within two seconds of
//! the scan is read again next time, since a later write could leave them as they are (git's rule
//! for "racily clean" entries).

mod body;
mod content;
mod follow;
mod links;
mod open;
mod refresh;
mod scan;
mod stat;
mod sync;
mod write;

pub use body::BodyReader;
pub use follow::Follower;
pub use scan::{Options, scan};
pub use sync::Synced;

#[cfg(test)]
mod tests;
