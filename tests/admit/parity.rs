//! Repositories built to be nasty; `check` compares each with git.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use crate::support::git::Sandbox;
use crate::support::tree::{check, report};

fn has(sandbox: &Sandbox, line: &str) {
    let report = report(sandbox);
    assert!(report.iter().any(|l| l == line), "{line}\n{}", report.join("\n"));
}

#[test]
fn patterns_of_every_kind_and_place() {
    let sandbox = Sandbox::repository();
    sandbox.touch(&["a.log", "keep.log", "d/b.log", "d/e/keep.log", "build/x", "d/build/y", "#x"]);
    sandbox.touch(&[
        "!x",
        "end ",
        "tab\t",
        "a/b/c/z",
        "foo/1/2/bar",
        "q/deep/all",
        "q/keep",
        "Å/ö",
    ]);
    sandbox.touch(&["only/a", "only/keep.me", "v/.venv/lib", "v/sib", "UP", "up", "a\\b", "x\ny"]);
    sandbox.write_bytes(b"caf\xe9/\xff", "x");
    sandbox.write(
        ".gitignore",
        "*.log\n!keep.log\nbuild/\n\\#x\n\\!x\nend\\ \nfoo/**/bar\n/q/**\nup\n",
    );
    sandbox.write("d/.gitignore", "!b.log\nkeep.log\n");
    sandbox.write("only/.gitignore", "*\n!*.me\n!.gitignore\n");
    sandbox.write("v/.venv/.gitignore", "*\n");
    sandbox.write_bytes(b"caf\xe9/.gitignore", b"\xef\xbb\xbf\xff\r\n");
    sandbox.write("Å/.gitignore", "# c\r\n\r\nö\r\n");
    check(&sandbox, &sandbox.root());
    has(&sandbox, "a.log: ignored .gitignore:1:*.log");
    has(&sandbox, "build: ignored .gitignore:3:build/");
    has(&sandbox, "v/sib: file");
}

#[test]
fn excludes_outside_the_tree() {
    let mut sandbox = Sandbox::repository();
    sandbox.touch(&["a.x", "important.x", "b.y", "both.y", "c.z", "w"]);
    sandbox.write(".git/info/exclude", "*.x\n!important.x\n!both.y\n");
    sandbox.write("../home/.config/git/ignore", "*.y\n");
    check(&sandbox, &sandbox.root());
    has(&sandbox, "a.x: ignored .git/info/exclude:1:*.x");
    sandbox.write("../home/.gitconfig", "[core]\n\texcludesFile = ~/mine\n");
    sandbox.write("../home/mine", "*.z\n");
    check(&sandbox, &sandbox.root());
    let mine = sandbox.home("mine");
    has(&sandbox, &format!("c.z: ignored {}:1:*.z", mine.display()));
    has(&sandbox, "b.y: file");
    sandbox.git(&["config", "core.excludesFile", "rel"]);
    sandbox.write("rel", "w\n");
    check(&sandbox, &sandbox.root());
    has(&sandbox, "w: ignored rel:1:w");
    sandbox.set("GIT_CONFIG_COUNT", "1");
    sandbox.set("GIT_CONFIG_KEY_0", "core.excludesFile");
    sandbox.set("GIT_CONFIG_VALUE_0", "");
    check(&sandbox, &sandbox.root());
    has(&sandbox, "w: file");
}

#[test]
fn conditional_includes_of_configuration() {
    let sandbox = Sandbox::repository();
    sandbox.touch(&["a.x", "b.y"]);
    let tree = sandbox.root();
    let config = format!(
        "[includeIf \"gitdir:{}/\"]\n path = here\n[includeIf \"onbranch:main\"]\n path = branch\n\
         [includeIf \"gitdir:/nowhere/\"]\n path = never\n",
        tree.display()
    );
    sandbox.write("../home/.gitconfig", config);
    sandbox.write("../home/here", "[core]\n excludesFile = ~/x\n");
    sandbox.write("../home/never", "[core]\n excludesFile = ~/never-read\n");
    sandbox.write("../home/x", "*.x\n");
    sandbox.write("../home/y", "*.y\n");
    check(&sandbox, &tree);
    has(&sandbox, &format!("a.x: ignored {}:1:*.x", sandbox.home("x").display()));
    sandbox.write("../home/branch", "[core]\n excludesFile = ~/y\n");
    check(&sandbox, &tree);
    has(&sandbox, &format!("b.y: ignored {}:1:*.y", sandbox.home("y").display()));
}

#[test]
fn tracked_means_in_whatever_is_ignored() {
    let sandbox = Sandbox::repository();
    sandbox.touch(&[
        "a.o",
        "b.o",
        "out/x",
        "out/y",
        "out/deep/z",
        "gone",
        "d/gone",
        "file",
        "dir/f",
    ]);
    sandbox.write(".gitignore", "*.o\nout/\n");
    let args = ["add", "-f", "a.o", "out/x", "out/deep/z", "gone", "d/gone", "file", "dir/f"];
    sandbox.git(&args);
    let root = sandbox.root();
    std::fs::remove_file(root.join("gone")).unwrap();
    std::fs::remove_dir_all(root.join("d")).unwrap();
    std::fs::remove_file(root.join("file")).unwrap();
    sandbox.touch(&["file/inside"]);
    std::fs::remove_dir_all(root.join("dir")).unwrap();
    sandbox.touch(&["dir"]);
    check(&sandbox, &root);
    for line in ["a.o: file", "out/deep/z: file", "out/y: ignored .gitignore:2:out/"] {
        has(&sandbox, line);
    }
    for line in
        ["d/gone: absent", "file: absent", "file/inside: file", "dir/f: absent", "dir: file"]
    {
        has(&sandbox, line);
    }
}

#[test]
fn links_are_never_followed() {
    let sandbox = Sandbox::repository();
    sandbox.touch(&["real/f", "moved/f", "ign/x"]);
    sandbox.git(&["add", "moved/f"]);
    std::fs::remove_dir_all(sandbox.root().join("moved")).unwrap();
    sandbox.link("real", "moved");
    sandbox.link("real", "link-dir");
    sandbox.link("nowhere", "broken");
    sandbox.link("real", "ign2");
    sandbox.write(".gitignore", "link-dir/\nign2\n");
    check(&sandbox, &sandbox.root());
    for line in ["moved: symlink", "moved/f: absent", "link-dir: symlink", "broken: symlink"] {
        has(&sandbox, line);
    }
    has(&sandbox, "ign2: ignored .gitignore:2:ign2");
}

#[test]
fn ignore_files_that_are_no_files() {
    let sandbox = Sandbox::repository();
    sandbox.touch(&["a/x", "b/x", "b/.gitignore/y", "c/x", "d/x"]);
    sandbox.write("rules", "x\n");
    sandbox.link("../rules", "a/.gitignore");
    rustix::fs::mkfifoat(
        rustix::fs::CWD,
        sandbox.root().join("c/fifo"),
        rustix::fs::Mode::from_raw_mode(0o600),
    )
    .unwrap();
    sandbox.write("d/.gitignore", b"x\0y\n/\n\n \n");
    sandbox.link("/dev/null", "info");
    check(&sandbox, &sandbox.root());
    has(&sandbox, "a/x: file");
    has(&sandbox, "c/fifo: special");
    has(&sandbox, "d/x: ignored d/.gitignore:1:x");
}

#[test]
fn nested_repositories_and_what_only_looks_like_one() {
    let sandbox = Sandbox::repository();
    let root = sandbox.root();
    sandbox.touch(&[
        "full/a",
        "unborn/a",
        "bogus/a",
        "dangling/a",
        "inner/file",
        "ign/a",
        "plain/b",
    ]);
    for name in ["full", "unborn", "ign", "inner"] {
        sandbox.git_in(&root.join(name), &["init", "-q"], b"");
    }
    sandbox.git_in(&root.join("full"), &["add", "a"], b"");
    sandbox.git_in(&root.join("full"), &["commit", "-qm", "x"], b"");
    std::fs::create_dir(root.join("bogus/.git")).unwrap();
    sandbox.write("dangling/.git", "gitdir: ../nowhere\n");
    sandbox.write("linked/.git", "gitdir: ../full/.git\n");
    sandbox.touch(&["linked/x", "a/b/c/d"]);
    sandbox.git_in(&root.join("a/b"), &["init", "-q", "--bare", "bare.git"], b"");
    sandbox.write(".gitignore", "ign/\n");
    // Tracked from outside: then its own `.git` does not count.
    std::fs::rename(root.join("inner/.git"), root.join("inner/git")).unwrap();
    sandbox.git(&["add", "inner/file"]);
    std::fs::rename(root.join("inner/git"), root.join("inner/.git")).unwrap();
    check(&sandbox, &root);
    for line in ["full: repository", "unborn: repository", "linked: repository", "bogus/a: file"] {
        has(&sandbox, line);
    }
    for line in ["dangling/a: file", "inner/file: file", "bogus/.git: ignored builtin"] {
        has(&sandbox, line);
    }
    has(&sandbox, "ign: ignored .gitignore:1:ign/");
}

#[test]
fn submodules_populated_empty_and_gone() {
    let sandbox = Sandbox::repository();
    let root = sandbox.root();
    sandbox.touch(&["a/x", "b/x", "c/x"]);
    for name in ["a", "b", "c"] {
        sandbox.git_in(&root.join(name), &["init", "-q"], b"");
        sandbox.git_in(&root.join(name), &["add", "x"], b"");
        sandbox.git_in(&root.join(name), &["commit", "-qm", "x"], b"");
        sandbox.git(&["add", name]);
    }
    std::fs::remove_dir_all(root.join("b")).unwrap();
    std::fs::create_dir(root.join("b")).unwrap();
    std::fs::remove_dir_all(root.join("c")).unwrap();
    sandbox.write(".gitignore", "a\nb/\n");
    check(&sandbox, &root);
    for line in ["a: repository", "b: repository", "c: absent"] {
        has(&sandbox, line);
    }
}

#[test]
fn a_work_tree_and_a_folder_below_the_top() {
    let sandbox = Sandbox::repository();
    let root = sandbox.root();
    sandbox.touch(&["sub/a.o", "sub/keep", "sub/in/b.o", "sub/in/build/x"]);
    sandbox.write(".gitignore", "*.o\n/sub/in/build\n");
    sandbox.write("sub/.gitignore", "!b.o\n");
    sandbox.git(&["add", "."]);
    sandbox.git(&["commit", "-qm", "x"]);
    sandbox.git(&["worktree", "add", "-q", "../other"]);
    check(&sandbox, &root.join("sub"));
    check(&sandbox, &root.join("sub/in"));
    let other = root.parent().unwrap().join("other");
    std::fs::write(other.join("sub/new.o"), "x").unwrap();
    std::fs::write(root.join(".git/info/exclude"), "keep2\n").unwrap();
    std::fs::write(other.join("keep2"), "x").unwrap();
    check(&sandbox, &other);
    let head = String::from_utf8(sandbox.git_in(&other, &["rev-parse", "HEAD"], b"")).unwrap();
    assert_eq!(auwai::admit::head(&other).as_deref(), Some(head.trim()));
}

#[test]
fn every_kind_of_index() {
    let commands: [&[&str]; 8] = [
        &["update-index", "--index-version", "4"],
        &["update-index", "--split-index"],
        &["update-index", "--untracked-cache"],
        &["update-index", "--index-version", "3"],
        &["add", "-N", "late.o"],
        &["update-index", "--skip-worktree", "d/a"],
        &["update-index", "--assume-unchanged", "d/b"],
        &["update-index", "--no-split-index"],
    ];
    let sandbox = Sandbox::repository();
    sandbox.write(".gitignore", "*.o\n");
    sandbox.touch(&["d/a", "d/b", "d.c", "d-e", "d0", "late.o", "e/f/g", "t.o"]);
    sandbox.git(&["add", ".", "-f"]);
    sandbox.git(&["rm", "-q", "--cached", "late.o"]);
    sandbox.git(&["commit", "-qm", "x"]);
    for command in commands {
        if command[1] == "-N" {
            sandbox.git(&["add", "-N", "-f", "late.o"]);
        } else {
            sandbox.git(command);
        }
        sandbox.write("new", "x");
        sandbox.git(&["add", "new"]);
        check(&sandbox, &sandbox.root());
        sandbox.git(&["rm", "-q", "-f", "new"]);
        sandbox.git(&["status"]);
        check(&sandbox, &sandbox.root());
    }
    has(&sandbox, "late.o: file");
}

#[test]
fn many_files_in_a_split_index_and_one_with_sha256() {
    let sandbox = Sandbox::empty();
    sandbox.git(&["init", "-q", "--object-format=sha256"]);
    for n in 0..300 {
        sandbox.write(&format!("d{}/f{n}.o", n % 7), "x");
    }
    sandbox.git(&["add", "."]);
    sandbox.git(&["commit", "-qm", "x"]);
    sandbox.git(&["update-index", "--split-index"]);
    sandbox.write(".gitignore", "*.o\n");
    sandbox.git(&["rm", "-q", "--cached", "d3/f3.o", "d4/f11.o"]);
    sandbox.write("d5/f5.o", "changed");
    sandbox.touch(&["d1/new.o", "d6/z"]);
    sandbox.git(&["add", "-f", "d5/f5.o", "d6/z", "d1/new.o"]);
    check(&sandbox, &sandbox.root());
    has(&sandbox, "d3/f3.o: ignored .gitignore:1:*.o");
    assert_eq!(auwai::admit::head(&sandbox.root()).map(|head| head.len()), Some(64));
}

#[test]
fn conflicts_have_one_entry_a_path() {
    let sandbox = Sandbox::repository();
    sandbox.write("f", "1\n");
    sandbox.write("removed", "1\n");
    sandbox.commit();
    sandbox.git(&["checkout", "-qb", "other"]);
    sandbox.write("f", "2\n");
    sandbox.write("removed", "2\n");
    sandbox.commit();
    sandbox.git(&["checkout", "-q", "main"]);
    sandbox.write("f", "3\n");
    sandbox.git(&["rm", "-q", "removed"]);
    sandbox.commit();
    let (merged, ..) = sandbox.try_git(&sandbox.root(), &["merge", "-q", "other"], b"");
    assert!(!merged);
    check(&sandbox, &sandbox.root());
    std::fs::remove_file(sandbox.root().join("f")).unwrap();
    sandbox.touch(&["f/g"]);
    check(&sandbox, &sandbox.root());
    has(&sandbox, "f: absent");
}

#[test]
fn sparse_checkouts() {
    let sandbox = Sandbox::repository();
    sandbox.touch(&["top", "in/a", "in/deep/b", "out/c", "out/deep/d", "other/e"]);
    sandbox.commit();
    let narrow: [&[&str]; 3] = [
        &["sparse-checkout", "set", "--no-cone", "/in/", "!/in/deep/"],
        &["sparse-checkout", "set", "--cone", "in"],
        &["sparse-checkout", "set", "--cone", "--sparse-index", "in"],
    ];
    for command in narrow {
        sandbox.git(command);
        check(&sandbox, &sandbox.root());
        sandbox.touch(&["out/left"]);
        check(&sandbox, &sandbox.root());
        std::fs::remove_dir_all(sandbox.root().join("out")).unwrap();
    }
    has(&sandbox, "out: absent");
    has(&sandbox, "in/deep/b: file");
}

#[test]
fn names_that_differ_in_case_only() {
    let sandbox = Sandbox::repository();
    sandbox.touch(&["README.o", "readme.O", "dir/x", "DIR/X"]);
    sandbox.write(".gitignore", "*.o\ndir/\n");
    check(&sandbox, &sandbox.root());
    sandbox.git(&["config", "core.ignoreCase", "true"]);
    check(&sandbox, &sandbox.root());
    has(&sandbox, "readme.O: ignored .gitignore:1:*.o");
}

#[test]
fn paths_longer_than_path_max() {
    let sandbox = Sandbox::repository();
    let name = "d".repeat(250);
    let mut dir =
        rustix::fs::open(sandbox.root(), rustix::fs::OFlags::DIRECTORY, rustix::fs::Mode::empty())
            .unwrap();
    let mode = rustix::fs::Mode::from_raw_mode(0o700);
    for _ in 0..90 {
        rustix::fs::mkdirat(&dir, &*name, mode).unwrap();
        let flags = rustix::fs::OFlags::DIRECTORY;
        dir = rustix::fs::openat(&dir, &*name, flags, rustix::fs::Mode::empty()).unwrap();
    }
    let flags = rustix::fs::OFlags::CREATE | rustix::fs::OFlags::WRONLY;
    rustix::fs::openat(&dir, "f", flags, mode).unwrap();
    let path = format!("{name}/").repeat(90) + "f";
    has(&sandbox, &format!("{path}: file"));
    // What tempfile cannot remove, rm can.
    std::process::Command::new("rm").arg("-rf").arg(sandbox.root().join(&name)).status().unwrap();
}

/// Not as root, who may read everything: the test runs itself again as nobody.
#[test]
fn an_unreadable_folder_is_one_entry_and_its_tracked_files_are_looked_up() {
    if std::env::var_os("AUWAI_TEST_NOBODY").is_none() && rustix::process::geteuid().is_root() {
        let test =
            "admit::parity::an_unreadable_folder_is_one_entry_and_its_tracked_files_are_looked_up";
        let copy = tempfile::tempdir().unwrap();
        let everyone = std::fs::Permissions::from_mode(0o777);
        std::fs::set_permissions(copy.path(), everyone).unwrap();
        let program = copy.path().join("suite");
        std::fs::copy(std::env::current_exe().unwrap(), &program).unwrap();
        let status = std::process::Command::new("setpriv")
            .args(["--reuid=65534", "--regid=65534", "--clear-groups", "--"])
            .arg(&program)
            .args(["--exact", test])
            .env("AUWAI_TEST_NOBODY", "1")
            .env("TMPDIR", copy.path())
            .current_dir(copy.path())
            .status()
            .unwrap();
        assert!(status.success());
        return;
    }
    let sandbox = Sandbox::repository();
    sandbox.touch(&["shut/a", "shut/d/b", "search/a", "search/d/b", "search/new", "open/c"]);
    sandbox.git(&["add", "shut", "search/a", "search/d"]);
    sandbox.touch(&["fresh/x"]);
    let modes = [("shut", 0), ("search", 0o100), ("fresh", 0)];
    let set = |name: &str, mode| {
        let permissions = std::fs::Permissions::from_mode(mode);
        std::fs::set_permissions(sandbox.root().join(name), permissions).unwrap();
    };
    modes.iter().for_each(|(name, mode)| set(name, *mode));
    let report = report(&sandbox);
    modes.iter().for_each(|(name, _)| set(name, 0o700));
    let lines = [
        ".git: ignored builtin",
        "fresh: unreadable EACCES: Permission denied",
        "open/c: file",
        "search: unreadable EACCES: Permission denied",
        "search/a: file",
        "search/d/b: file",
        "shut: unreadable EACCES: Permission denied",
        "shut/a: unreadable EACCES: Permission denied",
        "shut/d: unreadable EACCES: Permission denied",
        "shut/d/b: unreadable EACCES: Permission denied",
    ];
    assert_eq!(report, lines);
}

#[test]
fn a_damaged_index_or_configuration_is_an_error_with_its_name() {
    use auwai::admit::{Policy, Surroundings};
    let sandbox = Sandbox::repository();
    sandbox.touch(&["a"]);
    sandbox.git(&["add", "a"]);
    let open = || {
        let around = Surroundings::from_vars(sandbox.vars());
        Policy::open(&sandbox.root(), &around, &[]).unwrap_err().to_string()
    };
    let index = sandbox.root().join(".git/index");
    let bytes = std::fs::read(&index).unwrap();
    std::fs::write(&index, &bytes[..60]).unwrap();
    assert!(open().starts_with("cannot read git's index '"), "{}", open());
    std::fs::write(&index, bytes).unwrap();
    sandbox.write(".git/config", "[core\n");
    assert!(open().starts_with("cannot read git's configuration '"), "{}", open());
}

/// `AUWAI_TEST_TREE=/path cargo test --test suite any_repository` compares one that exists.
#[test]
fn any_repository_compares() {
    let Some(tree) = std::env::var_os("AUWAI_TEST_TREE") else {
        let sandbox = Sandbox::repository();
        return check(&sandbox, &sandbox.root());
    };
    let mut sandbox = Sandbox::empty();
    sandbox.set("GIT_CONFIG_COUNT", "1");
    sandbox.set("GIT_CONFIG_KEY_0", "safe.directory");
    sandbox.set("GIT_CONFIG_VALUE_0", OsStr::from_bytes(b"*"));
    check(&sandbox, &Path::new(&tree).canonicalize().unwrap());
}
