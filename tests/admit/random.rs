//! Random trees with random patterns, in all the places that patterns come from. A failing case is
//! printed with its seed; `AUWAI_TEST_CASES=5000 AUWAI_TEST_SEED=1 cargo test --test suite random`
//! runs more of them.

use std::path::Path;

use crate::support::git::Sandbox;
use crate::support::tree::check;

/// A small generator of its own, so that a seed means the same for ever (splitmix64).
pub struct Random(pub u64);

impl Random {
    /// The next number.
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `n`.
    pub fn below(&mut self, n: usize) -> usize {
        (self.next() % n as u64) as usize
    }

    /// True once in `n` times.
    pub fn one_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }

    /// One of them.
    pub fn pick<'a>(&mut self, from: &[&'a str]) -> &'a str {
        from[self.below(from.len())]
    }
}

/// Names of files and folders, many of which mean something in a pattern.
pub const NAMES: &[&str] = &[
    "a", "b", "ab", "aab", "A", "x.o", "a.o", "a b", "#a", "!a", "a ", "*", "[a]", "a\\", "\\",
    "é", "-", "]", "^", "a\tb", "B.O", ".a", "a[b", "z",
];

const TOKENS: &[&str] = &[
    "a",
    "b",
    "ab",
    "A",
    "x.o",
    ".o",
    "a b",
    "#a",
    "!",
    " ",
    "*",
    "*",
    "**",
    "**/",
    "/**",
    "/",
    "/",
    "?",
    "[ab]",
    "[!a]",
    "[^b]",
    "[a-b]",
    "[]a]",
    "[!]a]",
    "[[:alpha:]]",
    "[[:upper:]]",
    "[[:foo:]]",
    "[a",
    "[a-",
    "\\",
    "\\a",
    "\\*",
    "\\[",
    "\\\\",
    "\\ ",
    "\t",
    "é",
    ".",
    "-",
    "[--a]",
    "[a-]",
    "[\\]]",
    "[!-]",
    "{a,b}",
    "***",
    "**a",
    "a**",
    "\u{feff}",
    "$",
    "[a-b-z]",
    "[[]",
    "[/]",
    "z",
];

fn pattern(random: &mut Random) -> String {
    let mut text = String::new();
    if random.one_in(4) {
        text.push('!');
    }
    if random.one_in(5) {
        text.push('/');
    }
    let simple = random.one_in(2);
    for _ in 0..1 + random.below(if simple { 1 } else { 5 }) {
        text.push_str(if simple { random.pick(NAMES) } else { random.pick(TOKENS) });
    }
    if random.one_in(5) {
        text.push('/');
    }
    text
}

/// The text of an ignore file.
pub fn patterns(random: &mut Random) -> String {
    let mut text = String::new();
    if random.one_in(12) {
        text.push('\u{feff}');
    }
    for _ in 0..1 + random.below(5) {
        text.push_str(&pattern(random));
        text.push_str(if random.one_in(10) { "\r\n" } else { "\n" });
    }
    if random.one_in(6) {
        text.pop();
    }
    text
}

/// Fills a folder; returns the paths of its files.
fn fill(random: &mut Random, dir: &Path, depth: usize, files: &mut Vec<std::path::PathBuf>) {
    for _ in 0..2 + random.below(4) {
        let path = dir.join(random.pick(NAMES));
        if path.symlink_metadata().is_ok() {
            continue;
        }
        match random.below(12) {
            0..=4 if depth < 4 => {
                std::fs::create_dir(&path).unwrap();
                fill(random, &path, depth + 1, files);
            }
            5 => std::os::unix::fs::symlink(random.pick(NAMES), &path).unwrap(),
            6 if random.one_in(3) => nested(random, &path),
            _ => {
                std::fs::write(&path, "x").unwrap();
                files.push(path);
            }
        }
    }
    if random.one_in(2) {
        std::fs::write(dir.join(".gitignore"), patterns(random)).unwrap();
    }
}

/// Something with a `.git` in it that may or may not be a repository.
pub fn nested(random: &mut Random, path: &Path) {
    std::fs::create_dir_all(path.join("s")).unwrap();
    std::fs::write(path.join("s/f"), "x").unwrap();
    let git = path.join(".git");
    match random.below(4) {
        0 => std::fs::write(git, "gitdir: nowhere\n").unwrap(),
        1 => std::fs::create_dir(git).unwrap(),
        _ => bare(&git, "ref: refs/heads/main\n"),
    }
}

/// The least that git takes for a git directory.
pub fn bare(git: &Path, head: &str) {
    for name in ["objects", "refs"] {
        std::fs::create_dir_all(git.join(name)).unwrap();
    }
    std::fs::write(git.join("HEAD"), head).unwrap();
}

/// Tracks some files whatever the rules say, and then disturbs some.
fn track(random: &mut Random, sandbox: &Sandbox, files: &[std::path::PathBuf]) {
    use std::os::unix::ffi::OsStrExt;
    let mut list = Vec::new();
    let chosen: Vec<_> = files.iter().filter(|_| random.one_in(3)).collect();
    for file in &chosen {
        let name = file.strip_prefix(sandbox.root()).unwrap();
        list.extend_from_slice(name.as_os_str().as_bytes());
        list.push(0);
    }
    // Unlike `git add`, this takes no notice of rules or of nested repositories.
    let args = ["update-index", "-z", "--add", "--stdin"];
    sandbox.try_git(&sandbox.root(), &args, &list);
    for file in chosen {
        match random.below(12) {
            0 => std::fs::remove_file(file).unwrap(),
            1 => {
                std::fs::remove_file(file).unwrap();
                std::fs::create_dir(file).unwrap();
                std::fs::write(file.join("a"), "x").unwrap();
            }
            2 => {
                let dir = file.parent().unwrap();
                if dir != sandbox.root() && random.one_in(4) {
                    std::fs::remove_dir_all(dir).unwrap();
                    std::fs::write(dir, "x").unwrap();
                    return;
                }
            }
            _ => {}
        }
    }
}

/// A tree in a repository of a sandbox.
pub fn repository(random: &mut Random) -> Sandbox {
    let mut sandbox = Sandbox::empty();
    let root = sandbox.root();
    bare(&root.join(".git"), "ref: refs/heads/main\n");
    let mut files = Vec::new();
    fill(random, &root, 0, &mut files);
    if random.one_in(3) {
        std::fs::create_dir(root.join(".git/info")).unwrap();
        std::fs::write(root.join(".git/info/exclude"), patterns(random)).unwrap();
    }
    if random.one_in(3) {
        sandbox.write("../home/.config/git/ignore", patterns(random));
    }
    if random.one_in(8) {
        // Without a tracked file: git then looks its index up without case too, and we do not.
        sandbox.set("GIT_CONFIG_COUNT", "1");
        sandbox.set("GIT_CONFIG_KEY_0", "core.ignoreCase");
        sandbox.set("GIT_CONFIG_VALUE_0", "true");
    } else if random.one_in(2) {
        track(random, &sandbox, &files);
    }
    sandbox
}

/// A tree outside git.
pub fn plain(random: &mut Random) -> Sandbox {
    let sandbox = Sandbox::empty();
    fill(random, &sandbox.root(), 0, &mut Vec::new());
    sandbox
}

fn case(seed: u64) {
    let sandbox = repository(&mut Random(seed));
    check(&sandbox, &sandbox.root());
}

#[test]
fn random_trees_are_admitted_as_git_does() {
    let number = |name: &str| std::env::var(name).ok().and_then(|value| value.parse().ok());
    let first = number("AUWAI_TEST_SEED").unwrap_or(1);
    for seed in first..first + number("AUWAI_TEST_CASES").unwrap_or(60) {
        let done = std::panic::catch_unwind(|| case(seed));
        assert!(done.is_ok(), "AUWAI_TEST_SEED={seed}");
    }
}
