//! Sends sheets, watches what leaves, acknowledges.
//!
//! A thread of its own, so that acknowledgements flow and signals are answered while the caller
//! waits for its input.

use std::collections::VecDeque;
use std::io;
use std::os::fd::BorrowedFd;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use super::acks::{Acks, closed};
use super::outlet::{Outlet, Wrote};
use super::sheet::Sheet;
use crate::error::{Error, Result};
use crate::record::Read;

/// How long anything is waited for before all is looked at again.
const TICK: Duration = Duration::from_millis(10);

/// The shortest wait while the output drains; it doubles up to [`TICK`] as nothing happens.
const SHORT: Duration = Duration::from_micros(500);

/// How a delivery ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    /// Everything has left.
    Whole,
    /// The reader has gone.
    Gone,
    /// The reader is there and takes nothing.
    Untaken,
    /// The process was told to stop.
    Stopped,
}

/// What became of the sheets that were sent.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Tally {
    /// Chunks on them.
    pub chunks: u64,
    /// Of those, acknowledged.
    pub acknowledged: u64,
    /// Bytes on them.
    pub bytes: u64,
    /// Of those, taken.
    pub taken: u64,
}

/// What a delivery needs.
pub struct Orders {
    /// Where the text goes.
    pub out: BorrowedFd<'static>,
    /// Where the acknowledgements go.
    pub acks: Acks,
    /// How long to wait, after the last write, for a reader that takes nothing.
    pub drain: Duration,
    /// Whether the process was told to stop. Asked often.
    pub stopped: Box<dyn Fn() -> bool + Send>,
    /// Called on the delivery's thread after the last acknowledgement, when it was. The caller's
    /// own thread may be waiting for input, so this is the place to end the process.
    pub on_stop: Box<dyn FnOnce(Tally) + Send>,
}

/// A delivery under way.
pub struct Delivery {
    sheets: SyncSender<Sheet>,
    thread: JoinHandle<(Tally, Result<Ended>)>,
}

impl Delivery {
    /// Begins one.
    ///
    /// # Errors
    /// When the output is not open, or no thread can be had.
    pub fn start(orders: Orders) -> Result<Delivery> {
        let outlet = Outlet::new(orders.out).map_err(|e| {
            output(&e).hint("open standard output, to a pipe or a file: `auwai read | less`")
        })?;
        // One waits while one is sent: sheets can be large.
        let (sheets, inbox) = sync_channel(1);
        let on_stop = orders.on_stop;
        let courier = Courier {
            outlet,
            acks: orders.acks,
            pending: VecDeque::new(),
            tally: Tally::default(),
            drain: orders.drain,
            stopped: orders.stopped,
        };
        let thread = std::thread::Builder::new().name("delivery".into());
        let thread = thread.spawn(move || courier.run(&inbox, on_stop));
        let thread = thread.map_err(|e| Error::io("start", "a thread", &e))?;
        Ok(Delivery { sheets, thread })
    }

    /// Hands over a sheet; waits while the one before is on its way.
    ///
    /// # Errors
    /// `closed` when the delivery has ended; [`Delivery::finish`] says how.
    pub fn send(&self, sheet: Sheet) -> Result<()> {
        self.sheets.send(sheet).map_err(|_| Error::closed())
    }

    /// Waits until all has left, the reader has gone, or it takes nothing for the time to drain.
    /// The tally also stands when the delivery failed.
    pub fn finish(self) -> (Tally, Result<Ended>) {
        drop(self.sheets);
        let lost = |_| (Tally::default(), Err(Error::failed("bug", "the delivery broke down")));
        self.thread.join().unwrap_or_else(lost)
    }
}

struct Courier {
    outlet: Outlet<'static>,
    acks: Acks,
    /// Chunks that have not left, with the place of the byte after their last one.
    pending: VecDeque<(u64, Read)>,
    tally: Tally,
    drain: Duration,
    stopped: Box<dyn Fn() -> bool + Send>,
}

impl Courier {
    fn run(
        mut self,
        inbox: &Receiver<Sheet>,
        on_stop: Box<dyn FnOnce(Tally) + Send>,
    ) -> (Tally, Result<Ended>) {
        let ended = self.serve(inbox);
        self.tally.acknowledged = self.acks.sent();
        if matches!(ended, Ok(Ended::Stopped)) {
            on_stop(self.tally);
        }
        (self.tally, ended)
    }

    /// Until the caller has no more sheets, or something ends it.
    fn serve(&mut self, inbox: &Receiver<Sheet>) -> Result<Ended> {
        loop {
            let ended = match inbox.recv_timeout(TICK) {
                Ok(sheet) => self.deliver(sheet)?,
                Err(RecvTimeoutError::Timeout) => self.look()?,
                Err(RecvTimeoutError::Disconnected) => return self.finish(),
            };
            if let Some(ended) = ended {
                return Ok(ended);
            }
        }
    }

    /// Writes one sheet, acknowledging on the way.
    fn deliver(&mut self, sheet: Sheet) -> Result<Option<Ended>> {
        let (text, before) = (sheet.text, self.tally.bytes);
        self.tally.bytes += text.len() as u64;
        self.tally.chunks += sheet.marks.len() as u64;
        let marks = sheet.marks.into_iter();
        self.pending.extend(marks.map(|mark| (before + mark.end as u64, mark.chunk)));
        let mut rest = text.as_bytes();
        while !rest.is_empty() {
            if let Some(ended) = self.look()? {
                return Ok(Some(ended));
            }
            if !self.outlet.wait_writable(self.acks.as_fd(), TICK).map_err(|e| waited(&e))? {
                continue;
            }
            match self.outlet.write(rest).map_err(|e| output(&e))? {
                Wrote::Bytes(count) => rest = &rest[count..],
                Wrote::Nothing => {}
                Wrote::Gone => return self.settle().map(|()| Some(Ended::Gone)),
            }
        }
        self.look()
    }

    /// After the last write: waits until all has left.
    fn finish(&mut self) -> Result<Ended> {
        self.outlet.save().map_err(|e| output(&e))?;
        let (mut quiet_since, mut pause) = (Instant::now(), SHORT);
        loop {
            let before = self.tally.taken;
            if let Some(ended) = self.look()? {
                return Ok(ended);
            }
            if self.tally.taken == self.outlet.written() {
                return Ok(Ended::Whole);
            }
            if self.tally.taken != before {
                (quiet_since, pause) = (Instant::now(), SHORT);
            }
            let left = self.drain.saturating_sub(quiet_since.elapsed());
            if left.is_zero() {
                return Ok(Ended::Untaken);
            }
            let wait = pause.min(left);
            if self.outlet.wait_gone(self.acks.as_fd(), wait).map_err(|e| waited(&e))? {
                return self.settle().map(|()| self.gone_or_whole());
            }
            pause = (pause * 2).min(TICK);
        }
    }

    /// A reader that has gone may have taken everything first.
    fn gone_or_whole(&self) -> Ended {
        if self.tally.taken == self.outlet.written() { Ended::Whole } else { Ended::Gone }
    }

    /// Acknowledges what has left, and sees whether to stop.
    fn look(&mut self) -> Result<Option<Ended>> {
        let stop = (self.stopped)();
        if stop {
            self.outlet.save().map_err(|e| output(&e))?;
        }
        self.settle()?;
        Ok(stop.then_some(Ended::Stopped))
    }

    fn settle(&mut self) -> Result<()> {
        self.tally.taken = self.outlet.taken().map_err(|e| output(&e))?;
        while let Some((_, chunk)) =
            self.pending.front().filter(|(end, _)| *end <= self.tally.taken)
        {
            self.acks.send(chunk, &*self.stopped)?;
            self.pending.pop_front();
        }
        Ok(())
    }
}

/// An error of the output. A broken pipe is handled where it occurs, so it is none here.
fn output(cause: &io::Error) -> Error {
    Error::io("write to", "standard output", cause)
}

/// An error of waiting: a broken pipe is that of the acknowledgements.
fn waited(cause: &io::Error) -> Error {
    match cause.kind() {
        io::ErrorKind::BrokenPipe => closed(cause),
        _ => output(cause),
    }
}
