//! The one integration binary.

#![allow(clippy::unwrap_used, clippy::expect_used)]

mod print;
