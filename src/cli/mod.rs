//! What every tool shares: start and end of the process, standard streams, and what the world
//! outside says. The only place that reads the environment or decides the exit status.

mod limits;
pub mod man;
pub mod parse;
pub mod policy;
mod signals;
pub mod since;
mod start;
mod world;

pub use limits::allow_open_files;
pub use signals::{CAUGHT, Catching, Signals, last_words, say_raw};
pub use start::{ERRORS, Io, Tool, Verdict, start, start_with};
pub use world::{DEFAULT_READER, World};
