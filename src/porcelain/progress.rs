//! Progress on standard error: on a terminal, or when asked for.

use std::io::Write;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::options::When;
use crate::cli::Io;
use crate::counted::{count, thousands};
use crate::record::Progress;
use crate::visible::one_line;

/// A line that says how far something has come; hidden where nobody looks. Where it was asked for
/// and there is no terminal, lines of text.
pub struct Bar {
    bar: ProgressBar,
    plain: bool,
}

impl Bar {
    /// A bar for work of unknown length.
    pub fn new(when: When, io: &Io<'_>, what: &str) -> Bar {
        let bar = ProgressBar::with_draw_target(None, target(when, io));
        bar.set_style(style("{msg}"));
        bar.set_message(what.to_string());
        Self::begin(bar, when, io, what)
    }

    /// A bar for work of known length.
    pub fn of(when: When, io: &Io<'_>, what: &str, length: u64) -> Bar {
        let bar = ProgressBar::with_draw_target(Some(length), target(when, io));
        bar.set_style(style("{prefix} [{wide_bar}] {percent} % of the segments {msg}"));
        bar.enable_steady_tick(Duration::from_millis(250));
        Self::begin(bar, when, io, what)
    }

    fn begin(bar: ProgressBar, when: When, io: &Io<'_>, what: &str) -> Bar {
        bar.set_prefix(what.to_string());
        let bar = Bar { bar, plain: when == When::Always && !io.world.terminal };
        bar.say(what);
        bar
    }

    /// A line of text, where there is no terminal for the bar. Workers tell their progress at once,
    /// so it goes to standard error itself, as the bar does.
    fn say(&self, line: &str) {
        if self.plain {
            // Nobody can be told that standard error does not work.
            let _ = writeln!(std::io::stderr(), "auwai: {}", one_line(line));
        }
    }

    /// Whether anybody sees it.
    pub fn is_shown(&self) -> bool {
        self.plain || !self.bar.is_hidden()
    }

    /// Tells how far a scan has come.
    pub fn scanned(&self, progress: &Progress) {
        let mega = thousands(progress.bytes >> 20);
        let paths = match progress.of_files {
            Some(of) => format!("{} of {}", thousands(progress.files), count(of, "path")),
            None => count(progress.files, "path"),
        };
        let told = format!("{}: {paths}, {mega} MiB", self.bar.prefix());
        self.say(&told);
        self.bar.set_message(told);
        self.bar.tick();
    }

    /// One more is done: this.
    pub fn advance(&self, what: &str) {
        self.bar.set_message(what.to_string());
        self.bar.inc(1);
        let (done, of) = (self.bar.position(), self.bar.length().unwrap_or_default());
        self.say(&format!("{}: {what}, {done} of {of}", self.bar.prefix()));
    }

    /// Takes the line away.
    pub fn clear(&self) {
        self.bar.finish_and_clear();
    }
}

fn target(when: When, io: &Io<'_>) -> ProgressDrawTarget {
    match when {
        When::Never => ProgressDrawTarget::hidden(),
        _ if !io.world.terminal => ProgressDrawTarget::hidden(),
        _ => ProgressDrawTarget::stderr(),
    }
}

fn style(template: &str) -> ProgressStyle {
    // The templates are ours and valid; the default is a plain bar.
    ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar())
}
