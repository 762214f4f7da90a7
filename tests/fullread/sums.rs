//! What `verify`, `status` and `run` say in sums: each agrees with the others and with the tree.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use serde_json::Value;

use crate::support::site::{Site, is_root, skipped};

fn two() -> Site {
    let site = Site::new();
    for name in ["a", "b"] {
        let lines = (1..=300).map(|n| format!("let {name} = {n};\n"));
        site.write(format!("{name}/x.rs"), lines.collect::<String>());
        site.write(format!("{name}/y.rs"), "1\n");
    }
    site.ok(&["workspace", "init", "demo"]);
    site.ok(&["workspace", "add", "a"]);
    site.ok(&["workspace", "add", "b"]);
    site
}

/// The chunks and tokens of a command's `status` record.
fn sums(site: &Site, args: &[&str]) -> (Value, Value) {
    let told = site.run(&[args, &["--json"]].concat());
    let mut records = told.text().lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let status = records.find(|record| record["type"] == "status").unwrap();
    (status["chunks"].clone(), status["tokens"].clone())
}

#[test]
fn without_a_plan_the_rows_say_plan() {
    let site = two();
    let told = site.run(&["verify"]).expect_code(1);
    assert!(told.text().contains("in no plan, "), "{}", told.text());
    assert!(told.text().contains("  (auwai plan)\n"), "{}", told.text());
    assert!(!told.text().contains("--force"), "{}", told.text());
    site.ok(&["plan"]);
    site.write("a/new.rs", "2\n");
    let told = site.run(&["verify"]).expect_code(1);
    assert!(told.text().contains("  (auwai replan)\n"), "{}", told.text());
}

#[test]
fn nothing_to_read_is_not_called_all() {
    let site = Site::new();
    site.write("empty", "");
    site.ok(&["plan"]);
    let verify = site.run(&["verify"]).expect_code(0);
    assert_eq!(verify.text(), "no text to read\npaths: 1 text, 1 ignored\n");
    let status = site.ok(&["status"]);
    assert!(status.contains("\n0 of 1 segment, no text to read\n"), "{status}");
    let survey = site.ok(&["workspace", "survey"]);
    assert!(!survey.contains("100 %"), "{survey}");
}

#[test]
fn two_files_whose_names_look_alike_are_two() {
    use std::os::unix::ffi::OsStrExt;
    let site = Site::new();
    for name in [&b"a\xfe"[..], b"a\xff"] {
        site.write(std::ffi::OsStr::from_bytes(name), name);
    }
    let survey = site.ok(&["workspace", "survey"]);
    let all: Vec<&str> = survey.lines().nth(2).unwrap().split_whitespace().collect();
    assert_eq!(all[..3], ["all", "2", "2"], "{survey}");
}

#[test]
fn what_is_planned_is_counted_alike_when_the_tree_has_lost_it() {
    let site = two();
    site.ok(&["plan"]);
    site.ok(&["next"]);
    site.ok(&["read", "a/x.rs", "a/y.rs"]);
    let before = sums(&site, &["status"]);
    assert_eq!(sums(&site, &["verify", "--planned"]), before);
    // One file that was read, and one that was not; then a whole repository.
    fs::remove_file(site.work("a/x.rs")).unwrap();
    fs::remove_file(site.work("b/y.rs")).unwrap();
    site.run(&["verify"]).expect_code(1);
    assert_eq!(sums(&site, &["verify", "--planned"]), before);
    assert_eq!(sums(&site, &["status"]), before);
    site.ok(&["workspace", "remove", "b"]);
    assert_eq!(sums(&site, &["verify", "--planned"]), before);
    let told = site.run(&["verify", "--planned"]).expect_code(1);
    let of_x = |line: &str| line.starts_with("b:x.rs: changed since the plan");
    assert!(told.text().lines().any(of_x), "{}", told.text());
}

#[test]
fn what_cannot_be_read_is_not_called_all() {
    if !is_root() {
        skipped("what_cannot_be_read: only root can become somebody else");
        return;
    }
    let site = Site::new();
    site.write("a.rs", "x\n");
    site.write("secret.rs", "x\n");
    fs::set_permissions(site.work("secret.rs"), fs::Permissions::from_mode(0o000)).unwrap();
    fs::create_dir(site.path("free")).unwrap();
    fs::set_permissions(site.path("free"), fs::Permissions::from_mode(0o777)).unwrap();
    let free = site.path("free").display().to_string();
    let run = ["--state-dir", &free, "run", "--", "wc"];
    let told = site.run_as_nobody(&run).expect_code(1);
    assert!(told.err.contains(": 1 path below "), "{}", told.err);
    let sums = told.text().lines().find(|line| line.starts_with("read: ")).unwrap();
    assert!(sums.starts_with("read: 1 of 1 chunk, ") && !sums.contains('%'), "{sums}");
}

#[test]
fn one_nested_repository_is_told_as_one() {
    let site = Site::new();
    site.write("a.rs", "x\n");
    site.ok(&["run", "--", "wc"]);
    site.sh(
        "git init -q sub && git -C sub -c user.name=a -c user.email=a commit -q --allow-empty -m x",
    )
    .expect_code(0);
    let told = site.run(&["verify"]);
    let named = "not read: w:sub is a repository of its own\n";
    assert_eq!(told.text().matches(named).count(), 1, "{}", told.text());
}
