//! The one integration binary.

mod chunks;
