//! `auwai-ledger`: main only.

fn main() {}
