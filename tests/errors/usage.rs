//! Command lines that are wrong.

use snapbox::{assert_data_eq, str};

use super::told;
use crate::support::site::{Site, tell};

#[test]
fn a_wrong_command_line_exits_with_2_and_touches_nothing() {
    let site = Site::new();
    site.write("a.rs", "x\n");
    for args in [
        &["no-such-verb"][..],
        &["plan", "--context-window", "many"],
        &["plan", "--safety", "1.5"],
        &["plan", "--tokenizer", "words"],
        &["read", "--segment", "read-1", "a.rs"],
        &["read", "--max-chars", "0"],
        &["read", "--page", "0"],
        &["done", "-m", "x", "-F", "y"],
        &["run"],
        &["run", "--jobs", "0", "--", "true"],
        &["next", "--reader", "a/b"],
        &["workspace", "init", "a/b"],
        &["workspace", "init"],
        &["why"],
        &["read", "--drain", "soon"],
        &["help", "plan", "nosuch"],
        &["help", "records", "nosuch"],
    ] {
        let told = site.run(args);
        assert_eq!((told.code(), told.text()), (2, ""), "{args:?}: {}", told.err);
        assert!(!told.err.is_empty() && !told.err.contains("panicked"), "{args:?}: {}", told.err);
    }
    assert!(!site.work(".auwai").exists());
}

#[test]
fn a_reader_in_the_environment_that_is_no_name() {
    let site = Site::new();
    site.write("a.rs", "x\n");
    site.ok(&["plan"]);
    for verb in ["next", "read", "done"] {
        let mut command = site.auwai(&[verb]);
        command.env("AUWAI_READER", "a/b");
        let told = tell(command).expect_code(2);
        let first = told.err.lines().next().unwrap();
        assert!(first.starts_with("auwai: AUWAI_READER is not the name of a reader"), "{first}");
        assert!(told.err.contains("hint: "), "{}", told.err);
    }
}

/// The porcelain cannot know every value: the stage that does says it, in its own words and once.
#[test]
fn what_only_a_stage_can_judge_is_told_as_if_there_were_none() {
    let site = Site::new();
    site.write("a.rs", "x\n");
    assert_data_eq!(
        told(&site, &site.run(&["index", "--tokenizer", "words"])),
        str![[r#"
exit 2
auwai: invalid value 'words' for '--tokenizer <TOKENIZER>': not a tokenizer: 'words' (o200k_base, cl100k_base or bytes/4)
hint: see `auwai index --help`

"#]]
    );
    let stage = site.sh("AUWAI_ERRORS=json auwai-ledger scan --repo . --tokenizer words");
    assert_eq!(stage.code(), 2);
    let record: serde_json::Value = serde_json::from_str(&stage.err).unwrap();
    assert_eq!((&record["type"], &record["code"]), (&"error".into(), &"usage".into()));
    assert_eq!(stage.out, b"");
    let both = site.sh("AUWAI_ERRORS=json auwai next --json --reader a/b").expect_code(2);
    assert_eq!(both.text(), both.err);
    serde_json::from_str::<serde_json::Value>(both.text()).unwrap();
}

#[test]
fn text_is_no_records() {
    let site = Site::new();
    site.write("a.rs", "x\n");
    site.ok(&["plan"]);
    let err = |args: &[&str]| {
        let refused = site.run(args);
        assert_eq!(refused.text().lines().count(), 1, "{}", refused.text());
        told(&site, &refused)
    };
    assert_data_eq!(
        err(&["--json", "read", "a.rs"]),
        str![[r#"
exit 2
auwai: `auwai read` prints text: it takes no --json
hint: the text as records: `auwai-ledger show --workspace [W] ID|PATH`

"#]]
    );
    assert_data_eq!(
        err(&["--json", "read"]),
        str![[r#"
exit 2
auwai: `auwai read` prints text: it takes no --json
hint: the text as records: `auwai-ledger show --workspace [W] --segment ID`

"#]]
    );
    assert_data_eq!(
        err(&["--json", "help", "read"]),
        str![[r#"
exit 2
auwai: `auwai help` prints text: it takes no --json
hint: the records are described by `auwai help records`

"#]]
    );
}

#[test]
fn workspaces_are_told_as_records() {
    let site = Site::new();
    site.write("r/a.rs", "x\n");
    for args in [&["init", "demo"][..], &["add", "r"], &["list"], &["remove", "r"]] {
        let told = site.ok(&[&["--json", "workspace"], args].concat());
        let record: serde_json::Value = serde_json::from_str(&told).unwrap();
        let name = if args[0] == "init" { "demo" } else { "r" };
        assert_eq!((&record["type"], &record["name"]), (&"repo".into(), &name.into()), "{args:?}");
    }
}

#[test]
fn a_topic_that_is_no_command() {
    let site = Site::new();
    assert_data_eq!(
        told(&site, &site.run(&["help", "plan", "nosuch"])),
        str![[r#"
exit 2
auwai: 'auwai plan' has no command 'nosuch'
hint: see what there is: `auwai help plan`

"#]]
    );
}

#[test]
fn help_and_version_go_to_standard_output() {
    let site = Site::new();
    for args in [&["--version"][..], &["--help"], &["run", "--help"], &["read", "-h"]] {
        let told = site.run(args).expect_code(0);
        assert!(!told.out.is_empty() && told.err.is_empty(), "{args:?}");
    }
}

#[test]
fn a_name_on_a_wrong_command_line_forges_nothing() {
    let site = Site::new();
    for name in ["\x1b]0;pwn\x07\x1b[31m\nauwai: all is read", "x\u{9b}2J\u{2028}hint: y"] {
        let told = site.run(&["status", name]).expect_code(2);
        assert!(told.err.chars().all(|c| c == '\n' || !c.is_control()), "{:?}", told.err);
        assert!(!told.err.contains('\u{2028}'), "{:?}", told.err);
        assert!(told.err.lines().all(|line| !line.starts_with("auwai: all")), "{:?}", told.err);
    }
}
