//! One call of the user's command. Its own end decides: what it started and left running may hold
//! its standard input and output open, and gets a moment, no more.

use std::io::Read;
use std::process::{Child, ExitStatus};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::counted::{agree, count};
use crate::error::{Error, Result};
use crate::porcelain::signals::Forward;

/// How long the rest of the input may be taken, and more output come, when the command has ended.
const MOMENT: Duration = Duration::from_secs(2);

/// The most of a command's output that becomes a finding, in bytes.
const FINDING: usize = 64 << 10;

/// Runs `feed` until it ends or the command does. When the command has ended and `feed` has not a
/// moment later, `stop` must end it. Returns how the command ended and what `feed` did.
pub fn until_its_end<T>(
    child: &mut Child,
    signals: &Forward,
    stop: impl FnOnce() + Send,
    feed: impl FnOnce() -> T,
) -> Result<(ExitStatus, T)> {
    let (feeding, fed) = channel::<()>();
    std::thread::scope(|scope| {
        let end = scope.spawn(move || {
            let status = signals.reap(child);
            if fed.recv_timeout(MOMENT) == Err(RecvTimeoutError::Timeout) {
                stop();
            }
            status
        });
        let done = feed();
        drop(feeding);
        let status = end.join().unwrap_or_else(|_| Err(std::io::Error::other("a thread died")));
        Ok((status.map_err(|e| Error::io("wait for", "the command", &e))?, done))
    })
}

/// The output of a command, as it comes.
pub struct Finding {
    kept: Arc<Mutex<Kept>>,
    end: Receiver<()>,
}

#[derive(Default)]
struct Kept {
    text: Vec<u8>,
    more: usize,
}

impl Finding {
    /// Begins to read a command's output, on a thread of its own.
    pub fn of(child: &mut Child) -> Finding {
        let (kept, (reading, end)) = (Arc::<Mutex<Kept>>::default(), channel());
        if let Some(output) = child.stdout.take() {
            let kept = Arc::clone(&kept);
            std::thread::spawn(move || {
                keep(output, &kept);
                drop(reading);
            });
        }
        Finding { kept, end }
    }

    /// What there is when the output has ended, or a moment later: as much as a finding may hold.
    pub fn text(self) -> String {
        let _ = self.end.recv_timeout(MOMENT);
        let Ok(kept) = self.kept.lock() else { return String::new() };
        // A NUL would end the text for SQL's functions, and make findings.md no text for grep.
        let mut text = String::from_utf8_lossy(&kept.text).replace('\0', "\\x00");
        let more = kept.more as u64;
        if more > 0 {
            text.push_str(&format!(
                "\n[{} {} not kept]",
                count(more, "more byte"),
                agree(more, "was", "were")
            ));
        }
        text
    }
}

/// A finding that cannot be read further ends there; the segment was read all the same.
fn keep(mut output: impl Read, kept: &Mutex<Kept>) {
    let mut buffer = [0; 1 << 13];
    while let Ok(count @ 1..) = output.read(&mut buffer) {
        let Ok(mut kept) = kept.lock() else { return };
        let room = (FINDING - kept.text.len()).min(count);
        kept.text.extend_from_slice(&buffer[..room]);
        kept.more += count - room;
    }
}
