//! How fast a sweep writes: no faster than its reader takes, so that what comes meanwhile stands behind
//! a line or two of it, not behind what a pipe holds.

use std::os::fd::BorrowedFd;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;

use crate::error::{Error, Result};
use crate::hangup;

/// A reader that has taken all within this is a fast one.
const FAST: Duration = Duration::from_millis(1);

/// For a fast reader so much more may lie in the pipe each time, up to the second.
const AHEAD: (u64, u64) = (256, 2048);

/// The time between two looks, at first and at most.
const LOOKS: (Duration, Duration) = (Duration::from_micros(50), Duration::from_millis(20));

/// The pace of a sweep.
#[derive(Debug, Default)]
pub struct Pace {
    /// So many bytes may be untaken when a line is written.
    ahead: u64,
}

/// What came of waiting for room.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Room {
    /// There was room.
    AtOnce,
    /// There is room now.
    Now,
    /// The reader has gone.
    Never,
}

impl Pace {
    /// Waits until there is room for a line.
    ///
    /// # Errors
    /// When the system refuses.
    pub fn wait(&mut self, output: BorrowedFd<'_>) -> Result<Room> {
        let Some(mut lies) = untaken(output) else { return wait_writable(output) };
        if lies <= self.ahead {
            return Ok(Room::AtOnce);
        }
        let (begun, mut look) = (Instant::now(), LOOKS.0);
        while lies > self.ahead {
            if has_gone(output, look)? {
                return Ok(Room::Never);
            }
            // A slow one gets no line more while others lie there, whatever it was before.
            if begun.elapsed() > FAST {
                self.ahead = 0;
            }
            look = (look * 2).min(LOOKS.1);
            lies = untaken(output).unwrap_or(0);
        }
        self.learn(begun.elapsed());
        Ok(Room::Now)
    }

    /// A reader has taken so long for what lay there.
    fn learn(&mut self, took: Duration) {
        self.ahead = if took <= FAST { (self.ahead + AHEAD.0).min(AHEAD.1) } else { 0 };
    }
}

/// How many bytes lie in a pipe; `None` when that cannot be known.
#[cfg(all(target_os = "linux", not(auwai_portable)))]
fn untaken(output: BorrowedFd<'_>) -> Option<u64> {
    use rustix::fs::FileType;
    let mode = rustix::fs::fstat(output).ok()?.st_mode;
    let is_pipe = FileType::from_raw_mode(mode) == FileType::Fifo;
    is_pipe.then(|| rustix::io::ioctl_fionread(output).ok()).flatten()
}

#[cfg(not(all(target_os = "linux", not(auwai_portable))))]
fn untaken(_: BorrowedFd<'_>) -> Option<u64> {
    None
}

/// What is no pipe takes what it can.
fn wait_writable(output: BorrowedFd<'_>) -> Result<Room> {
    match wait_for(output, PollFlags::OUT, None)?.intersects(hangup::SEEN) {
        true => Ok(Room::Never),
        false => Ok(Room::AtOnce),
    }
}

fn has_gone(output: BorrowedFd<'_>, within: Duration) -> Result<bool> {
    Ok(wait_for(output, hangup::ASK, Some(within))?.intersects(hangup::SEEN))
}

fn wait_for(
    output: BorrowedFd<'_>,
    events: PollFlags,
    within: Option<Duration>,
) -> Result<PollFlags> {
    let mut fds = [PollFd::from_borrowed_fd(output, events)];
    match poll(&mut fds, within.map(super::timespec).as_ref()) {
        Ok(_) => Ok(fds[0].revents()),
        Err(Errno::INTR) => Ok(PollFlags::empty()),
        Err(e) => Err(Error::io("wait for", "standard output", &e.into())),
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::os::fd::AsFd;

    use super::*;

    #[test]
    fn a_line_waits_until_the_one_before_is_taken() {
        let (mut from, to) = std::io::pipe().unwrap();
        (&to).write_all(&[b'x'; 100]).unwrap();
        let reader = std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(10));
            from.read_exact(&mut [0; 100]).unwrap();
            from
        });
        assert_ne!(Pace::default().wait(to.as_fd()).unwrap(), Room::Never);
        assert_eq!(rustix::io::ioctl_fionread(&to).unwrap(), 0);
        drop(reader.join().unwrap());
    }

    #[test]
    fn a_reader_that_has_become_slow_takes_all_before_the_next_line() {
        let (mut from, to) = std::io::pipe().unwrap();
        (&to).write_all(&[b'x'; 3000]).unwrap();
        let reader = std::thread::spawn(move || {
            for _ in 0..2 {
                std::thread::sleep(Duration::from_millis(200));
                from.read_exact(&mut [0; 1500]).unwrap();
            }
            from
        });
        let mut pace = Pace { ahead: AHEAD.1 };
        assert_eq!(pace.wait(to.as_fd()).unwrap(), Room::Now);
        assert_eq!((rustix::io::ioctl_fionread(&to).unwrap(), pace.ahead), (0, 0));
        drop(reader.join().unwrap());
    }

    #[test]
    fn more_lies_ahead_of_a_fast_reader_and_nothing_of_a_slow_one() {
        let (mut pace, fast) = (Pace::default(), Duration::from_micros(100));
        let mut after = |took| {
            pace.learn(took);
            pace.ahead
        };
        assert_eq!([fast; 3].map(&mut after), [256, 512, 768]);
        assert_eq!([fast; 9].map(&mut after)[8], 2048);
        assert_eq!([Duration::from_millis(10), fast].map(&mut after), [0, 256]);
    }

    #[test]
    fn a_reader_that_goes_is_noticed() {
        let (from, to) = std::io::pipe().unwrap();
        (&to).write_all(b"x").unwrap();
        let gone = std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(10));
            drop(from);
        });
        assert_eq!(Pace::default().wait(to.as_fd()).unwrap(), Room::Never);
        gone.join().unwrap();
    }
}
