#![cfg(test)]
//! Any sequence of steps leaves totals that a count agrees with.

#![allow(clippy::unwrap_used)]

use proptest::prelude::*;

use super::testing::{ask, now, plan, reads};
use super::*;

const SEGMENTS: u64 = 4;
const CHUNKS: u64 = 3;
const AT: &str = "1970-01-01T00:00:00Z";

#[derive(Debug, Clone)]
enum Step {
    Claim(u8),
    Release(u64, Option<u8>),
    Mark(u64, usize),
    Close(u64, u8, bool),
    Renew(u8),
    /// Time goes by, in minutes.
    Wait(u8),
    Force,
}

fn step() -> impl Strategy<Value = Step> {
    let (segment, reader) = (1..=SEGMENTS + 1, 0..3u8);
    prop_oneof![
        4 => reader.clone().prop_map(Step::Claim),
        1 => (segment.clone(), prop::option::of(reader.clone()))
            .prop_map(|(segment, reader)| Step::Release(segment, reader)),
        6 => (1..=SEGMENTS, 1..=CHUNKS as usize).prop_map(|(n, chunks)| Step::Mark(n, chunks)),
        6 => (segment, reader.clone(), any::<bool>()).prop_map(|(n, who, says)| Step::Close(n, who, says)),
        1 => Just(Step::Force),
        2 => reader.prop_map(Step::Renew),
        3 => (1..40u8).prop_map(Step::Wait),
    ]
}

fn segment(n: u64) -> SegmentId {
    SegmentId(if n > SEGMENTS { "synthesis-1".to_string() } else { format!("read-{n}") })
}

/// Takes a step; a refusal is as good as a success.
fn take(coverage: &mut Coverage, step: &Step, time: &mut u64) {
    let reader = |n: &u8| format!("reader-{n}");
    if let Step::Wait(minutes) = step {
        *time += u64::from(*minutes) * 60;
    }
    let now = now(*time);
    let _ = match step {
        Step::Wait(_) => coverage.give_back(&now).map(|_| ()),
        Step::Renew(who) => coverage.renew(&reader(who), None, &now).map(|_| ()),
        Step::Claim(who) => coverage.claim(ask(&reader(who)), &now).map(|_| ()),
        Step::Release(n, who) => {
            coverage.release(&segment(*n), who.as_ref().map(reader).as_deref())
        }
        Step::Mark(n, chunks) => {
            let marking = Marking { reader: reader(&0), how: How::Shown };
            coverage.mark(&reads(*n, CHUNKS)[..*chunks], &marking, AT).map(|_| ())
        }
        Step::Close(n, who, says) => {
            coverage.close(&segment(*n), &reader(who), says.then_some("found"), AT)
        }
        Step::Force => {
            let stream = plan(SEGMENTS, CHUNKS, 65_536);
            Coverage::adopt(&coverage.dir, &mut &stream[..], true, AT).map(|_| ())
        }
    };
}

fn number(coverage: &Coverage, sql: &str) -> u64 {
    let count = coverage.db.read(|c| Ok(c.query_row(sql, [], |row| row.get::<_, i64>(0))?));
    count.unwrap().cast_unsigned()
}

/// Everything that is kept, against a count of what it is about.
fn check(coverage: &Coverage) {
    let kept = coverage.counters().unwrap();
    let count = |sql: &str| number(coverage, sql);
    let of =
        |status: &str| count(&format!("SELECT count(*) FROM segments WHERE status = '{status}'"));
    let statuses = (kept.segments.pending, kept.segments.active, kept.segments.done);
    assert_eq!(statuses, (of("pending"), of("active"), of("done")));
    assert_eq!(kept.chunks.complete, count("SELECT sum(complete) FROM chunks"));
    assert_eq!(kept.tokens.complete, 10 * kept.chunks.complete);
    assert_eq!(kept.tokens.planned, 10 * kept.chunks.planned);
    let unread = "SELECT sum(unread) FROM segment_progress";
    assert_eq!(kept.chunks.planned - kept.chunks.complete, count(unread));
    let left = "SELECT count(*) FROM segments WHERE segment_id LIKE 'read-%' AND status <> 'done'";
    assert_eq!(kept.read_segments_left, count(left));
    let queued = "SELECT count(*) FROM segment_records r JOIN segments s USING (segment_id)
        WHERE (kind = 'read' AND status = 'pending') <> (seq IN (SELECT seq FROM queue))";
    assert_eq!(count(queued), 0);
    let claimed = "SELECT count(*) FROM segments
        WHERE (status = 'active') <> (segment_id IN (SELECT segment_id FROM claims))";
    assert_eq!(count(claimed), 0);
    assert_eq!(count("SELECT count(*) - count(DISTINCT reader) FROM claims"), 0);
    // Nobody is told of having lost what it has, or has closed.
    assert_eq!(count("SELECT count(*) FROM lapses JOIN claims USING (segment_id, reader)"), 0);
    let early = "SELECT count(*) FROM segments s JOIN segment_records r USING (segment_id)
        JOIN segment_progress p USING (seq) WHERE status = 'done' AND unread > 0";
    assert_eq!(count(early), 0);
    assert_eq!(count("SELECT count(*) FROM findings WHERE appended = 0"), 0);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn totals_are_what_a_count_says(steps in prop::collection::vec(step(), 1..40)) {
        let dir = tempfile::tempdir().unwrap();
        let stream = plan(SEGMENTS, CHUNKS, 65_536);
        let (mut coverage, _) = Coverage::adopt(dir.path(), &mut &stream[..], false, AT).unwrap();
        let (mut history, mut findings, mut time) = (0, 0, 0);
        for step in &steps {
            take(&mut coverage, step, &mut time);
            check(&coverage);
            let now = |table| number(&coverage, &format!("SELECT count(*) FROM {table}"));
            prop_assert!(now("reads") >= history && now("findings") >= findings);
            (history, findings) = (now("reads"), now("findings"));
        }
        let text = std::fs::read_to_string(findings_path(dir.path())).unwrap_or_default();
        prop_assert_eq!(text.matches("    found\n").count() as u64, findings);
    }
}
