//! The one integration binary: one module a command or topic.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on has failed")]

mod admit;
mod campaign;
mod chunks;
mod coverage;
mod errors;
mod evidence;
mod fullread;
mod help;
mod house;
mod inbox;
mod lease;
mod man;
mod marks;
mod members;
mod odd;
mod paths;
mod pipeline;
mod print;
mod promises;
mod readme;
mod records;
mod relay;
mod replan;
mod run;
mod support;
mod sync;
mod trust;
mod watch;
