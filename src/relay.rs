//! Lines from a producer that must never wait to a reader that may be slow, each line in one
//! `write()`.
//!
//! A pipe holds 64 KiB. A producer that writes more than its reader takes stops there, and a watcher
//! that stops loses events. [`relay`] drains its input at once into a [`Backlog`], in memory or, past
//! a bound, in files, and hands it on line by line. POSIX promises that a `write()` of up to
//! `PIPE_BUF` bytes to a pipe is not mixed with those of other processes, so such lines stay whole in
//! a FIFO that several writers share; a longer line goes out in one call too, but may be torn there.
//!
//! A signal needs no care here: between two calls nothing is half written, and the kernel writes up
//! to `PIPE_BUF` bytes whole or not at all.

mod backlog;
mod lines;

use std::os::fd::BorrowedFd;
use std::path::PathBuf;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;

use crate::error::{Error, Result};

use backlog::{Backlog, Next};
use lines::Lines;

/// The most that one `read()` takes: what a pipe can hold when it has been made larger.
const READ: usize = 1 << 20;

/// How to relay.
#[derive(Debug, Clone)]
pub struct Options {
    /// The byte that ends a line.
    pub end: u8,
    /// Where the backlog goes when it outgrows [`Options::memory`]; `None`: it stays in memory.
    pub spill: Option<PathBuf>,
    /// The bytes of the backlog that may be in memory when there is a place to spill.
    pub memory: usize,
}

/// What came of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    /// The input ended, and all of it is out.
    AllOut,
    /// The reader has gone.
    ReaderGone,
}

/// Copies `input` to `output`, a line a `write()`, until the input ends or nobody reads the output.
/// A last line without its end gets one. `warn` is told, once, when the backlog cannot be spilled;
/// it then stays in memory.
///
/// # Errors
/// When the input cannot be read, the output not written, or a spilled line not be read back.
pub fn relay(
    input: BorrowedFd<'_>,
    output: BorrowedFd<'_>,
    options: &Options,
    warn: &(dyn Fn(&Error) + Sync),
) -> Result<Ended> {
    let backlog = Backlog::new(options.spill.clone(), options.memory)?;
    std::thread::scope(|scope| {
        // When the output fails, the process ends with this thread still reading.
        let writing = scope.spawn(|| {
            let ended = write_all(&backlog, output, options.end);
            backlog.abandon();
            ended
        });
        let read = drain(input, &backlog, warn);
        backlog.close();
        let ended = writing.join().map_err(|_| Error::failed("bug", "the writer panicked"))?;
        ended.and_then(|ended| read.map(|()| ended))
    })
}

/// Takes all there is to read as fast as it comes.
fn drain(input: BorrowedFd<'_>, backlog: &Backlog, warn: &(dyn Fn(&Error) + Sync)) -> Result<()> {
    let mut buffer = vec![0; READ];
    while wait_for_input(input, backlog)? {
        match rustix::io::read(input, &mut buffer) {
            Ok(0) => return Ok(()),
            Ok(read) => {
                if let Some(error) = backlog.push(&buffer[..read]) {
                    warn(&error);
                }
            }
            Err(Errno::INTR | Errno::AGAIN) => {}
            Err(e) => return Err(Error::io("read", "standard input", &e.into())),
        }
    }
    Ok(())
}

/// Waits for input; `false` when nobody is there to relay it to.
fn wait_for_input(input: BorrowedFd<'_>, backlog: &Backlog) -> Result<bool> {
    let mut fds = [
        PollFd::from_borrowed_fd(input, PollFlags::IN),
        PollFd::from_borrowed_fd(backlog.abandoned(), PollFlags::IN),
    ];
    match poll(&mut fds, None) {
        Ok(_) => Ok(fds[1].revents().is_empty()),
        Err(Errno::INTR) => Ok(true),
        Err(e) => Err(Error::io("wait for", "standard input", &e.into())),
    }
}

/// Writes the backlog line by line until it has ended.
fn write_all(backlog: &Backlog, output: BorrowedFd<'_>, end: u8) -> Result<Ended> {
    let (mut lines, mut block) = (Lines::new(end), Vec::new());
    loop {
        match backlog.next(output, &mut block)? {
            Next::Bytes(bytes) => {
                let sent = lines.feed(bytes, |line| write_line(output, line))?;
                if sent == Ended::ReaderGone {
                    return Ok(sent);
                }
            }
            Next::ReaderGone => return Ok(Ended::ReaderGone),
            Next::End => return lines.finish(|line| write_line(output, line)),
        }
    }
}

/// One line in one `write()`; what a full output did not take of a long one follows.
///
/// # Errors
/// When it cannot be written, for another reason than that the reader has gone.
pub fn write_line(output: BorrowedFd<'_>, line: &[u8]) -> Result<Ended> {
    let mut left = line;
    while !left.is_empty() {
        match rustix::io::write(output, left) {
            Ok(wrote) => left = &left[wrote..],
            Err(Errno::INTR) => {}
            // Another process may have made our end non-blocking: the flag is shared. Up to
            // PIPE_BUF bytes are then written whole or not at all.
            Err(Errno::AGAIN) => wait_writable(output)?,
            Err(Errno::PIPE) => return Ok(Ended::ReaderGone),
            Err(e) => return Err(Error::io("write to", "standard output", &e.into())),
        }
    }
    Ok(Ended::AllOut)
}

fn wait_writable(output: BorrowedFd<'_>) -> Result<()> {
    match poll(&mut [PollFd::from_borrowed_fd(output, PollFlags::OUT)], None) {
        Ok(_) | Err(Errno::INTR) => Ok(()),
        Err(e) => Err(Error::io("wait for", "standard output", &e.into())),
    }
}

#[cfg(test)]
mod tests;
