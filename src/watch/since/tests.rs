use super::*;

/// Long after every file was written: nothing is fresh.
fn later() -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_secs(9_000_000_000)
}

/// Before any was: everything is.
fn early() -> SystemTime {
    SystemTime::UNIX_EPOCH
}

fn ops(changes: &Changes) -> Vec<String> {
    let one = |change: &Change| match change {
        Change::Event { op, path, .. } => format!("{} {}", op.as_str(), path.display()),
        Change::Rescan(_, reason) => format!("rescan {reason:?}"),
    };
    let mut ops: Vec<String> = changes.changed.iter().map(one).collect();
    ops.sort();
    ops
}

/// A tree with `a` and `d/b`, and the file that knows it.
fn known(now: fn() -> SystemTime) -> (tempfile::TempDir, PathBuf, Policy) {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().join("tree");
    std::fs::create_dir_all(root.join("d")).unwrap();
    std::fs::write(root.join("a"), "a").unwrap();
    std::fs::write(root.join("d/b"), "b").unwrap();
    let policy = Policy::everything(&root, &[]).unwrap();
    let file = dir.path().join("since");
    let (mut since, first) = Since::open(&file, &policy, now).unwrap();
    assert_eq!(ops(&first), ["rescan Batch"]);
    since.save(true).unwrap();
    (dir, file, policy)
}

#[test]
fn what_differs_is_told() {
    let (_dir, file, policy) = known(later);
    let root = policy.root_path();
    assert_eq!(ops(&Since::open(&file, &policy, later).unwrap().1), [""; 0]);
    std::fs::remove_dir_all(root.join("d")).unwrap();
    std::fs::write(root.join("a"), "longer").unwrap();
    std::fs::write(root.join("c"), "c").unwrap();
    let (_, changes) = Since::open(&file, &policy, later).unwrap();
    assert_eq!(ops(&changes), ["create c", "modify a", "remove d", "remove d/b"]);
}

/// Within the clock's tick a second edit leaves the same stat data.
#[test]
fn what_was_fresh_is_told_once_more() {
    let (_dir, file, policy) = known(early);
    let (mut since, changes) = Since::open(&file, &policy, later).unwrap();
    assert_eq!(ops(&changes), ["modify a", "modify d/b"]);
    since.save(true).unwrap();
    assert_eq!(ops(&Since::open(&file, &policy, later).unwrap().1), [""; 0]);
}

#[test]
fn a_torn_or_foreign_file_is_told_and_everything_is_new() {
    let (dir, file, policy) = known(later);
    let whole = std::fs::read(&file).unwrap();
    let mut flipped = whole.clone();
    flipped[40] ^= 1;
    for bad in [&whole[..whole.len() - 1], &flipped, b"", b"auwai-", b"auwai-since 1\nof before"] {
        std::fs::write(&file, bad).unwrap();
        let (_, changes) = Since::open(&file, &policy, later).unwrap();
        assert_eq!(ops(&changes), ["rescan Batch"]);
        assert_eq!(changes.warnings.len(), 1);
    }
    std::fs::write(&file, "somebody's own").unwrap();
    let refused = Since::open(&file, &policy, later).map(|_| ()).unwrap_err();
    assert_eq!(refused.code(), "not-ours");
    std::fs::write(&file, &whole).unwrap();
    let other = Policy::everything(dir.path(), &[]).unwrap();
    let (_, changes) = Since::open(&file, &other, later).unwrap();
    assert!(changes.warnings[0].message.contains("it is of"));
}

/// What is ignored now is still there: a consumer that looks at its path alone would keep it.
#[test]
fn what_a_new_rule_takes_out_is_a_rescan() {
    let (_dir, file, policy) = known(later);
    let scope = [RepoPath::new("a").unwrap()];
    let policy = Policy::everything(policy.root_path(), &scope).unwrap();
    // Of the root, where `d` is, and of `d`.
    assert_eq!(ops(&Since::open(&file, &policy, later).unwrap().1), ["rescan Rules"; 2]);
}

#[test]
fn events_bring_it_up_to_date() {
    let (_dir, file, policy) = known(later);
    let root = policy.root_path().to_owned();
    let (mut since, _) = Since::open(&file, &policy, later).unwrap();
    std::fs::remove_dir_all(root.join("d")).unwrap();
    std::fs::create_dir(root.join("e")).unwrap();
    std::fs::write(root.join("e/f"), "f").unwrap();
    let dir = |op, path| Change::Event {
        op,
        kind: EventKind::Dir,
        path: RepoPath::new(path).unwrap(),
        stat: None,
    };
    let changes = [dir(EventOp::Remove, "d"), dir(EventOp::Create, "e")];
    since.apply(&changes, &Arc::new(policy));
    since.save(true).unwrap();
    let policy = Policy::everything(&root, &[]).unwrap();
    assert_eq!(ops(&Since::open(&file, &policy, later).unwrap().1), [""; 0]);
}

/// A watcher that is told of its own file would write it again, and so on for ever.
#[test]
fn its_own_file_in_the_tree_is_no_change() {
    let (_dir, _, policy) = known(later);
    let file = policy.root_path().join("d/since");
    let (since, _) = Since::open(&file, &policy, later).unwrap();
    let own = |path: &str, own| {
        let path = RepoPath::new(path).unwrap();
        let (op, kind) = (EventOp::Create, EventKind::File);
        assert_eq!(since.is_own(&Change::Event { op, kind, path, stat: None }), own);
    };
    own("d/since", true);
    own("d/.since.a1B2c3.new", true);
    for other in ["since", "d/since.new", ".since.a1B2c3.new", "d/.other.a1B2c3.new"] {
        own(other, false);
    }
}

fn event(op: EventOp, kind: EventKind, path: &str) -> Change {
    Change::Event { op, kind, path: RepoPath::new(path).unwrap(), stat: None }
}

/// Told, not yet in the snapshot, and gone while nobody watched.
#[test]
fn what_was_told_and_has_gone_is_told_to_have_gone() {
    let (_dir, file, policy) = known(later);
    let (mut since, _) = Since::open(&file, &policy, later).unwrap();
    let (create, file_kind) = (EventOp::Create, EventKind::File);
    since.note(&[event(create, file_kind, "new"), event(create, file_kind, "d/x")]).unwrap();
    since.note(&[event(EventOp::Modify, file_kind, "a")]).unwrap();
    since.note(&[event(EventOp::Remove, file_kind, "d/x")]).unwrap();
    // Killed. As often as it starts and does not get to its next snapshot.
    for _ in 0..2 {
        let (since, changes) = Since::open(&file, &policy, later).unwrap();
        assert_eq!(ops(&changes), ["remove d/x", "remove new"]);
        drop(since);
    }
    let (mut since, _) = Since::open(&file, &policy, later).unwrap();
    since.save(true).unwrap();
    assert_eq!(ops(&Since::open(&file, &policy, later).unwrap().1), [""; 0]);
}

/// Who is told of a directory looks at all that is in it: what has gone of that, nobody knows.
#[test]
fn a_directory_that_was_told_is_told_to_be_looked_at_again() {
    let (_dir, file, policy) = known(later);
    std::fs::create_dir(policy.root_path().join("e")).unwrap();
    let (mut since, _) = Since::open(&file, &policy, later).unwrap();
    since.note(&[event(EventOp::Create, EventKind::Dir, "e")]).unwrap();
    assert_eq!(ops(&Since::open(&file, &policy, later).unwrap().1), ["create e", "rescan Batch"]);
    std::fs::remove_dir(policy.root_path().join("e")).unwrap();
    assert_eq!(ops(&Since::open(&file, &policy, later).unwrap().1), ["remove e"]);
}

#[test]
fn a_torn_journal_is_believed_as_far_as_it_is_whole() {
    let (_dir, file, policy) = known(later);
    let snapshot = std::fs::metadata(&file).unwrap().len() as usize;
    let (mut since, _) = Since::open(&file, &policy, later).unwrap();
    for path in ["one", "two"] {
        since.note(&[event(EventOp::Create, EventKind::File, path)]).unwrap();
    }
    let whole = std::fs::read(&file).unwrap();
    let entry = (whole.len() - snapshot) / 2;
    for length in snapshot..=whole.len() {
        std::fs::write(&file, &whole[..length]).unwrap();
        let (mut since, changes) = Since::open(&file, &policy, later).unwrap();
        let wanted = &["remove one", "remove two"][..(length - snapshot) / entry];
        assert_eq!(ops(&changes), wanted, "{length}");
        assert!(changes.warnings.is_empty());
        // What is noted next does not stand behind a torn entry.
        since.note(&[event(EventOp::Create, EventKind::File, "zoo")]).unwrap();
        let (_, changes) = Since::open(&file, &policy, later).unwrap();
        assert_eq!(ops(&changes), [wanted, &["remove zoo"]].concat(), "{length}");
    }
}

#[test]
fn a_journal_has_a_bound() {
    let (_dir, file, policy) = known(later);
    let (mut since, _) = Since::open(&file, &policy, later).unwrap();
    let path = "p".repeat(200);
    for batch in 0..10 {
        let one = |n| event(EventOp::Create, EventKind::File, &format!("{batch}-{n}-{path}"));
        since.note(&(0..1_000).map(one).collect::<Vec<Change>>()).unwrap();
    }
    assert!(std::fs::metadata(&file).unwrap().len() < 2 << 20);
    let (_, changes) = Since::open(&file, &policy, later).unwrap();
    assert!(ops(&changes).contains(&"rescan Batch".to_string()));
}
