//! `auwai-wait-events`: nothing that happens below a root is lost.

mod limits;
mod model;
mod mounts;
mod options;
mod permissions;
mod reports;
mod rules;
mod since;
mod streams;
pub mod watcher;
