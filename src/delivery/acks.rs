//! Where acknowledgements go: a descriptor that the caller opened for us.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::OpenOptionsExt;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::OFlags;

use crate::error::{Error, Result, plain};
use crate::record::{self, Read};

/// How long a full pipe is waited for before `stop` is looked at again.
const TICK: Duration = Duration::from_millis(20);

/// How long the last acknowledgements may wait for a full pipe once the process was told to stop.
const LAST: Duration = Duration::from_secs(1);

/// The sink of `read` records: one line a `write()`.
pub struct Acks {
    sink: File,
    sent: u64,
}

impl Acks {
    /// Opens descriptor `fd` of this process anew, for writing. Call it before anything else is
    /// opened, or a descriptor that the caller forgot could be one of our own.
    ///
    /// # Errors
    /// A usage error when it is not open, or nothing that can be opened again (a socket).
    pub fn open(fd: u32) -> Result<Acks> {
        // A description of our own, so that the flag does not touch whoever shares the caller's.
        let flags = OFlags::NONBLOCK | OFlags::NOCTTY;
        let open = |path: String| {
            OpenOptions::new().append(true).custom_flags(flags.bits() as i32).open(path)
        };
        let sink = open(format!("/proc/self/fd/{fd}")).or_else(|_| open(format!("/dev/fd/{fd}")));
        let sink = sink.map_err(|e| {
            Error::usage(format!("cannot write acknowledgements to descriptor {fd}"))
                .because(plain(&e))
                .hint(format!("open it: `auwai-ledger print --ack-fd {fd} {fd}>acks.jsonl`"))
        })?;
        Ok(Acks { sink, sent: 0 })
    }

    /// Acknowledges one chunk. While the other side is slow this waits, but once `stopped` says so
    /// only for a second.
    ///
    /// # Errors
    /// `ack-closed` when nobody reads the acknowledgements any more.
    pub(super) fn send(&mut self, chunk: &Read, stopped: &dyn Fn() -> bool) -> Result<()> {
        let mut line = Vec::with_capacity(96);
        record::write(&mut line, chunk)?;
        let mut stopped_at: Option<Instant> = None;
        loop {
            match self.sink.write(&line) {
                Ok(count) if count == line.len() => break,
                // On a pipe only a line of more than PIPE_BUF (a very long path) can be torn.
                Ok(count) => drop(line.drain(..count)),
                Err(e) if is_later(&e) => {}
                Err(e) => return Err(closed(&e)),
            }
            if stopped() && stopped_at.get_or_insert_with(Instant::now).elapsed() > LAST {
                return Err(closed(&io::ErrorKind::TimedOut.into()));
            }
            self.wait();
        }
        self.sent += 1;
        Ok(())
    }

    /// How many were sent.
    pub(super) fn sent(&self) -> u64 {
        self.sent
    }

    pub(super) fn as_fd(&self) -> BorrowedFd<'_> {
        self.sink.as_fd()
    }

    fn wait(&self) {
        let mut fds = [PollFd::new(&self.sink, PollFlags::OUT)];
        let tick = Timespec { tv_sec: 0, tv_nsec: TICK.subsec_nanos().into() };
        // Whatever comes of it, the next write says more.
        let _ = poll(&mut fds, Some(&tick));
    }
}

fn is_later(e: &io::Error) -> bool {
    matches!(e.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted)
}

/// The error for acknowledgements that cannot be delivered.
pub(super) fn closed(cause: &io::Error) -> Error {
    Error::failed("ack-closed", "cannot send acknowledgements: printing stops")
        .because(plain(cause))
        .hint("see what the program that marks chunks as read says, and read again")
}

#[cfg(test)]
mod tests {
    use std::os::fd::OwnedFd;

    use super::*;

    fn chunk() -> Read {
        Read::of("r", crate::record::ChunkId(1))
    }

    #[test]
    fn a_full_pipe_is_waited_for_until_told_to_stop() {
        let (reader, writer) = io::pipe().unwrap();
        let mut acks = Acks::open(std::os::fd::AsRawFd::as_raw_fd(&writer) as u32).unwrap();
        let full = vec![b'x'; 1 << 20];
        assert!(acks.sink.write(&full).unwrap() < full.len());
        let error = acks.send(&chunk(), &|| true).unwrap_err();
        assert_eq!((error.code(), acks.sent()), ("ack-closed", 0));
        drop(reader);
    }

    #[test]
    fn a_reader_that_has_gone_is_an_error() {
        let (reader, writer) = io::pipe().unwrap();
        drop(reader);
        let mut acks = Acks { sink: File::from(OwnedFd::from(writer)), sent: 0 };
        let error = acks.send(&chunk(), &|| false).unwrap_err();
        assert_eq!((error.code(), error.kind().exit_code()), ("ack-closed", 3));
    }

    #[test]
    fn a_descriptor_that_is_not_open_is_a_usage_error() {
        let error = Acks::open(987).err().unwrap();
        assert_eq!(error.kind().exit_code(), 2);
    }
}
