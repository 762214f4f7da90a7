//! `auwai-ledger print`: read means delivered.

#![allow(clippy::unwrap_used, clippy::expect_used)]

mod case;
mod content;
mod pages;

use std::fs;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::ExitStatusExt;
use std::process::Stdio;
use std::time::Duration;

use case::{Case, file, plain, python, some, stream, take, unfinished, wait_until};
use rustix::process::{Pid, Signal, kill_process};

/// More than any pipe holds.
fn long() -> Case {
    Case::new(some(6000))
}

/// Less than a pipe holds.
fn short() -> Case {
    Case::new(some(300))
}

#[test]
fn a_pipe_that_is_read_to_the_end_acknowledges_everything() {
    let case = long();
    assert_eq!(case.shell("$P | cat >got"), 0);
    assert_eq!(fs::read(case.path("got")).unwrap(), case.text);
    assert_eq!(case.acked().len(), case.bodies.len());
    case.assert_taken(case.text.len());
}

#[test]
fn a_reader_that_takes_nothing_reads_nothing() {
    for case in [short(), long()] {
        assert_eq!(case.shell("$P | true"), 0);
        case.assert_taken(0);
        assert!(
            case.read("err")
                .ends_with("hint: read on with `auwai read --segment read-3 --unread`\n")
        );
    }
}

#[test]
fn head_acknowledges_what_it_took() {
    for (case, bytes) in [(short(), 5_000), (long(), 5_000), (long(), 150_001)] {
        assert_eq!(case.shell(&format!("$P | head -c {bytes} >got")), 0);
        case.assert_taken(bytes);
    }
}

#[test]
fn head_by_lines_acknowledges_the_blocks_that_it_took() {
    let case = long();
    assert_eq!(case.shell("$P | head -5 >got"), 0);
    // How much head reads at a time is its own affair: some block that holds the five lines.
    let took = case.read("err").replace(',', "");
    let took: usize =
        took.split("took ").nth(1).unwrap().split(' ').next().unwrap().parse().unwrap();
    assert!((case.read("got").len()..=65_536).contains(&took), "{took}");
    case.assert_taken(took);
}

#[test]
fn acknowledgements_follow_a_slow_reader() {
    let case = long();
    let mut child = case.command().stdout(Stdio::piped()).spawn().unwrap();
    let (mut taken, step) = (0, 256);
    while taken + step <= 100_000 {
        take(&mut child, step);
        taken += step;
        std::thread::sleep(Duration::from_millis(2));
        assert!(case.due(taken).starts_with(&case.acked()), "more than was taken, at {taken}");
        if taken % (40 * step) == 0 {
            wait_until("acknowledgements", || case.acked() == case.due(taken));
        }
    }
    let mut rest = Vec::new();
    child.stdout.take().unwrap().read_to_end(&mut rest).unwrap();
    assert!(child.wait().unwrap().success());
    case.assert_taken(taken + rest.len());
}

#[test]
fn a_chunk_counts_with_its_last_byte_and_not_before() {
    let case = short();
    for (_, end) in &case.ends {
        for taken in [end - 1, *end] {
            assert_eq!(case.shell(&format!("$P | head -c {taken} >got")), 0);
            case.assert_taken(taken);
        }
    }
}

#[test]
fn readers_of_any_size_and_pipes_of_one_page() {
    let case = long();
    for seed in 1..40_u64 {
        let (mut reader, writer) = io::pipe().unwrap();
        if seed % 2 == 0 {
            rustix::pipe::fcntl_setpipe_size(&writer, 4096).unwrap();
        }
        let mut child = case.command().stdout(writer).spawn().unwrap();
        let (mut random, mut taken) = (seed, 0);
        for _ in 0..seed {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            taken += reader.read(&mut vec![0; (random >> 50) as usize % 9_000 + 1]).unwrap();
            if random >> 62 == 0 {
                std::thread::sleep(Duration::from_millis(1));
            }
        }
        drop(reader);
        assert!(child.wait().unwrap().success());
        case.assert_taken(taken);
    }
}

#[test]
fn a_reader_killed_in_the_middle() {
    let case = long();
    let (reader, writer) = io::pipe().unwrap();
    let script = "import os,time; n=20000\nwhile n: n-=len(os.read(0,n))\nopen('took','w').close(); time.sleep(60)";
    let mut killed = python(script, reader, case.path("").as_path());
    let mut child = case.command().stdout(writer).spawn().unwrap();
    wait_until("the reader", || case.path("took").exists());
    wait_until("acknowledgements", || case.acked() == case.due(20_000));
    killed.kill().unwrap();
    killed.wait().unwrap();
    assert!(child.wait().unwrap().success());
    case.assert_taken(20_000);
}

#[test]
fn a_full_disk_acknowledges_nothing() {
    let case = short();
    assert_eq!(case.shell("$P >/dev/full"), 3);
    assert!(case.acked().is_empty());
    let err = case.read("err");
    assert!(err.contains("cannot write to 'standard output': No space left on device\n"), "{err}");
    assert!(err.contains("15 of 15 chunks stay unread"), "{err}");
}

#[test]
fn a_file_acknowledges_everything() {
    let case = long();
    assert_eq!(case.shell("$P >got"), 0);
    assert_eq!(fs::read(case.path("got")).unwrap(), case.text);
    case.assert_taken(case.text.len());
}

#[test]
fn a_closed_output_acknowledges_nothing() {
    let case = short();
    assert_eq!(case.shell("$P >&-"), 3);
    assert!(case.acked().is_empty());
    assert!(case.read("err").contains("cannot write to 'standard output'"), "{}", case.read("err"));
}

#[test]
fn a_device_acknowledges_what_was_written() {
    let case = short();
    assert_eq!(case.shell("$P >/dev/null"), 0);
    case.assert_taken(case.text.len());
}

#[test]
fn a_parent_that_waits_before_it_reads() {
    let case = short();
    let mut child = case.command().stdout(Stdio::piped()).spawn().unwrap();
    std::thread::sleep(Duration::from_secs(1));
    assert!(case.acked().is_empty());
    assert!(child.try_wait().unwrap().is_none());
    take(&mut child, case.text.len());
    assert!(child.wait().unwrap().success());
    case.assert_taken(case.text.len());
}

#[test]
fn a_parent_that_stops_reading_and_stays() {
    let case = Case::with(some(300), &["--segment", "read-3", "--drain", "300ms"]);
    for taken in [0, 3_000, case.text.len() - 1] {
        let mut child = case.command().stdout(Stdio::piped()).spawn().unwrap();
        take(&mut child, taken);
        assert!(child.wait().unwrap().success());
        assert_eq!(case.acked(), case.due(taken));
        let err = case.read("err");
        assert!(err.contains("stays unread") || err.contains("stay unread"), "{err}");
        assert!(err.contains(", and nothing more for 300ms\n"), "{err}");
    }
}

#[test]
fn without_a_time_to_drain_nothing_is_waited_for() {
    let case = Case::with(some(300), &["--drain", "0s"]);
    let mut child = case.command().stdout(Stdio::piped()).spawn().unwrap();
    assert!(child.wait().unwrap().success());
    case.assert_taken(0);
}

#[test]
fn a_terminal() {
    let case = short();
    let script = "import os,pty,sys\nm,s=os.openpty()\nimport tty; tty.setraw(s)\n\
        pid=os.fork()\nif pid==0:\n os.dup2(s,1); os.close(m); os.close(s); os.execv(sys.argv[1],sys.argv[1:])\n\
        os.close(s)\ngot=b''\nwhile True:\n try: part=os.read(m,4096)\n except OSError: break\n if not part: break\n got+=part\n\
        open('got','wb').write(got)\nsys.exit(os.waitstatus_to_exitcode(os.waitpid(pid,0)[1]))";
    fs::write(case.path("pty.py"), script).unwrap();
    assert_eq!(case.shell(&in_pty()), 0);
    assert_eq!(fs::read(case.path("got")).unwrap(), case.text);
    case.assert_taken(case.text.len());
}

/// The script of [`Case::shell`] with the program in a terminal of its own.
fn in_pty() -> String {
    format!(
        "python3 pty.py {} print --ack-fd 3 --segment read-3 <in 3>acks 2>err; echo $? >status",
        case::PRINT
    )
}

#[test]
fn a_socket() {
    let case = long();
    let (mut ours, theirs) = UnixStream::pair().unwrap();
    let mut child = case.command().stdout(OwnedFd::from(theirs)).spawn().unwrap();
    let mut got = Vec::new();
    ours.read_to_end(&mut got).unwrap();
    assert!(child.wait().unwrap().success());
    assert_eq!(got, case.text);
    case.assert_taken(case.text.len());
}

#[test]
fn a_fifo() {
    let case = long();
    assert_eq!(case.shell("mkfifo f; { head -c 7000 f >got & }; $P >f; wait"), 0);
    case.assert_taken(7_000);
}

#[test]
fn a_pipe_that_somebody_made_non_blocking() {
    let case = long();
    let (mut reader, writer) = io::pipe().unwrap();
    rustix::fs::fcntl_setfl(writer.as_fd(), rustix::fs::OFlags::NONBLOCK).unwrap();
    let mut child = case.command().stdout(writer).spawn().unwrap();
    let mut got = Vec::new();
    reader.read_to_end(&mut got).unwrap();
    assert!(child.wait().unwrap().success());
    assert_eq!(got, case.text);
    case.assert_taken(case.text.len());
}

#[test]
fn other_writers_in_the_same_pipe_make_it_say_less_and_never_more() {
    let case = Case::with(some(300), &["--segment", "read-3", "--drain", "100ms"]);
    let (mut reader, mut writer) = io::pipe().unwrap();
    writer.write_all(&[b'o'; 4_000]).unwrap();
    let mut child = case.command().stdout(writer.try_clone().unwrap()).spawn().unwrap();
    reader.read_exact(&mut [0; 9_000]).unwrap();
    assert!(child.wait().unwrap().success());
    assert_eq!(case.acked(), case.due(5_000));
}

#[test]
fn a_signal_acknowledges_what_was_taken_and_is_raised_again() {
    let case = long();
    let mut child = case.command().stdout(Stdio::piped()).spawn().unwrap();
    take(&mut child, 5_000);
    kill_process(Pid::from_child(&child), Signal::TERM).unwrap();
    assert_eq!(child.wait().unwrap().signal(), Some(Signal::TERM.as_raw()));
    assert_eq!(case.acked(), case.due(5_000));
    assert!(
        case.read("err").contains("stay unread: the reader took 5,000 of "),
        "{}",
        case.read("err")
    );
}

#[test]
fn printing_stops_when_nobody_takes_the_acknowledgements() {
    let case = long();
    let (acks, theirs) = io::pipe().unwrap();
    let mut child = case.command_with_acks(theirs.into()).stdout(Stdio::piped()).spawn().unwrap();
    // Nothing is taken, so nothing is due: it is noticed all the same.
    drop(acks);
    wait_until("the end", || child.try_wait().unwrap().is_some());
    assert_eq!(child.wait().unwrap().code(), Some(3));
    let err = case.read("err");
    assert!(err.contains("cannot send acknowledgements: printing stops"), "{err}");
}

#[test]
fn a_descriptor_that_is_not_open_is_a_usage_error() {
    let done = plain(&stream(&some(30)), &["--ack-fd", "77"]);
    assert_eq!((done.status.code(), done.stdout.as_slice()), (Some(2), &b""[..]));
    assert!(String::from_utf8_lossy(&done.stderr).contains("descriptor 77"));
}

#[test]
fn what_stayed_unread_is_the_rest() {
    let case = long();
    assert_eq!(case.shell("$P | head -c 99999 >got"), 0);
    let read = case.acked();
    let marked = case.bodies.iter().cloned().map(|mut body| {
        body.complete = read.contains(&body.id.0);
        body
    });
    let rest = Case::with(marked.collect(), &["--segment", "read-3", "--unread"]);
    assert_eq!(rest.shell("$P | cat >got"), 0);
    let (all, both) = (case.due(usize::MAX), [read, rest.acked()].concat());
    assert_eq!(both, all);
    assert!(rest.read("got").ends_with("; then: auwai done --segment read-3\n"));
}

#[test]
fn a_segment_that_was_cut_off_prints_nothing() {
    let done = plain(&unfinished(&some(300)), &["--segment", "read-3"]);
    assert_eq!((done.status.code(), done.stdout.as_slice()), (Some(3), &b""[..]));
    let partial = plain(&unfinished(&some(300)), &["--segment", "read-3", "--partial"]);
    assert!(partial.status.success());
    let last = "=== cut off of read-3 after 15 chunks; go on: auwai read --segment read-3\n";
    assert!(String::from_utf8(partial.stdout).unwrap().ends_with(last));
}

#[test]
fn a_stream_that_was_cut_off_prints_and_acknowledges_what_came_whole() {
    let case = Case::with(some(300), &[]);
    let whole = unfinished(&case.bodies[..9]);
    let torn = &unfinished(&case.bodies[..10])[..whole.len() + 50];
    fs::write(case.path("in"), torn).unwrap();
    assert_eq!(case.shell("$P | cat >got"), 3);
    assert_eq!(case.acked(), case.due(usize::MAX)[..9]);
    assert!(case.text.starts_with(&fs::read(case.path("got")).unwrap()[..200]));
    assert!(case.read("err").contains(":11: the line is cut off"), "{}", case.read("err"));
}

#[test]
fn an_end_that_counts_otherwise_is_refused() {
    let bodies = some(60);
    let mut input = stream(&bodies[1..]);
    input.splice(0..0, stream(&bodies[..1]));
    input = String::from_utf8(input)
        .unwrap()
        .replacen("\"type\":\"end\"", "\"type\":\"later\"", 1)
        .into();
    let done = plain(&input, &["--segment", "read-3"]);
    assert_eq!((done.status.code(), done.stdout.as_slice()), (Some(3), &b""[..]));
}

#[test]
fn acknowledgements_and_signals_do_not_wait_for_the_input() {
    let case = Case::with(some(300), &[]);
    let mut child = case.command().stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    // The first file is printed when the second begins.
    input.write_all(&unfinished(&case.bodies[..6])).unwrap();
    let printed = String::from_utf8(case.text.clone()).unwrap().find("=== r:a/second.rs").unwrap();
    take(&mut child, printed);
    wait_until("acknowledgements", || case.acked() == case.due(printed));
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    assert_eq!(child.wait().unwrap().signal(), Some(Signal::INT.as_raw()));
    assert_eq!(case.acked().len(), 5);
}

#[test]
fn a_closed_pipe_without_acknowledgements_is_quiet() {
    let case = Case::with(file("a", &"x\n".repeat(100_000), 500, 1), &[]);
    let script = format!("{{ {} print <in 2>err; echo $? >status; }} | true", case::PRINT);
    assert_eq!(case.shell(&script), 0);
    assert_eq!(case.read("err"), "");
}

/// The reader has gone, and the input stands still: nobody looks for signals any more.
#[test]
fn a_signal_ends_it_when_the_reader_has_gone_and_the_input_stays() {
    let case = Case::with(some(300), &[]);
    let mut child = case.command().stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    input.write_all(&unfinished(&case.bodies[..6])).unwrap();
    take(&mut child, 10);
    let tasks = format!("/proc/{}/task", child.id());
    assert_eq!(fs::read_dir(&tasks).unwrap().count(), 2);
    drop(child.stdout.take());
    input.write_all(&unfinished(&case.bodies[6..])).unwrap();
    // The thread that delivers ends soon; whether or not it has, the signal must be obeyed.
    let soon = std::time::Instant::now() + std::time::Duration::from_secs(2);
    while fs::read_dir(&tasks).unwrap().count() > 1 && std::time::Instant::now() < soon {
        std::thread::yield_now();
    }
    kill_process(Pid::from_child(&child), Signal::TERM).unwrap();
    wait_until("its end", || child.try_wait().unwrap().is_some());
    assert_eq!(child.wait().unwrap().signal(), Some(Signal::TERM.as_raw()));
}
