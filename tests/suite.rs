//! The one integration binary: one module a command or topic.

mod chunks;
mod house;
mod print;
