//! Waking a thread that waits for descriptors, and what it waits for beside its own.

use std::io::Write;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::time::Instant;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

use crate::error::{Error, Result};
use crate::hangup;

/// The end that wakes.
#[derive(Debug)]
pub struct Bell(UnixStream);

/// The end that is woken.
#[derive(Debug, Clone)]
pub struct Ear(Arc<OwnedFd>);

/// A bell and its ear.
///
/// # Errors
/// When the system has no descriptors left.
pub fn bell() -> Result<(Bell, Ear)> {
    let pair = UnixStream::pair().and_then(|(ours, theirs)| {
        ours.set_nonblocking(true)?;
        theirs.set_nonblocking(true)?;
        Ok((Bell(ours), Ear(Arc::new(theirs.into()))))
    });
    pair.map_err(|e| Error::io("make", "a socket", &e))
}

impl Bell {
    /// Wakes the other end; once is enough.
    pub fn ring(&self) {
        // Full means that it has been rung often enough; gone, that nobody listens.
        let _ = (&self.0).write(&[1]);
    }
}

impl Ear {
    /// Forgets that it was rung.
    pub fn hush(&self) {
        let mut bytes = [0; 64];
        while matches!(rustix::io::read(&self.0, &mut bytes), Ok(count) if count > 0) {}
    }

    /// Its descriptor, readable when it was rung.
    pub fn fd(&self) -> &Arc<OwnedFd> {
        &self.0
    }
}

impl AsFd for Ear {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// What a watcher answers to beside the changes it watches for. Any of it ends a wait.
#[derive(Debug, Default, Clone)]
pub struct Beside {
    /// The output: when its reader has gone, there is nobody to tell.
    pub output: Option<Arc<OwnedFd>>,
    /// Readable when the watcher is to end.
    pub stop: Option<Arc<OwnedFd>>,
    /// Readable when somebody has something for the watcher's own thread.
    pub calls: Vec<Arc<OwnedFd>>,
    /// When the watcher is to end, whether its reader takes anything or not.
    pub until: Option<Instant>,
}

/// What ended a wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Woken {
    /// What was waited for.
    Ready,
    /// Something beside.
    Beside,
    /// The time.
    Time,
}

impl Beside {
    /// Waits until `ear` is rung (or never, without), something beside wants attention, or
    /// `until` has come.
    ///
    /// # Errors
    /// When the system cannot wait.
    pub fn wait(&self, ear: Option<BorrowedFd<'_>>, until: Option<Instant>) -> Result<Woken> {
        let mut fds: Vec<PollFd<'_>> =
            ear.iter().map(|fd| PollFd::new(fd, PollFlags::IN)).collect();
        let own = fds.len();
        fds.extend(self.output.iter().map(|fd| PollFd::new(fd, hangup::ASK)));
        fds.extend(self.stop.iter().map(|fd| PollFd::new(fd, PollFlags::IN)));
        fds.extend(self.calls.iter().map(|fd| PollFd::new(fd, PollFlags::IN)));
        poll_until(&mut fds, until)?;
        let is_ready = |fd: &PollFd<'_>| !fd.revents().is_empty();
        Ok(match (fds[own..].iter().any(is_ready), fds[..own].iter().any(is_ready)) {
            (true, _) => Woken::Beside,
            (_, true) => Woken::Ready,
            _ => Woken::Time,
        })
    }

    /// Whether the watcher is to end: it was told to, or nobody reads its output any more.
    pub fn is_over(&self) -> bool {
        seen(self.output.as_ref(), hangup::ASK).intersects(hangup::SEEN)
            || !seen(self.stop.as_ref(), PollFlags::IN).is_empty()
    }

    /// Whether the time is over.
    pub fn is_late(&self) -> bool {
        self.until.is_some_and(|until| until <= Instant::now())
    }

    /// Waits until the output can take a line. False when the watcher is to end instead.
    ///
    /// # Errors
    /// When the system cannot wait.
    pub fn wait_writable(&self) -> Result<bool> {
        let Some(output) = &self.output else { return Ok(true) };
        loop {
            let mut fds = vec![PollFd::new(output, PollFlags::OUT)];
            fds.extend(self.stop.iter().map(|fd| PollFd::new(fd, PollFlags::IN)));
            poll_until(&mut fds, self.until)?;
            if !fds[0].revents().is_empty() {
                // Also when the reader has gone: writing tells.
                return Ok(true);
            }
            if self.is_late() || fds.iter().skip(1).any(|fd| !fd.revents().is_empty()) {
                return Ok(false);
            }
        }
    }
}

fn seen(fd: Option<&Arc<OwnedFd>>, events: PollFlags) -> PollFlags {
    let Some(fd) = fd else { return PollFlags::empty() };
    let mut fds = [PollFd::new(fd, events)];
    match poll(&mut fds, Some(&Timespec { tv_sec: 0, tv_nsec: 0 })) {
        Ok(_) => fds[0].revents(),
        Err(_) => PollFlags::empty(),
    }
}

fn poll_until(fds: &mut [PollFd<'_>], until: Option<Instant>) -> Result<()> {
    let left = until.map(|until| until.saturating_duration_since(Instant::now()));
    let time = left.map(|left| Timespec {
        tv_sec: i64::try_from(left.as_secs()).unwrap_or(i64::MAX),
        tv_nsec: left.subsec_nanos().into(),
    });
    match poll(fds, time.as_ref()) {
        Ok(_) | Err(Errno::INTR) => Ok(()),
        Err(code) => Err(Error::io("wait for", "changes", &code.into())),
    }
}
