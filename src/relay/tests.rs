#![cfg(test)]

use std::io::{PipeReader, PipeWriter, Read, Write};
use std::os::fd::AsFd;
use std::path::Path;
use std::time::Duration;

use super::*;

fn options(spill: Option<&Path>) -> Options {
    Options { end: b'\n', spill: spill.map(Path::to_owned), memory: 1000 }
}

/// Relays what `produce` writes to a reader that begins when all of it is written.
fn relayed(spill: Option<&Path>, text: &[u8]) -> (Vec<u8>, Vec<String>) {
    relayed_to(std::io::pipe().unwrap(), spill, text)
}

fn relayed_to(
    (mut from, output): (PipeReader, PipeWriter),
    spill: Option<&Path>,
    text: &[u8],
) -> (Vec<u8>, Vec<String>) {
    let (input, mut to) = std::io::pipe().unwrap();
    let (options, text) = (options(spill), text.to_vec());
    let relaying = std::thread::spawn(move || {
        let warned = std::sync::Mutex::new(Vec::new());
        let warn = |e: &Error| warned.lock().unwrap().push(e.to_string());
        relay(input.as_fd(), output.as_fd(), &options, &warn).unwrap();
        warned.into_inner().unwrap()
    });
    within("the writer", move || to.write_all(&text).unwrap());
    let taken = within("the reader", move || {
        let mut taken = Vec::new();
        from.read_to_end(&mut taken).unwrap();
        taken
    });
    (taken, within("the relay", move || relaying.join().unwrap()))
}

/// Does something that must not take long.
fn within<T: Send + 'static>(what: &str, work: impl FnOnce() -> T + Send + 'static) -> T {
    let (done, end) = std::sync::mpsc::channel();
    std::thread::spawn(move || done.send(work()));
    let end = end.recv_timeout(Duration::from_secs(60));
    end.unwrap_or_else(|_| panic!("waited in vain for {what}"))
}

fn lines(count: usize) -> Vec<u8> {
    (0..count).flat_map(|n| format!("line {n}\n").into_bytes()).collect()
}

#[test]
fn the_writer_never_waits_and_all_comes_in_order() {
    let text = lines(300_000);
    assert_eq!(relayed(None, &text), (text, vec![]));
}

#[test]
fn what_waits_in_files_comes_in_order_too() {
    let dir = tempfile::tempdir().unwrap();
    let text = lines(300_000);
    assert_eq!(relayed(Some(dir.path()), &text), (text, vec![]));
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
}

#[test]
fn a_last_line_without_its_end_gets_one() {
    assert_eq!(relayed(None, b"a\nb").0, b"a\nb\n");
    assert_eq!(relayed(None, b"").0, b"");
}

#[test]
fn the_relay_ends_when_its_idle_reader_has_gone() {
    let ((input, _to), (from, output)) = (std::io::pipe().unwrap(), std::io::pipe().unwrap());
    drop(from);
    let ended = within("the end", move || {
        relay(input.as_fd(), output.as_fd(), &options(None), &|_| {}).unwrap()
    });
    assert_eq!(ended, Ended::ReaderGone);
}

#[test]
fn a_full_output_that_does_not_block_is_tried_again() {
    let (from, output) = std::io::pipe().unwrap();
    rustix::fs::fcntl_setfl(&output, rustix::fs::OFlags::NONBLOCK).unwrap();
    let text = lines(30_000);
    assert_eq!(relayed_to((from, output), None, &text).0, text);
}
