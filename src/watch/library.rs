//! The library notify as a backend: FSEvents on macOS, and on Linux a way to test the adapter. It
//! watches everything below the root; what is in is decided here, path by path.

use std::os::fd::BorrowedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use ::notify::event::ModifyKind;
use ::notify::{
    Config, Event, EventKind as Kind, EventKindMask, RecommendedWatcher, RecursiveMode, Watcher,
};
use rustc_hash::FxHashMap;
use rustix::fs::{CWD, FileType};

use super::backend::{Backend, Engine, Pace, wait_on};
use super::backoff::Backoff;
use super::change::Changes;
use super::tree::{Controls, Site};
use super::wake::{Bell, Beside, Ear, bell};
use super::{survey, visit};
use crate::admit::{GIT_NAMES, GIT_RULES, OWN_RULES, Policy, Stat, Verdict};
use crate::error::{Error, Result};
use crate::listing;
use crate::record::{EventKind, EventOp, RepoPath, RescanReason, WatchBackend};

/// More paths than this are not told one by one.
const PATHS: usize = 100_000;

/// The library does not say when its root is replaced, so it is looked at this often.
const ROOT: Duration = Duration::from_secs(1);

/// Who asks for all that has happened waits until the library rests for so long, but not for ever.
const REST: Duration = Duration::from_millis(100);
const PATIENCE: Duration = Duration::from_secs(5);

/// What has been heard, by path: whether something came or went there.
#[derive(Debug, Default)]
struct Heard {
    paths: FxHashMap<PathBuf, bool>,
    /// Events were lost.
    overflow: bool,
    /// The root itself was removed or moved: the library then watches it no longer, or what has
    /// happened in it meanwhile was looked for in vain. It may be back, and under the same inode.
    root: bool,
    span: Option<(Instant, Instant)>,
}

#[derive(Debug)]
struct Shared {
    root: PathBuf,
    heard: Mutex<Heard>,
    bell: Bell,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Heard> {
        self.heard.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn hear(&self, event: ::notify::Result<Event>) {
        let now = Instant::now();
        let mut heard = self.lock();
        heard.span = Some((heard.span.map_or(now, |(first, _)| first), now));
        match event {
            Ok(event) if !event.need_rescan() => {
                let away =
                    matches!(event.kind, Kind::Remove(_) | Kind::Modify(ModifyKind::Name(_)));
                heard.root |= away && event.paths.contains(&self.root);
                let came = !matches!(event.kind, Kind::Access(_))
                    && !matches!(event.kind, Kind::Modify(m) if !matches!(m, ModifyKind::Name(_)));
                for path in event.paths {
                    *heard.paths.entry(path).or_default() |= came;
                }
            }
            _ => heard.overflow = true,
        }
        if heard.paths.len() > PATHS {
            heard.overflow = true;
            heard.paths.clear();
        }
        drop(heard);
        self.bell.ring();
    }
}

/// The library at work.
pub struct Library {
    site: Site,
    policy: Arc<Policy>,
    fingerprint: blake3::Hash,
    /// The policy could not be opened when it was last tried.
    stale: bool,
    controls: Controls,
    /// The root's device and inode; `None` while it is not there.
    root: Option<(u64, u64)>,
    watcher: Option<RecommendedWatcher>,
    shared: Arc<Shared>,
    ear: Ear,
    pace: Pace,
    beside: Beside,
    backoff: Backoff,
    renew: Option<Instant>,
    backend: WatchBackend,
}

impl Library {
    /// Starts it.
    ///
    /// # Errors
    /// When the library cannot watch, or the root cannot be read.
    pub fn open(site: Site, pace: Pace, beside: Beside, backend: WatchBackend) -> Result<Library> {
        let mut controls = Controls::of(&site.policy()?, None, &Controls::default());
        controls.differ();
        let policy = site.policy()?;
        let (bell, ear) = bell()?;
        let shared = Arc::new(Shared { root: site.root.clone(), heard: Mutex::default(), bell });
        let mut library = Library {
            fingerprint: policy.fingerprint(),
            stale: false,
            controls,
            policy: Arc::new(policy),
            root: None,
            site,
            watcher: None,
            shared,
            ear,
            pace,
            beside,
            backoff: Backoff::default(),
            renew: None,
            backend,
        };
        library.watch()?;
        Ok(library)
    }

    /// Begins to watch, anew if it did.
    fn watch(&mut self) -> Result<()> {
        self.watcher = None;
        self.root = listing::inode(&self.site.root);
        let code = if self.backend == WatchBackend::Fsevents { "no-fsevents" } else { "no-notify" };
        let failed = |e: ::notify::Error| {
            Error::failed(code, "cannot watch with the library notify").because(e)
        };
        let shared = Arc::clone(&self.shared);
        let mask = EventKindMask::CORE | EventKindMask::ACCESS_CLOSE;
        let config = Config::default().with_event_kinds(mask).with_follow_symlinks(false);
        let handler = move |event| shared.hear(event);
        let mut watcher = RecommendedWatcher::new(handler, config).map_err(failed)?;
        watcher.watch(&self.site.root, RecursiveMode::Recursive).map_err(failed)?;
        for dir in self.controls.dirs().filter(|dir| !dir.starts_with(&self.site.root)) {
            // A directory that is not there has nothing in it; it is looked for at each look.
            let _ = watcher.watch(dir, RecursiveMode::NonRecursive);
        }
        self.watcher = Some(watcher);
        Ok(())
    }

    fn check_policy(&mut self, out: &mut Changes) {
        self.controls.differ();
        let policy = match self.site.policy() {
            Ok(policy) => policy,
            Err(error) => return self.keep_stale(&error, out),
        };
        self.stale = false;
        let fingerprint = policy.fingerprint();
        let same = fingerprint == self.fingerprint && policy.in_git() == self.policy.in_git();
        self.controls = Controls::of(&policy, None, &self.controls);
        (self.policy, self.fingerprint) = (Arc::new(policy), fingerprint);
        match same {
            true => out.touched = true,
            false => out.rescan(None, RescanReason::Rules),
        }
    }

    /// Nobody knows what is in: the old rules stand for now, and it is tried again.
    fn keep_stale(&mut self, error: &Error, out: &mut Changes) {
        if !std::mem::replace(&mut self.stale, true) {
            out.warn(error.to_string(), error.hints().first().cloned());
            out.rescan(None, RescanReason::Rules);
        }
    }

    fn check_root(&mut self, out: &mut Changes) {
        let now = listing::inode(&self.site.root);
        if now == self.root {
            return;
        }
        self.root = now;
        out.rescan(None, RescanReason::Root);
        if now.is_some() {
            let touched = out.touched;
            self.check_policy(out);
            out.touched = touched;
            self.renew = Some(Instant::now());
        }
    }

    /// Tells what a path is now; and all that is in a directory that came, unless that is `known`.
    /// Whether it did that.
    fn tell(&mut self, path: &Path, came: bool, known: bool, out: &mut Changes) -> bool {
        if self.policy.has_rules() && self.is_ruling(path, out) {
            return false;
        }
        let inside = path.strip_prefix(&self.site.root).ok();
        let Some(inside) = inside.and_then(|path| RepoPath::new(path.as_os_str().as_bytes()))
        else {
            return false;
        };
        match listing::stat(CWD, path.as_os_str().as_bytes()) {
            Ok(stat) => return self.tell_there(inside, &stat, came, known, out),
            Err(_) if self.is_in(&inside, false) || self.is_in(&inside, true) => {
                out.event(EventOp::Remove, EventKind::Other, inside, None);
            }
            Err(_) => {}
        }
        false
    }

    fn tell_there(
        &self,
        path: RepoPath,
        stat: &Stat,
        came: bool,
        known: bool,
        out: &mut Changes,
    ) -> bool {
        let is_dir = stat.file_type() == FileType::Directory;
        if !self.is_in(&path, is_dir) {
            return false;
        }
        let op = if came { EventOp::Create } else { EventOp::Modify };
        out.event(op, visit::kind(stat), path.clone(), Some(*stat));
        let looks = is_dir && came && !known;
        if looks {
            // The library watches it too late to know what is in it.
            survey::below(&self.policy, Some(&path), false, &mut |path, kind, stat| {
                out.event(EventOp::Create, kind, path, stat);
                true
            });
        }
        looks
    }

    fn is_in(&self, path: &RepoPath, is_dir: bool) -> bool {
        matches!(self.policy.verdict(path, is_dir), Verdict::Admitted)
    }

    /// Whether a path decides what is in; then that is told.
    fn is_ruling(&mut self, path: &Path, out: &mut Changes) -> bool {
        if self.controls.is_control(path) {
            self.check_policy(out);
            return true;
        }
        let name = path.file_name().unwrap_or_default();
        let git = path.ancestors().find(|at| at.file_name().is_some_and(|name| name == ".git"));
        if let Some(git) = git {
            let decides = name == ".git" || GIT_NAMES.contains(&name.as_bytes());
            let parent = git.parent().filter(|_| decides);
            match parent {
                Some(parent) if parent == self.site.root => self.check_policy(out),
                Some(parent) => self.rescan(parent, out),
                None => {}
            }
            return true;
        }
        if name == OWN_RULES || name == GIT_RULES && self.policy.in_git() {
            self.rescan(path.parent().unwrap_or(path), out);
        }
        false
    }

    fn rescan(&self, dir: &Path, out: &mut Changes) {
        if let Ok(inside) = dir.strip_prefix(&self.site.root) {
            out.rescan(RepoPath::new(inside.as_os_str().as_bytes()), RescanReason::Rules);
        }
    }
}

impl Engine for Library {
    fn ear(&self) -> Option<BorrowedFd<'_>> {
        Some(std::os::fd::AsFd::as_fd(&self.ear))
    }

    fn span(&self) -> Option<(Instant, Instant)> {
        self.shared.lock().span
    }

    fn drain(&mut self) {
        // The library cannot be asked whether all has come: it gets time until it rests.
        let (rest, until) = (self.pace.settle.max(REST), Instant::now() + PATIENCE);
        loop {
            let before = Instant::now();
            std::thread::sleep(rest);
            let rested = self.span().is_none_or(|(_, last)| last < before);
            if rested || until <= Instant::now() {
                return;
            }
        }
    }

    fn collect(&mut self, out: &mut Changes) {
        self.ear.hush();
        let heard = std::mem::take(&mut *self.shared.lock());
        if heard.overflow {
            out.rescan(None, RescanReason::Overflow);
            self.renew = Some(self.backoff.next(Instant::now()));
        }
        if heard.root {
            out.rescan(None, RescanReason::Root);
            self.root = None;
        }
        let mut paths: Vec<(PathBuf, bool)> = heard.paths.into_iter().collect();
        // What is below a directory comes right behind it.
        paths.sort();
        let mut surveyed: Option<PathBuf> = None;
        for (path, came) in paths {
            let known = surveyed.as_ref().is_some_and(|above| path.starts_with(above));
            if self.tell(&path, came, known, out) {
                surveyed = Some(path);
            }
        }
    }

    fn due(&self) -> Option<Instant> {
        let look = Instant::now() + ROOT;
        Some(self.renew.map_or(look, |renew| renew.min(look)))
    }

    fn work(&mut self, all: bool, out: &mut Changes) {
        let strayed = self.policy.has_rules() && !self.policy.is_where_it_was();
        if self.controls.differ() || self.stale || self.root.is_some() && strayed {
            self.check_policy(out);
        }
        self.check_root(out);
        let now = Instant::now();
        if self.root.is_some() && self.renew.is_some_and(|at| all || at <= now) {
            // What the library believes to be watched may not be: it is begun anew.
            self.renew = match self.watch() {
                Ok(()) => None,
                Err(_) => Some(self.backoff.next(now)),
            };
            out.rescan(None, RescanReason::Overflow);
        }
    }
}

impl Backend for Library {
    fn available(&self) -> bool {
        self.watcher.is_some()
    }

    fn wait(&mut self, timeout: Option<Duration>) -> Result<Changes> {
        let mut out = Changes::default();
        let (pace, beside) = (self.pace, self.beside.clone());
        wait_on(self, pace, &beside, timeout, &mut out)?;
        Ok(out)
    }

    fn watches(&self) -> (usize, usize) {
        (usize::from(self.watcher.is_some()), 0)
    }

    fn policy(&self) -> &Arc<Policy> {
        &self.policy
    }

    fn close(&mut self) {
        self.watcher = None;
    }
}

#[cfg(test)]
mod tests;
