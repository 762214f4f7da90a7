//! Words that a verb works through: typed on the command line, or taken from standard input.

use std::ffi::OsString;
use std::io::BufRead;
use std::os::unix::ffi::OsStringExt;

use crate::error::{Error, Result};

/// Whether words come from standard input.
#[derive(Debug, Clone, clap::Args)]
pub struct StdinOption {
    /// Take them from standard input, one a line
    #[arg(long)]
    stdin: bool,
    /// With --stdin: each ends with NUL instead of a newline, so that any path can be given
    #[arg(short = '0', long, visible_short_alias = 'z', requires = "stdin")]
    null: bool,
}

impl StdinOption {
    /// The words, in order; those of standard input are read as they are asked for.
    pub fn words<'a>(
        &self,
        typed: &'a [OsString],
        input: &'a mut dyn BufRead,
    ) -> Box<dyn Iterator<Item = Result<OsString>> + 'a> {
        if !self.stdin {
            return Box::new(typed.iter().cloned().map(Ok));
        }
        let end = if self.null { 0 } else { b'\n' };
        let word = |word: std::io::Result<Vec<u8>>| {
            word.map(OsString::from_vec).map_err(|e| Error::io("read", "-", &e))
        };
        Box::new(input.split(end).map(word))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(null: bool, mut input: &[u8]) -> Vec<Vec<u8>> {
        let option = StdinOption { stdin: true, null };
        let words = option.words(&[], &mut input).map(|word| word.unwrap().into_vec());
        words.collect()
    }

    #[test]
    fn the_last_word_needs_no_end() {
        assert_eq!(words(false, b"a\nb c\n"), [&b"a"[..], b"b c"]);
        assert_eq!(words(false, b"a\nb"), [b"a", b"b"]);
        assert_eq!(words(true, b"a\nb\0\xff"), [&b"a\nb"[..], b"\xff"]);
        assert!(words(true, b"").is_empty());
    }
}
