//! What changes below a root, as it happens: no change is lost, though one may be told twice.
//!
//! A [`Backend`] learns of changes, [`watch`] tells them. [`Policy`](crate::admit::Policy) decides
//! which directories are watched and which names are told. The only place that names rustix's
//! inotify and the library notify.

mod backend;
mod backoff;
mod barrier;
mod change;
mod choose;
mod filter;
#[cfg(target_os = "linux")]
mod inotify;
mod library;
mod output;
mod pending;
mod since;
mod survey;
mod tree;
mod visit;
mod wake;
mod worker;

pub use backend::{Backend, Native, Pace};
pub use barrier::ask;
pub use change::{Change, Changes, Warning};
pub use choose::{Choice, Platform, choose};
pub use filter::Filter;
pub use output::Format;
pub use tree::Site;
pub use wake::Beside;
pub use worker::{Options, scan, session, watch};

/// How many watches the system allows the user, where that is known.
#[cfg(target_os = "linux")]
pub use inotify::limit_of_watches;

/// How many watches the system allows the user: not known here.
#[cfg(not(target_os = "linux"))]
pub fn limit_of_watches() -> Option<u64> {
    None
}
