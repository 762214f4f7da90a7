//! `read PATH` of what has no text, or none that is planned.

use std::fs;

use snapbox::{assert_data_eq, str};

use super::{planned, told};
use crate::support::site::Site;

/// A planned repository with a file of most fates.
fn mixed() -> Site {
    let site = Site::new();
    site.sh("git init -q").expect_code(0);
    site.write("a.rs", (1..=300).map(|n| format!("let x = {n};\n")).collect::<String>());
    site.write("binary", [b'a', 0, b'b']);
    site.write("empty", "");
    site.write("folder/b.rs", "x\n");
    site.write(".gitignore", "*.log\n");
    site.write("noise.log", "x\n");
    std::os::unix::fs::symlink("a.rs", site.work("link")).unwrap();
    site.ok(&["plan", "--context-window", "14k"]);
    site
}

#[test]
fn what_has_no_text_says_what_it_is() {
    let site = mixed();
    let read = |path: &str| {
        let read = site.run(&["read", path]);
        assert_eq!(read.text(), "", "{path}");
        told(&site, &read)
    };
    assert_data_eq!(
        read("binary"),
        str![[r#"
exit 3
auwai: there is nothing to read: 'binary' is binary
hint: see what becomes of it and why: `auwai why binary`

"#]]
    );
    assert_data_eq!(
        read("empty"),
        str![[r#"
exit 3
auwai: there is nothing to read: 'empty' is an empty file
hint: see what becomes of it and why: `auwai why empty`

"#]]
    );
    assert_data_eq!(
        read("folder"),
        str![[r#"
exit 3
auwai: 'folder' is a folder, and only files have text
hint: name a file in it: `auwai-ledger files --repo [W]`

"#]]
    );
    assert_data_eq!(
        read("noise.log"),
        str![[r#"
exit 3
auwai: there is nothing to read: 'noise.log' is ignored
hint: see what becomes of it and why: `auwai why noise.log`

"#]]
    );
    assert_data_eq!(
        read("link"),
        str![[r#"
exit 3
auwai: there is nothing to read: 'link' is a symbolic link, and links are not followed
hint: see what becomes of it and why: `auwai why link`

"#]]
    );
    // The command that the hint names says it too.
    for (path, fate) in [("binary", "binary"), ("noise.log", "ignored"), ("link", "symlink")] {
        let why = site.ok(&["why", path]);
        assert!(why.starts_with(&format!("{path}: {fate}")), "{why}");
    }
}

#[test]
fn text_that_is_not_in_the_plan_is_not_printed() {
    let site = mixed();
    site.write("new.rs", "let y = 1;\n");
    let read = || {
        let read = site.run(&["read", "new.rs"]);
        assert_eq!(read.text(), "");
        told(&site, &read)
    };
    assert_data_eq!(
        read(),
        str![[r#"
exit 3
auwai: there is nothing to read: 'new.rs' is not in the index: it is ignored, or new
hint: see what becomes of it and why: `auwai why new.rs`; or take in what is new: `auwai replan`

"#]]
    );
    site.ok(&["index"]);
    assert_data_eq!(
        read(),
        str![[r#"
exit 3
auwai: 'new.rs' is not in the plan, so it cannot be marked
hint: let the plan follow the tree: `auwai replan`; or see it without a mark: `auwai-ledger show --repo w=[W] new.rs | auwai-ledger print`

"#]]
    );
    // Nor is what stands before it on the command line.
    assert_eq!(site.run(&["read", "a.rs", "new.rs"]).expect_code(3).text(), "");
    // The way to see it.
    let shown = site.sh("auwai-ledger show --repo . new.rs | auwai-ledger print").expect_code(0);
    assert!(shown.text().contains("let y = 1;"), "{}", shown.text());
}

#[test]
fn of_a_changed_file_what_stands_is_printed_and_marked() {
    let site = planned();
    let text = fs::read_to_string(site.work("r/a.rs")).unwrap();
    site.write("r/a.rs", text + "let z = 0;\n");
    site.ok(&["index", "--repo", "r"]);
    let read = site.run(&["read", "r/a.rs"]);
    assert!(read.text().contains("let x = 1;") && !read.text().contains("let z"));
    assert_data_eq!(
        told(&site, &read),
        str![[r#"
exit 3
auwai: 1 chunk has changed since the plan
hint: let the plan follow the tree: `auwai replan`

"#]]
    );
    let complete = "SELECT count(*) FROM chunks WHERE complete = 1";
    assert_ne!(site.ask(".auwai/workspace/coverage.sqlite", complete), "0\n");
}

#[test]
fn a_chunk_that_changed_since_the_plan() {
    let site = planned();
    site.write("r/a.rs", "all is new\n");
    assert_data_eq!(
        told(&site, &site.run(&["read"])),
        str![[r#"
exit 3
auwai: 3 chunks have changed since the plan
hint: let the plan follow the tree: `auwai replan`

"#]]
    );
    // Without a plan it is the index that is behind.
    assert_data_eq!(
        told(&site, &site.sh("auwai-ledger show --repo r a.rs >../out")),
        str![[r#"
exit 3
auwai-ledger: 4 chunks have changed since the index was made
hint: bring it up to date: `auwai index`

"#]]
    );
}
