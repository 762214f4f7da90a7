//! What an export cannot say: every value of it is looked at before any counts.

use crate::cli::since::is_time;
use crate::counted::count;
use crate::record::{Finding, How, Read, SegmentId, Waiver, is_name};

/// The most bytes of a reason and of a pattern.
const LONGEST: usize = 4096;

/// The most bytes of a finding, as `close` takes it.
const LONGEST_FINDING: usize = 1 << 20;

type Checked = std::result::Result<(), String>;

/// A read of a history.
pub fn read(read: &Read) -> Checked {
    read.how.ok_or("'how' is missing")?;
    named("reader", read.reader.as_deref())?;
    at("at", read.at.as_deref())?;
    hex("plan", read.plan.as_deref(), &[64])?;
    segment(read.segment.as_ref())?;
    for (key, hash) in [("body", &read.body), ("file", &read.file)] {
        hash.as_deref().map_or(Ok(()), |hash| hex(key, Some(hash), &[64]))?;
    }
    read.head.as_deref().map_or(Ok(()), |head| hex("head", Some(head), &[40, 64]))?;
    read.repo_path()?;
    if let Some(bytes) = read.bytes
        && (bytes.from >= bytes.to || i64::try_from(bytes.to).is_err())
    {
        return Err(format!("bytes [{},{}] are none of a file", bytes.from, bytes.to));
    }
    match (read.how, read.origin) {
        (Some(How::Moved | How::Imported), None) => Ok(()),
        (Some(How::Moved | How::Imported), Some(origin)) if !origin.stands_for_another() => Ok(()),
        (_, None) => Ok(()),
        _ => {
            Err("an origin is 'shown', 'confirmed' or 'run', of what has moved or was imported"
                .into())
        }
    }
}

/// A finding.
pub fn finding(finding: &Finding) -> Checked {
    hex("plan", Some(&finding.plan), &[64])?;
    segment(Some(&finding.segment))?;
    named("reader", Some(&finding.reader))?;
    at("at", Some(&finding.at))?;
    text("text", &finding.text, LONGEST_FINDING)
}

/// A waiver.
pub fn waiver(waiver: &Waiver) -> Checked {
    text("glob", &waiver.glob, LONGEST)?;
    text("reason", &waiver.reason, LONGEST)?;
    named("reader", Some(&waiver.reader))?;
    at("at", Some(&waiver.at))?;
    match (&waiver.removed_at, &waiver.removed_by) {
        (None, None) => Ok(()),
        (removed_at, removed_by) => {
            at("removed_at", removed_at.as_deref())?;
            named("removed_by", removed_by.as_deref())
        }
    }
}

fn named(key: &str, name: Option<&str>) -> Checked {
    match name {
        Some(name) if is_name(name) => Ok(()),
        Some(name) => Err(format!("'{}' is no name ({key})", short(name))),
        None => Err(format!("'{key}' is missing")),
    }
}

fn at(key: &str, time: Option<&str>) -> Checked {
    match time {
        Some(time) if is_time(time) => Ok(()),
        Some(time) => {
            Err(format!("'{}' is no time in UTC with whole seconds ({key})", short(time)))
        }
        None => Err(format!("'{key}' is missing")),
    }
}

fn hex(key: &str, hash: Option<&str>, lengths: &[usize]) -> Checked {
    let is_hex = |hash: &str| hash.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'));
    match hash {
        Some(hash) if lengths.contains(&hash.len()) && is_hex(hash) => Ok(()),
        Some(hash) => Err(format!("'{}' is no hash ({key})", short(hash))),
        None => Err(format!("'{key}' is missing")),
    }
}

fn segment(id: Option<&SegmentId>) -> Checked {
    match id {
        Some(id) if id.is_valid() => Ok(()),
        Some(id) => Err(format!("'{}' is no segment", short(&id.0))),
        None => Err("'segment' is missing".to_string()),
    }
}

fn text(key: &str, text: &str, longest: usize) -> Checked {
    match text.trim().is_empty() {
        true => Err(format!("'{key}' is empty")),
        false if text.len() > longest => {
            Err(format!("'{key}' has more than {}", count(longest as u64, "byte")))
        }
        false => Ok(()),
    }
}

/// The beginning of what is wrong, so that a message stays one.
fn short(text: &str) -> String {
    text.chars().take(80).collect()
}
