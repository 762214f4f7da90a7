//! What a walk must say about a tree, from git, `lstat` and walkdir alone.

use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::FileTypeExt;
use std::path::Path;
use std::sync::Mutex;

use auwai::admit::{Policy, Surroundings, Verdict};
use auwai::record::RepoPath;
use auwai::walk::{self, Entry, Kind};

use super::git::{Sandbox, fields, path};

type Paths = BTreeSet<Vec<u8>>;

/// The walk's entries by path; a path that comes twice is a fault.
pub fn entries(policy: &Policy, threads: usize) -> BTreeMap<Vec<u8>, Entry> {
    let found = Mutex::new(BTreeMap::new());
    walk::walk(policy, threads, &|batch| {
        let mut found = found.lock().unwrap();
        for entry in batch {
            let before = found.insert(entry.path.as_bytes().to_vec(), entry.clone());
            assert!(before.is_none(), "twice: {entry:?} and {before:?}");
        }
    })
    .unwrap();
    found.into_inner().unwrap()
}

/// A short word for what an entry is, with its rule.
pub fn word(entry: &Entry) -> String {
    match &entry.kind {
        Kind::File => "file".into(),
        Kind::Symlink => "symlink".into(),
        Kind::Repository => "repository".into(),
        Kind::Special => "special".into(),
        Kind::Unreadable(errno) => format!("unreadable {errno}"),
        Kind::Absent => "absent".into(),
        Kind::Ignored(rule) => format!("ignored {rule}"),
    }
}

/// The policy of a folder in a sandbox.
pub fn policy(sandbox: &Sandbox, root: &Path) -> Policy {
    Policy::open(root, &Surroundings::from_vars(sandbox.vars()), &[]).unwrap()
}

/// Every entry as a line `path: word`.
pub fn report(sandbox: &Sandbox) -> Vec<String> {
    let policy = policy(sandbox, &sandbox.root());
    let line = |(path, entry): (&Vec<u8>, &Entry)| {
        format!("{}: {}", String::from_utf8_lossy(path), word(entry))
    };
    entries(&policy, 2).iter().map(line).collect()
}

fn is_in(entry: &Entry) -> bool {
    !matches!(entry.kind, Kind::Ignored(_) | Kind::Special | Kind::Absent | Kind::Unreadable(_))
}

/// What git lists and `lstat` finds without going through a link. A tracked file in whose place a
/// plain folder stands is not found either.
pub fn by_git(sandbox: &Sandbox, root: &Path) -> Paths {
    let args = ["ls-files", "-co", "--exclude-standard", "--deduplicate", "-z"];
    let listed = fields(&sandbox.git_in(root, &args, b""));
    let staged = fields(&sandbox.git_in(root, &["ls-files", "-sz"], b""));
    let submodules: Paths = staged
        .iter()
        .filter(|line| line.starts_with(b"160000 "))
        .map(|line| line[line.iter().position(|b| *b == b'\t').unwrap() + 1..].to_vec())
        .collect();
    listed.into_iter().filter_map(|name| found(root, &submodules, name)).collect()
}

fn found(root: &Path, submodules: &Paths, name: Vec<u8>) -> Option<Vec<u8>> {
    let nested = name.ends_with(b"/");
    let name = name.strip_suffix(b"/").map(<[u8]>::to_vec).unwrap_or(name);
    let full = root.join(path(&name));
    let through_link =
        full.ancestors().skip(1).take_while(|dir| *dir != root).any(Path::is_symlink);
    let meta = full.symlink_metadata().ok()?;
    let kept = meta.is_file()
        || meta.is_symlink()
        || meta.is_dir() && (nested || submodules.contains(&name));
    let state = name.starts_with(b".auwai/");
    (kept && !through_link && !state).then_some(name)
}

/// Checks everything that holds in any repository without `.auwai-ignore`.
pub fn check(sandbox: &Sandbox, root: &Path) {
    let policy = policy(sandbox, root);
    let entries = entries(&policy, 2);
    let admitted: Paths =
        entries.iter().filter(|(_, e)| is_in(e)).map(|(path, _)| path.clone()).collect();
    let by_git = by_git(sandbox, root);
    let missing: Vec<_> = by_git.difference(&admitted).map(|p| show(p, &entries)).collect();
    let extra: Vec<_> = admitted.difference(&by_git).map(|p| show(p, &entries)).collect();
    assert!(missing.is_empty() && extra.is_empty(), "missing {missing:#?}\nextra {extra:#?}");
    check_rules(sandbox, root, &entries);
    check_total(root, &entries);
    check_verdicts(&policy, root, &entries);
}

fn show(path: &[u8], entries: &BTreeMap<Vec<u8>, Entry>) -> String {
    let word = entries.get(path).map_or("no entry".into(), word);
    format!("{:?}: {word}", String::from_utf8_lossy(path))
}

/// The rule of every ignored path is the one that `git check-ignore -v` names.
fn check_rules(sandbox: &Sandbox, root: &Path, entries: &BTreeMap<Vec<u8>, Entry>) {
    let mut ours = BTreeMap::new();
    for (path, entry) in entries {
        if let Kind::Ignored(rule) = &entry.kind
            && rule.to_string() != "builtin"
        {
            ours.insert(path.clone(), rule.to_string());
        }
    }
    let input: Vec<u8> = ours.keys().flat_map(|path| [&path[..], b"\0"].concat()).collect();
    let args = ["check-ignore", "--no-index", "-v", "-z", "--stdin"];
    let (_, out, err) = sandbox.try_git(root, &args, &input);
    let theirs: BTreeMap<_, _> = fields(&out)
        .chunks_exact(4)
        .map(|f| (f[3].clone(), [&f[0][..], b":", &f[1], b":", &f[2]].concat()))
        .collect();
    for (path, rule) in &ours {
        let name = String::from_utf8_lossy(path);
        let Some(theirs) = theirs.get(path) else {
            panic!("{name:?}: {rule}, by git nothing: {}", String::from_utf8_lossy(&err));
        };
        // Where our rule is quoted, git's is raw.
        let quoted = rule.contains(['"', '\\']);
        assert!(quoted || rule.as_bytes() == theirs, "{name:?}: {rule}, by git {theirs:?}");
    }
}

/// Every path on the disk has its entry, or lies below one that stands for it.
fn check_total(root: &Path, entries: &BTreeMap<Vec<u8>, Entry>) {
    let stands_for_all = |dir: &Path| {
        let name = dir.strip_prefix(root).unwrap().as_os_str().as_bytes();
        let kind = entries.get(name).map(|entry| &entry.kind);
        matches!(kind, Some(Kind::Ignored(_) | Kind::Repository | Kind::Unreadable(_)))
    };
    let walk = walkdir::WalkDir::new(root).min_depth(1).into_iter();
    let walk =
        walk.filter_entry(|e| !(e.depth() > 1 && stands_for_all(e.path().parent().unwrap())));
    let mut on_disk = Paths::new();
    for file in walk.map(Result::unwrap).filter(|file| !file.file_type().is_dir()) {
        let name = file.path().strip_prefix(root).unwrap().as_os_str().as_bytes();
        on_disk.insert(name.to_vec());
        let entry =
            entries.get(name).unwrap_or_else(|| panic!("no entry: {}", file.path().display()));
        let kind = file.file_type();
        let fits = match entry.kind {
            Kind::File => kind.is_file(),
            Kind::Symlink => kind.is_symlink(),
            Kind::Special => kind.is_fifo() || kind.is_socket(),
            Kind::Ignored(_) => true,
            _ => false,
        };
        assert!(fits, "{}: {entry:?}", file.path().display());
    }
    for (name, entry) in entries.iter().filter(|(_, entry)| entry.stat.is_some()) {
        assert!(on_disk.contains(name), "not on the disk: {entry:?}");
    }
}

/// Asked about one path alone, the policy says what the walk says.
fn check_verdicts(policy: &Policy, root: &Path, entries: &BTreeMap<Vec<u8>, Entry>) {
    for (name, entry) in entries {
        let is_dir = root.join(path(name)).symlink_metadata().is_ok_and(|meta| meta.is_dir());
        let verdict = policy.verdict(&entry.path, is_dir);
        let agrees = match (&entry.kind, &verdict) {
            (Kind::Ignored(ours), Verdict::Ignored(theirs)) => {
                ours.to_string() == theirs.to_string()
            }
            (Kind::Absent, Verdict::Admitted | Verdict::Beyond(_)) => true,
            (Kind::Ignored(_) | Kind::Absent, _) => false,
            (Kind::Repository, Verdict::Nested(at)) => is_dir && *at == entry.path,
            (Kind::Repository, _) if is_dir => false,
            (Kind::Unreadable(_), Verdict::Closed(..)) => true,
            (_, verdict) => matches!(verdict, Verdict::Admitted),
        };
        assert!(agrees, "{entry:?}: {verdict:?}");
        if is_dir && matches!(entry.kind, Kind::Repository) {
            let inside = RepoPath::new([name, &b"/x"[..]].concat()).unwrap();
            let verdict = policy.verdict(&inside, false);
            assert!(matches!(verdict, Verdict::Nested(at) if at == entry.path), "{entry:?}");
        }
    }
}
