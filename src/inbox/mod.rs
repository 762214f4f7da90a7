//! Tasks, answers and readers' inboxes as plain files, so that a program in any language can take
//! part.
//!
//! ```text
//! tasks/ID.txt        results/ID.txt            deliveries/READER/ID.txt | ID.accepted | .lock
//! tasks/archive/ID.txt  results/archive/ID-EPOCH.txt   deliveries/READER/archive/
//! state/migrations/NAME.v1.done
//! ```
//!
//! Every change of state is one rename, so whoever looks sees what was before or what is after. What
//! takes pointers out of an inbox holds its lock ([`Held`]). No link below the root is followed, and
//! what is no regular file is neither opened for long nor waited for.

mod answered;
mod archive;
mod dir;
mod layout;
mod lock;
mod pointer;
mod post;
mod retire;
mod sweep;
mod tasks;

pub use answered::{Mark, answered};
pub use archive::archive;
pub use layout::{Root, TaskId, task_at, watched};
pub use lock::{Held, Waiting};
pub use pointer::{Form, Pointer, Stamp, accept, release};
pub use post::{Posting, post};
pub use retire::retire_archived;
pub use sweep::{Due, Inbox, Listed, listed, plan, told};
