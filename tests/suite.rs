//! The one integration binary.

mod print;
