//! Paths and words that are listed and taken, whatever they are made of.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use auwai::record::{self, Record};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use crate::support::git::{Sandbox, fields};

fn tree() -> Sandbox {
    let sandbox = Sandbox::repository();
    sandbox.write("plain", "a");
    sandbox.write("two\nlines", "b");
    sandbox.write_bytes(b"raw\xff", "c");
    sandbox.write("src/main.rs", "d");
    sandbox.write("logo", "\0");
    sandbox.commit();
    let output = ledger(&sandbox, &["scan", "--repo", "."], b"");
    assert!(output.status.success());
    sandbox
}

fn ledger(sandbox: &Sandbox, args: &[&str], input: &[u8]) -> Output {
    start(env!("CARGO_BIN_EXE_auwai-ledger"), sandbox, &sandbox.root(), args, input)
}

fn start(program: &str, sandbox: &Sandbox, dir: &Path, args: &[&str], input: &[u8]) -> Output {
    let mut child = Command::new(program)
        .args(args)
        .current_dir(dir)
        .env_clear()
        .envs(sandbox.vars())
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // A verb that takes no input may close it.
    let _ = child.stdin.take().unwrap().write_all(input);
    child.wait_with_output().unwrap()
}

fn records(output: &Output) -> Vec<Record> {
    let talk = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{talk}");
    let text = std::str::from_utf8(&output.stdout).unwrap();
    text.lines().map(|line| record::parse(line).unwrap()).collect()
}

#[test]
fn files_lists_what_git_lists_ended_by_nul() {
    let sandbox = tree();
    let listed = |args: &[&str]| {
        let output = ledger(&sandbox, &[&["files", "--repo", "."], args].concat(), b"");
        assert!(output.status.success());
        fields(&output.stdout).into_iter().collect::<BTreeSet<_>>()
    };
    let by_git: BTreeSet<_> = fields(&sandbox.git(&["ls-files", "-z"])).into_iter().collect();
    let read = ["--fate", "text", "--fate", "binary"];
    assert_eq!(listed(&[&["-0"], &read[..]].concat()), by_git);
    assert_eq!(listed(&[&["-z"], &read[..]].concat()), by_git);
    assert_eq!(listed(&["-0", "--fate", "binary"]), BTreeSet::from([b"logo".to_vec()]));
}

#[test]
fn paths_without_records_are_of_one_repository() {
    let sandbox = tree();
    let output = ledger(&sandbox, &["files", "--repo", ".", "--repo", "b=.", "-0"], b"");
    assert_eq!(output.status.code(), Some(2));
}

#[test]
fn why_takes_any_path_from_standard_input() {
    let sandbox = tree();
    let listed = sandbox.git(&["ls-files", "-z"]);
    let told = records(&ledger(&sandbox, &["why", "--repo", ".", "--stdin", "-0"], &listed));
    let path = |record: &Record| match record {
        Record::File(file) => file.repo_path().unwrap().as_bytes().to_vec(),
        other => panic!("{other:?}"),
    };
    let (end, files) = told[1..].split_last().unwrap();
    assert_eq!(files.iter().map(path).collect::<Vec<_>>(), fields(&listed));
    assert!(matches!(end, Record::End(end) if end.count == files.len() as u64), "{end:?}");
}

#[test]
fn why_takes_a_path_a_line() {
    let sandbox = tree();
    let told =
        records(&ledger(&sandbox, &["why", "--repo", ".", "--stdin"], b"plain\nsrc/main.rs"));
    assert!(matches!(
        &told[..],
        [Record::Repo(_), Record::File(_), Record::File(_), Record::End(_)]
    ));
    let none = records(&ledger(&sandbox, &["why", "--repo", ".", "--stdin"], b""));
    assert!(matches!(&none[..], [Record::Repo(_), Record::End(end)] if end.count == 0), "{none:?}");
    let missing = ledger(&sandbox, &["why", "--repo", ".", "--stdin"], b"two\nlines\n");
    assert_eq!(missing.status.code(), Some(3));
}

#[test]
fn show_takes_what_files_lists() {
    let sandbox = tree();
    let listed = ledger(&sandbox, &["files", "--repo", ".", "--fate", "text", "-0"], b"").stdout;
    let shown = records(&ledger(&sandbox, &["show", "--repo", ".", "--stdin", "-0"], &listed));
    let text = |record: &Record| match record {
        Record::Body(body) => Some(body.text.clone()),
        _ => None,
    };
    let texts: BTreeSet<String> = shown.iter().filter_map(text).collect();
    assert_eq!(texts, ["a", "b", "c", "d"].map(String::from).into());
}

#[test]
fn words_and_standard_input_exclude_each_other() {
    let sandbox = tree();
    for args in [
        &["why", "--repo", ".", "--stdin", "plain"][..],
        &["why", "--repo", "."],
        &["why", "--repo", ".", "-0", "plain"],
        &["show", "--repo", ".", "--stdin", "plain"],
        &["show", "--repo", "."],
        &["show", "-W", ".", "--segment", "read-1", "--stdin"],
        &["show", "-W", ".", "--segment", "read-1", "-0"],
    ] {
        assert_eq!(ledger(&sandbox, args, b"").status.code(), Some(2), "{args:?}");
    }
}

/// Runs `auwai` in a folder; must succeed.
fn auwai(sandbox: &Sandbox, dir: &Path, args: &[&str]) -> String {
    let output = start(env!("CARGO_BIN_EXE_auwai"), sandbox, dir, args, b"");
    let talk = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{args:?}: {talk}");
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn a_folder_may_be_called_like_an_option() {
    let sandbox = Sandbox::empty();
    for (folder, name) in [("--json", "json"), ("-x", "x"), ("\u{440}\u{435}", "root")] {
        sandbox.write(&format!("{folder}/a"), "a");
        let told = auwai(&sandbox, &sandbox.root().join(folder), &["plan"]);
        assert!(told.contains(&format!("\n  {name}: 1 chunk\n")), "{told}");
    }
}

#[test]
fn a_root_that_is_not_utf8_is_said_exactly() {
    let sandbox = Sandbox::empty();
    sandbox.write_bytes(b"caf\xe9/a", b"a");
    let root = sandbox.root().join(OsStr::from_bytes(b"caf\xe9"));
    let told = auwai(&sandbox, &root, &["plan", "--json"]);
    let plan: serde_json::Value = serde_json::from_str(&told).unwrap();
    let under = |key: &str| {
        let path = root.join(".auwai/fullread").join(key);
        STANDARD.encode(path.as_os_str().as_bytes())
    };
    assert_eq!(plan["root_b64"], STANDARD.encode(root.as_os_str().as_bytes()));
    assert_eq!(plan["coverage_b64"], under("coverage.sqlite"));
    assert_eq!(plan["fullread_b64"], under("fullread.json"));
    let export = std::fs::read(root.join(".auwai/fullread/fullread.json")).unwrap();
    let export: serde_json::Value = serde_json::from_slice(&export).unwrap();
    assert_eq!(export["root_b64"], plan["root_b64"]);
}

#[test]
fn a_finding_may_begin_like_an_option() {
    let sandbox = Sandbox::repository();
    sandbox.write("a", "a");
    sandbox.commit();
    let listing =
        ["run", "--", "sh", "-c", "cat >/dev/null; echo '- one'; printf -- '--two\\0\\n'"];
    auwai(&sandbox, &sandbox.root(), &listing);
    let findings = sandbox.root().join(".auwai/fullread/findings.md");
    let text = std::fs::read_to_string(findings).unwrap();
    assert!(text.contains("- one\n") && text.contains("--two\\x00\n"), "{text}");
    auwai(&sandbox, &sandbox.root(), &["plan", "--force"]);
    auwai(&sandbox, &sandbox.root(), &["next"]);
    auwai(&sandbox, &sandbox.root(), &["read"]);
    auwai(&sandbox, &sandbox.root(), &["done", "-m", "- three"]);
}

#[test]
fn a_policy_names_the_subtrees_of_a_workspace() {
    let sandbox = Sandbox::empty();
    let root = sandbox.root();
    sandbox.write("core/src/a", "a");
    sandbox.write("core/-docs/b", "b");
    sandbox.write("core/c", "c");
    auwai(&sandbox, &root, &["workspace", "init", "demo"]);
    auwai(&sandbox, &root, &["workspace", "add", "core", "--only", "src", "--only=-docs"]);
    auwai(&sandbox, &root, &["plan"]);
    let listed = records(&ledger(&sandbox, &["segments", "--plan"], b""));
    let Record::Policy(policy) = &listed[0] else { panic!("{:?}", listed[0]) };
    assert_eq!(policy.scope, ["core/-docs", "core/src"]);
    let Record::Plan(plan) = &listed[listed.len() - 2] else { panic!() };
    assert_eq!(plan.chunks, 2);
}

#[test]
fn why_says_of_a_tracked_path_that_is_gone_what_the_index_says() {
    let sandbox = Sandbox::repository();
    for path in ["file-now/f", "link-now/f", "folder-now", "gone/f", "empty-now/f", "kept/f"] {
        sandbox.write(path, "x");
    }
    sandbox.write("out/f", "x");
    sandbox.write(".auwai-ignore", "out/\n");
    sandbox.commit();
    let root = sandbox.root();
    for folder in ["file-now", "link-now", "gone", "empty-now", "out"] {
        std::fs::remove_dir_all(root.join(folder)).unwrap();
    }
    std::fs::remove_file(root.join("folder-now")).unwrap();
    sandbox.write("file-now", "x");
    sandbox.write("folder-now/in", "x");
    std::fs::create_dir(root.join("empty-now")).unwrap();
    std::os::unix::fs::symlink("kept", root.join("link-now")).unwrap();
    assert!(ledger(&sandbox, &["scan", "--repo", "."], b"").status.success());
    let fates = |output: Output| {
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let lines = String::from_utf8(output.stdout).unwrap();
        let records = lines.lines().map(|line| record::parse(line).unwrap());
        let files = records.filter_map(|record| match record {
            Record::File(file) => Some((file.path.clone(), file.fate)),
            _ => None,
        });
        files.collect::<Vec<_>>()
    };
    let absent = fates(ledger(&sandbox, &["files", "--repo", ".", "--fate", "absent"], b""));
    assert_eq!(absent.len(), 5, "{absent:?}");
    for (path, fate) in absent {
        let why = fates(ledger(&sandbox, &["why", "--repo", ".", &path], b""));
        assert_eq!(why, [(path, fate)]);
    }
}

/// `-C DIR` is the folder from which all paths of a command are seen.
#[test]
fn paths_are_seen_from_the_folder_that_is_named() {
    let sandbox = tree();
    let auwai = |args: &[&str]| {
        let program = env!("CARGO_BIN_EXE_auwai");
        start(program, &sandbox, &sandbox.root(), args, b"")
    };
    assert!(auwai(&["plan"]).status.success());
    let told = auwai(&["-C", "src", "read", "main.rs"]);
    let text = String::from_utf8(told.stdout).unwrap();
    assert!(text.starts_with("=== tree:src/main.rs line 1 of 1"), "{text}");
    assert!(auwai(&["-C", "src", "log", "main.rs"]).stdout.starts_with(b"20"));
}
