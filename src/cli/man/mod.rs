//! Manual pages: prose that stands beside the commands, and what the command line parser knows,
//! as man(7) source.
//!
//! Owns the language of the prose ([`Block`]), how a [`guide`] is read, what is taken from a clap
//! command ([`synopsis`], [`verbs`], [`options`]) and the roff. The same input gives the same bytes,
//! and `mandoc -Tlint -Wwarning` has nothing to say about them.

mod command;
mod guide;
mod prose;
mod roff;

pub use command::{options, subcommands, synopsis, verbs};
pub use guide::guide;
pub use prose::{Block, parse};
pub use roff::{Head, page};
