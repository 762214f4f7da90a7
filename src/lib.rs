//! auwai reads whole repositories, a context window at a time, and proves it.
//!
//! # The house
//!
//! ```text
//! bin/             main() only: one call into cli::main
//! porcelain/       auwai …: spawns plumbing and joins it by pipes; sees records only
//! plumbing/        auwai-ledger, auwai-plan, …: one file a tool, one file a verb
//! cli/             arguments shared by all, standard output, signals, the environment
//! index            a scan, and the same for some paths: walk, text and store brought together
//! walk  watch  workspace  delivery  relay  inbox    the tree as it is; its changes; names and roots;
//!                  what was taken; lines kept whole; tasks and answers as files
//! listing          directories, opened and listed without following a link
//! admit  text  plan  store  beneath       what is in; chunks and tokens; segments; SQLite; paths
//!                  opened below a root
//! record  regular  moves     the wire; only regular files; which chunk takes over which read
//! error  visible  counted     errors as values; what may be shown; numbers in words
//! doubling  hangup            waiting ever longer; how to learn that nobody reads any more
//! ```
//!
//! Each line uses only what stands below it; `tests/house.rs` reads the `use crate::` lines and
//! holds this. `text` and `plan` are pure: no file, no clock, no database. Only `store` names
//! rusqlite, only `cli` reads the environment or ends the process.

pub mod admit;
pub mod beneath;
pub mod cli;
pub mod counted;
pub mod delivery;
pub mod doubling;
pub mod error;
pub mod hangup;
pub mod inbox;
pub mod index;
pub mod listing;
pub mod moves;
pub mod plan;
pub mod plumbing;
pub mod porcelain;
pub mod record;
pub mod regular;
pub mod relay;
pub mod store;
pub mod text;
pub mod visible;
pub mod walk;
pub mod watch;
pub mod workspace;
