//! Command lines that are wrong.

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

#[test]
fn help_and_version_go_to_standard_output() {
    let site = Site::new();
    for args in [&["--version"][..], &["--help"], &["run", "--help"], &["read", "-h"]] {
        let told = site.run(args).expect_code(0);
        assert!(!told.out.is_empty() && told.err.is_empty(), "{args:?}");
    }
}
