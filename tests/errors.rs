//! What goes wrong is said in one line with the command that helps, and by exit status.
//!
//! `SNAPSHOTS=overwrite cargo test --test suite errors` writes the snapshots anew.

mod disk;
mod evidence;
mod hints;
mod paths;
mod state;
mod suggested;
mod usage;

use std::fmt::Write as _;

use snapbox::{assert_data_eq, str};

use crate::support::site::{Site, Told};

/// The exit status and standard error, without what differs from place to place.
pub fn told(site: &Site, told: &Told) -> String {
    let mut text = String::new();
    let _ = writeln!(text, "exit {}", told.code());
    text.push_str(&told.err);
    let text = text.replace(&site.work("").display().to_string(), "[W]/");
    let text = text.replace(site.work("").display().to_string().trim_end_matches('/'), "[W]");
    text.replace(&site.path("").display().to_string(), "[SITE]/")
}

/// Without the ids of chunks, those that begin with `prefix` and the prefix itself included.
fn without_ids(text: &str, prefix: &str) -> String {
    let is_id = |word: &str| word.len() == 16 && word.bytes().all(|b| b.is_ascii_hexdigit());
    let words = text.split_inclusive(|c: char| !c.is_ascii_alphanumeric());
    let shown = words.map(|word| {
        let id = word.trim_end_matches(|c: char| !c.is_ascii_alphanumeric());
        if is_id(id) { word.replace(id, "[ID]") } else { word.replace(prefix, "[PREFIX]") }
    });
    shown.collect()
}

/// A repository `r` in a workspace `demo`, planned, with its first segment handed out.
fn planned() -> Site {
    let site = Site::new();
    let lines = (1..=300).map(|n| format!("let x = {n};\n"));
    site.write("r/a.rs", lines.collect::<String>());
    site.ok(&["workspace", "init", "demo"]);
    site.ok(&["workspace", "add", "r"]);
    site.ok(&["plan", "--context-window", "14k"]);
    site.ok(&["next"]);
    site
}

#[test]
fn nothing_is_planned_yet() {
    let site = Site::new();
    site.write("a.rs", "x\n");
    let told = |args: &[&str]| told(&site, &site.run(args));
    assert_data_eq!(
        told(&["next"]),
        str![[r#"
exit 3
auwai: there is no plan yet
hint: make one: `auwai plan`

"#]]
    );
    assert_data_eq!(
        told(&["read"]),
        str![[r#"
exit 3
auwai: there is no plan yet
hint: make one: `auwai plan`

"#]]
    );
    assert_data_eq!(
        told(&["read", "--segment", "read-1"]),
        str![[r#"
exit 3
auwai: there is no plan yet
hint: make one: `auwai plan`

"#]]
    );
    assert_data_eq!(
        told(&["verify", "--planned"]),
        str![[r#"
exit 3
auwai: there is no plan yet
hint: make one: `auwai plan`

"#]]
    );
}

#[test]
fn nothing_is_indexed_yet() {
    let site = Site::new();
    site.write("r/a.rs", "x\n");
    assert_data_eq!(
        told(&site, &site.sh("auwai-ledger chunks --repo r")),
        str![[r#"
exit 3
auwai-ledger: '[W]/r' is not indexed yet
hint: index it with `auwai index --repo [W]/r`

"#]]
    );
    site.ok(&["workspace", "init", "demo"]);
    site.ok(&["workspace", "add", "r"]);
    assert_data_eq!(
        told(&site, &site.sh("auwai-ledger chunks --workspace .")),
        str![[r#"
exit 3
auwai-ledger: '[W]/r' is not indexed yet
hint: index it with `auwai index --repo [W]/r`

"#]]
    );
    assert_data_eq!(
        told(&site, &site.sh("auwai-ledger verify --no-scan --workspace .")),
        str![[r#"
exit 3
auwai-ledger: '[W]/r' is not indexed yet
hint: index it with `auwai index --repo [W]/r`

"#]]
    );
}

#[test]
fn a_repository_that_was_moved_away() {
    let site = planned();
    std::fs::rename(site.work("r"), site.work("elsewhere")).unwrap();
    assert_data_eq!(
        told(&site, &site.run(&["verify"])),
        str![[r#"
exit 3
auwai: repository 'r' is not at '[W]/r' any more
hint: say where it is: `auwai workspace add NEWPATH --as r`
hint: or do without it: `auwai workspace remove r`

"#]]
    );
}

#[test]
fn there_is_no_such_workspace_or_folder() {
    let site = Site::new();
    assert_data_eq!(
        told(&site, &site.run(&["-W", "nope", "status"])),
        str![[r#"
exit 3
auwai: there is no workspace 'nope'
hint: see which there are: `auwai workspace list --all`
hint: or make it: `auwai workspace init nope --root DIR`

"#]]
    );
    assert_data_eq!(
        told(&site, &site.run(&["-C", "nope", "status"])),
        str![[r#"
exit 3
auwai: cannot change to 'nope': No such file or directory
hint: see which folders there are: `ls [W]`

"#]]
    );
    site.write("file", "");
    assert_data_eq!(
        told(&site, &site.run(&["-C", "file", "status"])),
        str![[r#"
exit 3
auwai: 'file' is not a folder
hint: give the folder that holds it: `auwai -C DIR COMMAND`

"#]]
    );
    site.ok(&["workspace", "init", "empty"]);
    assert_data_eq!(
        told(&site, &site.run(&["plan"])),
        str![[r#"
exit 3
auwai: workspace 'empty' has no repositories
hint: add one: `auwai workspace add PATH -W empty`

"#]]
    );
}

#[test]
fn repositories_that_cannot_be_added() {
    let site = planned();
    site.write("other/r/b.rs", "x\n");
    site.write("r/inner/c.rs", "x\n");
    site.write("file", "");
    for args in [&["other/r"][..], &["nope"], &["file"]] {
        let add = site.run(&[&["workspace", "add"], args].concat());
        assert_eq!(add.code(), 3, "{args:?}");
    }
    let add = |path: &str| told(&site, &site.run(&["workspace", "add", path]));
    assert_data_eq!(
        add("other/r"),
        str![[r#"
exit 3
auwai: the name 'r' is taken by '[W]/r'
hint: add it under another name: `auwai workspace add PATH --as NAME`
hint: or move that name here: `auwai workspace add PATH --as r`

"#]]
    );
    assert_data_eq!(
        add("nope"),
        str![[r#"
exit 3
auwai: cannot open '[W]/nope': No such file or directory
hint: see which folders there are: `ls [W]`

"#]]
    );
    let twice = site.run(&["workspace", "add", "r", "--as", "again"]);
    assert_data_eq!(
        told(&site, &twice),
        str![[r#"
exit 3
auwai: '[W]/r' is in the workspace already, as 'r'
hint: to call it otherwise: `auwai workspace remove r`, then add it

"#]]
    );
    assert_data_eq!(
        add("r/inner"),
        str![[r#"
exit 3
auwai: '[W]/r/inner' lies inside '[W]/r', whose repository 'r' has its files already
hint: bound the outer one to other folders: `auwai workspace add PATH --as r --only DIR`

"#]]
    );
    assert_data_eq!(
        told(&site, &site.run(&["workspace", "init", "demo", "--root", "other"])),
        str![[r#"
exit 3
auwai: the name 'demo' is taken by the workspace at '[W]'
hint: choose another: `auwai workspace init NAME`
hint: or use that one: `auwai status --workspace demo`

"#]]
    );
    assert_data_eq!(
        told(&site, &site.run(&["workspace", "remove", "nope"])),
        str![[r#"
exit 3
auwai: workspace 'demo' has no repository 'nope'
hint: it has r: `auwai workspace list`

"#]]
    );
}

#[test]
fn chunks_and_segments_that_are_not_there() {
    let site = planned();
    assert_data_eq!(
        told(&site, &site.run(&["read", "--segment", "read-99"])),
        str![[r#"
exit 3
auwai: the plan has no segment 'read-99'
hint: see those that are not done: `auwai status`

"#]]
    );
    assert_data_eq!(
        told(&site, &site.run(&["done", "--segment", "read-99"])),
        str![[r#"
exit 3
auwai: the plan has no segment 'read-99'
hint: see those that are not done: `auwai status`

"#]]
    );
    assert_data_eq!(
        told(&site, &site.run(&["read", "0123456789abcdef"])),
        str![[r#"
exit 3
auwai: no chunk and no file is '0123456789abcdef'
hint: an id is 16 hex digits or a unique prefix of 6 or more: `auwai-ledger coverage` lists them

"#]]
    );
    assert_data_eq!(
        told(&site, &site.run(&["read", "abcd"])),
        str![[r#"
exit 3
auwai: no chunk and no file is 'abcd'
hint: an id is 16 hex digits or a unique prefix of 6 or more: `auwai-ledger coverage` lists them

"#]]
    );
    assert_data_eq!(
        told(&site, &site.run(&["done", "-m", "x"])),
        str![[r#"
exit 1
auwai: 3 chunks are unread in segment 'read-1'
hint: `auwai read --segment read-1 --unread`

"#]]
    );
    assert_data_eq!(
        told(&site, &site.run(&["done", "--segment", "synthesis-1"])),
        str![[r#"
exit 1
auwai: 'synthesis-1' comes last: 2 read segments are not done
hint: read on: `auwai next`

"#]]
    );
    let other = site.run(&["read", "--reader", "ann"]);
    assert_data_eq!(
        told(&site, &other),
        str![[r#"
exit 1
auwai: reader 'ann' has no active segment
hint: begin with `auwai next --reader ann`

"#]]
    );
    assert_data_eq!(
        told(&site, &site.run(&["read", "--page", "9", "--max-chars", "9000"])),
        str![[r#"
exit 3
auwai: there is no page 9: 'read-1' has 1
hint: read the first page that is not complete: `auwai read --segment read-1 --max-chars 9000`

"#]]
    );
}

/// Two files of one short id begin alike only by chance: it takes some thousand chunks to see it.
#[test]
fn a_prefix_that_two_chunks_share() {
    let site = Site::new();
    for n in 0..6000 {
        site.write(format!("d{}/f{n}", n % 50), format!("{n}\n"));
    }
    site.ok(&["index"]);
    let ids = site
        .sh("auwai-ledger chunks --repo . | jq -r 'select(.type == \"chunk\") | .id[:6]' \
         | sort | uniq -d | head -1");
    let shared = ids.text().trim();
    if shared.is_empty() {
        panic!("no two of 6,000 chunks share six digits");
    }
    let found = site.run(&["read", shared]);
    assert_eq!(found.out, b"");
    let of_two = without_ids(&told(&site, &found), shared);
    assert_data_eq!(
        of_two,
        str![[r#"
exit 3
auwai: '[PREFIX]' could be [ID], [ID]
hint: give more digits, or the repository's name: `repo:id`

"#]]
    );
}

#[test]
fn a_window_that_is_too_small_names_one_that_works() {
    let site = Site::new();
    site.write("a.rs", (1..=300).map(|n| format!("let x = {n};\n")).collect::<String>());
    let small = site.run(&["plan", "--context-window", "10k"]).expect_code(3);
    let window = small.err.split("--context-window ").nth(1).unwrap();
    let window = window.split('`').next().unwrap().to_string();
    site.ok(&["plan", "--context-window", &window]);
    let less = (window.parse::<u64>().unwrap() - 1).to_string();
    let forced = site.run(&["plan", "--force", "--context-window", &less]).expect_code(3);
    assert!(forced.err.contains("`auwai plan --force --context-window"), "{}", forced.err);
    // Every command that is suggested works.
    let commands: Vec<&str> = small.err.split('`').skip(1).step_by(2).collect();
    assert_eq!(commands.len(), 2, "{}", small.err);
    for command in commands {
        let fresh = Site::new();
        fresh.write("a.rs", (1..=300).map(|n| format!("let x = {n};\n")).collect::<String>());
        fresh.sh(command).expect_code(0);
    }
    let id = small.err.split("chunk '").nth(1).unwrap().split('\'').next().unwrap().to_string();
    let redacted = told(&site, &small).replace(&window, "[WINDOW]").replace(&id, "[ID]");
    assert_data_eq!(
        redacted,
        str![[r#"
exit 3
auwai: a context window of 10,000 tokens is too small: chunk '[ID]' of 'a.rs' needs 826 as shown, and beside 4,096 for the prompt and 8,192 for the answer a segment may have 0
hint: the smallest that works: `auwai plan --context-window [WINDOW]`; or keep less beside it: `auwai plan --context-window 10000 --fixed-prompt 1000 --reserve 1000`

"#]]
    );
}

#[test]
fn a_failure_is_a_record_too_when_records_are_asked_for() {
    let site = planned();
    for (args, code) in [
        (&["done", "--json"][..], "not-read"),
        (&["done", "--json", "--segment", "read-99"], "unknown-segment"),
        (&["read", "--json"], "usage"),
        (&["help", "--json"], "usage"),
        (&["index", "--json", "--tokenizer", "words"], "usage"),
        (&["status", "--json", "-W", "nope"], "unknown-workspace"),
        (&["plan", "--json", "--context-window", "20k"], "planned"),
        (&["plan", "--json", "--force", "--context-window", "1k"], "window-too-small"),
        (&["-C", "nope", "--json", "status"], "not-found"),
        (&["verify", "--json"], "unread"),
        (&["why", "--json", "nope"], "not-found"),
    ] {
        let told = site.run(args);
        let last = told.text().lines().next_back().unwrap_or_default();
        let record: serde_json::Value = serde_json::from_str(last)
            .unwrap_or_else(|e| panic!("{args:?}: {e}: {last:?}: {}", told.err));
        assert_eq!((&record["type"], &record["code"]), (&"error".into(), &code.into()), "{args:?}");
        assert!(record["message"].is_string() && told.code() > 0, "{args:?}");
        assert!(told.err.contains(record["message"].as_str().unwrap()), "{args:?}");
    }
}

#[test]
fn an_output_that_nobody_reads_is_no_failure() {
    let site = planned();
    for args in [
        "plan",
        "next",
        "read",
        "status",
        "status --json",
        "unread",
        "workspace list",
        "workspace survey",
        "why r/a.rs",
        "index",
        "--help",
    ] {
        let told = site.sh(&format!("auwai {args} | true; exit ${{PIPESTATUS[0]}}"));
        assert_eq!(told.code(), 0, "{args}: {}", told.err);
        assert!(args == "read" || told.err.is_empty(), "{args}: {}", told.err);
    }
    // The answer stays the answer.
    let told = site.sh("auwai verify | true; exit ${PIPESTATUS[0]}");
    assert_eq!(told.code(), 1, "{}", told.err);
}

#[test]
fn an_output_that_cannot_be_written_is_a_failure() {
    let site = planned();
    for args in
        ["plan", "next", "read", "status", "unread", "workspace list", "verify", "why r/a.rs"]
    {
        let told = site.sh(&format!("auwai {args} >/dev/full"));
        assert_eq!(told.code(), 3, "{args}: {}", told.err);
        assert!(told.err.contains("No space left on device"), "{args}: {}", told.err);
    }
}
