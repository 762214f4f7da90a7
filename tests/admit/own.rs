//! What git has no word for: `.auwai-ignore`, the scope, roots outside git, whether a tree is dirty.

use auwai::admit::{Policy, Surroundings, Verdict};
use auwai::record::RepoPath;
use auwai::walk;

use crate::support::git::{Sandbox, fields};
use crate::support::tree::{entries, report, word};

fn path(text: &str) -> RepoPath {
    RepoPath::new(text).unwrap()
}

#[test]
fn own_rules_are_stronger_than_git_and_than_tracked() {
    let sandbox = Sandbox::repository();
    sandbox.write(".gitignore", "*.gen\nout/\ncache/*\n");
    sandbox.write(".auwai-ignore", "vendor/\n!want.gen\n!out/\nout/tmp\n!cache/keep\nlocked\n");
    sandbox.write("sub/.auwai-ignore", "!want.gen\n*.md\n");
    sandbox.touch(&["vendor/lib.c", "want.gen", "other.gen", "out/a", "out/tmp", "cache/keep"]);
    sandbox.touch(&["cache/drop", "sub/want.gen", "sub/readme.md", "locked", "main.c"]);
    sandbox.git(&["add", "-f", "vendor", "locked", "sub/readme.md", "main.c"]);
    let expected = [
        ".auwai-ignore: file",
        ".git: ignored builtin",
        ".gitignore: file",
        "cache/drop: ignored .gitignore:3:cache/*",
        "cache/keep: file",
        "locked: ignored .auwai-ignore:6:locked",
        "main.c: file",
        "other.gen: ignored .gitignore:1:*.gen",
        "out/a: file",
        "out/tmp: ignored .auwai-ignore:4:out/tmp",
        "sub/.auwai-ignore: file",
        "sub/readme.md: ignored sub/.auwai-ignore:2:*.md",
        "sub/want.gen: file",
        "vendor: ignored .auwai-ignore:1:vendor/",
        "want.gen: file",
    ];
    assert_eq!(report(&sandbox), expected);
}

#[test]
fn own_rules_bring_nothing_back_from_an_excluded_folder() {
    let sandbox = Sandbox::repository();
    sandbox.write(".gitignore", "out/\n");
    sandbox.write(".auwai-ignore", "!out/keep\n");
    sandbox.touch(&["out/keep", "out/tracked"]);
    assert!(report(&sandbox).contains(&"out: ignored .gitignore:1:out/".to_string()));
    sandbox.git(&["add", "-f", "out/tracked"]);
    let report = report(&sandbox);
    assert!(report.contains(&"out/tracked: file".to_string()), "{report:?}");
    assert!(report.contains(&"out/keep: ignored .gitignore:1:out/".to_string()), "{report:?}");
}

#[test]
fn own_rules_have_git_s_syntax() {
    let sandbox = Sandbox::empty();
    let rules = "*.o\n!keep.o\n/top\ndir/\na/**/z\n\\#x\n";
    sandbox.write(".auwai-ignore", rules);
    sandbox.write("s/.auwai-ignore", "!b.o\r\nkeep.o");
    sandbox.touch(&["b.o", "keep.o", "top", "s/top", "s/b.o", "s/keep.o", "dir/f", "s/dir/f"]);
    sandbox.touch(&["a/z", "a/b/c/z", "#x", "y"]);
    let ours: Vec<_> = report(&sandbox)
        .into_iter()
        .filter_map(|line| line.strip_suffix(": file").map(str::to_string))
        .collect();
    sandbox.git(&["init", "-q"]);
    let args = ["ls-files", "-o", "-z", "--exclude-per-directory=.auwai-ignore"];
    let mut theirs: Vec<_> = fields(&sandbox.git(&args))
        .into_iter()
        .map(|path| String::from_utf8(path).unwrap())
        .collect();
    theirs.sort();
    assert_eq!(ours, theirs);
}

#[test]
fn own_rules_above_the_root_count() {
    let sandbox = Sandbox::repository();
    sandbox.write(".auwai-ignore", "*.md\n");
    sandbox.touch(&["sub/a.md", "sub/b"]);
    let around = Surroundings::from_vars(sandbox.vars());
    let policy = Policy::open(&sandbox.root().join("sub"), &around, &[]).unwrap();
    let found = entries(&policy, 1);
    assert_eq!(word(&found[&b"a.md"[..]]), "ignored .auwai-ignore:1:*.md");
    assert!(policy.control_files().contains(&sandbox.root().join(".auwai-ignore")));
    assert!(policy.control_files().contains(&sandbox.root().join(".git/index")));
    assert!(policy.control_files().contains(&sandbox.home(".config/git/ignore")));
}

#[test]
fn a_named_root_is_in_though_ignored_above() {
    let sandbox = Sandbox::repository();
    sandbox.write(".gitignore", "vendor/\n*.o\n");
    sandbox.touch(&["vendor/lib/a.c", "vendor/lib/a.o"]);
    let around = Surroundings::from_vars(sandbox.vars());
    let policy = Policy::open(&sandbox.root().join("vendor/lib"), &around, &[]).unwrap();
    let found = entries(&policy, 2);
    assert_eq!(word(&found[&b"a.c"[..]]), "file");
    assert_eq!(word(&found[&b"a.o"[..]]), "ignored .gitignore:2:*.o");
}

#[test]
fn outside_git_only_own_rules_and_tool_caches() {
    let sandbox = Sandbox::empty();
    sandbox.write(".gitignore", "*\n");
    sandbox.write("p/.auwai-ignore", "!node_modules/\n");
    sandbox.touch(&["a", "node_modules/x", "p/node_modules/y", ".hg/z", ".auwai/s", "target/t"]);
    sandbox.write("venv", "a file of that name");
    let expected = [
        ".auwai: ignored builtin",
        ".gitignore: file",
        ".hg: ignored builtin",
        "a: file",
        "node_modules: ignored builtin",
        "p/.auwai-ignore: file",
        "p/node_modules/y: file",
        "target/t: file",
        "venv: file",
    ];
    assert_eq!(report(&sandbox), expected);
}

#[test]
fn outside_the_scope_nothing_is_in() {
    let sandbox = Sandbox::repository();
    sandbox.touch(&["a/b/in", "a/b/c/in", "a/out", "a/bb/out", "top", "gone/x"]);
    sandbox.git(&["add", "a/out", "top", "gone/x"]);
    std::fs::remove_dir_all(sandbox.root().join("gone")).unwrap();
    let around = Surroundings::from_vars(sandbox.vars());
    let policy = Policy::open(&sandbox.root(), &around, &[path("a/b")]).unwrap();
    let found: Vec<_> = entries(&policy, 2)
        .iter()
        .map(|(path, entry)| format!("{}: {}", String::from_utf8_lossy(path), word(entry)))
        .collect();
    let expected = [
        ".git: ignored builtin",
        "a/b/c/in: file",
        "a/b/in: file",
        "a/bb: ignored scope",
        "a/out: ignored scope",
        "gone: ignored scope",
        "top: ignored scope",
    ];
    assert_eq!(found, expected);
}

#[test]
fn one_path_alone_gets_its_verdict() {
    let sandbox = Sandbox::repository();
    sandbox.write(".gitignore", "build/\n");
    sandbox.touch(&["build/deep/x", "build/tracked", "real/f"]);
    sandbox.git(&["add", "-f", "build/tracked"]);
    sandbox.link("real", "link");
    let around = Surroundings::from_vars(sandbox.vars());
    let policy = Policy::open(&sandbox.root(), &around, &[]).unwrap();
    let verdict = |text: &str| match policy.verdict(&path(text), false) {
        Verdict::Admitted => "admitted".to_string(),
        Verdict::Ignored(rule) => format!("ignored {rule}"),
        Verdict::Nested(at) => format!("nested {}", at.display()),
        Verdict::Beyond(at) => format!("beyond {}", at.display()),
        Verdict::Closed(at, errno) => format!("closed {}: {errno}", at.display()),
    };
    assert_eq!(verdict("build/deep/x"), "ignored .gitignore:1:build/");
    assert_eq!(verdict("build/tracked"), "admitted");
    assert_eq!(verdict("never/was/there"), "admitted");
    assert_eq!(verdict("link/f"), "beyond link");
    assert_eq!(verdict("real/f/x"), "beyond real/f");
    assert_eq!(verdict(".git/config"), "ignored builtin");
}

#[test]
fn dirty_is_what_git_s_stat_data_say() {
    let sandbox = Sandbox::repository();
    sandbox.touch(&["a", "d/b", "gone"]);
    sandbox.link("a", "link");
    sandbox.commit();
    let dirty = || {
        let around = Surroundings::from_vars(sandbox.vars());
        let policy = Policy::open(&sandbox.root(), &around, &[]).unwrap();
        walk::walk(&policy, 2, &|_| {}).unwrap().dirty
    };
    let clean = || {
        sandbox.git(&["update-index", "--refresh"]);
        !dirty()
    };
    assert!(clean());
    sandbox.touch(&["untracked"]);
    assert!(clean());
    sandbox.write("d/b", "longer");
    assert!(dirty());
    sandbox.git(&["add", "d/b"]);
    assert!(clean());
    std::fs::remove_file(sandbox.root().join("gone")).unwrap();
    assert!(dirty());
    sandbox.git(&["update-index", "--skip-worktree", "gone"]);
    assert!(clean());
    let executable = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(sandbox.root().join("a"), executable).unwrap();
    assert!(dirty());
}

#[test]
fn head_is_found_wherever_git_keeps_it() {
    let sandbox = Sandbox::repository();
    let head = || auwai::admit::head(&sandbox.root());
    assert_eq!(head(), None);
    sandbox.commit();
    let by_git = || {
        let out = sandbox.git(&["rev-parse", "HEAD"]);
        Some(String::from_utf8(out).unwrap().trim().to_string())
    };
    assert_eq!(head(), by_git());
    sandbox.git(&["pack-refs", "--all"]);
    assert_eq!(head(), by_git());
    sandbox.git(&["tag", "-am", "x", "t"]);
    sandbox.git(&["pack-refs", "--all"]);
    sandbox.commit();
    assert_eq!(head(), by_git());
    sandbox.git(&["checkout", "-q", "--detach"]);
    assert_eq!(head(), by_git());
}

#[test]
fn the_fingerprint_changes_with_what_is_admitted_and_not_otherwise() {
    let sandbox = Sandbox::repository();
    sandbox.touch(&["a", "sub/b", "sub/c"]);
    sandbox.git(&["add", "a", "sub/b"]);
    let now = || {
        let around = Surroundings::from_vars(sandbox.vars());
        Policy::open(&sandbox.root().join("sub"), &around, &[]).unwrap().fingerprint()
    };
    let first = now();
    sandbox.write("a", "longer");
    sandbox.git(&["add", "a"]);
    sandbox.git(&["config", "user.name", "somebody"]);
    sandbox.write("sub/.gitignore", "x");
    assert_eq!(now(), first);
    let mut seen = vec![first];
    let mut differs = |what: &str| {
        let now = now();
        assert!(!seen.contains(&now), "{what}");
        seen.push(now);
    };
    sandbox.git(&["add", "sub/c"]);
    differs("a tracked path more");
    sandbox.write(".gitignore", "x");
    differs("a rule above the root");
    sandbox.write(".git/info/exclude", "x");
    differs("a rule for this clone");
    sandbox.write("../home/.config/git/ignore", "x");
    differs("a rule of the user");
    sandbox.git(&["config", "core.ignoreCase", "true"]);
    differs("case");
}
