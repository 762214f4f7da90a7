#![cfg(test)]
//! Reads against a model of who has read which bytes, in which file, at which time: whatever
//! appears, vanishes, is copied or marked, and wherever a scan is killed.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;

use super::*;
use crate::record::{ChunkId, Fate, Read, RepoPath};

const PATHS: usize = 4;
const AT: &str = "1970-01-01T00:00:00Z";

/// The bodies of a file's chunks; there are few bodies, so that equal ones are common.
type Bodies = Vec<u8>;

#[derive(Debug, Clone)]
enum Step {
    Write(usize, Bodies),
    Remove(usize),
    Rename(usize, usize),
    Copy(usize, usize),
    Mark(usize, usize),
    Scan(Scan),
}

#[derive(Debug, Clone)]
struct Scan {
    /// The path that it begins with.
    first: usize,
    /// How many paths a transaction takes.
    batch: usize,
    /// After how many transactions it is killed.
    killed: Option<usize>,
}

fn step() -> impl Strategy<Value = Step> {
    let path = || 0..PATHS;
    let scan = |killed| {
        (path(), 1..=PATHS, killed)
            .prop_map(|(first, batch, killed)| Step::Scan(Scan { first, batch, killed }))
    };
    prop_oneof![
        3 => (path(), prop::collection::vec(0..3u8, 0..4)).prop_map(|(at, to)| Step::Write(at, to)),
        2 => path().prop_map(Step::Remove),
        2 => (path(), path()).prop_map(|(from, to)| Step::Rename(from, to)),
        2 => (path(), path()).prop_map(|(from, to)| Step::Copy(from, to)),
        4 => (path(), 0..4usize).prop_map(|(path, nth)| Step::Mark(path, nth)),
        4 => scan(Just(None).boxed()),
        2 => scan((0..PATHS).prop_map(Some).boxed()),
    ]
}

fn path(at: usize) -> RepoPath {
    RepoPath::new(format!("d/{at}")).unwrap()
}

fn body(number: u8) -> [u8; 32] {
    *blake3::hash(&[number]).as_bytes()
}

fn name(path: &RepoPath, body: &[u8; 32], occurrence: u32) -> ChunkId {
    let whole = [path.as_bytes(), &body[..], &occurrence.to_be_bytes()].concat();
    let hash = *blake3::hash(&whole).as_bytes();
    ChunkId(u64::from_be_bytes(*hash.first_chunk().unwrap()))
}

/// The chunks of a file, each with the number of its body.
fn chunks(at: usize, bodies: &Bodies) -> Vec<(ChunkId, u8)> {
    let before = |nth: usize| bodies[..nth].iter().filter(|body| **body == bodies[nth]).count();
    let id = |nth: usize| name(&path(at), &body(bodies[nth]), before(nth).try_into().unwrap());
    (0..bodies.len()).map(|nth| (id(nth), bodies[nth])).collect()
}

fn row(at: usize, bodies: &Bodies) -> FileRow {
    let cut = |(nth, (id, number)): (usize, (ChunkId, u8))| Cut {
        id,
        bytes: [nth as u64, nth as u64 + 1].into(),
        lines: [nth as u64 + 1, nth as u64 + 1].into(),
        tokens: 1,
        occurrence: 0,
        piece: false,
        body: body(number),
    };
    let cuts = chunks(at, bodies).into_iter().enumerate().map(cut).collect();
    let hash = *blake3::hash(bodies).as_bytes();
    let content = Content { size: bodies.len() as u64, hash, cuts, ..Content::default() };
    FileRow {
        path: path(at),
        fate: Fate::Text,
        detail: None,
        stat: None,
        racy: false,
        content: Some(content),
    }
}

/// One delivery of one chunk.
#[derive(Debug)]
struct Delivery {
    id: ChunkId,
    body: u8,
    /// How many transactions of scans there were before.
    time: u64,
}

/// A chunk of the index.
#[derive(Debug, Clone, Copy)]
struct Present {
    body: u8,
    /// The transaction that it came with.
    came: u64,
}

/// The truth.
#[derive(Default)]
struct Truth {
    tree: BTreeMap<usize, Bodies>,
    index: BTreeMap<usize, Bodies>,
    present: BTreeMap<ChunkId, Present>,
    time: u64,
    deliveries: Vec<Delivery>,
    /// The time of the reads that the ledger noted at a change of the index.
    times: BTreeMap<i64, u64>,
}

impl Truth {
    fn edit(&mut self, step: &Step) {
        let moved = match step {
            Step::Write(to, bodies) => Some((*to, Some(bodies.clone()))),
            Step::Remove(at) => Some((*at, None)),
            Step::Rename(from, to) => self.tree.remove(from).map(|bodies| (*to, Some(bodies))),
            Step::Copy(from, to) => self.tree.get(from).map(|bodies| (*to, Some(bodies.clone()))),
            Step::Mark(..) | Step::Scan(_) => None,
        };
        match moved {
            Some((at, Some(bodies))) => drop(self.tree.insert(at, bodies)),
            Some((at, None)) => drop(self.tree.remove(&at)),
            None => {}
        }
    }

    /// What a transaction has made of the index.
    fn took(&mut self, paths: &[usize]) {
        self.time += 1;
        for at in paths {
            match self.tree.get(at) {
                Some(bodies) => drop(self.index.insert(*at, bodies.clone())),
                None => drop(self.index.remove(at)),
            }
        }
        let now: BTreeMap<ChunkId, u8> =
            self.index.iter().flat_map(|(at, bodies)| chunks(*at, bodies)).collect();
        self.present.retain(|id, _| now.contains_key(id));
        for (id, body) in now {
            self.present.entry(id).or_insert(Present { body, came: self.time });
        }
    }

    /// Whether a delivery can be what makes a chunk read: the same bytes in the same place, or in
    /// one that came later.
    fn can_stand_for(&self, delivery: &Delivery, id: ChunkId) -> bool {
        let chunk = self.present[&id];
        delivery.body == chunk.body && (delivery.id == id || chunk.came > delivery.time)
    }

    /// Whether each of these chunks has a delivery of its own.
    fn allows(&self, read: &BTreeSet<ChunkId>) -> bool {
        let mut owners = vec![None; self.deliveries.len()];
        read.iter().all(|id| self.assign(*id, &mut owners, &mut BTreeSet::new()))
    }

    fn assign(
        &self,
        id: ChunkId,
        owners: &mut Vec<Option<ChunkId>>,
        seen: &mut BTreeSet<usize>,
    ) -> bool {
        for (at, delivery) in self.deliveries.iter().enumerate() {
            if self.can_stand_for(delivery, id) && seen.insert(at) {
                let free = owners[at].is_none_or(|other| self.assign(other, owners, seen));
                if free {
                    owners[at] = Some(id);
                    return true;
                }
            }
        }
        false
    }
}

struct Case {
    dir: tempfile::TempDir,
    ledger: Ledger,
    truth: Truth,
}

/// A read that the ledger keeps.
struct Kept {
    id: ChunkId,
    body: Vec<u8>,
    since: i64,
}

impl Case {
    fn new() -> Case {
        let dir = tempfile::tempdir().unwrap();
        let ledger = Ledger::open_or_create(&dir.path().join("l.sqlite")).unwrap();
        Case { dir, ledger, truth: Truth::default() }
    }

    fn take(&mut self, step: &Step) {
        self.truth.edit(step);
        match step {
            Step::Mark(at, nth) => self.mark(*at, *nth),
            Step::Scan(scan) => self.scan(scan),
            _ => {}
        }
    }

    fn mark(&mut self, at: usize, nth: usize) {
        let Some(bodies) = self.truth.index.get(&at) else { return };
        let Some((id, body)) = chunks(at, bodies).get(nth).copied() else { return };
        let was_read = self.ledger.read_ids().unwrap().contains(&id);
        let evidence = Evidence { reader: "t", how: "shown", at: AT };
        let marked = self.ledger.mark(&[Read::of("r", id)], evidence).unwrap();
        let new = if was_read { MarkOutcome::Again } else { MarkOutcome::New };
        assert_eq!(marked, [new]);
        if !was_read {
            let time = self.truth.time;
            let since = self.kept().into_iter().find(|kept| kept.id == id).unwrap().since;
            self.truth.times.entry(since).or_insert(time);
            self.truth.deliveries.push(Delivery { id, body, time });
        }
    }

    fn scan(&mut self, scan: &Scan) {
        let mut paths: Vec<usize> = (0..PATHS).collect();
        paths.rotate_left(scan.first);
        // Unchanged files are told too, as one that was only touched is.
        let batches = paths.chunks(scan.batch).take(scan.killed.unwrap_or(PATHS));
        for batch in batches {
            self.apply(batch);
        }
        match scan.killed {
            None => drop(self.ledger.move_reads(AT).unwrap()),
            Some(_) => {
                self.ledger = Ledger::open_or_create(&self.dir.path().join("l.sqlite")).unwrap();
            }
        }
    }

    fn apply(&mut self, paths: &[usize]) {
        let mut batch = Batch::default();
        for at in paths {
            match self.truth.tree.get(at) {
                Some(bodies) => batch.rows.push(row(*at, bodies)),
                None => {
                    let gone = self.ledger.file(&path(*at)).unwrap();
                    batch.gone.extend(gone.map(|row| (path(*at).to_key().into(), row.id)));
                }
            }
        }
        self.ledger.apply(&batch, &name).unwrap();
        self.truth.took(paths);
    }

    /// The reads that have not moved on.
    fn kept(&self) -> Vec<Kept> {
        let kept = |row: &rusqlite::Row<'_>| {
            let id = ChunkId(row.get::<_, i64>(0)?.cast_unsigned());
            Ok(Kept { id, body: row.get(1)?, since: row.get(2)? })
        };
        let all = self.ledger.db.read(|c| {
            let mut query = c.prepare("SELECT id, body, since FROM marks WHERE given = 0")?;
            Ok(query.query_map([], kept)?.collect::<rusqlite::Result<_>>()?)
        });
        all.unwrap()
    }

    /// The chunks of the index that count as read.
    fn read(&self) -> BTreeSet<ChunkId> {
        let read = self.ledger.read_ids().unwrap();
        self.truth.present.keys().copied().filter(|id| read.contains(id)).collect()
    }

    /// Nothing is read that was not delivered, no copy has inherited, and no read is lost.
    fn check(&self) {
        let read = self.read();
        assert!(self.truth.allows(&read), "{read:x?} {:x?}", self.truth.deliveries);
        assert_eq!(self.kept().len(), self.truth.deliveries.len());
        let share = |(id, chunk): (&ChunkId, &Present)| {
            id.0 ^ u64::from_be_bytes(*body(chunk.body).first_chunk().unwrap())
        };
        let mixed = self.truth.present.iter().map(share).fold(0, |all, share| all ^ share);
        assert_eq!(self.ledger.fingerprint().unwrap(), format!("{mixed:016x}"));
    }

    /// No read waits that a chunk could take which came after it.
    fn check_moved(&self) {
        let (read, truth) = (self.read(), &self.truth);
        let waiting = self.kept().into_iter().filter(|kept| !truth.present.contains_key(&kept.id));
        for kept in waiting {
            let time = truth.times[&kept.since];
            let fits = |id: &ChunkId, chunk: &Present| {
                !read.contains(id) && kept.body == body(chunk.body) && chunk.came > time
            };
            assert!(!truth.present.iter().any(|(id, chunk)| fits(id, chunk)), "{:x?}", kept.id);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, ..ProptestConfig::default() })]

    #[test]
    fn the_ledger_never_says_more_than_was_read(steps in prop::collection::vec(step(), 1..40)) {
        let mut case = Case::new();
        for step in &steps {
            case.take(step);
            case.check();
            if matches!(step, Step::Scan(Scan { killed: None, .. })) {
                case.check_moved();
            }
        }
    }
}

#[test]
fn a_killed_scan_of_an_older_version_is_made_good() {
    let mut case = Case::new();
    let all = Scan { first: 0, batch: PATHS, killed: None };
    for step in [Step::Write(0, vec![1]), Step::Scan(all.clone()), Step::Mark(0, 0)] {
        case.take(&step);
    }
    case.take(&Step::Rename(0, 1));
    case.take(&Step::Scan(Scan { killed: Some(1), ..all }));
    let older = "UPDATE meta SET value = '1' WHERE key = 'changes';
        DELETE FROM meta WHERE key IN ('moves', 'fingerprint'); DROP INDEX unreadable; DROP TABLE stamp;
        PRAGMA user_version = 2;";
    case.ledger.db.write(Durability::Process, |tx| Ok(tx.execute_batch(older)?)).unwrap();
    case.ledger = Ledger::open_or_create(&case.dir.path().join("l.sqlite")).unwrap();
    assert_eq!(case.ledger.meta("changes").unwrap().as_deref(), Some("2"));
    assert_eq!(case.ledger.move_reads(AT).unwrap(), 1);
    case.check();
    case.check_moved();
}
