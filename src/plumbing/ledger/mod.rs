//! `auwai-ledger`: the index and the ledgers. One file a verb.

mod target;

pub use target::{Repos, StateOption, WorkspaceOption};
