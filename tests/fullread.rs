//! The full read of a workspace through porcelain: the design review's list, with the real program.

mod delivery;
mod findings;
mod pages;
mod sums;
mod workspace;
