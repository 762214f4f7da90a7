//! A measurement: the plan of as many chunks as the Linux source has.

use std::io::{self, Read};
use std::time::Duration;

use super::tests::{args, chunk, end, repo};
use super::*;

/// A stream of as many chunks as the Linux source has, made while it is read.
struct Large {
    made: u64,
    line: Vec<u8>,
    sent: usize,
}

const MANY: u64 = 1_000_000;

impl Large {
    fn next_line(&mut self) {
        let (file, ord) = (self.made / 12, self.made % 12);
        let id = (self.made + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let path = format!("drivers/net/ethernet/vendor{:03}/file{file:06}.c", file / 500);
        self.line = match self.made {
            0 if self.line.is_empty() => repo("linux").into(),
            MANY => end(MANY).into(),
            _ => {
                self.made += 1;
                let tokens = format!(r#""tokens":{}"#, 100 + id % 900);
                chunk("linux", &path, ord, id).replace(r#""tokens":500"#, &tokens).into()
            }
        };
        self.line.push(b'\n');
        self.sent = 0;
    }
}

impl Read for Large {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if self.sent == self.line.len() {
            if self.line.windows(6).any(|w| w == b"\"end\",") {
                return Ok(0);
            }
            self.next_line();
        }
        let n = (&self.line[self.sent..]).read(into)?;
        self.sent += n;
        Ok(n)
    }
}

/// The time that this thread has been on a processor, whatever else the machine does.
fn on_cpu() -> Duration {
    let text = fs::read_to_string("/proc/thread-self/schedstat").unwrap();
    Duration::from_nanos(text.split(' ').next().unwrap().parse().unwrap())
}

/// Held to the time alone: memory is read by eye, since other tests may share the process.
#[test]
#[ignore = "a measurement: cargo test --release --lib a_million_chunks -- --ignored --nocapture"]
fn a_million_chunks() {
    let reader = || BufReader::with_capacity(1 << 16, Large { made: 0, line: Vec::new(), sent: 0 });
    let start = on_cpu();
    let bytes = io::copy(&mut reader(), &mut io::sink()).unwrap();
    let making = on_cpu() - start;
    run(&args(&[]), reader(), &mut io::sink()).unwrap();
    let planning = on_cpu() - start - making - making;
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let peak = status.lines().find(|line| line.starts_with("VmHWM")).unwrap();
    println!("{bytes} bytes: made in {making:?}, planned in {planning:?} beyond that; {peak}");
    assert!(planning < Duration::from_secs(2), "{planning:?}");
}
