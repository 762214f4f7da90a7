//! The thread that tells: it waits, writes what a backend has found out, and answers questions.

use std::io::Write;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::time::{Duration, Instant, SystemTime};

use super::backend::{Backend, Native, Pace};
use super::barrier::{self, Listener};
use super::change::{Change, Changes, Warning};
use super::choose::{Choice, Platform, choose};
use super::filter::Filter;
use super::library::Library;
use super::output::{Format, Output};
use super::since::Since;
use super::survey;
use super::tree::Site;
use super::wake::{Bell, Beside, Ear, bell};
use crate::admit::Policy;
use crate::error::{Error, Result};
use crate::record::{Barrier, EventOp, Ready, WatchBackend};

/// The first look at what exists is told in batches of this many.
const PIECE: usize = 256;

/// What to watch, how, and what to tell.
pub struct Options {
    /// What is watched.
    pub site: Site,
    /// The backend that was asked for.
    pub backend: Option<WatchBackend>,
    /// How long to wait for more.
    pub pace: Pace,
    /// How lines look, and whether paths end with NUL.
    pub format: (Format, bool),
    /// Which events are told.
    pub filter: Filter,
    /// End after the first batch.
    pub once: bool,
    /// End after this time.
    pub longest: Option<Duration>,
    /// Tell everything that exists.
    pub initial: bool,
    /// First tell what differs from this file, and keep it.
    pub since: Option<PathBuf>,
    /// Tell of questions too, as `barrier` records.
    pub barriers: bool,
    /// Where to listen for questions; `None`: nowhere.
    pub runtime: Option<PathBuf>,
    /// The name of this run, 16 hex digits.
    pub session: String,
}

/// Watches until the reader of `sink` has gone, `beside.stop` is readable, or the options say so.
///
/// # Errors
/// `nothing`, and 1, when one batch was waited for and did not come in time. When the root cannot be read, the backend that was asked for cannot start, or something cannot
/// be written.
pub fn watch(
    options: &Options,
    beside: Beside,
    sink: &mut dyn Write,
    warn: &mut dyn FnMut(&Warning),
) -> Result<()> {
    let until = options.longest.map(|longest| Instant::now() + longest);
    let beside = Beside { until, ..beside };
    let listener = listen(options, warn);
    let (bell, ear) = bell()?;
    let mut waits = beside.clone();
    waits.calls.extend(listener.iter().map(|listener| Arc::clone(listener.fd())));
    waits.calls.push(Arc::clone(ear.fd()));
    let choice = start(options, &waits)?;
    if let Some(warning) = &choice.warning {
        warn(warning);
    }
    let output = Output::new(sink, beside, options.format, options.filter.clone());
    let Choice { backend: name, started: backend, .. } = choice;
    let since = None;
    let mut worker =
        Worker { options, backend, output, listener, since, waits, questions: 0, warn };
    worker.tell_ready(name)?;
    // The bell lives as long as its ear: an ear without a bell would always be awake.
    let bell = Arc::new(bell);
    let ended = worker.run(&bell, &ear);
    worker.backend.close();
    ended
}

/// The difference between the tree and the file of `since`, once, without watching.
///
/// # Errors
/// As [`watch`].
pub fn scan(
    options: &Options,
    beside: Beside,
    sink: &mut dyn Write,
    warn: &mut dyn FnMut(&Warning),
) -> Result<()> {
    let Some(file) = &options.since else { return Err(Error::usage("compare with what?")) };
    let policy = options.site.policy()?;
    let (mut since, mut changes) = Since::open(file, &policy, options.site.now)?;
    changes.warnings.iter().for_each(&mut *warn);
    changes.changed.retain(|change| !since.is_own(change));
    since.note(&changes.changed)?;
    let mut output = Output::new(sink, beside, options.format, options.filter.clone());
    output.batch(&changes.changed, false, None)?;
    since.save(true)
}

fn listen(options: &Options, warn: &mut dyn FnMut(&Warning)) -> Option<Listener> {
    match Listener::open(options.runtime.as_deref()?, &options.site.root, &options.session) {
        Ok(listener) => Some(listener),
        Err(error) => {
            let message = format!("{error}; `--sync` will not find this watcher");
            warn(&Warning { message, hint: error.hints().first().cloned() });
            None
        }
    }
}

fn start(options: &Options, beside: &Beside) -> Result<Choice<Box<dyn Backend>>> {
    choose(Platform::here(), options.backend, |backend| {
        let (site, pace, beside) = (options.site.clone(), options.pace, beside.clone());
        let started: Box<dyn Backend> = match backend {
            WatchBackend::Inotify => Box::new(Native::inotify(site, pace, beside)?),
            WatchBackend::Fsevents | WatchBackend::Notify => {
                Box::new(Library::open(site, pace, beside, backend)?)
            }
            _ => Box::new(Native::poll(site, pace, beside)?),
        };
        Ok(started)
    })
}

struct Worker<'a> {
    options: &'a Options,
    backend: Box<dyn Backend>,
    output: Output<'a>,
    listener: Option<Listener>,
    since: Option<Since>,
    waits: Beside,
    /// How often it was asked.
    questions: u64,
    warn: &'a mut dyn FnMut(&Warning),
}

impl Worker<'_> {
    fn tell_ready(&mut self, backend: WatchBackend) -> Result<()> {
        let root = crate::record::Repo::at("", &self.options.site.root);
        let (watches, polled) = self.backend.watches();
        let interval = u64::try_from(self.options.pace.interval.as_millis());
        self.output.record(&Ready {
            session: self.options.session.clone(),
            backend,
            root: root.path,
            root_b64: root.path_b64,
            watches: watches as u64,
            polled: polled as u64,
            interval_ms: interval.ok(),
        })
    }

    fn run(&mut self, bell: &Arc<Bell>, ear: &Ear) -> Result<()> {
        if let Some(file) = &self.options.since {
            let (since, changes) = Since::open(file, self.backend.policy(), self.options.site.now)?;
            self.since = Some(since);
            if self.tell(changes)? && self.options.once {
                return self.save(true);
            }
        }
        let mut existing = self.options.initial.then(|| self.look_around(bell)).transpose()?;
        // What was cut off has not gone out, so the file must not have it.
        self.watch_on(&mut existing, ear)?;
        self.save(true)
    }

    fn watch_on(&mut self, existing: &mut Option<Receiver<Vec<Change>>>, ear: &Ear) -> Result<()> {
        let mut any = false;
        loop {
            if self.waits.is_over() {
                return Ok(());
            }
            if self.waits.is_late() {
                return if any || !self.options.once { Ok(()) } else { self.nothing() };
            }
            any |= self.answer_questions()?;
            any |= self.tell_existing(existing, ear)?;
            let last = self.options.once && existing.is_none();
            if !(any && last) {
                let changes = self.backend.wait(self.time_left())?;
                any |= self.tell(changes)?;
            }
            self.save(false)?;
            if any && last {
                return Ok(());
            }
        }
    }

    /// The answer to the question whether anything would change.
    fn nothing(&mut self) -> Result<()> {
        self.save(true)?;
        let longest = humantime::format_duration(self.options.longest.unwrap_or_default());
        Err(Error::no("nothing", format!("nothing has changed in {longest}")))
    }

    fn time_left(&self) -> Option<Duration> {
        let due = [self.waits.until, self.since.as_ref().and_then(Since::due)]
            .into_iter()
            .flatten()
            .min();
        // Zero would mean not to settle.
        due.map(|due| due.saturating_duration_since(Instant::now()).max(Duration::from_nanos(1)))
    }

    /// Tells a batch, and whether there was one.
    fn tell(&mut self, mut changes: Changes) -> Result<bool> {
        changes.warnings.iter().for_each(&mut *self.warn);
        if let Some(since) = &mut self.since {
            changes.changed.retain(|change| !since.is_own(change));
            since.apply(&changes.changed, self.backend.policy());
            since.note(&changes.changed)?;
        }
        self.output.batch(&changes.changed, changes.touched, Some(self.backend.watches()))
    }

    fn save(&mut self, must: bool) -> Result<()> {
        self.since.as_mut().map_or(Ok(()), |since| since.save(must))
    }

    /// All that happened before a question is told before its answer.
    fn answer_questions(&mut self) -> Result<bool> {
        let asked = self.listener.as_ref().map(Listener::asked).unwrap_or_default();
        if asked.is_empty() {
            return Ok(false);
        }
        let changes = self.backend.wait(Some(Duration::ZERO))?;
        let told = self.tell(changes)?;
        let (session, batch) = (self.options.session.clone(), self.output.batches());
        self.questions += 1;
        let question = self.options.barriers.then_some(self.questions);
        let barrier = Barrier { session, batch, question };
        if self.options.barriers {
            self.output.record(&barrier)?;
        }
        asked.into_iter().for_each(|stream| barrier::answer(stream, &barrier));
        Ok(told)
    }

    /// Starts a thread that looks at everything that exists.
    fn look_around(&self, bell: &Arc<Bell>) -> Result<Receiver<Vec<Change>>> {
        let (sender, receiver) = sync_channel(1);
        let (policy, bell) = (Arc::clone(self.backend.policy()), Arc::clone(bell));
        std::thread::Builder::new()
            .name("initial".to_string())
            .spawn(move || tell_all(&policy, &sender, &bell))
            .map_err(|e| Error::io("start", "a thread", &e))?;
        Ok(receiver)
    }

    /// Tells the next piece of what exists. What is live has been told before it.
    fn tell_existing(
        &mut self,
        existing: &mut Option<Receiver<Vec<Change>>>,
        ear: &Ear,
    ) -> Result<bool> {
        let Some(receiver) = existing else { return Ok(false) };
        ear.hush();
        match receiver.try_recv() {
            Err(_) => Ok(false),
            Ok(piece) => {
                let told = self.output.batch(&piece, false, Some(self.backend.watches()))?;
                if piece.len() < PIECE {
                    *existing = None;
                }
                Ok(told)
            }
        }
    }
}

fn tell_all(policy: &Policy, sender: &SyncSender<Vec<Change>>, bell: &Bell) {
    let mut piece = Vec::with_capacity(PIECE);
    survey::below(policy, None, false, &mut |path, kind, stat| {
        piece.push(Change::Event { op: EventOp::Create, kind, path, stat });
        if piece.len() < PIECE {
            return true;
        }
        let full = std::mem::replace(&mut piece, Vec::with_capacity(PIECE));
        let sent = sender.send(full).is_ok();
        bell.ring();
        sent
    });
    // A piece that is not full is the last.
    let _ = sender.send(piece);
    bell.ring();
}

/// A name for a run: 64 random bits.
pub fn session(now: SystemTime) -> String {
    use std::hash::{BuildHasher, Hasher, RandomState};
    let mut hasher = RandomState::new().build_hasher();
    hasher.write_u32(std::process::id());
    if let Ok(since) = now.duration_since(std::time::UNIX_EPOCH) {
        hasher.write_u128(since.as_nanos());
    }
    format!("{:016x}", hasher.finish())
}
