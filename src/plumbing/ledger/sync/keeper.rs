//! What keeps one repository's index: the lock, the ledger, the rules, and the state that it tells.

use std::os::unix::fs::MetadataExt;
use std::time::Duration;

use super::input::Change;
use super::state::{Folder, LastBatch, LastScan, Place, WatchState};
use crate::cli::{Io, World};
use crate::error::{Error, Result};
use crate::index::{Follower, Options};
use crate::plumbing::ledger::scan;
use crate::plumbing::ledger::source::Source;
use crate::record::{Sync, SyncMode};
use crate::store::ledger::Ledger;
use crate::text::Tokenizer;
use crate::visible::within;
use crate::workspace::Lock;

/// A process that asks who has the lock holds it for a moment: so often is it tried, and so long
/// apart.
const TRIES: (u32, Duration) = (5, Duration::from_millis(10));

/// Keeps the index of a repository.
pub struct Keeper {
    source: Source,
    threads: usize,
    follower: Follower,
    ledger: Option<Open>,
    place: Place,
    /// None: another process keeps the index, and the state is its own.
    lock: Option<Lock>,
    state: WatchState,
    /// The last batch that was done; the state has it only while the ledger is the one it was done
    /// in.
    reached: Option<LastBatch>,
    /// How often the watcher looks at what it polls.
    interval: Duration,
}

/// Of a watcher that does not say it.
const INTERVAL: Duration = Duration::from_secs(1);

/// An open ledger, and which file it is.
struct Open {
    ledger: Ledger,
    file: (u64, u64),
}

impl Keeper {
    /// Keeps the index as the only one.
    ///
    /// # Errors
    /// `watched` when another process does; what keeps the rules or the state from being opened.
    pub fn locked(source: Source, threads: usize, world: &World) -> Result<Keeper> {
        let keeper = Self::for_once(source, threads, world)?;
        if keeper.lock.is_none() {
            return Err(keeper.taken());
        }
        keeper.tell()?;
        let tokenizer = keeper.tokenizer();
        std::thread::spawn(move || tokenizer.load());
        Ok(keeper)
    }

    /// Brings the index up to date once, perhaps beside another process that keeps it.
    ///
    /// # Errors
    /// What keeps the rules or the state from being opened.
    pub fn for_once(source: Source, threads: usize, world: &World) -> Result<Keeper> {
        let follower = Follower::open(&source.root, world.surroundings(), &source.only)?;
        source.state.create()?;
        let (place, started) = (Place::of(&source.state), world.timestamp());
        let lock = lock(&place, &started)?;
        let only = source.only.iter().map(Folder::from).collect();
        let pid = std::process::id();
        let state = WatchState { pid, only, started, ..WatchState::default() };
        Ok(Keeper {
            source,
            threads,
            follower,
            ledger: None,
            place,
            lock,
            state,
            reached: None,
            interval: INTERVAL,
        })
    }

    fn taken(&self) -> Error {
        let state = self.place.live().unwrap_or_default();
        let (pid, within, since) = (state.pid, within(&state.folders()), &state.started);
        let root = self.source.shown_root();
        let message = format!("process {pid} keeps the index of '{root}'{within} since {since}");
        let error = Error::failed("watched", message);
        match state.keeps(&self.source.only) {
            true => {
                error.hint(format!("it goes on by itself; see `auwai-ledger status --repo {root}`"))
            }
            false => error.hint(format!(
                "stop it (`kill {pid}`), then keep all of it: `auwai watch --repo {root}`"
            )),
        }
    }

    fn tokenizer(&self) -> Tokenizer {
        let noted = self.source.ledger().and_then(|ledger| ledger.meta("tokenizer"));
        noted.ok().flatten().and_then(|name| name.parse().ok()).unwrap_or_default()
    }

    /// Scans once, and tells that it has ended.
    ///
    /// # Errors
    /// The scan's.
    pub fn once(mut self, io: &mut Io<'_>) -> Result<Sync> {
        let all = Change { all: true, ..Change::default() };
        let sync = self.round(&all, &mut || {}, io);
        match sync {
            Ok(_) => self.end(io.world)?,
            Err(ref error) => self.failed(error).map(drop)?,
        }
        sync
    }

    /// Whether a change calls for a scan of the whole tree.
    ///
    /// # Errors
    /// The ledger's; those of the rules.
    pub fn wants_scan(&mut self, change: &Change) -> Result<bool> {
        let fresh = self.open()?;
        let Some(open) = &self.ledger else { return Ok(true) };
        Ok(change.all || fresh || self.follower.wants_scan(&open.ledger, &change.paths)?)
    }

    /// Makes sure that what it says of itself stands where others look; whether the ledger is another
    /// one now, or has lost what it knew, and all is to be done anew.
    ///
    /// # Errors
    /// As [`Keeper::wants_scan`]; `watched` when another process has come to keep the index.
    pub fn stand(&mut self) -> Result<bool> {
        let anew = self.wants_scan(&Change::default())?;
        if let Some(open) = self.ledger.as_mut().filter(|_| !anew) {
            self.follower.note_head(&mut open.ledger)?;
        }
        if !self.place.says(&self.state) {
            self.tell()?;
        }
        Ok(anew)
    }

    /// Opens the ledger where it is not open, or where its file is another one now; whether so.
    fn open(&mut self) -> Result<bool> {
        let path = self.source.state.ledger();
        let file = |meta: std::fs::Metadata| (meta.dev(), meta.ino());
        let there = path.metadata().ok().map(file);
        let same = self.ledger.as_ref().is_some_and(|open| there == Some(open.file));
        if same && self.lock.as_ref().is_none_or(|held| self.place.is_locked_by(held)) {
            return Ok(false);
        }
        let known = !same && self.ledger.take().is_some();
        // A root that has gone must not be made anew for the state in it.
        self.source.open_root()?;
        self.source.check_state()?;
        self.source.state.create()?;
        self.lock_again()?;
        if same {
            return Ok(false);
        }
        self.state.last_batch = None;
        if known {
            self.tell()?;
        }
        let ledger = Ledger::open_or_create(&path)?.bounded(&self.source.only);
        let file = path.metadata().map(file).unwrap_or_default();
        self.ledger = Some(Open { ledger, file });
        Ok(known)
    }

    /// With the state folder the lock may have gone, too.
    fn lock_again(&mut self) -> Result<()> {
        let Some(held) = &self.lock else { return Ok(()) };
        if !self.place.is_locked_by(held) {
            self.lock = lock(&self.place, &self.state.started)?;
            if self.lock.is_none() {
                return Err(self.taken());
            }
        }
        Ok(())
    }

    /// Brings the index up to date, and notes it in the state. `alive` is called now and then.
    ///
    /// # Errors
    /// The scan's or the sync's; the index may then be anything between before and after.
    pub fn round(
        &mut self,
        change: &Change,
        alive: &mut dyn FnMut(),
        io: &mut Io<'_>,
    ) -> Result<Sync> {
        let full = self.wants_scan(change)?;
        let Some(open) = &mut self.ledger else { return Err(Error::closed()) };
        let turn = scan::turn(&self.source, &open.ledger, alive, io)?;
        let (world, at) = (io.world, io.world.timestamp());
        let options = Options {
            name: &self.source.name,
            threads: self.threads,
            tokenizer: None,
            now: (world.now)(),
            at: &at,
        };
        let (ledger, paths, alive) = (&mut open.ledger, &change.paths, &mut |_| alive());
        let mut sync = match full {
            true => self.follower.scan(ledger, &turn, &options, alive)?,
            false => self.follower.sync(ledger, &turn, paths, &options, alive)?,
        };
        sync.batch = change.batch;
        self.note(change, &sync, world)?;
        Ok(sync)
    }

    /// After which time a change is to be looked at once more, if at all. What comes and goes
    /// between two looks of a watcher that polls is never told; when a round has met it in between,
    /// nobody else will say that it has gone.
    pub fn looks_again(&self, sync: &Sync) -> Option<Duration> {
        (self.state.polled > 0 && sync.files > 0).then_some(self.interval)
    }

    fn note(&mut self, change: &Change, sync: &Sync, world: &World) -> Result<()> {
        let (state, at) = (&mut self.state, world.timestamp());
        if let Some(ready) = &change.ready {
            state.session = Some(ready.session.clone());
            state.backend = Some(ready.backend);
            self.reached = None;
            state.question = None;
            self.interval = ready.interval_ms.map_or(INTERVAL, Duration::from_millis);
        }
        if let Some(standing) = change.standing {
            (state.watches, state.polled) = standing;
        }
        if let Some(n) = change.batch {
            self.reached = Some(LastBatch { n, at: at.clone() });
        }
        state.last_batch.clone_from(&self.reached);
        state.question = change.question.or(state.question);
        let sums = &mut state.counters;
        sums.batches += change.told.0;
        sums.events += change.told.1;
        sums.rescans += change.told.2;
        sums.files += sync.files;
        sums.chunks_added += sync.chunks_added;
        sums.chunks_removed += sync.chunks_removed;
        sums.kept_reads += sync.kept_reads;
        if sync.mode == SyncMode::Full {
            sums.scans += 1;
            state.last_scan = Some(LastScan { at, files: sync.files });
        }
        state.last_error = None;
        self.tell()
    }

    /// Notes that what a question stands for is in the index.
    ///
    /// # Errors
    /// When the state cannot be written.
    pub fn answered(&mut self, question: u64) -> Result<()> {
        self.state.question = Some(question);
        self.tell()
    }

    /// Notes what went wrong; whether it is something else than before.
    ///
    /// # Errors
    /// When the state cannot be written.
    pub fn failed(&mut self, error: &Error) -> Result<bool> {
        let text = Some(error.to_string());
        if self.state.last_error == text {
            return Ok(false);
        }
        self.state.last_error = text;
        self.tell()?;
        Ok(true)
    }

    /// Notes that it has ended well.
    ///
    /// # Errors
    /// When the state cannot be written.
    pub fn end(&mut self, world: &World) -> Result<()> {
        self.state.ended = Some(world.timestamp());
        self.tell()
    }

    fn tell(&self) -> Result<()> {
        match &self.lock {
            // A state folder that came in the place of ours is not ours to write.
            Some(held) if self.place.is_locked_by(held) => self.place.write(&self.state),
            _ => Ok(()),
        }
    }
}

fn lock(place: &Place, since: &str) -> Result<Option<Lock>> {
    for _ in 1..TRIES.0 {
        if let Some(lock) = place.lock(since)? {
            return Ok(Some(lock));
        }
        std::thread::sleep(TRIES.1);
    }
    place.lock(since)
}
