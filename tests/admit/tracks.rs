//! Whether git tracks something at or below a folder, by the start of its index: git is the judge.

use std::path::Path;

use auwai::admit;

use crate::support::dice::Dice;
use crate::support::git::Sandbox;

/// Names around that of the folder, in the order of git's index and out of it.
const NEAR: [&str; 14] = [
    ".auw",
    ".auwai",
    ".auwai-x",
    ".auwai.x",
    ".auwai/l",
    ".auwai/w/c",
    ".auwai0",
    ".auwaix/y",
    ".auwa/i",
    "!a",
    "-a",
    "a/.auwai/l",
    "a/.auwai-x",
    "a/b",
];

fn agree(sandbox: &Sandbox, what: &str) {
    let root = sandbox.root();
    for folder in ["", "a"].map(|at| root.join(at)) {
        let _ = std::fs::create_dir_all(&folder);
        let state = folder.join(".auwai");
        let inside = state.strip_prefix(&root).unwrap().to_str().unwrap();
        let listed = sandbox.git(&["ls-files", "--", inside]);
        let all = String::from_utf8_lossy(&sandbox.git(&["ls-files"])).into_owned();
        assert_eq!(admit::tracks(&folder, &state), !listed.is_empty(), "{what}: {inside} in {all}");
    }
}

/// Puts a path into the index alone, so that `.auwai` can be a file and a folder.
fn track(sandbox: &Sandbox, path: &str) {
    let blob = String::from_utf8(sandbox.git(&["hash-object", "-w", "--stdin"])).unwrap();
    let info = format!("100644,{},{path}", blob.trim());
    sandbox.git(&["update-index", "--add", "--replace", "--cacheinfo", &info]);
}

#[test]
fn indexes_of_all_kinds_say_what_git_says() {
    for format in ["sha1", "sha256"] {
        for version in ["2", "3", "4"] {
            for seed in 1..=6 {
                let sandbox = Sandbox::empty();
                sandbox.git(&["init", "-q", "--object-format", format]);
                sandbox.git(&["config", "index.version", version]);
                let mut dice = Dice(seed * 7919);
                agree(&sandbox, "no index");
                for turn in 0..8 {
                    track(&sandbox, dice.pick(&NEAR));
                    agree(&sandbox, &format!("{format} {version} {seed} {turn}"));
                }
            }
        }
    }
}

/// A name of 4,096 bytes and more has no length in its entry; a flag of version 3 is another size.
#[test]
fn long_names_and_more_flags() {
    for version in ["2", "3", "4"] {
        let sandbox = Sandbox::repository();
        sandbox.git(&["config", "index.version", version]);
        for length in [4090, 4094, 4095, 4096, 4097, 5000] {
            track(&sandbox, &format!("!{}", "n".repeat(length - 1)));
            agree(&sandbox, &format!("{version} {length}"));
        }
        sandbox.touch(&["-new"]);
        sandbox.git(&["add", "-N", "--", "./-new"]);
        agree(&sandbox, version);
        track(&sandbox, ".auwai/l");
        agree(&sandbox, version);
    }
}

#[test]
fn an_index_that_is_split() {
    let sandbox = Sandbox::repository();
    for path in [".auwai/l", "a/b"] {
        track(&sandbox, path);
    }
    sandbox.git(&["update-index", "--split-index"]);
    agree(&sandbox, "shared");
    track(&sandbox, "a/.auwai/l");
    agree(&sandbox, "both");
    sandbox.git(&["rm", "-q", "--cached", ".auwai/l"]);
    agree(&sandbox, "gone from the shared one");
}

#[test]
fn what_git_could_not_read_has_nothing() {
    let sandbox = Sandbox::repository();
    track(&sandbox, ".auwai/l");
    let root = sandbox.root();
    let index = root.join(".git/index");
    let whole = std::fs::read(&index).unwrap();
    for broken in [&b""[..], b"DIRC", b"DIRC\0\0\0\x09\0\0\0\x01", &whole[..20], &whole[..70]] {
        std::fs::write(&index, broken).unwrap();
        assert!(!admit::tracks(&root, &root.join(".auwai")), "{}", broken.len());
    }
    assert!(!admit::tracks(Path::new("/"), Path::new("/.auwai")));
    // What is kept elsewhere is not the repository's.
    std::fs::write(&index, whole).unwrap();
    assert!(!admit::tracks(&root, &sandbox.home(".auwai")));
    assert!(admit::tracks(&root, &root.join(".auwai")));
}
