//! Segments whose text has outgrown the budget since they were planned: their lines have longer
//! numbers.

use super::{check, next, planned_by, read_all, unread};
use crate::support::site::Site;

/// What `planned_by` leaves a segment.
const BUDGET: usize = 8100;

/// Files of short lines with numbers of up to three digits, which fill two segments and more.
fn site() -> Site {
    let text = |name| (1..=900).map(|n| format!("{name}{n}\n")).collect::<String>();
    planned_by(
        "o200k_base",
        &["a", "b", "c", "d", "e", "f", "g", "h"].map(|name| (name, text(name))),
    )
}

/// Numbers of four digits for all that stood there; a file of its own would not.
const GROW: &str = "for f in a b c d e f g h; do { seq 1000 1999; cat $f; } > t; mv t $f; done; \
    auwai index > /dev/null";

/// The first page of the first segment; what stood first in the files has changed.
fn in_pages(site: &Site) -> String {
    let page = ["--segment", "read-1", "--max-chars", "30000", "--page", "1"];
    let told = site.run(&[&["read"], &page[..]].concat()).expect_code(3);
    assert!(told.err.contains("changed since the plan"), "{}", told.err);
    told.text().to_string()
}

/// By another tokenizer than ours.
fn tokens(text: &str) -> usize {
    bpe_openai::o200k_base().count(text)
}

#[test]
fn a_segment_that_has_outgrown_its_budget_is_given_back_and_divided() {
    let site = site();
    assert_eq!(next(&site).as_deref(), Some("read-1"));
    assert!(tokens(&site.ok(&["read"])) <= BUDGET);
    site.sh(GROW).expect_code(0);
    let told = site.run(&["read"]).expect_code(3);
    assert_eq!(told.text(), "");
    assert!(told.err.contains("segment 'read-1' has outgrown its budget"), "{}", told.err);
    assert!(in_pages(&site).contains("page 1/"));
    assert!(told.err.contains("`auwai-ledger release --segment read-1`"), "{}", told.err);
    site.sh("auwai-ledger release --segment read-1").expect_code(0);
    let told = site.run(&["read", "--segment", "read-3"]).expect_code(3);
    assert!(told.err.contains("segment 'read-3' has outgrown its budget"), "{}", told.err);
    assert!(told.err.contains("`auwai replan`") && !told.err.contains("release"), "{}", told.err);
    site.ok(&["replan"]);
    check(&site);
    while let Some(id) = next(&site).filter(|id| id.starts_with("read-")) {
        let printed = tokens(&site.ok(&["read"]));
        assert!(printed <= BUDGET, "{id}: {printed}");
        site.ok(&["done", "-m", &id]);
    }
    assert_eq!(unread(&site), []);
}

#[test]
fn a_done_segment_that_has_outgrown_its_budget_is_printed_in_pages() {
    let site = site();
    read_all(&site);
    site.sh(GROW).expect_code(0);
    let told = site.run(&["read", "--segment", "read-1"]).expect_code(3);
    assert!(told.err.contains("`auwai read --segment read-1 --max-chars 30000`"), "{}", told.err);
    assert!(!told.err.contains("replan"), "{}", told.err);
    assert!(in_pages(&site).contains("\ta500\n"));
}

#[test]
fn a_run_divides_what_has_outgrown_its_budget_and_goes_on() {
    let site = site();
    let script = format!(
        "cat > ../input.$AUWAI_SEGMENT; if mkdir .auwai/once 2> /dev/null; then {GROW}; fi"
    );
    site.run(&["run", "--", "sh", "-c", &script]).expect_code(0);
    assert_eq!(unread(&site), []);
    let inputs = site.sh("ls ../input.read-*").expect_code(0);
    for name in inputs.text().lines() {
        let input = std::fs::read_to_string(site.work(name)).unwrap();
        let shown = input.split_once("=== ").map_or("", |(_, shown)| shown);
        assert!(tokens(shown) <= BUDGET, "{name}: {}", tokens(shown));
    }
}
