//! What several tests need.

#![allow(clippy::unwrap_used)]

pub mod dice;
pub mod disk;
pub mod git;
mod program;
pub mod session;
pub mod site;
pub mod storm;
pub mod text;
pub mod tree;

pub use program::program;
