//! Time goes by, and every verb tells the truth of who has what.

use std::sync::atomic::{AtomicU64, Ordering};

use super::*;

/// Ann had a segment for half an hour, and has not been heard of.
fn lapsed() -> Desk {
    let desk = Desk::planned(2, 4);
    CLOCK.set(0);
    desk.claim("ann");
    desk.feed(&["mark"], &first(2)).unwrap();
    CLOCK.set(1800);
    desk
}

/// The deliveries of the first chunks of the first segment, which has four.
fn first(chunks: usize) -> Vec<u8> {
    deliveries(1, 4)
        .split_inclusive(|byte| *byte == b'\n')
        .take(chunks)
        .flatten()
        .copied()
        .collect()
}

#[test]
fn who_has_what_and_until_when_is_told() {
    let desk = Desk::planned(2, 4);
    CLOCK.set(60);
    desk.claim("ann");
    desk.run(&["claim", "--reader", "bob", "--lease", "never"]).unwrap();
    let told = desk.status().active;
    let until: Vec<_> = told.iter().map(|holder| holder.until.as_deref()).collect();
    assert_eq!(until, [Some("1970-01-01T00:31:00Z"), None]);
    let error = desk.run(&["claim", "--reader", "eve"]).unwrap_err();
    let said = "reader ann has read-1 since 1970-01-01T00:01:00Z, until 1970-01-01T00:31:00Z, \
        reader bob has read-2 since 1970-01-01T00:01:00Z";
    assert!(error.to_string().contains(said), "{error}");
}

#[test]
fn what_has_run_out_is_pending_for_whoever_looks() {
    let desk = lapsed();
    let status = desk.status();
    assert_eq!(counts(&status), [0, 0, 3, 8, 2, 80, 20]);
    assert_eq!((status.active.len(), status.pending[0].0.as_str()), (0, "read-1"));
    let desk = lapsed();
    assert_eq!(desk.run(&["segments", "--status", "active"]).unwrap().len(), 1, "the end alone");
    let desk = lapsed();
    desk.run(&["coverage"]).unwrap();
    let table =
        "SELECT status, (SELECT count(*) FROM claims) FROM segments WHERE segment_id = 'read-1'";
    assert_eq!(desk.ask(table), "[('pending', 0)]", "scripts see it too");
    let exported = std::fs::read_to_string(desk.state("fullread.json")).unwrap();
    assert!(!exported.contains("\"active\""), "{exported}");
}

/// A clock for deliveries, which are committed on a thread of their own.
static SECONDS: AtomicU64 = AtomicU64::new(0);

#[test]
fn a_delivery_renews() {
    let mut desk = Desk::planned(2, 4);
    desk.now = || UNIX_EPOCH + Duration::from_secs(SECONDS.load(Ordering::SeqCst));
    desk.claim("ann");
    SECONDS.store(1000, Ordering::SeqCst);
    desk.feed(&["mark", "--reader", "ann", "--segment", "read-1"], &first(3)).unwrap();
    SECONDS.store(2799, Ordering::SeqCst);
    assert_eq!(desk.status().active[0].until.as_deref(), Some("1970-01-01T00:46:40Z"));
    desk.feed(&["mark", "--reader", "eve", "--segment", "read-1"], &first(3)).unwrap();
    SECONDS.store(2800, Ordering::SeqCst);
    assert!(desk.status().active.is_empty(), "who reads what another has renews nothing");
}

#[test]
fn a_late_reader_goes_on_while_nobody_else_has_begun() {
    let desk = lapsed();
    assert_eq!(desk.status().active.len(), 0);
    desk.feed(&["mark", "--reader", "ann", "--segment", "read-1"], &deliveries(1, 4)).unwrap();
    CLOCK.set(9000);
    assert_eq!(desk.status().active.len(), 0);
    desk.run(&["close", "--reader", "ann", "--segment", "read-1", "-m", "late"]).unwrap();
    assert_eq!(desk.status().segments.unwrap().done, 1);
}

#[test]
fn a_reader_that_lost_its_segment_is_told_who_has_it() {
    let desk = lapsed();
    assert_eq!(desk.claim("bob").id.0, "read-1");
    for args in
        [&["renew"][..], &["renew", "--segment", "read-1"], &["close", "--segment", "read-1"]]
    {
        let error = desk.run(&[args, &["--reader", "ann"]].concat()).unwrap_err();
        assert_eq!(error.code(), "lost-lease");
        assert!(error.to_string().contains("reader 'bob' has it since 1970-01-01T00:30:00Z"));
    }
    // What is delivered late is read all the same, and the reader is told.
    let late = desk.feed(&["mark", "--reader", "ann", "--segment", "read-1"], &deliveries(1, 4));
    assert_eq!(late.unwrap_err().code(), "lost-lease");
    assert_eq!(desk.status().chunks.complete, 4);
    desk.run(&["close", "--reader", "bob", "-m", "found"]).unwrap();
    assert_eq!(desk.code(&["close", "--reader", "ann", "--segment", "read-1"]), "lost-lease");
    assert_eq!(desk.findings().matches("found").count(), 1);
}

#[test]
fn a_lease_of_nothing_is_no_lease() {
    for odd in ["0", "0s", "soon", "-5s", ""] {
        let args = ["auwai-ledger", "claim", "--lease", odd];
        assert!(Ledger::try_parse_from(args).is_err(), "{odd}");
    }
}
