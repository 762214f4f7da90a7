//! A segment a page at a time, for shells that cut long output in the middle.

use super::delivery::Segment;
use crate::support::site::{Told, tell};
use crate::support::text;

/// Reads pages until nothing is left, and gives them back.
fn read_all(segment: &Segment, most: usize, read: impl Fn() -> Told) -> Vec<String> {
    let mut pages = Vec::new();
    loop {
        let page = read().expect_code(0).text().to_string();
        assert!(page.chars().count() <= most, "{}", page.chars().count());
        let last = text::last(&page).to_string();
        pages.push(page);
        if last.starts_with("=== end of read-1") {
            assert_eq!(segment.complete(), segment_size(segment));
            return pages;
        }
        let place = format!("=== page {}/", pages.len());
        assert!(last.starts_with(&place) && last.contains("; go on: auwai read"), "{last}");
    }
}

fn segment_size(segment: &Segment) -> usize {
    let sql = "SELECT count(*) FROM chunks";
    segment.site.ask(".auwai/fullread/coverage.sqlite", sql).trim().parse().unwrap()
}

fn assert_whole(segment: &Segment, pages: &[String]) {
    assert!(pages.len() > 2);
    let bodies: Vec<String> = pages.iter().flat_map(|page| text::bodies(page)).collect();
    assert!(bodies == text::bodies(&segment.text), "not the whole segment");
}

#[test]
fn pages_until_the_last_are_the_whole_segment() {
    let segment = Segment::new(&[]);
    let pages = read_all(&segment, 9000, || segment.site.run(&["read", "--max-chars", "9000"]));
    assert_whole(&segment, &pages);
    for (page, n) in pages.iter().zip(1..) {
        let again = segment.site.ok(&["read", "--max-chars", "9000", "--page", &n.to_string()]);
        assert!(text::bodies(&again) == text::bodies(page), "page {n} is another");
    }
    let beyond = segment.site.run(&["read", "--max-chars", "9000", "--page", "99"]).expect_code(3);
    assert!(beyond.err.contains("there is no page 99"), "{}", beyond.err);
}

#[test]
fn the_environment_can_ask_for_pages() {
    let segment = Segment::new(&[]);
    let read = || {
        let mut command = segment.site.auwai(&["read"]);
        command.env("AUWAI_MAX_CHARS", "10000");
        tell(command)
    };
    assert_whole(&segment, &read_all(&segment, 10_000, read));
    let mut command = segment.site.auwai(&["read"]);
    command.env("AUWAI_MAX_CHARS", "many");
    let told = tell(command).expect_code(2);
    assert!(told.err.contains("AUWAI_MAX_CHARS is not a number above 0: 'many'"), "{}", told.err);
}

#[test]
fn a_plan_can_have_pages() {
    let segment = Segment::new(&["--page", "8000"]);
    assert_whole(&segment, &read_all(&segment, 8000, || segment.site.run(&["read"])));
}

#[test]
fn a_file_is_read_by_pages_with_the_command_that_is_suggested() {
    let segment = Segment::new(&[]);
    let args = ["read", "src/first.rs", "--max-chars", "6000"];
    let first = segment.site.ok(&args);
    assert!(text::last(&first).ends_with("; go on with --page 2"), "{}", text::last(&first));
    let second = segment.site.ok(&[&args[..], &["--page", "2"]].concat());
    let both = [text::bodies(&first), text::bodies(&second)].concat();
    assert!(both.len() > 200 && both == text::bodies(&segment.text)[..both.len()]);
}
