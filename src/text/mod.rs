//! Bytes become text, text becomes shown lines, lines become tokens and chunks.
//!
//! Pure: the caller reads files in blocks and hands them in; nothing here opens, times or prints.
//! Memory is bounded whatever the file: a window of about one chunk, also inside a line of
//! gigabytes. The order of work on a file is [`Detector`], then [`Cutter`]; on a page it is
//! [`Frame`], then [`show_lines`].

mod chunk;
mod decode;
mod detect;
mod encoding;
mod frame;
pub mod generated;
mod id;
mod join;
mod piece;
mod rank;
mod shown;
mod tokens;
mod vocabulary;
mod window;

pub use chunk::{Cut, Cutter, shown_tokens};
pub use decode::decode;
pub use detect::{Class, Detector, detect};
pub use encoding::Encoding;
pub use frame::{Extent, Frame, Part, frame_tokens};
pub use id::{CHUNKER_VERSION, chunk_id};
pub use shown::show_lines;
pub use tokens::{Tokenizer, number_tokens};
