//! The one integration binary: one module a command or topic.

mod print;
