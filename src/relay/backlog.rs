//! What has been read and is not yet written: a queue between two threads, in memory and in files.

use std::collections::VecDeque;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;

use crate::error::{Error, Result};
use crate::hangup;
use crate::visible::quote;

/// Memory is taken in pieces of this size, so that many short reads do not cost one each.
const BLOCK: usize = 1 << 18;

/// A file of the backlog is given up when so much of it has been read: what the disk holds is
/// bounded by the backlog and this.
const SEGMENT: u64 = 64 << 20;

/// The queue.
pub struct Backlog {
    state: Mutex<State>,
    spill: Option<PathBuf>,
    memory: usize,
    /// Something came while the writer waited. (A pipe and no condition variable, since the writer
    /// waits for its reader to go at the same time.)
    wake: (io::PipeReader, io::PipeWriter),
    /// Closed by the writer when it stops.
    abandon: (io::PipeReader, Mutex<Option<io::PipeWriter>>),
}

#[derive(Default)]
struct State {
    items: VecDeque<Item>,
    in_memory: usize,
    closed: bool,
    waiting: bool,
    warned: bool,
}

/// A part of the queue.
enum Item {
    Memory(Vec<u8>),
    Spilled(Segment),
}

/// A file without a name, that goes when it is closed.
struct Segment {
    file: File,
    written: u64,
    read: u64,
}

/// What the writer is to do.
pub enum Next<'a> {
    /// Write this.
    Bytes(&'a [u8]),
    /// Stop: all is out.
    End,
    /// Stop: nobody reads.
    ReaderGone,
}

impl Backlog {
    /// An empty queue; past `memory` bytes it goes on in files in the folder `spill`.
    ///
    /// # Errors
    /// When a file cannot be made there: better now than in a burst.
    pub fn new(spill: Option<PathBuf>, memory: usize) -> Result<Backlog> {
        let pipe = || io::pipe().map_err(|e| Error::io("make", "a pipe", &e));
        let (wake, (gone, held)) = (pipe()?, pipe()?);
        let abandon = (gone, Mutex::new(Some(held)));
        let backlog = Backlog { state: Mutex::default(), spill, memory, wake, abandon };
        backlog.new_segment()?;
        Ok(backlog)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds bytes. Returns the error, once, when they could not be spilled: they are in memory then.
    pub fn push(&self, bytes: &[u8]) -> Option<Error> {
        let mut state = self.lock();
        let mut failure = None;
        let full = self.spill.is_some() && state.in_memory + bytes.len() > self.memory;
        if full && let Err(error) = self.spill(&mut state, bytes) {
            failure = Some(error).filter(|_| !state.warned);
            state.warned = true;
            state.keep(bytes);
        } else if !full {
            state.keep(bytes);
        }
        self.wake(&mut state);
        failure
    }

    /// Nothing more will come.
    pub fn close(&self) {
        let mut state = self.lock();
        state.closed = true;
        self.wake(&mut state);
    }

    /// Nothing more will be taken.
    pub fn abandon(&self) {
        self.abandon.1.lock().unwrap_or_else(PoisonError::into_inner).take();
    }

    /// Hangs up when nothing more will be taken.
    pub fn abandoned(&self) -> BorrowedFd<'_> {
        self.abandon.0.as_fd()
    }

    fn wake(&self, state: &mut State) {
        if std::mem::take(&mut state.waiting) {
            // The pipe is empty whenever the writer waits, so that one byte has room.
            let _ = rustix::io::write(&self.wake.1, b".");
        }
    }

    fn spill(&self, state: &mut State, bytes: &[u8]) -> Result<()> {
        let has_room = |item: &Item| matches!(item, Item::Spilled(s) if s.written < SEGMENT);
        if !state.items.back().is_some_and(has_room)
            && let Some(segment) = self.new_segment()?
        {
            state.items.push_back(Item::Spilled(segment));
        }
        match state.items.back_mut() {
            Some(Item::Spilled(segment)) => {
                let wrote = segment.file.write_all_at(bytes, segment.written);
                wrote.map_err(|e| self.cannot("write to", &e))?;
                segment.written += bytes.len() as u64;
                Ok(())
            }
            _ => Err(Error::failed("bug", "a backlog without a place to spill")),
        }
    }

    fn new_segment(&self) -> Result<Option<Segment>> {
        let Some(folder) = &self.spill else { return Ok(None) };
        let file = tempfile::tempfile_in(folder).map_err(|e| self.cannot("make a file in", &e))?;
        Ok(Some(Segment { file, written: 0, read: 0 }))
    }

    fn cannot(&self, what: &str, error: &io::Error) -> Error {
        let folder = self.spill.as_deref().unwrap_or(Path::new("."));
        Error::io(what, quote(folder), error).hint(
            "give a folder that is there and has room: `mkdir -p DIR && auwai-relay --spill DIR`",
        )
    }

    /// The next bytes; waits for them, and for `output` to lose its reader.
    ///
    /// # Errors
    /// When what was spilled cannot be read back.
    pub fn next<'a>(&self, output: BorrowedFd<'_>, block: &'a mut Vec<u8>) -> Result<Next<'a>> {
        loop {
            let mut state = self.lock();
            if state.take(block).map_err(|e| self.cannot("read back from", &e))? {
                return Ok(Next::Bytes(block));
            }
            if state.closed {
                return Ok(Next::End);
            }
            state.waiting = true;
            drop(state);
            if !self.wait(output)? {
                return Ok(Next::ReaderGone);
            }
        }
    }

    /// Waits to be woken; `false` when the reader of the output has gone.
    fn wait(&self, output: BorrowedFd<'_>) -> Result<bool> {
        let mut fds = [
            PollFd::from_borrowed_fd(self.wake.0.as_fd(), PollFlags::IN),
            PollFd::from_borrowed_fd(output, hangup::ASK),
        ];
        match poll(&mut fds, None) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(e) => return Err(Error::io("wait for", "input", &e.into())),
        }
        if fds[0].revents().contains(PollFlags::IN) {
            let _ = rustix::io::read(&self.wake.0, &mut [0; 8]);
            return Ok(true);
        }
        Ok(!fds[1].revents().intersects(PollFlags::ERR | PollFlags::NVAL))
    }
}

impl State {
    fn keep(&mut self, bytes: &[u8]) {
        self.in_memory += bytes.len();
        match self.items.back_mut() {
            Some(Item::Memory(block)) if block.len() + bytes.len() <= BLOCK => {
                block.extend_from_slice(bytes);
            }
            _ => {
                let mut block = Vec::with_capacity(BLOCK.max(bytes.len()));
                block.extend_from_slice(bytes);
                self.items.push_back(Item::Memory(block));
            }
        }
    }

    /// Moves the next bytes into `block`; `false` when there are none.
    fn take(&mut self, block: &mut Vec<u8>) -> io::Result<bool> {
        match self.items.front_mut() {
            None => Ok(false),
            Some(Item::Memory(bytes)) => {
                self.in_memory -= bytes.len();
                *block = std::mem::take(bytes);
                self.items.pop_front();
                Ok(true)
            }
            Some(Item::Spilled(segment)) => {
                segment.read_into(block)?;
                if segment.read == segment.written {
                    self.items.pop_front();
                }
                Ok(true)
            }
        }
    }
}

impl Segment {
    fn read_into(&mut self, block: &mut Vec<u8>) -> io::Result<()> {
        let left = usize::try_from(self.written - self.read).unwrap_or(usize::MAX);
        block.resize(left.min(BLOCK), 0);
        self.file.read_exact_at(block, self.read)?;
        self.read += block.len() as u64;
        Ok(())
    }
}
