//! How to learn that nobody reads an output any more, while nothing is written to it.

use rustix::event::PollFlags;

/// What to ask `poll` for. Linux tells of an end whatever was asked for; XNU looks only where
/// something was, and this says nothing else of the end of a pipe that is written to.
pub const ASK: PollFlags = PollFlags::HUP;

/// What `poll` then answers: nobody reads any more, or there is no output.
pub const SEEN: PollFlags = PollFlags::ERR.union(PollFlags::HUP).union(PollFlags::NVAL);
