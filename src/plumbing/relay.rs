//! `auwai-relay`: lines from a producer that must never wait to a reader that may be slow.

use std::path::PathBuf;

use crate::cli::{Io, Tool, last_words};
use crate::error::{Error, Result};
use crate::relay::{self, Ended, Options};

/// The bytes of a backlog that stay in memory when there is a folder to spill to.
const MEMORY: usize = 16 << 20;

/// Copy standard input to standard output line by line, without ever making the writer wait
///
/// Input is drained at once, and each line goes out in one `write()`: on a pipe or FIFO that several
/// processes write to, lines of up to PIPE_BUF bytes (4,096 on Linux) stay whole. Ends when the input
/// has ended and all of it is out, or quietly when nobody reads the output any more.
#[derive(Debug, Clone, clap::Parser)]
#[command(name = "auwai-relay", version, max_term_width = 100)]
pub struct Relay {
    /// Lines end with a NUL byte, not with a newline
    #[arg(long, short = '0', visible_short_alias = 'z')]
    null: bool,
    /// Keep what waits in files in the folder DIR when it outgrows 16 MiB, not in memory
    ///
    /// The files have no names and go with the process. When the folder is full, one line says so,
    /// and what waits stays in memory.
    #[arg(long, value_name = "DIR")]
    spill: Option<PathBuf>,
    /// Tell a failure as an `error` record on standard output too
    #[arg(long)]
    json: bool,
}

impl Tool for Relay {
    const NAME: &'static str = "auwai-relay";

    fn json(&self) -> bool {
        self.json
    }

    fn run(self, io: &mut Io<'_>) -> Result<()> {
        let options = Options {
            end: if self.null { 0 } else { b'\n' },
            spill: self.spill.map(|dir| io.world.absolute(&dir)),
            memory: MEMORY,
        };
        let warn = |error: &Error| {
            last_words(Self::NAME, &format!("{error}: what waits stays in memory"));
        };
        let (input, output) = (rustix::stdio::stdin(), rustix::stdio::stdout());
        match relay::relay(input, output, &options, &warn)? {
            Ended::AllOut => Ok(()),
            Ended::ReaderGone => Err(Error::closed()),
        }
    }
}
