#![cfg(test)]
//! Leases run out, come back, and are lost.

#![allow(clippy::unwrap_used)]

use super::lease::Moment;
use super::testing::{ask, now, plan, reads};
use super::*;
use crate::record::Holder;

const AT: &str = "1970-01-01T00:00:00Z";

/// A plan of three segments of two chunks.
fn desk() -> (tempfile::TempDir, Coverage) {
    let dir = tempfile::tempdir().unwrap();
    let (coverage, _) =
        Coverage::adopt(dir.path(), &mut &plan(3, 2, 65_536)[..], false, AT).unwrap();
    (dir, coverage)
}

fn claim(coverage: &mut Coverage, reader: &str, at: u64) -> String {
    match coverage.claim(ask(reader), &now(at)).unwrap() {
        Handed::Segment(placed) => placed.segment.id.0,
        other => format!("{other:?}"),
    }
}

fn mark(coverage: &mut Coverage, segment: u64) {
    let marking = Marking { reader: "x".into(), how: How::Shown };
    coverage.mark(&reads(segment, 2), &marking, AT).unwrap();
}

fn code(result: Result<()>) -> String {
    result.unwrap_err().code().to_string()
}

#[test]
fn what_has_run_out_goes_to_the_next_who_asks() {
    let (_dir, mut coverage) = desk();
    assert_eq!(claim(&mut coverage, "ann", 0), "read-1");
    assert_eq!(claim(&mut coverage, "bob", 1799), "read-2");
    mark(&mut coverage, 1);
    assert_eq!(claim(&mut coverage, "eve", 1800), "read-1");
    assert_eq!(coverage.counters().unwrap().chunks.complete, 2, "what was delivered stays read");
    let id = SegmentId("read-1".into());
    let told = coverage.close(&id, "ann", None, AT).unwrap_err();
    assert_eq!(told.code(), "lost-lease");
    let said = told.to_string();
    let wanted = "the lease of 'read-1' ran out (1970-01-01T00:30:00Z): \
        reader 'eve' has it since 1970-01-01T00:30:00Z";
    assert_eq!(said, wanted);
    assert_eq!(coverage.renew("ann", Some(&id), &now(1801)).unwrap_err().code(), "lost-lease");
    assert_eq!(coverage.renew("ann", None, &now(1801)).unwrap_err().code(), "lost-lease");
    // Nor when it is done: nobody closes it twice.
    coverage.close(&id, "eve", Some("found"), AT).unwrap();
    for summary in [None, Some("found"), Some("mine")] {
        assert_eq!(code(coverage.close(&id, "ann", summary, AT)), "lost-lease");
    }
    coverage.close(&id, "eve", Some("found"), AT).unwrap();
}

#[test]
fn who_is_late_and_is_first_has_its_segment_still() {
    let (_dir, mut coverage) = desk();
    claim(&mut coverage, "ann", 0);
    coverage.give_back(&now(4000)).unwrap();
    assert_eq!(coverage.counters().unwrap().segments.active, 0);
    let again = coverage.renew("ann", None, &now(4000)).unwrap();
    assert_eq!(again.segment.0, "read-1");
    assert_eq!(again.until.as_deref(), Some("1970-01-01T01:36:40Z"));
    coverage.give_back(&now(9000)).unwrap();
    assert_eq!(claim(&mut coverage, "ann", 9000), "read-1", "before what nobody had");
    coverage.give_back(&now(19_000)).unwrap();
    mark(&mut coverage, 1);
    coverage.close(&SegmentId("read-1".into()), "ann", Some("late"), AT).unwrap();
    assert_eq!(coverage.renew("ann", None, &now(19_000)).unwrap_err().code(), "no-active");
}

#[test]
fn a_reader_that_took_another_is_not_told_of_the_old_one() {
    let (_dir, mut coverage) = desk();
    claim(&mut coverage, "ann", 0);
    claim(&mut coverage, "bob", 1800);
    assert_eq!(claim(&mut coverage, "ann", 1801), "read-2");
    mark(&mut coverage, 2);
    coverage.close(&SegmentId("read-2".into()), "ann", None, AT).unwrap();
    assert_eq!(coverage.renew("ann", None, &now(1802)).unwrap_err().code(), "no-active");
    assert_eq!(code(coverage.close(&SegmentId("read-1".into()), "ann", None, AT)), "lost-lease");
}

#[test]
fn a_lease_that_is_renewed_does_not_run_out() {
    let (_dir, mut coverage) = desk();
    claim(&mut coverage, "ann", 0);
    for at in [1000, 2000, 3000, 4000] {
        coverage.renew("ann", None, &now(at)).unwrap();
        assert!(!coverage.give_back(&now(at + 1799)).unwrap());
    }
    assert_eq!(claim(&mut coverage, "ann", 5000), "read-1");
    assert!(!coverage.give_back(&now(6799)).unwrap(), "to ask renews too");
    assert!(coverage.give_back(&now(6800)).unwrap());
}

#[test]
fn without_a_term_nothing_runs_out() {
    let (_dir, mut coverage) = desk();
    coverage.claim(Ask { term: None, ..ask("ann") }, &now(0)).unwrap();
    assert!(!coverage.give_back(&now(u64::from(u32::MAX))).unwrap());
    let [holder] = &coverage.holders(&now(5)).unwrap()[..] else { panic!("one has") };
    assert_eq!(holder.until, None);
}

#[test]
fn a_clock_that_was_set_back_keeps_nothing_for_longer_than_a_lease() {
    let (_dir, mut coverage) = desk();
    let day = |seconds| Moment { up: None, ..now(seconds) };
    coverage.claim(ask("ann"), &day(1_000_000)).unwrap();
    coverage.claim(ask("bob"), &day(100)).unwrap();
    let until = |holders: Vec<Holder>| holders[0].until.clone().unwrap();
    assert_eq!(until(coverage.holders(&day(100)).unwrap()), "1970-01-01T00:31:40Z");
    assert!(!coverage.give_back(&day(1899)).unwrap());
    let handed = coverage.claim(ask("eve"), &day(1900)).unwrap();
    let Handed::Segment(placed) = handed else { panic!("{handed:?}") };
    assert_eq!(placed.segment.id.0, "read-1");
}
