//! `auwai-wait-events`: nothing that happens below a root is lost.

mod limits;
mod model;
mod options;
mod reports;
mod rules;
pub mod watcher;
