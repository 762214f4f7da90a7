#![cfg(test)]
//! Scans over small trees, with the truth taken from the file system.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::sync::mpsc;
use std::time::{Duration, SystemTime};

use super::refresh::{Met, Work, refresh};
use super::stat::Young;
use super::write::Writer;
use super::{BodyReader, Options, scan};
use crate::admit::{Policy, Surroundings};
use crate::beneath::Root;
use crate::error::Result;
use crate::record::{ChunkId, Fate, Read, RepoPath, Sync};
use crate::store::ledger::{Cut, Evidence, Ledger, MarkOutcome, Row};
use crate::text::Tokenizer;
use crate::walk;

/// A tree and its ledger, which lies beside it.
struct Tree {
    dir: tempfile::TempDir,
    /// When scans take place: far from the files' times, so that none is racy unless asked for.
    now: SystemTime,
}

impl Tree {
    fn new() -> Tree {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join("tree")).unwrap();
        Tree { dir, now: SystemTime::now() + Duration::from_secs(3600) }
    }

    fn root(&self) -> PathBuf {
        self.dir.path().join("tree")
    }

    fn write(&self, path: &str, text: impl AsRef<[u8]>) {
        let path = self.root().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn ledger(&self) -> Ledger {
        Ledger::open_or_create(&self.dir.path().join("ledger.sqlite")).unwrap()
    }

    fn scan(&self) -> Sync {
        self.scan_with(None)
    }

    fn scan_with(&self, tokenizer: Option<Tokenizer>) -> Sync {
        self.scan_of(&[], tokenizer)
    }

    /// A scan that is bounded to subtrees.
    fn scan_of(&self, only: &[&str], tokenizer: Option<Tokenizer>) -> Sync {
        let only: Vec<RepoPath> = only.iter().map(|dir| RepoPath::new(*dir).unwrap()).collect();
        let policy = Policy::open(&self.root(), &Surroundings::default(), &only).unwrap();
        let at = "2026-01-01T00:00:00Z";
        let options = Options { name: "r", threads: 2, tokenizer, now: self.now, at };
        let mut ledger = self.ledger().bounded(&only);
        let turn = ledger.turn(&mut |_| {}).unwrap();
        scan(&self.root(), &policy, &mut ledger, &turn, &options, &mut |_| {}).unwrap()
    }

    fn rows(&self) -> BTreeMap<String, Row> {
        let mut rows = BTreeMap::new();
        let each = |row: Row| {
            rows.insert(row.path.display().into_owned(), row);
            Ok(())
        };
        self.ledger().each_file(each).unwrap();
        rows
    }

    fn ids(&self, path: &str) -> Vec<ChunkId> {
        let row = &self.rows()[path];
        self.ledger().cuts(row.id).unwrap().iter().map(|cut| cut.id).collect()
    }

    fn mark(&self, ids: &[ChunkId]) -> Vec<MarkOutcome> {
        let evidence = Evidence { reader: "t", how: "shown", at: "2026-01-01T00:00:00Z" };
        let reads: Vec<Read> = ids.iter().map(|id| Read::of("r", *id)).collect();
        self.ledger().mark(&reads, evidence).unwrap()
    }

    fn read(&self, path: &str) -> Vec<bool> {
        let read = self.ledger().read_ids().unwrap();
        self.ids(path).iter().map(|id| read.contains(id)).collect()
    }
}

/// What a scan writes that is killed before its end.
fn scan_cut_off(tree: &Tree) {
    let policy = Policy::open(&tree.root(), &Surroundings::default(), &[]).unwrap();
    refresh_with(tree, |sink| walk::walk(&policy, 1, sink));
}

/// A scan whose walk is `source`, without its end.
fn refresh_with<T: Send>(
    tree: &Tree,
    source: impl FnOnce(&(dyn Fn(Vec<walk::Entry>) + std::marker::Sync)) -> Result<T> + Send,
) {
    let mut ledger = tree.ledger();
    let _turn = ledger.turn(&mut |_| {}).unwrap();
    let root = Root::open(&tree.root()).unwrap();
    let (tokenizer, young) = (Tokenizer::default(), Young::at(tree.now));
    let work = Work { root: &root, tokenizer, young, anew: false, met: Met::default() };
    let mut progress = |_| {};
    let mut writer = Writer::new(&mut ledger, false, &mut progress);
    refresh(&work, 1, source, Ledger::known, &mut writer).unwrap();
}

/// Some lines of text that differ from each other.
fn lines(from: usize, to: usize) -> String {
    (from..to).map(|n| format!("fn number_{n}() -> usize {{ {n} * {n} }}\n")).collect()
}

#[test]
fn every_path_has_its_fate_and_every_byte_its_chunk() {
    let tree = Tree::new();
    tree.write("src/a.rs", lines(0, 500));
    tree.write("empty", "");
    tree.write("pic.png", b"\x89PNG\0\0");
    std::os::unix::fs::symlink("nowhere", tree.root().join("link")).unwrap();
    let sync = tree.scan();
    let rows = tree.rows();
    let fates: Vec<(&str, Fate)> =
        rows.iter().map(|(path, row)| (path.as_str(), row.fate)).collect();
    assert_eq!(
        fates,
        [
            ("empty", Fate::Text),
            ("link", Fate::Symlink),
            ("pic.png", Fate::Binary),
            ("src/a.rs", Fate::Text)
        ]
    );
    assert_eq!((sync.files, sync.chunks_added), (4, rows["src/a.rs"].chunks));
    let cuts = tree.ledger().cuts(rows["src/a.rs"].id).unwrap();
    let bytes = fs::read(tree.root().join("src/a.rs")).unwrap();
    assert_eq!(rows["src/a.rs"].hash, Some(*blake3::hash(&bytes).as_bytes()));
    let parts: Vec<u8> = cuts
        .iter()
        .flat_map(|c| bytes[c.bytes.from as usize..c.bytes.to as usize].to_vec())
        .collect();
    assert_eq!(parts, bytes);
}

#[test]
fn nothing_changed_is_nothing_done() {
    let tree = Tree::new();
    tree.write("a", lines(0, 50));
    tree.scan();
    let again = tree.scan();
    assert_eq!((again.files, again.chunks_added, again.chunks_removed), (0, 0, 0));
}

#[test]
fn an_edit_is_seen_even_with_the_old_size_and_time() {
    let tree = Tree::new();
    tree.write("a", "one\n");
    tree.scan();
    let path = tree.root().join("a");
    let time = fs::metadata(&path).unwrap().modified().unwrap();
    fs::write(&path, "two\n").unwrap();
    fs::File::options().write(true).open(&path).unwrap().set_modified(time).unwrap();
    assert_eq!(tree.scan().files, 1);
}

#[test]
fn a_file_as_young_as_the_scan_is_hashed_again() {
    let mut tree = Tree::new();
    tree.write("a", "one\n");
    tree.now = SystemTime::now();
    tree.scan();
    let known = |tree: &Tree| tree.ledger().known().unwrap().iter().all(|(_, known)| known.racy);
    assert!(known(&tree));
    tree.now += Duration::from_secs(3600);
    assert_eq!(tree.scan().files, 0, "hashed, and found as it was");
    assert!(!known(&tree));
}

#[test]
fn a_file_that_is_touched_keeps_its_chunks() {
    let tree = Tree::new();
    tree.write("a", lines(0, 50));
    tree.scan();
    let before = tree.ids("a");
    let file = fs::File::options().write(true).open(tree.root().join("a")).unwrap();
    file.set_modified(SystemTime::UNIX_EPOCH).unwrap();
    assert_eq!(tree.scan().files, 0);
    assert_eq!(tree.ids("a"), before);
}

#[test]
fn what_is_gone_leaves_the_index() {
    let tree = Tree::new();
    tree.write("a", lines(0, 50));
    tree.write("b", "kept\n");
    let added = tree.scan().chunks_added;
    fs::remove_file(tree.root().join("a")).unwrap();
    let sync = tree.scan();
    assert_eq!((sync.files, sync.chunks_removed), (1, added - 1));
    assert_eq!(tree.rows().len(), 1);
    assert!(tree.ledger().find("").unwrap().is_empty());
}

#[test]
fn another_tokenizer_cuts_anew_and_stays() {
    let tree = Tree::new();
    tree.write("a", lines(0, 500));
    tree.scan();
    let exact = tree.rows()["a"].tokens;
    assert_eq!(tree.scan_with(Some(Tokenizer::Bytes)).files, 1);
    let rough = tree.rows()["a"].tokens;
    assert_ne!(rough, exact);
    assert_eq!(tree.scan().files, 0, "no option means the one of the last time");
}

#[test]
fn a_scan_that_was_cut_off_is_finished_by_the_next() {
    let tree = Tree::new();
    tree.write("a", lines(0, 500));
    tree.scan();
    let exact = tree.rows()["a"].tokens;
    // As a scan that cuts anew leaves it when it is killed before its first transaction.
    tree.ledger().set_meta(&[("tokenizer", "bytes/4"), ("anew", "1")]).unwrap();
    assert_eq!(tree.scan().files, 1);
    assert_ne!(tree.rows()["a"].tokens, exact);
    assert_eq!(tree.scan().files, 0);
}

#[test]
fn a_chunk_is_found_by_its_prefix() {
    let tree = Tree::new();
    tree.write("a", "only\n");
    tree.scan();
    let id = tree.ids("a")[0];
    let found = tree.ledger().find(&id.to_string()[..6]).unwrap();
    assert_eq!(found.len(), 1);
    assert_eq!((found[0].0, found[0].1.path.clone()), (id, RepoPath::new("a").unwrap()));
}

#[test]
fn a_body_that_was_tampered_with_is_not_shown() {
    let tree = Tree::new();
    tree.write("a", "one\n");
    tree.scan();
    let row = tree.rows()["a"].clone();
    let cut = tree.ledger().cuts(row.id).unwrap()[0].clone();
    let root = Root::open(&tree.root()).unwrap();
    assert_eq!(BodyReader::new(&root, "r", None).read(&row, &cut, false).unwrap().text, "one\n");
    tree.write("a", "two\n");
    assert!(BodyReader::new(&root, "r", None).read(&row, &cut, false).is_none());
    fs::remove_file(tree.root().join("a")).unwrap();
    assert!(BodyReader::new(&root, "r", None).read(&row, &cut, false).is_none());
}

#[test]
fn a_read_follows_a_rename() {
    let tree = Tree::new();
    tree.write("a", lines(0, 500));
    tree.scan();
    let ids = tree.ids("a");
    tree.mark(&ids[..2]);
    fs::rename(tree.root().join("a"), tree.root().join("b")).unwrap();
    assert_eq!(tree.scan().kept_reads, 2);
    let read = tree.read("b");
    assert_eq!(read.iter().filter(|read| **read).count(), 2);
    assert!(read[0] && read[1]);
}

#[test]
fn a_move_may_come_in_two_batches_either_way_round() {
    for create_first in [false, true] {
        let tree = Tree::new();
        tree.write("a", "text\n");
        tree.scan();
        tree.mark(&tree.ids("a"));
        let (make, remove) =
            (|| tree.write("b", "text\n"), || fs::remove_file(tree.root().join("a")).unwrap());
        if create_first {
            make()
        } else {
            remove()
        }
        tree.scan();
        if create_first {
            remove()
        } else {
            make()
        }
        assert_eq!(tree.scan().kept_reads, 1, "create first: {create_first}");
        assert_eq!(tree.read("b"), [true]);
    }
}

#[test]
fn a_copy_inherits_nothing() {
    let tree = Tree::new();
    tree.write("a", "text\n");
    tree.write("old", "text\n");
    tree.scan();
    tree.mark(&tree.ids("a"));
    tree.write("copy", "text\n");
    assert_eq!(tree.scan().kept_reads, 0);
    assert_eq!((tree.read("copy"), tree.read("a")), (vec![false], vec![true]));
    fs::remove_file(tree.root().join("a")).unwrap();
    tree.scan();
    assert_eq!(tree.read("old"), [false], "it was there before the read, so it is no move");
}

#[test]
fn reads_move_also_when_the_scan_that_saw_it_was_killed() {
    let tree = Tree::new();
    tree.write("a", "text\n");
    tree.scan();
    tree.mark(&tree.ids("a"));
    fs::rename(tree.root().join("a"), tree.root().join("b")).unwrap();
    scan_cut_off(&tree);
    assert_eq!(tree.read("b"), [false]);
    let sync = tree.scan();
    assert_eq!((sync.files, sync.kept_reads), (0, 1));
    assert_eq!(tree.read("b"), [true]);
    assert_eq!(tree.scan().kept_reads, 0);
}

#[test]
fn a_killed_scan_makes_no_copy_that_inherits() {
    for some_read in [false, true] {
        let tree = Tree::new();
        tree.write("z", "last\n");
        tree.scan();
        if some_read {
            tree.mark(&tree.ids("z"));
        }
        tree.write("a", "text\n");
        tree.write("b", "text\n");
        scan_cut_off(&tree);
        assert_eq!(tree.scan().files, 0);
        tree.mark(&tree.ids("a"));
        fs::remove_file(tree.root().join("a")).unwrap();
        assert_eq!(tree.scan().kept_reads, 0);
        assert_eq!(tree.read("b"), [false], "it was there before a was read");
    }
}

#[test]
fn a_second_scan_waits_for_the_end_of_the_first() {
    let tree = Tree::new();
    tree.write("a", "text\n");
    tree.scan();
    fs::rename(tree.root().join("a"), tree.dir.path().join("away")).unwrap();
    let (began, begun) = mpsc::channel();
    let (scanned, other) = mpsc::channel();
    std::thread::scope(|scope| {
        let tree = &tree;
        // A slow scan while the file is away: it finds nothing.
        scope.spawn(move || {
            refresh_with(tree, move |_| {
                began.send(()).unwrap();
                let _ = other.recv_timeout(Duration::from_millis(500));
                Ok(())
            });
        });
        begun.recv().unwrap();
        // Gone from the place, but not from the rows that the first scan knows.
        std::thread::sleep(Duration::from_millis(50));
        fs::rename(tree.dir.path().join("away"), tree.root().join("a")).unwrap();
        tree.scan();
        let _ = scanned.send(());
    });
    assert_eq!(tree.rows().into_keys().collect::<Vec<_>>(), ["a"]);
}

#[test]
fn all_files_are_told_as_they_are_at_one_moment() {
    let tree = Tree::new();
    for name in ["a", "b", "z"] {
        tree.write(name, name);
    }
    tree.scan();
    let ledger = tree.ledger();
    let mut told = Vec::new();
    let each = |row: Row| {
        if told.is_empty() {
            fs::rename(tree.root().join("z"), tree.root().join("0")).unwrap();
            tree.write("b", lines(0, 500));
            assert_eq!(tree.scan().files, 3);
        }
        assert_eq!(ledger.cuts(row.id)?.len() as u64, row.chunks);
        told.push(row.path.display().into_owned());
        Ok(())
    };
    ledger.each_file(each).unwrap();
    assert_eq!(told, ["a", "b", "z"]);
}

#[test]
fn a_chunk_of_any_length_is_only_refused() {
    let tree = Tree::new();
    tree.write("a", "one\n");
    tree.scan();
    let row = tree.rows()["a"].clone();
    let cut = tree.ledger().cuts(row.id).unwrap()[0].clone();
    let root = Root::open(&tree.root()).unwrap();
    for [from, to] in [[0, u64::MAX], [0, i64::MAX.cast_unsigned()], [1, 0], [0, 5], [5, 5]] {
        let damaged = Cut { bytes: [from, to].into(), ..cut.clone() };
        assert!(BodyReader::new(&root, "r", None).read(&row, &damaged, false).is_none());
    }
}

#[test]
fn a_reverted_edit_gets_its_read_back() {
    let tree = Tree::new();
    tree.write("a", "text\n");
    tree.scan();
    tree.mark(&tree.ids("a"));
    tree.write("a", "other\n");
    tree.scan();
    assert_eq!(tree.read("a"), [false]);
    tree.write("a", "text\n");
    tree.scan();
    assert_eq!(tree.read("a"), [true]);
}

#[test]
fn one_read_makes_one_chunk_read() {
    let tree = Tree::new();
    tree.write("a", "text\n");
    tree.scan();
    assert_eq!(tree.mark(&tree.ids("a")), [MarkOutcome::New]);
    assert_eq!(tree.mark(&tree.ids("a")), [MarkOutcome::Again]);
    assert_eq!(tree.mark(&[ChunkId(7)]), [MarkOutcome::Unknown]);
    fs::remove_file(tree.root().join("a")).unwrap();
    tree.write("b", "text\n");
    tree.write("c", "text\n");
    assert_eq!(tree.scan().kept_reads, 1);
    assert_eq!((tree.read("b"), tree.read("c")), (vec![true], vec![false]));
}

#[test]
fn equal_bodies_in_one_file_are_told_apart() {
    let tree = Tree::new();
    tree.write("a", "\n".repeat(100_000));
    tree.scan();
    let mut ids = tree.ids("a");
    let all = ids.len();
    ids.sort();
    ids.dedup();
    assert!(all > 10);
    assert_eq!(ids.len(), all);
}

#[test]
fn a_file_larger_than_a_block_is_cut_as_one_in_memory() {
    let tree = Tree::new();
    let text = lines(0, 60_000);
    assert!(text.len() > 2 << 20);
    tree.write("big", &text);
    tree.scan();
    let row = &tree.rows()["big"];
    let mut expected = Vec::new();
    let mut cutter = crate::text::Cutter::new(crate::text::Encoding::UTF_8, Tokenizer::default());
    cutter.push(text.as_bytes(), true, &mut |cut| expected.push(cut.bytes));
    let cuts = tree.ledger().cuts(row.id).unwrap();
    assert_eq!(cuts.iter().map(|cut| cut.bytes).collect::<Vec<_>>(), expected);
    assert_eq!((row.lines, row.size), (60_000, Some(text.len() as u64)));
}

#[test]
fn a_bounded_scan_leaves_the_rest_as_it_was() {
    let tree = Tree::new();
    for path in ["a/x", "a/y", "b/x", "top"] {
        tree.write(path, format!("{path}\n"));
    }
    let paths = || tree.rows().into_keys().collect::<Vec<_>>();
    assert_eq!(tree.scan_of(&["a"], None).files, 2);
    assert_eq!(paths(), ["a/x", "a/y"]);
    tree.scan();
    tree.write("b/new", "new\n");
    fs::remove_file(tree.root().join("b/x")).unwrap();
    fs::remove_file(tree.root().join("a/y")).unwrap();
    assert_eq!(tree.scan_of(&["a"], None).files, 1);
    assert_eq!(paths(), ["a/x", "b/x", "top"]);
    let bounded = tree.ledger().bounded(&[RepoPath::new("b").unwrap()]);
    let mut seen = Vec::new();
    let each = |row: Row| {
        seen.push(row.path.display().into_owned());
        Ok(())
    };
    bounded.each_file(each).unwrap();
    assert_eq!(seen, ["b/x"]);
    assert!(bounded.file(&RepoPath::new("a/x").unwrap()).unwrap().is_none());
    assert_eq!(bounded.totals().unwrap()[0].1.files, 1);
    tree.scan();
    assert_eq!(paths(), ["a/x", "b/new", "top"]);
}

#[test]
fn a_bounded_scan_by_another_tokenizer_leaves_no_chunks_of_two_kinds() {
    let tree = Tree::new();
    for path in ["a/x", "b/x"] {
        tree.write(path, lines(0, 500));
    }
    tree.scan();
    tree.scan_of(&["a"], Some(Tokenizer::Bytes));
    assert_eq!(tree.rows().into_keys().collect::<Vec<_>>(), ["a/x"]);
    tree.scan();
    assert_eq!(tree.rows()["a/x"].tokens, tree.rows()["b/x"].tokens);
}
