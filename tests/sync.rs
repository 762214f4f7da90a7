//! The index kept true while files change: one path looked at again, some paths brought up to date,
//! and what follows events. The truth is always a fresh walk or a fresh scan of the tree.

#![allow(clippy::unwrap_used)]

mod edits;
mod following;
mod ledger;
mod model;
mod process;
mod revisit;
mod turns;
mod waiting;
pub mod watch;
