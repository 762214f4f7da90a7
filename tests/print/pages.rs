//! Pages: whole chunks, a limit that holds, and the way through them.

use auwai::record::Body;

use super::case::{Case, file, plain, some, stream};

const LIMIT: usize = 4_000;

fn page(bodies: &[Body], more: &[&str]) -> String {
    let limit = LIMIT.to_string();
    let args = [&["--segment", "read-3", "--max-chars", &limit], more].concat();
    let done = plain(&stream(bodies), &args);
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    String::from_utf8(done.stdout).unwrap()
}

fn last_line(text: &str) -> &str {
    text.trim_end().rsplit('\n').next().unwrap()
}

/// Reads one page as a reader would, and marks what was acknowledged.
fn read_a_page(bodies: &mut [Body]) -> String {
    let limit = LIMIT.to_string();
    let case = Case::with(bodies.to_vec(), &["--segment", "read-3", "--max-chars", &limit]);
    assert_eq!(case.shell("$P | cat >got"), 0);
    let acked = case.acked();
    for body in bodies.iter_mut().filter(|body| acked.contains(&body.id.0)) {
        assert!(!body.complete, "printed again: {}", body.id);
        body.complete = true;
    }
    case.read("got")
}

#[test]
fn page_after_page_everything_is_read_once() {
    let (mut bodies, mut pages) = (some(1500), Vec::new());
    loop {
        let text = read_a_page(&mut bodies);
        assert!(text.chars().count() <= LIMIT);
        pages.push(text);
        if bodies.iter().all(|body| body.complete) {
            break;
        }
    }
    let of = pages.len();
    assert!(of > 5, "{of}");
    for (text, n) in pages.iter().zip(1..of) {
        let meant = format!("=== page {n}/{of} of read-3; go on: auwai read --segment read-3");
        assert_eq!(last_line(text), meant);
    }
    let end = format!(
        "=== end of read-3: page {of}/{of}, all {} chunks; then: auwai done --segment read-3",
        bodies.len()
    );
    assert_eq!(last_line(&pages[of - 1]), end);
    let fresh = some(1500);
    for (text, n) in pages.iter().zip(1..) {
        let again = page(&fresh, &["--page", &n.to_string()]);
        let lines = |text: &str| text.trim_end().rsplit_once('\n').unwrap().0.to_string();
        assert_eq!(lines(&again), lines(text), "page {n} depends on what was read");
    }
}

#[test]
fn when_all_is_read_only_the_last_line_is_left() {
    let done = some(900).into_iter().map(|body| Body { complete: true, ..body });
    let text = page(&done.collect::<Vec<_>>(), &[]);
    assert_eq!(text.lines().count(), 1);
    assert!(text.starts_with("=== end of read-3: all "), "{text}");
    assert!(text.ends_with("; then: auwai done --segment read-3\n"), "{text}");
}

#[test]
fn the_last_page_does_not_claim_the_end_while_another_is_unread() {
    let bodies = some(900);
    let of = last_line(&page(&bodies, &[])).split(['/', ' ']).nth(3).unwrap().to_string();
    let text = page(&bodies, &["--page", &of]);
    let meant = format!("=== page {of}/{of} of read-3; go on: auwai read --segment read-3");
    assert_eq!(last_line(&text), meant);
}

#[test]
fn only_the_unread_chunks_of_a_page() {
    let mut bodies = some(900);
    bodies.iter_mut().step_by(2).for_each(|body| body.complete = true);
    let text = page(&bodies, &["--unread"]);
    assert!(text.chars().count() <= LIMIT);
    assert!(text.starts_with("=== r:a/first.rs lines 21-40 of 300\n21\t"), "{text}");
}

#[test]
fn a_chunk_that_is_longer_than_a_page_is_printed_and_named() {
    let bodies = file("a", &format!("{}\n", "x".repeat(5_000)), 1, 1);
    let args = ["--segment", "read-3", "--max-chars", "1000"];
    let done = plain(&stream(&bodies), &args);
    let chars = String::from_utf8(done.stdout).unwrap().chars().count().to_string();
    let err = String::from_utf8(done.stderr).unwrap();
    assert!(err.contains(&format!("needs --max-chars {chars};")), "{err}");
    let enough = plain(&stream(&bodies), &["--segment", "read-3", "--max-chars", &chars]);
    assert_eq!(enough.stderr, b"");
}

#[test]
fn there_is_no_page_after_the_last() {
    let args = ["--segment", "read-3", "--max-chars", "4000", "--page", "99"];
    let done = plain(&stream(&some(300)), &args);
    assert_eq!((done.status.code(), done.stdout.as_slice()), (Some(3), &b""[..]));
    assert!(String::from_utf8(done.stderr).unwrap().contains("there is no page 99: 'read-3' has "));
}
