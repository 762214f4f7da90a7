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
#[cfg(all(target_os = "linux", not(auwai_portable)))]
mod inotify;
#[cfg(not(all(target_os = "linux", not(auwai_portable))))]
#[path = "no_inotify.rs"]
mod inotify;
mod library;
mod limit;
mod mounts;
mod output;
#[cfg_attr(
    not(all(target_os = "linux", not(auwai_portable))),
    allow(dead_code, reason = "only inotify hears")
)]
mod pending;
mod remote;
mod since;
mod survey;
mod tests;
mod tree;
mod visit;
mod wake;
mod worker;

pub use backend::{Backend, Native, Pace};
pub use barrier::ask;
pub use change::{Change, Changes, Warning};
pub use choose::{Choice, Platform, choose};
pub use filter::Filter;
pub use inotify::limit_of_watches;
pub use limit::Limit;
pub use output::Format;
pub use remote::{remote, trusted};
pub use tree::Site;
pub use wake::Beside;
pub use worker::{Options, scan, session, watch};
