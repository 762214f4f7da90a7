//! Where sheets go: plainly to standard output, or with acknowledgements; and what is said of it.

use std::io::Write;

use super::Args;
use crate::cli::{Signals, last_words};
use crate::counted::{agree, count, thousands};
use crate::delivery::{Acks, Delivery, Ended, Orders, Sheet, Tally};
use crate::error::{Error, Kind, Result};
use crate::visible::one_line;

/// The name in messages.
const TOOL: &str = "auwai-ledger";

/// The way out.
pub(super) struct Output<'a> {
    way: Way<'a>,
    err: &'a mut dyn Write,
    hint: String,
    drain: String,
}

enum Way<'a> {
    /// Written, and no more is asked.
    Plain(&'a mut dyn Write),
    /// Delivered and acknowledged, to the process's own standard output.
    Acknowledged(Delivery),
}

impl<'a> Output<'a> {
    /// With `acks`, text goes to the process's standard output; else to `out`.
    ///
    /// # Errors
    /// When standard output is closed.
    pub(super) fn start(
        args: &Args,
        acks: Option<Acks>,
        out: &'a mut dyn Write,
        err: &'a mut dyn Write,
    ) -> Result<Self> {
        let way = match acks {
            None => Way::Plain(out),
            Some(acks) => Way::Acknowledged(deliver(args, acks)?),
        };
        let drain = humantime::format_duration(args.drain).to_string();
        Ok(Output { way, err, hint: args.hint(), drain })
    }

    /// Sends one sheet.
    ///
    /// # Errors
    /// `closed` when nothing more can be sent.
    pub(super) fn send(&mut self, sheet: Sheet) -> Result<()> {
        match &mut self.way {
            _ if sheet.text.is_empty() => Ok(()),
            Way::Plain(out) => out.write_all(sheet.text.as_bytes()).map_err(failed),
            Way::Acknowledged(delivery) => delivery.send(sheet),
        }
    }

    /// Waits until all has left, and names what stays unread. `sent` is how sending went.
    pub(super) fn finish(self, sent: Result<()>) -> Result<()> {
        let delivery = match self.way {
            Way::Plain(out) => return out.flush().map_err(failed).and(sent),
            Way::Acknowledged(delivery) => delivery,
        };
        let (tally, ended) = delivery.finish();
        let stopped_short = sent.is_err();
        if let Some(unread) = unread(&tally, stopped_short) {
            let patience = match ended {
                Ok(Ended::Untaken) => format!(", and nothing more for {}", self.drain),
                _ => String::new(),
            };
            say(self.err, &format!("{unread}{patience}"));
            let _ = writeln!(self.err, "hint: {}", one_line(&self.hint));
        }
        match sent {
            Err(e) if e.kind() != Kind::Closed => Err(e),
            _ => ended.map(|_| ()),
        }
    }

    /// One line of talk.
    pub(super) fn say(&mut self, message: &str) {
        say(self.err, message);
    }
}

fn say(err: &mut dyn Write, message: &str) {
    // Nobody can be told that standard error does not work.
    let _ = writeln!(err, "{TOOL}: {}", one_line(message));
}

fn failed(cause: std::io::Error) -> Error {
    Error::io("write to", "standard output", &cause)
}

/// Begins a delivery that ends the process, in good order, when a signal says so.
fn deliver(args: &Args, acks: Acks) -> Result<Delivery> {
    let signals = Signals::catch()?;
    let seen = signals.clone();
    Delivery::start(Orders {
        out: rustix::stdio::stdout(),
        acks,
        drain: args.drain,
        stopped: Box::new(move || seen.any()),
        on_stop: Box::new(move |tally| {
            unread(&tally, true).into_iter().for_each(|unread| last_words(TOOL, &unread));
            signals.obey();
        }),
    })
}

/// What stays unread, in words. `more` is whether chunks may have been to follow.
fn unread(tally: &Tally, more: bool) -> Option<String> {
    let left = tally.chunks - tally.acknowledged;
    let (taken, bytes) = (thousands(tally.taken), count(tally.bytes, "byte"));
    let (of, stay) = (count(tally.chunks, "chunk"), agree(left, "stays", "stay"));
    let what = match (left, more) {
        (0, true) => format!("what was to follow after {of} stays unread"),
        (0, false) if tally.taken < tally.bytes => "only the last line stays unread".to_string(),
        (0, false) => return None,
        (_, true) => format!("{left} of {of}, and what was to follow, stay unread"),
        (_, false) => format!("{left} of {of} {stay} unread"),
    };
    Some(format!("{what}: the reader took {taken} of {bytes}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_stays_unread_is_counted() {
        let tally = Tally { chunks: 57, acknowledged: 45, bytes: 81_233, taken: 30_000 };
        assert_eq!(
            unread(&tally, false).unwrap(),
            "12 of 57 chunks stay unread: the reader took 30,000 of 81,233 bytes"
        );
        let one = Tally { chunks: 1, acknowledged: 0, bytes: 1, taken: 0 };
        let told = "1 of 1 chunk stays unread: the reader took 0 of 1 byte";
        assert_eq!(unread(&one, false).unwrap(), told);
        let whole = Tally { acknowledged: 57, taken: 81_233, ..tally };
        assert_eq!(unread(&whole, false), None);
    }
}
