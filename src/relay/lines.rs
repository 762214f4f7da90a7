//! Blocks in, whole lines out.

use super::Ended;
use crate::error::Result;

/// Cuts a stream into lines, without a copy but for those that cross two blocks.
pub struct Lines {
    end: u8,
    begun: Vec<u8>,
}

impl Lines {
    /// Lines that end with the byte `end`.
    pub fn new(end: u8) -> Lines {
        Lines { end, begun: Vec::new() }
    }

    /// Passes on the lines that the block completes, until `send` says that the reader has gone.
    pub fn feed(
        &mut self,
        block: &[u8],
        mut send: impl FnMut(&[u8]) -> Result<Ended>,
    ) -> Result<Ended> {
        let mut start = 0;
        for end in memchr::memchr_iter(self.end, block) {
            let line = &block[start..=end];
            start = end + 1;
            let sent = if self.begun.is_empty() {
                send(line)?
            } else {
                self.begun.extend_from_slice(line);
                let sent = send(&self.begun)?;
                self.begun.clear();
                sent
            };
            if sent == Ended::ReaderGone {
                return Ok(sent);
            }
        }
        self.begun.extend_from_slice(&block[start..]);
        Ok(Ended::AllOut)
    }

    /// Passes on what is left, with the end that it lacks.
    pub fn finish(mut self, send: impl FnOnce(&[u8]) -> Result<Ended>) -> Result<Ended> {
        if self.begun.is_empty() {
            return Ok(Ended::AllOut);
        }
        self.begun.push(self.end);
        send(&self.begun)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn lines_are_those_of_the_whole_however_it_is_cut(
            text in "[ab\n]{0,40}", cuts in prop::collection::vec(0_usize..41, 0..6)
        ) {
            let mut cuts: Vec<usize> = cuts.into_iter().map(|at| at.min(text.len())).collect();
            cuts.extend([0, text.len()]);
            cuts.sort_unstable();
            let (mut lines, mut sent) = (Lines::new(b'\n'), Vec::new());
            let mut send = |line: &[u8]| {
                sent.push(String::from_utf8(line.to_vec()).unwrap());
                Ok(Ended::AllOut)
            };
            for pair in cuts.windows(2) {
                lines.feed(&text.as_bytes()[pair[0]..pair[1]], &mut send).unwrap();
            }
            lines.finish(&mut send).unwrap();
            let whole: Vec<String> = text.lines().map(|line| format!("{line}\n")).collect();
            prop_assert_eq!(sent, whole);
        }
    }
}
