//! How a revised plan is written over the one in force: only what differs.

use rusqlite::{OptionalExtension, Transaction, params};

use super::adopt::note_revision;
use super::history::made_by;
use super::loader::{Lists, Loader};
use super::marks::{Kept, keep_read};
use super::replan::{After, Before, FreedRead, NewSegment, Replanned, TakenRead, number};
use super::{Counters, How, counters, to_json};
use crate::error::Error;
use crate::record::{ChunkId, Plan, PlanRepo, Policy, SegmentKind, SegmentStatus};
use crate::store::db::Work;

/// Who has read what has moved, where the history does not say it.
const READER: &str = "auwai";

/// Writes `after` over `before`; `gone` are the places of the chunks that leave.
pub(super) fn rewrite(
    tx: &Transaction<'_>,
    before: &Before,
    gone: &[usize],
    freed: &[FreedRead],
    after: After<'_>,
    at: &str,
) -> Work<Replanned> {
    let After { policy, mut segments, last_read, taken, reopens } = after;
    // First, since what has other bytes than were read comes again under its id.
    remove(tx, before, gone)?;
    let mut writer = Writer::new(tx, before, gone)?;
    segments.by_ref().try_for_each(|segment| writer.put(&segment))?;
    let plan = segments.plan();
    writer.drop_the_rest()?;
    let left = before.chunks.len() - gone.len();
    let done = Replanned {
        existing: gone.is_empty()
            && !writer.changed
            && is_same(&plan, &before.plan)
            && policy == before.policy,
        added: writer.totals.chunks.planned.saturating_sub(left as u64),
        removed: gone.len() as u64,
        moved: taken.len() as u64,
        plan,
    };
    if done.existing {
        if done.plan != before.plan {
            put_plan(tx, &done.plan, &policy)?;
        }
        return Ok(done);
    }
    writer.loader.settle()?;
    if reopens {
        writer.reopen()?;
    }
    let mut totals = writer.totals;
    totals.last_read = last_read;
    put_plan(tx, &done.plan, &policy)?;
    note_revision(tx, &totals, &done.plan.id, at)?;
    counters::store(tx, &totals)?;
    for taken in &taken {
        take_over(tx, &freed[taken.from], taken, (totals.generation, &done.plan.id), at)?;
    }
    Ok(done)
}

/// Whether two plans differ in nothing but the fingerprints of their repositories.
fn is_same(plan: &Plan, before: &Plan) -> bool {
    let repos = |plan: &Plan| -> Vec<PlanRepo> {
        plan.repos.iter().map(|repo| PlanRepo { fingerprint: None, ..repo.clone() }).collect()
    };
    let bare = |plan: &Plan| Plan { repos: repos(plan), ..plan.clone() };
    bare(plan) == bare(before)
}

fn put_plan(tx: &Transaction<'_>, plan: &Plan, policy: &Policy) -> Work<()> {
    let sql = "UPDATE plans SET plan_id = ?, policy = ?, plan = ?
        WHERE generation = (SELECT generation FROM counters)";
    tx.execute(sql, params![plan.id, to_json(policy)?, to_json(plan)?])?;
    Ok(())
}

/// Puts segments into their tables, and counts.
struct Writer<'tx> {
    tx: &'tx Transaction<'tx>,
    before: &'tx Before,
    loader: Loader<'tx>,
    /// Which of the old segments have come.
    seen: Vec<bool>,
    /// Which of the old segments lose a chunk, which may come again to the same place.
    touched: Vec<bool>,
    /// The place of the next new segment.
    next: i64,
    any_new: bool,
    changed: bool,
    totals: Counters,
}

impl<'tx> Writer<'tx> {
    fn new(tx: &'tx Transaction<'tx>, before: &'tx Before, gone: &[usize]) -> Work<Self> {
        let was = counters::load(tx)?;
        let totals = Counters {
            generation: was.generation,
            revision: was.revision + 1,
            ..Counters::default()
        };
        let mut touched = vec![false; before.segments.len()];
        gone.iter().for_each(|at| touched[before.chunks[*at].segment as usize] = true);
        let last = before.segments.last().map_or(0, |segment| segment.seq);
        Ok(Writer {
            tx,
            before,
            loader: Loader::resume(tx, before.repos.clone(), totals.revision)?,
            seen: vec![false; before.segments.len()],
            touched,
            next: last + 1,
            any_new: false,
            changed: false,
            totals,
        })
    }

    fn put(&mut self, new: &NewSegment) -> Work<()> {
        let lists = Lists::of(&new.segment)?;
        let (seq, status) = match new.old {
            Some(old) => {
                self.seen[old] = true;
                self.put_old(old, new, &lists)?
            }
            None => {
                let seq = self.next_seq();
                self.loader.push_segment(seq, &new.segment)?;
                self.loader.push_chunks(seq, &new.segment)?;
                (self.any_new, self.changed) = (true, true);
                (seq, SegmentStatus::Pending)
            }
        };
        let unread = new.segment.chunks.len() as u64 - new.complete;
        let sql = "UPDATE segment_progress SET unread = ?1 WHERE seq = ?2 AND unread <> ?1";
        self.changed |= self.tx.prepare_cached(sql)?.execute([unread.cast_signed(), seq])? > 0;
        self.count(new, status, &lists);
        Ok(())
    }

    fn next_seq(&mut self) -> i64 {
        self.next += 1;
        self.next - 1
    }

    /// An old segment: its lists where they are others. The synthesis moves behind what is new.
    fn put_old(
        &mut self,
        old: usize,
        new: &NewSegment,
        lists: &Lists,
    ) -> Work<(i64, SegmentStatus)> {
        let (tx, segment) = (self.tx, &self.before.segments[old]);
        let mut seq = segment.seq;
        if segment.kind == SegmentKind::Synthesis && self.any_new {
            seq = self.next_seq();
            for table in ["segment_records", "segment_progress"] {
                let sql = format!("UPDATE {table} SET seq = ? WHERE seq = ?");
                tx.execute(&sql, [seq, segment.seq])?;
            }
        }
        let tokens = new.segment.tokens.0.cast_signed();
        let sql = "UPDATE segment_records SET chunks = ?1, chunk_tokens = ?2, files = ?3
            WHERE seq = ?4 AND (chunks <> ?1 OR chunk_tokens <> ?2 OR files <> ?3)";
        let mut update = tx.prepare_cached(sql)?;
        let differs = update.execute(params![lists.chunks, lists.tokens, lists.files, seq])? > 0;
        if differs || self.touched[old] {
            self.loader.push_chunks(seq, &new.segment)?;
            self.changed = true;
        }
        let sql = "UPDATE segments SET tokens = ?1 WHERE segment_id = ?2 AND tokens <> ?1";
        self.changed |= tx.prepare_cached(sql)?.execute(params![tokens, segment.id.0])? > 0;
        Ok((seq, segment.status))
    }

    fn count(&mut self, new: &NewSegment, status: SegmentStatus, lists: &Lists) {
        let totals = &mut self.totals;
        totals.segments.total += 1;
        match status {
            SegmentStatus::Pending => totals.segments.pending += 1,
            SegmentStatus::Active => totals.segments.active += 1,
            SegmentStatus::Done => totals.segments.done += 1,
        }
        if new.segment.kind == SegmentKind::Read && status != SegmentStatus::Done {
            totals.read_segments_left += 1;
        }
        totals.chunks.planned += new.segment.chunks.len() as u64;
        totals.chunks.complete += new.complete;
        totals.tokens.planned +=
            new.segment.chunk_tokens.iter().map(|tokens| tokens.0).sum::<u64>();
        totals.tokens.complete += new.complete_tokens.0;
        totals.export_bytes += lists.exported();
    }

    /// Takes out the segments that have not come: their ids are never given again.
    fn drop_the_rest(&mut self) -> Work<()> {
        let dropped = self.before.segments.iter().zip(&self.seen).filter(|(_, seen)| !**seen);
        for (segment, _) in dropped {
            self.changed = true;
            for table in ["segments", "claims"] {
                let sql = format!("DELETE FROM {table} WHERE segment_id = ?");
                self.tx.prepare_cached(&sql)?.execute([&segment.id.0])?;
            }
            for table in ["segment_records", "segment_progress", "queue"] {
                let sql = format!("DELETE FROM {table} WHERE seq = ?");
                self.tx.prepare_cached(&sql)?.execute([segment.seq])?;
            }
        }
        Ok(())
    }

    /// The synthesis is to be done again; what it found stays among the findings.
    fn reopen(&mut self) -> Work<()> {
        let old = self.before.segments.iter();
        for segment in old.filter(|segment| segment.kind == SegmentKind::Synthesis) {
            let sql = "UPDATE segments SET status = 'pending', started_at = NULL, done_at = NULL
                WHERE segment_id = ?";
            self.tx.execute(sql, [&segment.id.0])?;
            self.tx.execute("DELETE FROM claims WHERE segment_id = ?", [&segment.id.0])?;
            let counts = &mut self.totals.segments;
            match segment.status {
                SegmentStatus::Pending => continue,
                SegmentStatus::Active => counts.active -= 1,
                SegmentStatus::Done => counts.done -= 1,
            }
            counts.pending += 1;
        }
        Ok(())
    }
}

/// Takes chunks out of the plan. What was read of them is remembered with what the plan knew.
fn remove(tx: &Transaction<'_>, before: &Before, gone: &[usize]) -> Work<()> {
    let mut remember = tx.prepare(
        "UPDATE marks SET seq = p.seq, path = c.path, read_at = c.read_at
            FROM places p, chunks c
            WHERE marks.repo_no = ?1 AND marks.chunk = ?2 AND marks.given = 0
            AND p.repo_no = ?1 AND p.chunk = ?2
            AND c.repo = ?3 AND c.chunk_id = ?4 AND c.complete <> 0",
    )?;
    let mut chunks = tx.prepare("DELETE FROM chunks WHERE repo = ? AND chunk_id = ?")?;
    let mut places = tx.prepare("DELETE FROM places WHERE repo_no = ? AND chunk = ?")?;
    for chunk in gone.iter().map(|at| &before.chunks[*at]) {
        let (no, key) = (number(chunk.repo), chunk.id.0.cast_signed());
        let (repo, id) = (&before.repos[chunk.repo as usize], chunk.id.to_string());
        remember.execute(params![no, key, repo, id])?;
        chunks.execute(params![repo, id])?;
        places.execute([no, key])?;
    }
    Ok(())
}

/// A chunk takes over a read; one that is back has its own again, which needs no new evidence.
/// The evidence names the plan in force.
fn take_over(
    tx: &Transaction<'_>,
    read: &FreedRead,
    taken: &TakenRead,
    (generation, plan): (u64, &str),
    at: &str,
) -> Work<()> {
    let (to, no) = (&taken.to, number(read.repo));
    let (from_key, to_key) = (read.id.0.cast_signed(), to.id.0.cast_signed());
    let sql = "UPDATE chunks SET complete = 1, read_at = ? WHERE repo = ? AND chunk_id = ?";
    let read_at = read.read_at.as_deref().unwrap_or(at);
    tx.prepare_cached(sql)?.execute(params![read_at, to.repo, to.id.to_string()])?;
    if read.id == to.id {
        let sql = "UPDATE marks SET seq = NULL, path = NULL, read_at = NULL
            WHERE repo_no = ? AND chunk = ?";
        tx.prepare_cached(sql)?.execute([no, to_key])?;
        return Ok(());
    }
    let sql = "UPDATE marks SET given = 1 WHERE repo_no = ? AND chunk = ?";
    tx.prepare_cached(sql)?.execute([no, from_key])?;
    let sql = "INSERT OR REPLACE INTO marks (repo_no, chunk, body, file, since)
        VALUES (?, ?, ?, ?, ?)";
    let file = to.file.as_deref().and_then(|hex| blake3::Hash::from_hex(hex).ok());
    let file = file.map(|file| *file.as_bytes()).or(read.file);
    let since = read.since.cast_signed();
    tx.prepare_cached(sql)?.execute(params![no, to_key, read.body, file, since])?;
    let segment = &segment_of(tx, no, to.id)?;
    let mut made = made_by(tx, &to.repo, read.id, &read.body)?;
    if made.is_empty() {
        made.push((READER.to_string(), None));
    }
    made.iter().try_for_each(|(reader, origin)| {
        let (how, origin) = (How::Moved, *origin);
        let kept = Kept { reader, how, origin, generation, plan, segment, at };
        keep_read(tx, to, &kept, true)
    })
}

/// The segment that a chunk is planned in: what takes over a read is.
fn segment_of(tx: &Transaction<'_>, no: i64, chunk: ChunkId) -> Work<String> {
    let sql = "SELECT r.segment_id FROM places p JOIN segment_records r USING (seq)
        WHERE p.repo_no = ? AND p.chunk = ?";
    let key = [no, chunk.0.cast_signed()];
    let found = tx.prepare_cached(sql)?.query_row(key, |row| row.get(0)).optional()?;
    Ok(found
        .ok_or_else(|| Error::failed("bug", "a read has moved to a chunk that is not planned"))?)
}
