//! The interface of backends, and the one that goes by the tree: with inotify, or by polling alone.

use std::os::fd::BorrowedFd;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::backoff::Backoff;
use super::change::Changes;
use super::inotify::Source;
use super::mounts::Mounts;
use super::tree::Tree;
use super::wake::{Beside, Woken};
use crate::admit::Policy;
use crate::error::Result;
use crate::record::RescanReason;

/// How often a root that has gone is looked for.
const LOST: Duration = Duration::from_millis(250);

/// Something that learns of changes below a root.
pub trait Backend {
    /// Whether it hears by itself of what changes; else it looks, each time that its interval is over.
    fn available(&self) -> bool;

    /// Waits for changes, at most `timeout`, and then until they settle. With a timeout of zero it
    /// neither waits nor settles, and returns all that happened before the call. Returns early,
    /// with nothing, when something beside wants attention; what has come by then is kept.
    ///
    /// # Errors
    /// When the system cannot wait.
    fn wait(&mut self, timeout: Option<Duration>) -> Result<Changes>;

    /// How many directories are watched, and how many polled.
    fn watches(&self) -> (usize, usize);

    /// What is in now.
    fn policy(&self) -> &Arc<Policy>;

    /// Ends the watching.
    fn close(&mut self);
}

/// How long to wait for more.
#[derive(Debug, Clone, Copy)]
pub struct Pace {
    /// A batch ends when nothing came for this long.
    pub settle: Duration,
    /// How often to look at what is polled.
    pub interval: Duration,
}

impl Pace {
    /// A batch ends at the latest when its first event is this old.
    fn longest(self) -> Duration {
        match self.settle.is_zero() {
            true => Duration::ZERO,
            false => (self.settle * 10).max(Duration::from_millis(500)),
        }
    }

    /// When a batch is whole whose events came in this span.
    pub fn whole_at(self, (first, last): (Instant, Instant)) -> Instant {
        (last + self.settle).min(first + self.longest())
    }
}

/// What [`wait_on`] needs of a backend.
pub trait Engine {
    /// Rung when something has come.
    fn ear(&self) -> Option<BorrowedFd<'_>>;

    /// When the first and the last came of what has not been collected.
    fn span(&self) -> Option<(Instant, Instant)>;

    /// Makes sure that all that happened before now has come.
    fn drain(&mut self);

    /// Finds out what has come.
    fn collect(&mut self, out: &mut Changes);

    /// When something is to be done whether anything comes or not.
    fn due(&self) -> Option<Instant>;

    /// Does what is due; `all`: whether it is or not.
    fn work(&mut self, all: bool, out: &mut Changes);
}

/// [`Backend::wait`] for an engine.
///
/// # Errors
/// When the system cannot wait.
pub fn wait_on(
    engine: &mut impl Engine,
    pace: Pace,
    beside: &Beside,
    timeout: Option<Duration>,
    out: &mut Changes,
) -> Result<()> {
    if timeout == Some(Duration::ZERO) {
        engine.drain();
        engine.collect(out);
        engine.work(true, out);
        return Ok(());
    }
    let until = timeout.map(|timeout| Instant::now() + timeout);
    while out.is_empty() {
        let due = [until, engine.due()].into_iter().flatten().min();
        let woken = beside.wait(engine.ear(), due)?;
        // What is whole or due goes first, however often somebody calls.
        let now = Instant::now();
        let whole = engine.span().is_some_and(|span| pace.whole_at(span) <= now);
        let first = whole || due.is_some_and(|due| due <= now);
        if !first && (woken == Woken::Beside || !settle(engine, pace, beside)?) {
            return Ok(());
        }
        engine.collect(out);
        engine.work(false, out);
        if until.is_some_and(|until| until <= Instant::now()) {
            return Ok(());
        }
    }
    Ok(())
}

/// Waits until nothing has come for a while. False when something beside wants attention.
fn settle(engine: &impl Engine, pace: Pace, beside: &Beside) -> Result<bool> {
    while let Some(whole) = engine.span().map(|span| pace.whole_at(span)) {
        if whole <= Instant::now() {
            break;
        }
        if beside.wait(None, Some(whole))? == Woken::Beside {
            return Ok(false);
        }
    }
    Ok(true)
}

/// The tree, kept up to date.
pub struct Native {
    tree: Tree,
    source: Option<Source>,
    /// As they were; with inotify, which does not tell of them.
    mounts: Option<Mounts>,
    pace: Pace,
    beside: Beside,
    backoff: Backoff,
    sweep: Option<Instant>,
    look: Instant,
    first: Option<Changes>,
}

impl Native {
    /// Goes by inotify.
    ///
    /// # Errors
    /// When there is none, or the root cannot be read.
    pub fn inotify(site: super::Site, pace: Pace, beside: Beside) -> Result<Native> {
        let source = Source::open()?;
        let mounts = Mounts::read();
        let opened = Tree::open(site, Some(source.watches()))?;
        Ok(Self::of(opened, Some((source, mounts)), pace, beside))
    }

    /// Goes by looking alone.
    ///
    /// # Errors
    /// When the root cannot be read.
    pub fn poll(site: super::Site, pace: Pace, beside: Beside) -> Result<Native> {
        Ok(Self::of(Tree::open(site, None)?, None, pace, beside))
    }

    fn of(
        (tree, first): (Tree, Changes),
        heard: Option<(Source, Mounts)>,
        pace: Pace,
        beside: Beside,
    ) -> Native {
        let (backoff, look) = (Backoff::default(), Instant::now() + pace.interval);
        let ((source, mounts), first) = (heard.unzip(), Some(first));
        Native { tree, source, mounts, pace, beside, backoff, sweep: None, look, first }
    }

    fn polls(&self) -> bool {
        self.tree.polled() > 0 || self.tree.is_stale() || !self.available()
    }

    fn sweep_if_unsure(&mut self, now: Instant) {
        if self.tree.is_unsure() && self.sweep.is_none() {
            self.sweep = Some(self.backoff.next(now));
        }
    }

    fn hear(&mut self, out: &mut Changes) {
        let Some(source) = &self.source else { return };
        let pending = source.take();
        let reason = match (pending.overflow, pending.unmount, pending.flood) {
            (true, ..) => Some(RescanReason::Overflow),
            (_, true, _) => Some(RescanReason::Unmount),
            (.., true) => Some(RescanReason::Limit),
            _ => None,
        };
        if let Some(reason) = reason {
            out.rescan(None, reason);
            let at = self.backoff.next(Instant::now());
            self.sweep = Some(self.sweep.map_or(at, |known| known.min(at)));
        }
        self.tree.moved(&pending.moved, &pending.ended, out);
        if pending.mounts {
            self.check_mounts(out);
        }
        if !pending.dirs.is_empty() {
            self.tree.check_repository(out);
        }
        self.tree.process(pending.dirs, out);
    }

    fn check_mounts(&mut self, out: &mut Changes) {
        if let Some(mounts) = &mut self.mounts {
            self.tree.remounted(&mounts.changed(), out);
        }
    }
}

impl Engine for Native {
    fn ear(&self) -> Option<BorrowedFd<'_>> {
        self.source.as_ref().map(Source::ear)
    }

    fn span(&self) -> Option<(Instant, Instant)> {
        self.source.as_ref()?.span()
    }

    fn drain(&mut self) {
        self.source.iter().for_each(Source::drain);
    }

    fn collect(&mut self, out: &mut Changes) {
        self.hear(out);
    }

    fn due(&self) -> Option<Instant> {
        let look = self.polls().then_some(self.look);
        let root = (!self.tree.is_rooted()).then(|| Instant::now() + LOST);
        [look, root, self.sweep].into_iter().flatten().min()
    }

    fn work(&mut self, all: bool, out: &mut Changes) {
        if !self.tree.is_rooted() {
            self.tree.check_root(out);
        }
        if all {
            self.check_mounts(out);
            self.tree.check_repository(out);
            self.tree.check_controls(out);
        }
        let now = Instant::now();
        self.sweep_if_unsure(now);
        if self.sweep.is_some_and(|at| all || at <= now) {
            self.sweep = None;
            self.tree.sweep(out);
        }
        if self.polls() && (all || self.look <= now) {
            self.hear(out);
            self.tree.look(out);
            self.look = Instant::now() + self.pace.interval;
        }
        self.sweep_if_unsure(now);
    }
}

impl Backend for Native {
    fn available(&self) -> bool {
        self.source.as_ref().is_some_and(Source::hears)
    }

    fn wait(&mut self, timeout: Option<Duration>) -> Result<Changes> {
        let mut out = self.first.take().unwrap_or_default();
        let (pace, beside) = (self.pace, self.beside.clone());
        wait_on(self, pace, &beside, timeout, &mut out)?;
        Ok(out)
    }

    fn watches(&self) -> (usize, usize) {
        (self.tree.watched(), self.tree.polled())
    }

    fn policy(&self) -> &Arc<Policy> {
        self.tree.policy()
    }

    fn close(&mut self) {
        self.source = None;
    }
}

#[cfg(all(test, target_os = "linux", not(auwai_portable)))]
mod tests {
    use super::*;
    use crate::watch::{Change, tests::site};

    /// The worker slept for ever when the thread that reads could not wait any more.
    #[test]
    fn a_source_that_does_not_ring_is_asked() {
        let dir = tempfile::tempdir().unwrap();
        let site = site(dir.path());
        let pace = Pace { settle: Duration::ZERO, interval: Duration::from_millis(20) };
        let mut native = Native::inotify(site, pace, Beside::default()).unwrap();
        native.wait(Some(Duration::ZERO)).unwrap();
        assert!(native.available());
        native.source.as_mut().unwrap().silence();
        assert!(!native.available());
        std::fs::write(dir.path().join("f"), "x").unwrap();
        let changes = native.wait(Some(Duration::from_secs(20))).unwrap();
        let told = |change: &Change| matches!(change, Change::Event { path, .. } if path.as_bytes() == b"f");
        assert!(changes.changed.iter().any(told), "{changes:?}");
    }
}
