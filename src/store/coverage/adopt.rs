//! Adopting a plan: the stream of `auwai-plan` becomes the plan in force, or nothing changes.

use std::io::BufRead;
use std::path::Path;

use rusqlite::{ErrorCode, Transaction, params};

use super::loader::Loader;
use super::{Counters, Coverage, counters, in_force, to_json};
use crate::counted::count;
use crate::error::{Error, Result};
use crate::record::{End, Plan, Policy, Reader, Record};
use crate::store::db::{Durability, Fault, Work};
use crate::store::spool::spool;

/// The page cache while a plan goes in or is revised, in KiB; also the memory that SQLite sorts in.
pub(super) const CACHE_KIB: i64 = 32 << 10;

/// The plan in force after [`Coverage::adopt`].
#[derive(Debug, Clone, PartialEq)]
pub struct Adopted {
    /// It.
    pub plan: Plan,
    /// Whether it was there before, and nothing changed.
    pub existing: bool,
}

impl Coverage {
    /// Makes the plan in `input` the plan in force of the full read in `dir`, in one transaction.
    ///
    /// With a plan there and the same policy nothing changes; `force` begins a new generation.
    /// Memory does not grow with the plan, and the transaction does not wait for the writer of
    /// `input`, which may be reading the same ledger.
    ///
    /// # Errors
    /// `cut-off` and `bad-input` with the line; `planned` when there is a plan under another
    /// policy and no `force`. Nothing has changed then.
    pub fn adopt(
        dir: &Path,
        input: &mut dyn BufRead,
        force: bool,
        at: &str,
    ) -> Result<(Coverage, Adopted)> {
        let mut reader = Reader::new(spool(dir, input)?, "-");
        let mut coverage = Coverage::open_or_create(dir)?;
        coverage.db.set_cache(CACHE_KIB)?;
        let adopted =
            coverage.db.write(Durability::Power, |tx| take(tx, &mut reader, force, at))?;
        if !adopted.existing {
            coverage.db.checkpoint();
        }
        Ok((coverage, adopted))
    }
}

fn take<R: BufRead>(
    tx: &Transaction<'_>,
    reader: &mut Reader<R>,
    force: bool,
    at: &str,
) -> Work<Adopted> {
    let policy = policy(reader)?;
    let before = counters::find(tx)?;
    if let Some(before) = before.filter(|_| !force) {
        return keep(tx, &policy, &before);
    }
    clear(tx)?;
    let generation = last_generation(tx)? + 1;
    let mut loader = Loader::new(tx, generation.cast_unsigned())?;
    let plan = load(&mut loader, reader)?;
    loader.settle()?;
    counters::store(tx, &loader.counters)?;
    tx.execute(
        "INSERT INTO plans (generation, plan_id, policy, plan, created_at) VALUES (?, ?, ?, ?, ?)",
        params![generation, plan.id, to_json(&policy)?, to_json(&plan)?, at],
    )?;
    note_revision(tx, &loader.counters, &plan.id, at)?;
    Ok(Adopted { plan, existing: false })
}

/// The plan that is there, when the new one is made under the same policy.
fn keep(tx: &Transaction<'_>, policy: &Policy, before: &Counters) -> Work<Adopted> {
    let now = in_force(tx)?;
    if now.policy == *policy {
        return Ok(Adopted { plan: now.plan, existing: true });
    }
    let left = before.segments.total - before.segments.done;
    let message = match left {
        0 => "there is a finished plan under another policy".to_string(),
        _ => {
            let left = count(left, "segment");
            format!("there is a plan under another policy, with {left} not done")
        }
    };
    let error = Error::no("planned", message)
        .hint("go on with it: `auwai next`")
        .hint("or divide anew what is unread: `auwai replan`")
        .hint("or begin anew, with nothing read: `auwai plan --force`");
    Err(error.into())
}

fn clear(tx: &Transaction<'_>) -> Work<()> {
    let tables = [
        "chunks",
        "segments",
        "repos",
        "places",
        "segment_records",
        "segment_progress",
        "queue",
        "claims",
        "lapses",
        "unconfirmed",
        "marks",
    ];
    for table in tables {
        tx.execute(&format!("DELETE FROM {table}"), [])?;
    }
    Ok(())
}

/// Keeps which plan a revision is, for good.
pub(super) fn note_revision(
    tx: &Transaction<'_>,
    counters: &Counters,
    plan: &str,
    at: &str,
) -> Work<()> {
    let (generation, revision) = (counters.generation, counters.revision);
    tx.execute(
        "INSERT INTO revisions (generation, revision, plan_id, made_at) VALUES (?, ?, ?, ?)",
        params![generation.cast_signed(), revision.cast_signed(), plan, at],
    )?;
    Ok(())
}

fn last_generation(tx: &Transaction<'_>) -> Work<i64> {
    Ok(tx.query_row("SELECT coalesce(max(generation), 0) FROM plans", [], |row| row.get(0))?)
}

fn policy<R: BufRead>(reader: &mut Reader<R>) -> Result<Policy> {
    match next(reader)? {
        Record::Policy(policy) => Ok(policy),
        _ => Err(reader.bad("a plan begins with a policy record")),
    }
}

/// The next record that is known here.
fn next<R: BufRead>(reader: &mut Reader<R>) -> Result<Record> {
    loop {
        match reader.next_record()? {
            None => return Err(reader.cut_off()),
            Some(Record::Unknown | Record::Repo(_)) => {}
            Some(record) => return Ok(record),
        }
    }
}

fn load<R: BufRead>(loader: &mut Loader<'_>, reader: &mut Reader<R>) -> Work<Plan> {
    let plan = loop {
        match next(reader)? {
            Record::Segment(segment) => loader.push(&segment).map_err(|e| placed(e, reader))?,
            Record::Plan(plan) => break plan,
            _ => return Err(reader.bad("not a segment or plan record").into()),
        }
    };
    let counts = (loader.counters.segments.total, loader.counters.chunks.planned);
    if (plan.segments, plan.chunks) != counts {
        return Err(reader.bad("the plan does not sum up the segments before it").into());
    }
    match next(reader)? {
        Record::End(End { of, count }) if of == "segment" && count == counts.0 => Ok(plan),
        _ => Err(reader.bad("not the end record of these segments").into()),
    }
}

/// A fault with its line, when the line is at fault.
fn placed<R: BufRead>(fault: Fault, reader: &Reader<R>) -> Fault {
    match fault {
        Fault::Sql(e) if e.sqlite_error_code() == Some(ErrorCode::ConstraintViolation) => {
            reader.bad("a segment of that id came before").into()
        }
        Fault::Ours(e) if e.code() == "bad-segment" => reader.bad(&e.to_string()).into(),
        other => other,
    }
}
