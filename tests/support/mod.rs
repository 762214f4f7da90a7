//! What several tests need.

pub mod git;
pub mod tree;
