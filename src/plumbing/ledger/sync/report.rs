//! What is said of the rounds. Nobody's slowness holds up the index: a record is written only when
//! there is room for it, and rounds that end before that are told as one.

use std::os::fd::{AsFd, OwnedFd};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

use crate::cli::Io;
use crate::error::{Error, Result};
use crate::hangup;
use crate::plumbing::ledger::flush;
use crate::record::{self, Sync, SyncMode};

/// What has been done, and not been said yet.
#[derive(Default)]
pub struct Report(Option<Sync>);

impl Report {
    /// Takes what a round did.
    pub fn add(&mut self, sync: Sync) {
        let Some(before) = &mut self.0 else {
            self.0 = Some(sync);
            return;
        };
        before.files += sync.files;
        before.chunks_added += sync.chunks_added;
        before.chunks_removed += sync.chunks_removed;
        before.kept_reads += sync.kept_reads;
        before.batch = sync.batch.or(before.batch);
        if sync.mode == SyncMode::Full {
            before.mode = SyncMode::Full;
        }
    }

    /// What to wait for on standard output, beside its end.
    pub fn wanted(&self) -> PollFlags {
        self.0.as_ref().map_or(hangup::ASK, |_| PollFlags::OUT)
    }

    /// Says it, if that can be done at once: a record is shorter than what a pipe with room takes.
    ///
    /// # Errors
    /// As [`record::write`].
    pub fn say(&mut self, io: &mut Io<'_>) -> Result<()> {
        let stdout = rustix::stdio::stdout();
        let mut fds = [PollFd::from_borrowed_fd(stdout.as_fd(), self.wanted())];
        let _ = poll(&mut fds, Some(&Timespec::default()));
        if fds[0].revents().intersects(PollFlags::OUT | hangup::SEEN) {
            self.write(io)?;
        }
        Ok(())
    }

    /// Says it as soon as it can be said; not when `stop` comes first.
    ///
    /// # Errors
    /// As [`record::write`]; closed after `stop`.
    pub fn say_last(&mut self, stop: &OwnedFd, io: &mut Io<'_>) -> Result<()> {
        let stdout = rustix::stdio::stdout();
        while self.0.is_some() {
            let mut fds = [
                PollFd::new(stop, PollFlags::IN),
                PollFd::from_borrowed_fd(stdout.as_fd(), self.wanted()),
            ];
            match poll(&mut fds, None) {
                Ok(_) if !fds[0].revents().is_empty() => return Err(Error::closed()),
                Ok(_) => self.write(io)?,
                Err(Errno::INTR) => {}
                Err(e) => return Err(Error::io("wait for", "standard output", &e.into())),
            }
        }
        Ok(())
    }

    fn write(&mut self, io: &mut Io<'_>) -> Result<()> {
        let Some(sync) = self.0.take() else { return Ok(()) };
        record::write(io.out, &sync).and_then(|()| flush(io.out))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn round(files: u64, mode: SyncMode, batch: Option<u64>) -> Sync {
        let (chunks_added, chunks_removed, kept_reads) = (2 * files, 3 * files, 4 * files);
        Sync { repo: "r".into(), files, chunks_added, chunks_removed, kept_reads, mode, batch }
    }

    #[test]
    fn rounds_that_were_not_said_are_one() {
        let mut report = Report::default();
        assert_eq!(report.wanted(), hangup::ASK);
        report.add(round(1, SyncMode::Incremental, Some(1)));
        report.add(round(10, SyncMode::Full, Some(4)));
        report.add(round(100, SyncMode::Incremental, None));
        assert_eq!(report.wanted(), PollFlags::OUT);
        assert_eq!(report.0, Some(round(111, SyncMode::Full, Some(4))));
    }
}
