//! What is no regular file where a state file or one of git's should be: never waited for.

use std::fs;
use std::os::unix::net::UnixListener;
use std::path::Path;

use rustix::fs::{CWD, FileType, Mode, mknodat};

use crate::support::site::{Site, Told};

/// A git repository with a plan and a segment that is handed out and read.
fn read_in_part() -> Site {
    let site = Site::new();
    site.sh("git init -q . && git config core.excludesFile ../home/excludes").expect_code(0);
    site.write("a.rs", (1..=300).map(|n| format!("let x = {n};\n")).collect::<String>());
    site.sh("git add a.rs && git -c user.name=a -c user.email=b commit -qm x").expect_code(0);
    site.ok(&["plan"]);
    site.ok(&["next"]);
    site.ok(&["read"]);
    site
}

fn fifo(path: &Path) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    mknodat(CWD, path, FileType::Fifo, Mode::RWXU, 0).unwrap();
}

/// What it is called, and how it is made.
type Kind = (&'static str, fn(&Path));

const KINDS: [Kind; 3] = [
    ("a FIFO", fifo),
    ("a socket", |path| drop(UnixListener::bind(path).unwrap())),
    ("a folder", |path| fs::create_dir(path).unwrap()),
];

/// Every command that could open it, each within the deadline of a test.
fn try_all(site: &Site) -> Vec<(&'static str, Told)> {
    let verbs = ["index", "plan", "status", "next", "unread", "verify", "done", "why a.rs"];
    let run = |verb: &'static str| {
        let args: Vec<&str> = verb.split(' ').collect();
        (verb, site.run(&args))
    };
    verbs.map(run).into_iter().collect()
}

#[test]
fn in_the_place_of_a_state_file_it_is_named() {
    for (file, refusing) in [
        (".auwai/ledger.sqlite", &["index", "plan", "unread", "verify"][..]),
        (".auwai/ledger.sqlite-wal", &["index", "plan", "unread", "verify"]),
        (".auwai/fullread/coverage.sqlite", &["plan", "status", "next", "verify", "done"]),
        (".auwai/fullread/coverage.sqlite-wal", &["plan", "status", "next", "verify", "done"]),
        // It is for the export and the findings: what was done without one stands.
        (".auwai/fullread/fullread.lock", &[]),
        (".auwai/fullread/findings.md", &[]),
        (".auwai/fullread/fullread.json", &[]),
        (".auwai/.gitignore", &["index", "plan"]),
        (".auwai/workspace/workspace.json", &["plan", "status", "next", "verify", "done"]),
    ] {
        // One is opened like the other: all kinds for one of them.
        let kinds = if file.ends_with("coverage.sqlite") { KINDS.len() } else { 1 };
        for (what, make) in &KINDS[..kinds] {
            let site = read_in_part();
            let path = site.work(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            let _ = fs::remove_file(&path);
            make(&path);
            for (verb, told) in try_all(&site) {
                assert!(!told.err.contains("panicked"), "{file}: {verb}: {}", told.err);
                if file.ends_with("fullread.lock") && verb == "done" {
                    assert!(told.err.contains("it is a FIFO"), "{file}: {verb}: {}", told.err);
                }
                if refusing.contains(&verb) {
                    assert_eq!(told.code(), 3, "{file}: {verb}: {}", told.err);
                    let said = format!("it is {what}, not a regular file");
                    assert!(told.err.contains(&said), "{file}: {verb}: {}", told.err);
                    assert!(told.err.contains("hint: move it out"), "{file}: {verb}: {}", told.err);
                }
            }
        }
    }
}

/// What was a file when it was indexed.
#[test]
fn in_the_place_of_what_is_to_be_read_it_is_a_change() {
    for (what, make) in KINDS {
        let site = read_in_part();
        site.ok(&["plan", "--force"]);
        site.ok(&["next"]);
        fs::remove_file(site.work("a.rs")).unwrap();
        make(&site.work("a.rs"));
        let told = site.run(&["read"]).expect_code(3);
        assert!(told.err.contains("changed since"), "{what}: {}", told.err);
        let fate = if what == "a folder" { "absent" } else { "special" };
        site.ok(&["index"]);
        let files = site.sh(&format!("auwai-ledger files --repo . --fate {fate}"));
        assert!(files.text().contains("\"a.rs\""), "{what}: {}", files.text());
    }
}

#[test]
fn an_index_killed_while_it_is_made_is_made_by_the_next() {
    let site = Site::new();
    site.write("a.rs", "x\n");
    for round in 0..40_u64 {
        let _ = fs::remove_dir_all(site.work(".auwai"));
        let mut child = site.command("auwai-ledger");
        child.args(["scan", "--repo", "."]);
        child.stdout(std::process::Stdio::null()).stderr(std::process::Stdio::null());
        let mut child = child.spawn().unwrap();
        std::thread::sleep(std::time::Duration::from_micros(round * 500));
        child.kill().unwrap();
        child.wait().unwrap();
        let told = site.run(&["index"]);
        assert_eq!((told.code(), told.err.as_str()), (0, ""), "round {round}");
    }
}

#[test]
fn findings_that_cannot_be_appended_are_kept_until_they_can() {
    let site = read_in_part();
    fifo(&site.work(".auwai/fullread/findings.md"));
    let told = site.run(&["done", "-m", "found it"]).expect_code(3);
    assert!(told.err.contains("findings.md': it is a FIFO"), "{}", told.err);
    fs::remove_file(site.work(".auwai/fullread/findings.md")).unwrap();
    site.ok(&["status"]);
    let findings = fs::read_to_string(site.work(".auwai/fullread/findings.md")).unwrap();
    assert_eq!(findings.matches("    found it\n").count(), 1, "{findings}");
}

#[test]
fn a_link_in_the_place_of_a_state_file_is_not_followed() {
    for file in ["fullread.lock", "findings.md", "fullread.json", "run.lock", "coverage.sqlite"] {
        let site = read_in_part();
        let precious = site.path("precious");
        fs::write(&precious, "mine").unwrap();
        let path = site.work(".auwai/fullread").join(file);
        let _ = fs::remove_file(&path);
        std::os::unix::fs::symlink(&precious, &path).unwrap();
        site.run(&["done", "-m", "found it"]);
        site.run(&["run", "--", "wc", "-w"]);
        assert_eq!(fs::read_to_string(&precious).unwrap(), "mine", "{file}");
    }
}

#[test]
fn in_the_place_of_a_registry_or_its_lock_it_is_named() {
    for file in ["workspaces.json", "workspaces.lock"] {
        let site = Site::new();
        site.write("r/a.rs", "x\n");
        fifo(&site.path("state").join("auwai").join(file));
        let told = site.run(&["workspace", "init", "demo"]);
        assert!(told.err.contains("it is a FIFO"), "{file}: {} {}", told.code(), told.err);
        site.run(&["workspace", "list", "--all"]);
    }
}

#[test]
fn in_the_place_of_gits_files_nothing_is_waited_for() {
    for (file, fails) in [
        (".git/index", true),
        (".git/sharedindex.1234", true),
        (".git/config", true),
        (".git/HEAD", false),
        (".git/packed-refs", false),
        (".git/refs/heads/main", false),
        (".git/commondir", false),
        (".git/info/exclude", false),
        ("../home/excludes", false),
        ("../home/.gitconfig", true),
        (".gitignore", false),
        (".auwai-ignore", false),
        (".git", false),
        ("sub/.git", false),
        ("sub/.gitignore", false),
    ] {
        let site = read_in_part();
        site.write("sub/b.rs", "x\n");
        let path = site.work(file);
        let _ = fs::rename(&path, site.path("aside"));
        fifo(&path);
        for args in [&["index"][..], &["why", "a.rs"], &["verify"]] {
            let told = site.run(args);
            assert!(!told.err.contains("panicked"), "{file}: {args:?}: {}", told.err);
            assert_eq!(told.code() == 3, fails, "{file}: {args:?}: {}", told.err);
            assert_eq!(told.err.contains("it is a FIFO"), fails, "{file}: {args:?}: {}", told.err);
        }
    }
}

#[test]
fn dev_null_as_a_configuration_is_none() {
    let site = read_in_part();
    let mut index = site.auwai(&["index"]);
    index.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_SYSTEM", "/dev/null");
    crate::support::site::tell(index).expect_code(0);
}

#[test]
fn rules_that_are_not_read_are_told() {
    let site = read_in_part();
    fifo(&site.work("d/.gitignore"));
    std::os::unix::fs::symlink("../a.rs", site.work("d/.auwai-ignore")).unwrap();
    for (file, fate) in [("d/.gitignore", "special"), ("d/.auwai-ignore", "symlink")] {
        let told = site.run(&["why", file]).expect_code(0);
        assert_eq!(told.text(), format!("{file}: {fate}\n"));
        assert!(told.err.contains(&format!("no rules are read from '{file}'")), "{}", told.err);
    }
}

#[test]
fn an_empty_or_short_ledger_is_damaged_and_stays() {
    for ledger in [".auwai/ledger.sqlite", ".auwai/fullread/coverage.sqlite"] {
        for size in [0, 100] {
            let site = read_in_part();
            site.ask(ledger, "PRAGMA wal_checkpoint(TRUNCATE)");
            let head = fs::read(site.work(ledger)).unwrap()[..size].to_vec();
            fs::write(site.work(ledger), &head).unwrap();
            for verb in [&["plan"][..], &["verify"], &["plan", "--force"]] {
                let told = site.run(verb).expect_code(3);
                assert!(told.err.contains("is damaged"), "{ledger}, {size}: {}", told.err);
                assert!(told.err.contains("hint: it is never rebuilt"), "{}", told.err);
            }
            assert_eq!(fs::read(site.work(ledger)).unwrap(), head);
        }
    }
}

#[test]
fn numbers_of_a_schema_are_told_as_they_are() {
    for ledger in [".auwai/ledger.sqlite", ".auwai/fullread/coverage.sqlite"] {
        for (number, said) in [
            ("-1", "its schema has the number -1"),
            ("-2147483648", "its schema has the number -2147483648"),
            ("2147483647", "has schema 2147483647, this auwai knows"),
        ] {
            let site = read_in_part();
            site.ask(ledger, &format!("PRAGMA user_version = {number}"));
            let told = site.run(&["verify"]).expect_code(3);
            assert!(told.err.contains(said), "{}", told.err);
        }
    }
}

/// Killed at any moment, `workspace` leaves files that can be understood, and all that was told.
#[test]
fn workspace_commands_killed_at_any_moment_leave_whole_files() {
    let site = Site::new();
    for name in ["one", "two"] {
        site.write(format!("{name}/a.rs"), "x\n");
    }
    for round in 0..60_u64 {
        let args = match round % 3 {
            0 => vec!["workspace", "init", "demo"],
            1 => vec!["workspace", "add", if round % 2 == 0 { "one" } else { "two" }],
            _ => vec!["workspace", "remove", if round % 2 == 0 { "one" } else { "two" }],
        };
        let mut child = site.auwai(&args);
        child.stdout(std::process::Stdio::null()).stderr(std::process::Stdio::null());
        let mut child = child.spawn().unwrap();
        std::thread::sleep(std::time::Duration::from_micros(round * 400));
        child.kill().unwrap();
        child.wait().unwrap();
        let list = site.run(&["workspace", "list", "--all"]);
        assert_eq!((list.code(), list.err.as_str()), (0, ""), "round {round}");
        if site.work(".auwai/workspace/workspace.json").exists() {
            let list = site.run(&["workspace", "list"]);
            assert_eq!((list.code(), list.err.as_str()), (0, ""), "round {round}");
        }
    }
    site.ok(&["workspace", "init", "demo"]);
    let ignore = fs::read_to_string(site.work(".auwai/.gitignore")).unwrap();
    assert_eq!(ignore, "*\n");
}
