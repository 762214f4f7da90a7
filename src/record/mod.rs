//! The wire: every record type, and how a line of JSON becomes one and back.
//!
//! A record is one JSON object on one line, UTF-8, ended by `\n`, with `"v":1` and `"type"` first.
//! Keys are absent rather than null. A reader passes over types and keys that it does not know, so
//! a type may grow keys but never change one. `auwai-records(5)` is the reference.

mod ids;
mod json;
mod mark;
mod path;
mod stream;
mod types;

pub use ids::{ByteRange, ChunkId, LineRange, QualifiedId, SegmentId, Tokens, is_name};
pub use json::to_json;
pub use mark::{MARK_CHARS, MARK_TOKENS, is_mark, mark, mark_line};
pub use path::{RepoPath, path_from_wire, path_to_wire};
pub use stream::{Reader, parse, write};
pub use types::*;
