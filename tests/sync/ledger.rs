//! Bringing the changed paths up to date makes the ledger what a fresh scan makes it.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Duration, SystemTime};

use auwai::admit::Surroundings;
use auwai::index::{Follower, Options, scan};
use auwai::record::{Fate, Read};
use auwai::store::ledger::{Cut, Evidence, Ledger, Turn};

use super::edits::{Edits, cases};
use crate::admit::random::{Random, plain, repository};
use crate::support::git::Sandbox;
use crate::support::tree::policy;

/// Everything that the ledger says of the tree, but the numbers of its rows and what is young.
pub type Said = (BTreeMap<Vec<u8>, Row>, Vec<Option<String>>);

/// What it says of one path.
pub type Row = (Fate, Option<Box<str>>, String, Vec<Cut>);

pub fn said(ledger: &Ledger) -> Said {
    let stats = ledger.known().unwrap();
    let mut rows = BTreeMap::new();
    ledger
        .each_file(|row| {
            let known = stats.get(&row.path.to_key()).unwrap();
            let facts = format!(
                "{:?} {:?} {:?} {:?} {} {} {} {}",
                known.stat,
                row.size,
                row.hash,
                row.encoding,
                row.unterminated,
                row.lines,
                row.tokens,
                row.chunks
            );
            let cuts = ledger.cuts(row.id)?;
            rows.insert(
                row.path.as_bytes().to_vec(),
                (row.fate, known.detail.clone(), facts, cuts),
            );
            Ok(())
        })
        .unwrap();
    let meta = ["head", "dirty", "tokenizer", "chunker", "anew"];
    (rows, meta.map(|key| ledger.meta(key).unwrap()).to_vec())
}

fn options<'a>() -> Options<'a> {
    // Far from the times of the files, so that no file is read again for being young.
    let now = SystemTime::now() + Duration::from_secs(3600);
    Options { name: "r", threads: 2, tokenizer: None, now, at: "2026-01-01T00:00:00Z" }
}

fn turn(ledger: &Ledger) -> Turn {
    ledger.turn(&mut |_| {}).unwrap()
}

pub fn fresh(sandbox: &Sandbox, root: &Path, file: &Path) -> Said {
    let _ = std::fs::remove_file(file);
    let mut ledger = Ledger::open_or_create(file).unwrap();
    let turn = turn(&ledger);
    scan(root, &policy(sandbox, root), &mut ledger, &turn, &options(), &mut |_| {}).unwrap();
    said(&ledger)
}

/// Marks some chunks as read in two ledgers of the same content.
fn mark(random: &mut Random, ledgers: [&mut Ledger; 2]) {
    let mut ids = Vec::new();
    ledgers[0]
        .each_file(|row| {
            ids.extend(ledgers[0].cuts(row.id)?.iter().map(|cut| cut.id));
            Ok(())
        })
        .unwrap();
    ids.retain(|_| random.one_in(3));
    let evidence = Evidence { reader: "t", how: "shown", at: "2026-01-01T00:00:00Z" };
    let reads: Vec<Read> = ids.into_iter().map(|id| Read::of("r", id)).collect();
    for ledger in ledgers {
        ledger.mark(&reads, evidence).unwrap();
    }
}

fn git(random: &mut Random, sandbox: &Sandbox) {
    let args: &[&str] = match random.below(5) {
        0 => &["add", "-A"],
        1 => &["rm", "-rq", "--cached", "--ignore-unmatch", "a", "b"],
        2 => &["commit", "-qm", "x", "--allow-empty"],
        3 => &["status"],
        _ => &["read-tree", "HEAD"],
    };
    sandbox.try_git(&sandbox.root(), args, b"");
}

fn case(seed: u64) {
    let random = &mut Random(seed);
    let in_git = !random.one_in(3);
    let sandbox = if in_git { repository(random) } else { plain(random) };
    let (root, around) = (sandbox.root(), Surroundings::from_vars(sandbox.vars()));
    // One ledger is brought up to date by what changed, one by scans.
    let open = |name: &str| Ledger::open_or_create(&sandbox.home(name)).unwrap();
    let (mut synced, mut scanned) = (open("synced"), open("scanned"));
    let mut follower = Follower::open(&root, around, &[]).unwrap();
    // Nobody else writes these ledgers.
    let held = turn(&synced);
    follower.scan(&mut synced, &held, &options(), &mut |_| {}).unwrap();
    let scan_other = |ledger: &mut Ledger| {
        let turn = turn(ledger);
        scan(&root, &policy(&sandbox, &root), ledger, &turn, &options(), &mut |_| {}).unwrap()
    };
    scan_other(&mut scanned);
    let mut edits = Edits::of(root.clone(), random);
    for round in 0..6 {
        if edits.random.one_in(2) {
            mark(edits.random, [&mut synced, &mut scanned]);
        }
        (0..edits.random.below(4)).for_each(|_| edits.edit());
        if in_git && edits.random.one_in(3) {
            git(edits.random, &sandbox);
        }
        let changed = std::mem::take(&mut edits.changed);
        let sync = match follower.wants_scan(&synced, &changed).unwrap() {
            true => follower.scan(&mut synced, &held, &options(), &mut |_| {}).unwrap(),
            false => follower.sync(&mut synced, &held, &changed, &options(), &mut |_| {}).unwrap(),
        };
        let scan = scan_other(&mut scanned);
        let told = |sync: &auwai::record::Sync| {
            (sync.files, sync.chunks_added, sync.chunks_removed, sync.kept_reads)
        };
        let (ours, theirs) = (said(&synced), said(&scanned));
        let all = ours.0.keys().chain(theirs.0.keys());
        let differing: Vec<_> = all
            .filter(|path| ours.0.get(*path) != theirs.0.get(*path))
            .map(|path| (String::from_utf8_lossy(path), ours.0.get(path), theirs.0.get(path)))
            .collect();
        assert!(differing.is_empty(), "round {round}: {changed:?}: {differing:#?}");
        assert_eq!(told(&sync), told(&scan), "round {round}: {changed:?}");
        assert_eq!(said(&synced), fresh(&sandbox, &root, &sandbox.home("fresh")), "{round}");
        assert_eq!(synced.read_ids().unwrap(), scanned.read_ids().unwrap(), "{round}");
    }
}

#[test]
fn a_ledger_that_follows_is_as_good_as_a_fresh_one() {
    cases(40, case);
}

/// The other names of a file were known only after a scan of the same process.
#[test]
fn a_name_that_goes_is_a_change_of_the_others_also_without_a_scan_before() {
    let sandbox = Sandbox::empty();
    let root = sandbox.root();
    let around = Surroundings::from_vars(sandbox.vars());
    std::fs::write(root.join("a"), "text\n").unwrap();
    std::fs::hard_link(root.join("a"), root.join("b")).unwrap();
    let mut ledger = Ledger::open_or_create(&sandbox.home("synced")).unwrap();
    let held = turn(&ledger);
    scan(&root, &policy(&sandbox, &root), &mut ledger, &held, &options(), &mut |_| {}).unwrap();
    let mut follower = Follower::open(&root, around, &[]).unwrap();
    follower.wants_scan(&ledger, &Default::default()).unwrap();
    std::fs::remove_file(root.join("a")).unwrap();
    let changed = [auwai::record::RepoPath::new("a").unwrap()].into();
    let mut alive = 0;
    follower.sync(&mut ledger, &held, &changed, &options(), &mut |_| alive += 1).unwrap();
    assert_eq!(said(&ledger), fresh(&sandbox, &root, &sandbox.home("fresh")));
    // It is asked whether to go on, for each path of both looks.
    assert_eq!(alive, 3);
}
