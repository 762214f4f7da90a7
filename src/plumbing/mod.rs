//! The plumbing: small programs with one job each, JSON Lines in and out. One file a tool, one file
//! a verb: the arguments (their comments are the help and the man page) and `run`.

pub mod ledger;
pub mod plan;
pub mod relay;
pub mod wait_events;
