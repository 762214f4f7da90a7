//! The plumbing: one file a tool, each with its arguments and `run(args, input, sink)`.

pub mod plan;
