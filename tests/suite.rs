//! The one integration binary.

mod admit;
mod support;
