//! The porcelain: `auwai …`, for people. It composes the plumbing as processes joined by pipes and
//! sees records only.

mod pipeline;
mod signals;
mod trace;
