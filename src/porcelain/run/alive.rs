//! While a command works on a segment, its run says that it is still there: a command may think for
//! longer than a lease lasts, and a run that is killed should not hold what it had for that long.

use std::io::sink;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

use crate::cli::{Io, World};
use crate::porcelain::target::Target;
use crate::record::SegmentId;

/// How often a lease is renewed in its length, so that one that comes late costs nothing.
const TIMES: u32 = 4;

/// Does `work` while the reader's lease on a segment, of this length, is renewed.
pub fn keep_alive<T>(
    target: &Target,
    (reader, segment): (&str, &SegmentId),
    length: Option<Duration>,
    world: &World,
    work: impl FnOnce() -> T,
) -> T {
    let Some(length) = length else { return work() };
    let (working, over) = channel::<()>();
    std::thread::scope(|scope| {
        scope.spawn(move || {
            while over.recv_timeout(length / TIMES) == Err(RecvTimeoutError::Timeout) {
                let (out, err) = (&mut sink(), &mut sink());
                let io = &mut Io { input: &mut std::io::empty(), out, err, world };
                // That the segment is another's by now is told when it is to be closed.
                let _ = target.renew(segment, reader, io);
            }
        });
        let done = work();
        drop(working);
        done
    })
}
