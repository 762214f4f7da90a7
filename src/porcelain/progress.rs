//! Progress on standard error: on a terminal, or when asked for.

use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::options::When;
use crate::cli::Io;
use crate::counted::{count, thousands};
use crate::record::Progress;

/// A line that says how far something has come; hidden where nobody looks.
pub struct Bar(ProgressBar);

impl Bar {
    /// A bar for work of unknown length.
    pub fn new(when: When, io: &Io<'_>, what: &str) -> Bar {
        let bar = ProgressBar::with_draw_target(None, target(when, io));
        bar.set_style(style("{msg}"));
        bar.set_message(what.to_string());
        bar.set_prefix(what.to_string());
        Bar(bar)
    }

    /// A bar for work of known length.
    pub fn of(when: When, io: &Io<'_>, what: &str, length: u64) -> Bar {
        let bar = ProgressBar::with_draw_target(Some(length), target(when, io));
        bar.set_style(style("{prefix} [{wide_bar}] {percent} % of the segments {msg}"));
        bar.set_prefix(what.to_string());
        bar.enable_steady_tick(Duration::from_millis(250));
        Bar(bar)
    }

    /// Whether anybody sees it.
    pub fn is_shown(&self) -> bool {
        !self.0.is_hidden()
    }

    /// Tells how far a scan has come.
    pub fn scanned(&self, progress: &Progress) {
        let mega = thousands(progress.bytes >> 20);
        let paths = match progress.of_files {
            Some(of) => format!("{} of {}", thousands(progress.files), count(of, "path")),
            None => count(progress.files, "path"),
        };
        self.0.set_message(format!("{}: {paths}, {mega} MiB", self.0.prefix()));
        self.0.tick();
    }

    /// One more is done: this.
    pub fn advance(&self, what: &str) {
        self.0.set_message(what.to_string());
        self.0.inc(1);
    }

    /// Takes the line away.
    pub fn clear(&self) {
        self.0.finish_and_clear();
    }
}

fn target(when: When, io: &Io<'_>) -> ProgressDrawTarget {
    match when {
        When::Never => ProgressDrawTarget::hidden(),
        When::Auto if !io.world.terminal => ProgressDrawTarget::hidden(),
        _ => ProgressDrawTarget::stderr(),
    }
}

fn style(template: &str) -> ProgressStyle {
    // The templates are ours and valid; the default is a plain bar.
    ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar())
}
