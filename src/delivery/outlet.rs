//! Standard output as a place that takes bytes, and what it has taken.

use std::io;
use std::os::fd::BorrowedFd;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{FileType, OFlags};
use rustix::io::Errno;

use crate::hangup;

/// The most that one `write()` sends. A pipe that can be written takes this much without blocking
/// (it is PIPE_BUF) unless another process fills it in between, so acknowledgements and signals are
/// not held up.
const PIECE: usize = 4096;

/// How long a reader is waited for before all is looked at again.
const TICK: Duration = Duration::from_millis(2);

/// What the output is, as far as delivery is concerned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// A pipe whose untaken bytes can be counted.
    Pipe,
    /// A regular file.
    File,
    /// What has been written counts as taken.
    Other,
}

/// What came of a `write()`.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Wrote {
    /// So many bytes.
    Bytes(usize),
    /// None now; try again.
    Nothing,
    /// Nobody will ever read them.
    Gone,
}

/// The output.
pub(super) struct Outlet<'fd> {
    fd: BorrowedFd<'fd>,
    kind: Kind,
    written: u64,
    saved: u64,
}

impl<'fd> Outlet<'fd> {
    /// Looks at what `fd` is.
    ///
    /// # Errors
    /// When it is not open.
    pub(super) fn new(fd: BorrowedFd<'fd>) -> io::Result<Self> {
        if is_closed(fd)? {
            return Err(Errno::BADF.into());
        }
        let kind = match FileType::from_raw_mode(rustix::fs::fstat(fd)?.st_mode) {
            FileType::Fifo if cfg!(target_os = "linux") => Kind::Pipe,
            FileType::RegularFile => Kind::File,
            _ => Kind::Other,
        };
        Ok(Outlet { fd, kind, written: 0, saved: 0 })
    }

    /// Writes the beginning of `bytes`.
    pub(super) fn write(&mut self, bytes: &[u8]) -> io::Result<Wrote> {
        match rustix::io::write(self.fd, &bytes[..bytes.len().min(PIECE)]) {
            Ok(count) => {
                self.written += count as u64;
                Ok(Wrote::Bytes(count))
            }
            // Another process may have made our end non-blocking: the flag is shared.
            Err(Errno::AGAIN | Errno::INTR) => Ok(Wrote::Nothing),
            Err(Errno::PIPE) => Ok(Wrote::Gone),
            Err(e) => Err(e.into()),
        }
    }

    /// How many of the written bytes have left.
    pub(super) fn taken(&self) -> io::Result<u64> {
        match self.kind {
            Kind::Pipe => Ok(self.written.saturating_sub(untaken(self.fd)?)),
            Kind::File => Ok(self.saved),
            Kind::Other => Ok(self.written),
        }
    }

    /// How many bytes have been written.
    pub(super) fn written(&self) -> u64 {
        self.written
    }

    /// A regular file: makes sure that what was written is on the disk.
    pub(super) fn save(&mut self) -> io::Result<()> {
        if self.kind == Kind::File {
            rustix::fs::fsync(self.fd).or_else(|e| match e {
                // The file system has no such thing: there is nothing to check.
                Errno::INVAL | Errno::NOTSUP => Ok(()),
                e => Err(e),
            })?;
            self.saved = self.written;
        }
        Ok(())
    }

    /// Waits until the output can be written, at most `timeout`. True when it can, or when writing
    /// would tell what is wrong. Also ends, with an error, when nobody reads `watched` any more.
    pub(super) fn wait_writable(&self, watched: BorrowedFd, timeout: Duration) -> io::Result<bool> {
        Ok(!self.wait(PollFlags::OUT, watched, timeout)?.is_empty())
    }

    /// Waits until the reader has gone, at most `timeout`, and tells whether it has.
    pub(super) fn wait_gone(&self, watched: BorrowedFd, timeout: Duration) -> io::Result<bool> {
        Ok(self.wait(hangup::ASK, watched, timeout)?.intersects(hangup::SEEN))
    }

    fn wait(
        &self,
        events: PollFlags,
        watched: BorrowedFd,
        timeout: Duration,
    ) -> io::Result<PollFlags> {
        let mut fds = [
            PollFd::from_borrowed_fd(self.fd, events),
            PollFd::from_borrowed_fd(watched, hangup::ASK),
        ];
        let timeout =
            Timespec { tv_sec: timeout.as_secs() as i64, tv_nsec: timeout.subsec_nanos().into() };
        match poll(&mut fds, Some(&timeout)) {
            Ok(_) if fds[1].revents().contains(PollFlags::ERR) => {
                Err(io::ErrorKind::BrokenPipe.into())
            }
            Ok(_) => Ok(fds[0].revents()),
            Err(Errno::INTR) => Ok(PollFlags::empty()),
            Err(e) => Err(e.into()),
        }
    }
}

/// Whether standard output was closed when the process began. Rust's runtime then opens /dev/null
/// for reading and writing in its place, which `> /dev/null` does not. (So a parent that hands over
/// a /dev/null opened both ways is taken for one that closed the output: nothing counts as read.)
fn is_closed(fd: BorrowedFd) -> io::Result<bool> {
    let both_ways = rustix::fs::fcntl_getfl(fd)? & OFlags::ACCMODE == OFlags::RDWR;
    let stat = rustix::fs::fstat(fd)?;
    if !both_ways || FileType::from_raw_mode(stat.st_mode) != FileType::CharacterDevice {
        return Ok(false);
    }
    Ok(rustix::fs::stat("/dev/null").is_ok_and(|null| null.st_rdev == stat.st_rdev))
}

/// Waits until the reader of a pipe has taken all that was written to it, or has gone, or `over`
/// says that it is over; whether all was taken. Where that cannot be asked, what was written was.
///
/// # Errors
/// When the pipe cannot be asked.
pub fn all_taken(pipe: BorrowedFd<'_>, over: &dyn Fn() -> bool) -> io::Result<bool> {
    let tick = Timespec { tv_sec: 0, tv_nsec: TICK.subsec_nanos().into() };
    loop {
        let ended = over() || reader_has_gone(pipe)?;
        if untaken(pipe)? == 0 {
            return Ok(true);
        }
        if ended {
            return Ok(false);
        }
        has_gone(pipe, &tick)?;
    }
}

/// Whether the reader of a pipe has gone; what is no pipe has none to lose.
///
/// # Errors
/// When it cannot be asked.
pub fn reader_has_gone(pipe: BorrowedFd<'_>) -> io::Result<bool> {
    has_gone(pipe, &Timespec { tv_sec: 0, tv_nsec: 0 })
}

/// Waits until the reader of a pipe has gone, at most `timeout`, and tells whether it has.
fn has_gone(pipe: BorrowedFd<'_>, timeout: &Timespec) -> io::Result<bool> {
    let mut fds = [PollFd::from_borrowed_fd(pipe, hangup::ASK)];
    match poll(&mut fds, Some(timeout)) {
        Ok(_) => Ok(fds[0].revents().intersects(hangup::SEEN)),
        Err(Errno::INTR) => Ok(false),
        Err(e) => Err(e.into()),
    }
}

#[cfg(all(target_os = "linux", not(auwai_portable)))]
fn untaken(fd: BorrowedFd) -> io::Result<u64> {
    Ok(rustix::io::ioctl_fionread(fd)?)
}

#[cfg(not(all(target_os = "linux", not(auwai_portable))))]
fn untaken(_: BorrowedFd) -> io::Result<u64> {
    Ok(0)
}

#[cfg(test)]
mod tests {
    use std::io::Read;
    use std::os::fd::AsFd;

    use super::*;

    #[test]
    #[cfg(all(target_os = "linux", not(auwai_portable)))]
    fn a_pipe_has_taken_what_its_reader_took_also_after_it_has_gone() {
        let (mut reader, writer) = io::pipe().unwrap();
        let mut outlet = Outlet::new(writer.as_fd()).unwrap();
        assert_eq!(outlet.write(b"0123456789").unwrap(), Wrote::Bytes(10));
        assert_eq!(outlet.taken().unwrap(), 0);
        reader.read_exact(&mut [0; 3]).unwrap();
        assert_eq!(outlet.taken().unwrap(), 3);
        drop(reader);
        assert_eq!(outlet.taken().unwrap(), 3);
        assert_eq!(outlet.write(b"x").unwrap(), Wrote::Gone);
        assert_eq!((outlet.taken().unwrap(), outlet.written()), (3, 10));
    }

    #[test]
    #[cfg(all(target_os = "linux", not(auwai_portable)))]
    fn bytes_of_another_writer_are_never_counted_as_ours() {
        let (mut reader, writer) = io::pipe().unwrap();
        let mut outlet = Outlet::new(writer.as_fd()).unwrap();
        io::Write::write_all(&mut &writer, b"others").unwrap();
        outlet.write(b"ours").unwrap();
        reader.read_exact(&mut [0; 6]).unwrap();
        assert_eq!(outlet.taken().unwrap(), 0);
        reader.read_exact(&mut [0; 1]).unwrap();
        assert_eq!(outlet.taken().unwrap(), 1);
    }

    #[test]
    #[cfg(all(target_os = "linux", not(auwai_portable)))]
    fn a_pipe_is_taken_when_its_reader_has_taken_all() {
        let (mut reader, writer) = io::pipe().unwrap();
        io::Write::write_all(&mut &writer, b"0123456789").unwrap();
        assert!(!all_taken(writer.as_fd(), &|| true).unwrap());
        let taker = std::thread::spawn(move || {
            reader.read_exact(&mut [0; 10]).unwrap();
            reader
        });
        assert!(all_taken(writer.as_fd(), &|| false).unwrap());
        let reader = taker.join().unwrap();
        io::Write::write_all(&mut &writer, b"more").unwrap();
        drop(reader);
        assert!(!all_taken(writer.as_fd(), &|| false).unwrap());
    }

    #[test]
    fn a_full_pipe_that_does_not_block_is_tried_again() {
        let (reader, writer) = io::pipe().unwrap();
        rustix::fs::fcntl_setfl(&writer, OFlags::NONBLOCK).unwrap();
        let mut outlet = Outlet::new(writer.as_fd()).unwrap();
        while outlet.write(&[b'x'; PIECE]).unwrap() != Wrote::Nothing {}
        let short = Duration::from_millis(1);
        assert!(!outlet.wait_writable(reader.as_fd(), short).unwrap());
        drop(reader);
        assert_eq!(outlet.taken().unwrap(), 0);
    }

    #[test]
    fn a_file_has_taken_what_is_saved() {
        let file = tempfile::tempfile().unwrap();
        let mut outlet = Outlet::new(file.as_fd()).unwrap();
        outlet.write(b"abc").unwrap();
        assert_eq!(outlet.taken().unwrap(), 0);
        outlet.save().unwrap();
        assert_eq!(outlet.taken().unwrap(), 3);
    }

    #[test]
    fn dev_null_both_ways_is_a_closed_output() {
        let write = std::fs::OpenOptions::new().write(true).open("/dev/null").unwrap();
        assert!(Outlet::new(write.as_fd()).is_ok());
        let both = std::fs::OpenOptions::new().read(true).write(true).open("/dev/null").unwrap();
        assert!(Outlet::new(both.as_fd()).is_err());
    }
}
