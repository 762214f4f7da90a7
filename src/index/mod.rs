//! The index: walk, text and store brought together. `scan` makes the ledger say what the tree is.
//!
//! Only files whose stat data differ are read, and an entry whose times lie within two seconds of
//! the scan is read again next time, since a later write could leave them as they are (git's rule
//! for "racily clean" entries).

mod body;
mod content;
mod open;
mod scan;
mod stat;

pub use body::BodyReader;
pub use scan::{Options, scan};

#[cfg(test)]
mod tests;
