//! Admission and the walk against real git: in a repository, what is in is what `git ls-files -co
//! --exclude-standard` lists and `lstat` finds; every path has one fate; one path asked alone gets
//! the walk's answer.

#![allow(clippy::unwrap_used)]

mod own;
mod parity;
pub mod random;
mod tracks;
