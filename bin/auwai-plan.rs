//! `auwai-plan`: main only.

fn main() {}
