//! The one integration binary: one module a command or topic.

mod admit;
mod chunks;
mod coverage;
mod house;
mod print;
mod support;
