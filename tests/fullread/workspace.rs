//! Two repositories planned, read, closed and verified.

use std::fs;
use std::io::Read;

use crate::support::site::{Site, wait_until};
use crate::support::text;

const COVERAGE: &str = ".auwai/workspace/coverage.sqlite";
/// A window in which no chunk of these trees is too large, and no repository fits.
const SMALL: &str = "14000";

/// Lines that a chunk boundary can fall between.
fn source(name: &str, lines: usize) -> String {
    (1..=lines).map(|n| format!("let {name} = {n};\n")).collect()
}

/// A workspace `demo` of two repositories `a` and `b`.
fn demo() -> Site {
    let site = Site::new();
    site.write("a/one.rs", source("one", 150));
    site.write("a/two.rs", source("two", 90));
    site.write("b/one.rs", source("one", 120));
    site.ok(&["workspace", "init", "demo"]);
    site.ok(&["workspace", "add", "a"]);
    site.ok(&["workspace", "add", "b"]);
    site
}

fn planned(window: &str) -> Site {
    let site = demo();
    site.ok(&["plan", "--context-window", window]);
    site
}

fn count(site: &Site, sql: &str) -> u64 {
    site.ask(COVERAGE, sql).trim().parse().unwrap()
}

fn complete(site: &Site) -> u64 {
    count(site, "SELECT count(*) FROM chunks WHERE complete = 1")
}

/// The id of the segment that `next` hands out.
fn next(site: &Site) -> Option<String> {
    let told = site.run(&["next", "--json"]);
    let record: serde_json::Value = serde_json::from_slice(&told.out).unwrap();
    (told.code() == 0).then(|| record["id"].as_str().unwrap().to_string())
}

#[test]
fn two_repositories_are_planned_read_closed_and_verified() {
    let site = planned(SMALL);
    site.run(&["verify"]).expect_code(1);
    let (mut shown, mut segments) = (String::new(), Vec::new());
    while let Some(id) = next(&site) {
        if id != "synthesis-1" {
            let refused = site.run(&["done"]).expect_code(1);
            assert!(refused.err.contains("unread in segment"), "{}", refused.err);
        }
        shown += &site.ok(&["read"]);
        site.ok(&["done", "--summary", &format!("seen {id}")]);
        segments.push(id);
    }
    assert!(segments.len() > 3 && segments.last().unwrap() == "synthesis-1", "{segments:?}");
    let shown = text::files(&shown);
    assert_eq!(shown.len(), 3);
    for (file, lines) in shown {
        let content = fs::read_to_string(site.work(file.replace(':', "/"))).unwrap();
        let (numbers, lines): (Vec<u64>, Vec<String>) = lines.into_iter().unzip();
        assert_eq!(lines.concat(), content, "{file}");
        assert_eq!(numbers, (1..=content.lines().count() as u64).collect::<Vec<_>>());
    }
    let verified = site.ok(&["verify"]);
    assert!(verified.contains(" tokens (100 %)\n"), "{verified}");
    let findings = fs::read_to_string(site.work(".auwai/workspace/findings.md")).unwrap();
    for id in &segments {
        assert_eq!(findings.matches(&format!("\n    seen {id}\n")).count(), 1, "{findings}");
    }
    let done = "SELECT count(*) FROM segments WHERE status = 'done' AND done_at >= started_at";
    assert_eq!(count(&site, done), segments.len() as u64);
}

#[test]
fn every_planned_chunk_has_a_row_of_coverage() {
    let site = planned(SMALL);
    let plan = fs::read(site.work(".auwai/workspace/fullread.json")).unwrap();
    let plan: serde_json::Value = serde_json::from_slice(&plan).unwrap();
    let ids = plan["segments"].as_array().unwrap().iter();
    let mut ids: Vec<_> = ids.filter_map(|s| s["chunk_ids"].as_array()).flatten().collect();
    ids.sort_by_key(|id| id.as_str().unwrap().to_string());
    let ids: String = ids.into_iter().map(|id| format!("{}\n", id.as_str().unwrap())).collect();
    let rows = "SELECT repo || ':' || chunk_id FROM chunks WHERE complete = 0 AND read_at IS NULL
        ORDER BY 1";
    assert_eq!(site.ask(COVERAGE, rows), ids);
    // And every chunk is planned: the index of the repositories says how many there are.
    let chunks = site.sh("auwai-ledger chunks --repo a --repo b | grep -c '\"type\":\"chunk\"'");
    assert_eq!(chunks.text().trim(), ids.lines().count().to_string());
    let columns = |table: &str| site.ask(COVERAGE, &format!("PRAGMA table_info({table})"));
    assert_eq!(
        columns("chunks"),
        "0 repo TEXT 1 None 1\n1 chunk_id TEXT 1 None 2\n2 path TEXT 1 None 0\n\
         3 read_at TEXT 0 None 0\n4 complete INTEGER 1 0 0\n"
    );
    assert_eq!(
        columns("segments"),
        "0 segment_id TEXT 0 None 1\n1 status TEXT 1 None 0\n2 started_at TEXT 0 None 0\n\
         3 done_at TEXT 0 None 0\n4 tokens INTEGER 1 0 0\n"
    );
}

#[test]
fn a_segment_that_spans_two_repositories_reads_both() {
    let site = planned("65536");
    let id = next(&site).unwrap();
    let shown = text::files(&site.ok(&["read", "--segment", &id]));
    assert_eq!(shown.into_keys().collect::<Vec<_>>(), ["a:one.rs", "a:two.rs", "b:one.rs"]);
    for repo in ["a", "b"] {
        let left = format!("SELECT count(*) FROM chunks WHERE repo = '{repo}' AND complete = 0");
        assert_eq!(count(&site, &left), 0);
    }
    // Small windows cut where they must, also between repositories.
    site.ok(&["plan", "--force", "--context-window", SMALL]);
    let segments = site.sh("auwai-ledger segments | jq -r 'select(.type == \"segment\") \
        | [.files[].repo] | unique | join(\"+\")'");
    assert!(segments.text().lines().any(|line| line == "a+b"), "{}", segments.text());
}

#[test]
fn force_resets_the_coverage_and_keeps_the_reads() {
    let site = planned("65536");
    next(&site).unwrap();
    site.ok(&["read"]);
    let (read, all) = (complete(&site), count(&site, "SELECT count(*) FROM chunks"));
    assert_eq!(read, all);
    site.ok(&["plan", "--force"]);
    assert_eq!(complete(&site), 0);
    assert_eq!(count(&site, "SELECT count(*) FROM reads"), read);
    assert_eq!(count(&site, "SELECT count(*) FROM segments WHERE status != 'pending'"), 0);
    site.run(&["verify"]).expect_code(1);
}

#[test]
fn reading_twice_is_reading_once() {
    let site = planned(SMALL);
    next(&site).unwrap();
    let first = site.ok(&["read"]);
    let rows = "SELECT * FROM chunks ORDER BY repo, chunk_id";
    let (before, reads) = (site.ask(COVERAGE, rows), count(&site, "SELECT count(*) FROM reads"));
    assert_eq!(site.ok(&["read"]), first);
    assert_eq!(site.ask(COVERAGE, rows), before);
    assert_eq!(count(&site, "SELECT count(*) FROM reads"), reads);
    site.ok(&["done", "-m", "x"]);
    let done = site.ask(COVERAGE, "SELECT * FROM segments ORDER BY segment_id");
    site.ok(&["done", "--segment", "read-1", "-m", "x"]);
    site.run(&["done", "--segment", "read-1", "-m", "y"]).expect_code(1);
    assert_eq!(site.ask(COVERAGE, "SELECT * FROM segments ORDER BY segment_id"), done);
}

#[test]
fn a_missing_repository_or_chunk_is_named() {
    let site = planned("65536");
    next(&site).unwrap();
    fs::remove_file(site.work("a/two.rs")).unwrap();
    let told = site.run(&["read"]).expect_code(3);
    let left = count(&site, "SELECT count(*) FROM chunks WHERE complete = 0 AND path = 'two.rs'");
    assert_eq!(count(&site, "SELECT count(*) FROM chunks WHERE complete = 0"), left);
    assert!(left > 0 && told.err.contains("changed since"), "{}", told.err);
    assert!(told.err.contains("hint: "), "{}", told.err);
    assert!(text::last(told.text()).contains(&format!("not shown: {left}")), "{}", told.text());
    let refused = site.run(&["done", "-m", "all read"]).expect_code(1);
    assert!(refused.err.contains("unread in segment 'read-1'"), "{}", refused.err);
    fs::rename(site.work("b"), site.work("elsewhere")).unwrap();
    for verb in ["read", "verify", "plan", "unread"] {
        let told = site.run(&[verb]).expect_code(3);
        assert!(told.err.contains("repository 'b' is not at "), "{verb}: {}", told.err);
        assert!(told.err.contains("auwai workspace add NEWPATH --as b"), "{verb}: {}", told.err);
    }
    site.ok(&["workspace", "add", "elsewhere", "--as", "b"]);
    // What was read of it stands, and what is gone from the tree is not missing in it.
    site.ok(&["verify"]);
}

#[test]
fn planning_again_changes_nothing() {
    let site = planned(SMALL);
    next(&site).unwrap();
    site.ok(&["read"]);
    let rows = "SELECT * FROM chunks JOIN segments ORDER BY repo, chunk_id, segment_id";
    let before = site.ask(COVERAGE, rows);
    for again in [&["plan"][..], &["plan", "--context-window", SMALL]] {
        let told = site.ok(again);
        assert!(told.contains("(made before, unchanged)"), "{again:?}: {told}");
    }
    let refused = site.run(&["plan", "--context-window", "20k"]).expect_code(1);
    assert!(refused.err.contains("--force"), "{}", refused.err);
    assert_eq!(site.ask(COVERAGE, rows), before);
    assert_eq!(count(&site, "SELECT count(*) FROM plans"), 1);
}

#[test]
fn a_plan_by_another_tokenizer_stays_in_force_too() {
    let site = demo();
    site.ok(&["plan", "--tokenizer", "cl100k_base", "--page", "3000"]);
    let told = site.ok(&["plan"]);
    assert!(told.contains("(made before, unchanged)"), "{told}");
    site.ok(&["run", "--", "wc", "-w"]);
}

#[test]
fn a_segment_whose_reader_was_killed_is_read_again() {
    let site = planned("65536");
    let id = next(&site).unwrap();
    let mut reader = site.start(&["read", "--drain", "1h"]);
    let mut some = vec![0; 1500];
    reader.stdout.as_mut().unwrap().read_exact(&mut some).unwrap();
    wait_until("a chunk", || complete(&site) > 0);
    reader.kill().unwrap();
    reader.wait().unwrap();
    drop(reader.stdout.take());
    let taken = complete(&site);
    assert!(taken < count(&site, "SELECT count(*) FROM chunks"));
    assert_eq!(next(&site).as_ref(), Some(&id));
    let whole = site.ok(&["read"]);
    assert!(whole.as_bytes().starts_with(&some));
    site.ok(&["done", "-m", "x"]);
    assert_eq!(complete(&site), count(&site, "SELECT count(*) FROM chunks"));
    assert_eq!(count(&site, "SELECT count(*) FROM reads"), complete(&site));
}

#[test]
fn the_verbs_of_the_design_review_are_these() {
    let site = demo();
    let review = |words: &str| {
        let args = format!("workspace fullread {words}");
        let mut args: Vec<&str> = args.split(' ').collect();
        if words.contains("--summary") {
            args.push("all of it, to the end");
        }
        site.run(&args)
    };
    review("plan --workspace demo --context-window 65536").expect_code(0);
    for idempotent in ["plan", "status --json", "unread", "verify --planned", "next", "read"] {
        let words = format!("{idempotent} --workspace demo");
        let ours = site.run(&words.split(' ').collect::<Vec<_>>());
        let theirs = review(&words);
        assert_eq!((theirs.code(), theirs.text()), (ours.code(), ours.text()), "{words}");
    }
    review("next --workspace demo").expect_code(0);
    review("read --workspace demo --segment read-1").expect_code(0);
    review("done --workspace demo --segment read-1 --summary").expect_code(0);
    review("next --workspace demo").expect_code(0);
    review("done --workspace demo --segment synthesis-1").expect_code(0);
    let status = review("status --workspace demo --json").expect_code(0);
    let status: serde_json::Value = serde_json::from_slice(&status.out).unwrap();
    assert_eq!(status["segments"], serde_json::json!({"total":2,"done":2,"active":0,"pending":0}));
    review("verify --workspace demo").expect_code(0);
}

#[test]
fn a_changed_file_is_never_shown_under_an_old_id() {
    let site = planned("65536");
    next(&site).unwrap();
    let before = fs::metadata(site.work("a/one.rs")).unwrap().modified().unwrap();
    let other = source("one", 150).replace("let one = 77;", "let one = 99;");
    site.write("a/one.rs", &other);
    // The same size and the same time: only the bytes tell.
    let file = fs::File::options().write(true).open(site.work("a/one.rs")).unwrap();
    file.set_modified(before).unwrap();
    let told = site.run(&["read"]).expect_code(3);
    assert!(!told.text().contains("77\tlet one = 99;"), "{}", told.text());
    assert!(told.text().contains("=== b:one.rs lines 1-120 of 120"), "{}", told.text());
    assert!(told.err.contains("hint: "), "{}", told.err);
    let missing = count(&site, "SELECT count(*) FROM chunks WHERE complete = 0");
    assert_eq!(missing, 1);
    assert!(!text::last(told.text()).contains("auwai done"), "{}", text::last(told.text()));
    site.run(&["verify"]).expect_code(1);
}

#[test]
fn the_verdict_does_not_depend_on_who_reads_it() {
    let site = Site::new();
    for n in 0..800 {
        site.write(format!("a_folder_with_a_long_name/and_a_file_with_one_too_{n}.rs"), "x\n");
    }
    site.ok(&["plan"]);
    let said = site.sh("{ auwai verify; echo \"status $?\" >&2; } | head -n 1");
    assert!(said.err.contains("status 1"), "{}", said.err);
}

#[test]
fn a_plan_made_again_keeps_its_options() {
    let site = Site::new();
    site.write("a.rs", "x\n");
    site.ok(&["plan", "--context-window", "20k", "--page", "9000"]);
    site.ok(&["plan", "--force"]);
    let told = site.sh("auwai-ledger segments --workspace . --plan | head -n 1");
    let policy = told.text();
    assert!(policy.contains("\"context_window\":20000"), "{policy}");
    assert!(policy.contains("\"page\":9000"), "{policy}");
}
