//! What can be asked of the tool.

use std::fs;
use std::process::Output;

use auwai::record::EventOp::{Create, Modify, Remove};
use auwai::record::{self, Record};

use super::watcher::{Watcher, command, sh, told, words};
use crate::support::git::Sandbox;

fn run(sandbox: &Sandbox, args: &[&str]) -> Output {
    command(sandbox).args(args).output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

/// What a run that ends told.
fn lines(output: &Output) -> Vec<String> {
    assert!(output.status.success(), "{}", text(&output.stderr));
    text(&output.stdout).lines().filter_map(|line| words(&record::parse(line).unwrap())).collect()
}

#[test]
fn a_backend_that_is_not_there_is_a_clear_error() {
    let sandbox = Sandbox::empty();
    let out = run(&sandbox, &["--backend", "fsevents", "."]);
    assert_eq!(out.status.code(), Some(3));
    let err = text(&out.stderr);
    assert!(err.contains("'fsevents' is not available on this system\nhint: "), "{err}");
}

#[test]
fn a_root_that_is_not_there_is_a_failure() {
    let sandbox = Sandbox::empty();
    fs::write(sandbox.root().join("f"), "x").unwrap();
    for (root, said) in
        [("nowhere", "cannot watch 'nowhere': No such"), ("f", "'f' is not a folder")]
    {
        let out = run(&sandbox, &[root]);
        assert_eq!(out.status.code(), Some(3));
        assert!(text(&out.stderr).contains(said), "{}", text(&out.stderr));
    }
}

/// It would tell of its own lines, for ever.
#[test]
fn an_output_in_the_tree_that_is_watched_is_warned_of() {
    let sandbox = Sandbox::empty();
    fs::create_dir(sandbox.root().join("d")).unwrap();
    for (name, warned) in [("log", true), ("../log", false)] {
        let log = fs::File::create(sandbox.root().join(name)).unwrap();
        let args = ["--max-seconds", "0.1", "."];
        let out = command(&sandbox).args(args).stdout(log).output().unwrap();
        let said = text(&out.stderr);
        assert_eq!(said.contains("log' in the tree that is watched"), warned, "{said}");
    }
}

/// It would tell nothing, for ever.
#[test]
fn a_glob_that_matches_nothing_is_refused() {
    let sandbox = Sandbox::empty();
    for glob in ["*.[ch", "", "#x", "!", "/", "a\\", "a\nb"] {
        let out = run(&sandbox, &["-g", glob, "."]);
        assert_eq!(out.status.code(), Some(2), "{glob:?}");
        assert!(text(&out.stderr).contains("not a pattern"), "{}", text(&out.stderr));
    }
}

#[test]
fn a_question_without_a_watcher_is_answered_no() {
    let sandbox = Sandbox::empty();
    let out = run(&sandbox, &["--sync", "."]);
    assert_eq!(out.status.code(), Some(1));
    assert!(text(&out.stderr).contains("hint: start a watcher: `auwai-wait-events "));
}

#[test]
fn it_ends_after_a_time_or_a_batch() {
    let sandbox = Sandbox::empty();
    assert_eq!(lines(&run(&sandbox, &["--max-seconds", "0.2", "."])), [""; 0]);
    let out = run(&sandbox, &["-1", "--max-seconds", "0.2", "."]);
    assert_eq!(out.status.code(), Some(1), "nothing has happened");
    assert_eq!(text(&out.stderr), "auwai-wait-events: nothing has changed in 200ms\n");
    let mut watcher = Watcher::start(&sandbox, &["-1", "--max-seconds", "50"]);
    sh(&sandbox, "echo x > a; echo x > b");
    assert_eq!(watcher.end().code(), Some(0));
    let told: Vec<String> = watcher.take().iter().filter_map(words).collect();
    assert!(told.contains(&"create file a".to_string()), "{told:?}");
}

#[test]
fn what_differs_from_a_file_is_told() {
    let sandbox = Sandbox::empty();
    sh(&sandbox, "mkdir d; echo 1 > a; echo 1 > d/b; touch -d 2001-01-01 a d/b");
    let since = sandbox.home("since").into_os_string().into_string().unwrap();
    let scan = || lines(&run(&sandbox, &["--scan", "--since", &since, "."]));
    assert_eq!(scan(), ["rescan . batch"]);
    // The change times are new, so an edit since could not be seen: all is told once more.
    assert_eq!(scan().len(), 2);
    sh(&sandbox, "rm -r d; echo 22 > a; mkdir e; echo 1 > e/c");
    let told_now = scan();
    assert!(told(&told_now, Modify, "a") && told(&told_now, Remove, "d/b"), "{told_now:?}");
    assert!(told(&told_now, Create, "e/c"), "{told_now:?}");
}

/// Killed at any time and started again, it tells all that happened since.
#[test]
fn a_watcher_that_was_killed_goes_on_where_it_stopped() {
    let sandbox = Sandbox::empty();
    sh(&sandbox, "echo 1 > a; echo 1 > b");
    let since = sandbox.home("since").into_os_string().into_string().unwrap();
    let mut watcher = Watcher::start(&sandbox, &["--since", &since]);
    assert!(watcher.words().contains(&"rescan . batch".to_string()));
    sh(&sandbox, "echo 22 > a; rm b");
    watcher.words();
    watcher.kill();
    sh(&sandbox, "echo 333 > a; mkdir -p d/e; echo 1 > d/e/f");
    let mut watcher = Watcher::start(&sandbox, &["--since", &since]);
    let words = watcher.words();
    let changed = told(&words, Modify, "a") || told(&words, Create, "a");
    assert!(changed && told(&words, Create, "d/e/f"), "{words:?}");
    // A file in the tree does not tell of itself.
    watcher.kill();
    let inside = sandbox.root().join("since").into_os_string().into_string().unwrap();
    let mut watcher = Watcher::start(&sandbox, &["--since", &inside]);
    sh(&sandbox, "echo 4444 > a");
    let words = [watcher.words(), watcher.words()].concat();
    assert!(told(&words, Modify, "a"), "{words:?}");
    assert!(!words.iter().any(|line| line.contains("since")), "{words:?}");
}

#[test]
fn what_is_told_can_be_chosen() {
    let sandbox = Sandbox::empty();
    sh(&sandbox, "echo 1 > old.rs; mkdir src");
    let mut watcher =
        Watcher::start(&sandbox, &["-g", "*.rs", "-g", "!gen.rs", "--op", "create,remove"]);
    sh(&sandbox, "echo 1 > src/a.rs; echo 1 > src/a.c; echo 1 > gen.rs; echo 2 > old.rs");
    assert_eq!(watcher.words(), ["create file src/a.rs"]);
    let mut watcher = Watcher::start(&sandbox, &["--only", "src/"]);
    sh(&sandbox, "echo 2 > src/a.rs; echo 3 > old.rs");
    assert_eq!(watcher.words(), ["modify file src/a.rs"]);
}

#[test]
fn lines_can_be_paths_or_numbers() {
    let sandbox = Sandbox::empty();
    for (args, wanted) in [
        (&["--format", "path"][..], "\"a\\nb\"\n"),
        (&["--format", "path", "-0"], "a\nb\0"),
        (&["--format", "path", "-z"], "a\nb\0"),
        (&["--format", "batch"], "1\n"),
    ] {
        let child = command(&sandbox)
            .args(["-1", "--no-ignore", "."])
            .args(args)
            .stdout(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        // Without records it does not say when it is ready; its socket does.
        let runtime = sandbox.home("auwai");
        while walkdir::WalkDir::new(&runtime)
            .into_iter()
            .flatten()
            .all(|entry| !entry.file_name().to_string_lossy().ends_with(".sock"))
        {
            std::thread::yield_now();
        }
        let asked = run(&sandbox, &["--sync", "."]);
        assert!(asked.status.success(), "{}", text(&asked.stderr));
        fs::write(sandbox.root().join("a\nb"), "x").unwrap();
        let out = child.wait_with_output().unwrap();
        assert_eq!(text(&out.stdout), wanted, "{args:?}");
        fs::remove_file(sandbox.root().join("a\nb")).unwrap();
    }
    let out = run(&sandbox, &["-0", "."]);
    assert_eq!(out.status.code(), Some(2));
}

/// Each watcher of a root answers for itself.
#[test]
fn every_watcher_is_asked() {
    let sandbox = Sandbox::empty();
    let (mut one, mut other) =
        (Watcher::start(&sandbox, &[]), Watcher::start(&sandbox, &["--backend", "poll"]));
    fs::write(sandbox.root().join("f"), "x").unwrap();
    assert_eq!(one.words(), ["create file f"]);
    assert_eq!(other.words(), ["create file f"]);
    let out = run(&sandbox, &["--sync", "."]);
    let kind = |line: &str| matches!(record::parse(line), Ok(Record::Barrier(_)));
    assert_eq!(text(&out.stdout).lines().filter(|line| kind(line)).count(), 2);
}

/// Who acts on what is told may want to know that somebody waits for it.
#[test]
fn questions_are_told_too_where_that_is_wanted() {
    let sandbox = Sandbox::empty();
    let mut watcher = Watcher::start(&sandbox, &["--barriers"]);
    let mut told = watcher.take();
    fs::write(sandbox.root().join("f"), "x").unwrap();
    (0..2).for_each(|_| told.extend(watcher.sync()));
    told.extend(watcher.kill());
    let shown: Vec<String> = told
        .iter()
        .map(|record| match record {
            Record::Ready(_) => "ready".to_string(),
            Record::Batch(batch) => format!("batch {}", batch.n),
            Record::Barrier(barrier) => format!("barrier {}", barrier.batch),
            other => words(other).unwrap(),
        })
        .collect();
    assert_eq!(shown, ["ready", "create file f", "batch 1", "barrier 1", "barrier 1"]);
}

/// Two writes within one tick of the file system's clock.
#[test]
fn polling_tells_of_a_fresh_file_again() {
    let sandbox = Sandbox::empty();
    let mut watcher = Watcher::start(&sandbox, &["--backend", "poll", "--interval", "100ms"]);
    fs::write(sandbox.root().join("f"), "x").unwrap();
    assert_eq!(watcher.words(), ["create file f"]);
    watcher.wait_for("the second telling", |record| {
        words(record).is_some_and(|line| line == "modify file f")
    });
}

/// A name that was mistyped destroyed the file of that name.
#[test]
fn a_file_that_is_not_its_own_is_not_written_over() {
    let sandbox = Sandbox::empty();
    sandbox.write("main.rs", "fn main() {}\n");
    std::os::unix::fs::symlink("kept", sandbox.root().join("link")).unwrap();
    for (name, code) in [("main.rs", "is not a file that --since has made"), ("no/seen", "")] {
        for mode in [&["--scan"][..], &["-1"]] {
            let out = run(&sandbox, &[mode, &["--since", name, "."]].concat());
            let told = text(&out.stderr);
            assert!(told.contains(code) && told.contains("hint: "), "{told}");
            assert_eq!(out.status.code(), Some(3), "{told}");
            assert!(!text(&out.stdout).contains("rescan"), "nothing is told before");
        }
    }
    assert_eq!(fs::read_to_string(sandbox.root().join("main.rs")).unwrap(), "fn main() {}\n");
    // A link is led along, and an empty file is taken.
    fs::write(sandbox.root().join("kept"), "").unwrap();
    assert!(run(&sandbox, &["--scan", "--since", "link", "."]).status.success());
    assert!(sandbox.root().join("link").is_symlink());
    assert!(fs::read(sandbox.root().join("kept")).unwrap().starts_with(b"auwai-since "));
}

#[test]
fn what_exists_and_is_not_told_is_no_answer() {
    let sandbox = Sandbox::empty();
    sandbox.write("a.rs", "");
    let asked = |glob: &str| {
        let args = ["-1", "--initial", "--max-seconds", "0.3", "-g", glob, "."];
        run(&sandbox, &args).status.code()
    };
    assert_eq!((asked("*.rs"), asked("*.c")), (Some(0), Some(1)));
}
