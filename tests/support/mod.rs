//! What several tests need.

#![allow(clippy::unwrap_used)]

pub mod git;
pub mod site;
pub mod text;
pub mod tree;
