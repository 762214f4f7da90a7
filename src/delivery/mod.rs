//! Text on its way to a reader, and how much of it has really been taken.
//!
//! Owns the difference between *written* and *delivered*. A [`Sheet`] is text and the places in it
//! where chunks end; a [`Delivery`] sends sheets to standard output and acknowledges a chunk when
//! its last byte has left, not before. What "left" means depends on where the output goes:
//!
//! - a pipe: the reader has taken the byte. On Linux `FIONREAD` on the write end counts what is
//!   still in the pipe, also after the reader has gone. Bytes of other writers in the same pipe
//!   count as untaken, so the figure can be too small and never too great. Elsewhere: `write()`
//!   returned.
//! - a regular file: everything is written and `fsync()` succeeded. (The error of a `close()` cannot
//!   be had here; what it could report, `fsync` reports.)
//! - a terminal, a socket, a device: `write()` returned.
//! - standard output that was closed when the process began: nothing ever leaves.

mod acks;
mod courier;
mod last_line;
mod outlet;
mod pages;
mod passage;
mod proof;
mod sheet;

pub use acks::Acks;
pub use courier::{Delivery, Ended, Orders, Tally};
pub use last_line::{LastLine, PageOf};
pub use outlet::{all_taken, reader_has_gone};
pub use pages::{divide, fit};
pub use passage::Passage;
pub use proof::{Random, prove};
pub use sheet::{Mark, Sheet};
