//! `auwai`: main only.

fn main() {}
