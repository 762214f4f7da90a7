//! One number for the chunks of an index, whatever the way in which they came: equal for equal
//! chunks, and for others but by a chance of one in 2^64, also where they have the same ids. Each
//! change keeps it, by the chunks that come and go.

use rusqlite::{Connection, OptionalExtension, Transaction};

use super::apply::half;
use super::cuts::unpack;
use super::{Changes, Ledger, View};
use crate::error::Result;
use crate::record::ChunkId;
use crate::store::db::Work;

impl Ledger {
    /// The fingerprint of the chunks that are looked at, in hex.
    pub fn fingerprint(&self) -> Result<String> {
        Ok(format!("{:016x}", self.db.moment(|c| of_part(c, &self.view))?))
    }

    /// Keeps that of a part, after these changes in it alone, where that is known. It is enough where
    /// nobody else has changed anything since it was kept; else each of its files is looked at.
    ///
    /// # Errors
    /// The ledger's.
    pub fn keep_fingerprint(&mut self, changes: Option<&Changes>) -> Result<()> {
        if self.view.is_whole() {
            return Ok(());
        }
        let view = self.view.clone();
        let (kept, now) = self.db.moment(|c| {
            let (kept, all) = (kept(c, &view)?, of(c)?);
            let part = match (kept, changes) {
                (Some((before, part)), Some(Changes { mixed, .. })) if before ^ mixed == all => {
                    part ^ mixed
                }
                _ => counted_in(c, &view)?,
            };
            Ok((kept, (all, part)))
        })?;
        match kept == Some(now) {
            true => Ok(()),
            false => self.set_meta_of_part(KEY, &format!("{:016x} {:016x}", now.0, now.1)),
        }
    }
}

/// The name of the fact; of a part, it holds that of all, for which it was counted, and its own.
const KEY: &str = "fingerprint";

/// The fingerprint of a part: as it was kept while all is as it was then, else counted.
fn of_part(c: &Connection, view: &View) -> Work<u64> {
    let all = of(c)?;
    if view.is_whole() {
        return Ok(all);
    }
    match kept(c, view)? {
        Some((before, part)) if before == all => Ok(part),
        _ => counted_in(c, view),
    }
}

fn kept(c: &Connection, view: &View) -> Work<Option<(u64, u64)>> {
    let mut query = c.prepare_cached("SELECT value FROM meta WHERE key = ?1")?;
    let kept: Option<String> = query.query_row([view.key(KEY)], |row| row.get(0)).optional()?;
    let number = |hex: &str| u64::from_str_radix(hex, 16).ok();
    let kept = kept.as_deref().and_then(|kept| kept.split_once(' '));
    Ok(kept.and_then(|(all, part)| Some((number(all)?, number(part)?))))
}

fn counted_in(c: &Connection, view: &View) -> Work<u64> {
    let mut query = c.prepare(
        "SELECT packed FROM files JOIN cuts ON cuts.file = files.id WHERE key >= ?1 AND key < ?2",
    )?;
    let mut part = 0;
    for range in view.ranges() {
        let mut rows = query.query(range)?;
        while let Some(row) = rows.next()? {
            let cuts = unpack(row.get_ref(0)?.as_blob().unwrap_or_default());
            part = cuts.fold(part, |part, cut| part ^ mixed(cut.id, half(&cut.body)));
        }
    }
    Ok(part)
}

/// The fingerprint of all as it was kept; of an index that has none yet, as its ids give it.
pub(super) fn of(c: &Connection) -> Work<u64> {
    let mut query = c.prepare_cached("SELECT value FROM meta WHERE key = ?1")?;
    let kept: Option<String> = query.query_row([KEY], |row| row.get(0)).optional()?;
    match kept.and_then(|hex| u64::from_str_radix(&hex, 16).ok()) {
        Some(kept) => Ok(kept),
        None => counted(c),
    }
}

fn counted(c: &Connection) -> Work<u64> {
    let mut query = c.prepare("SELECT id, body FROM chunk_ids")?;
    let mut rows = query.query([])?;
    let mut all = 0;
    while let Some(row) = rows.next()? {
        all ^= mixed(ChunkId(row.get::<_, i64>(0)?.cast_unsigned()), row.get(1)?);
    }
    Ok(all)
}

/// A chunk's share: its id with the first half of its body's hash, as the ledger keeps that.
pub(super) fn mixed(id: ChunkId, body: i64) -> u64 {
    id.0 ^ body.cast_unsigned()
}

/// Keeps it.
pub(super) fn keep(tx: &Transaction<'_>, fingerprint: u64) -> Work<()> {
    let mut put = tx.prepare_cached("INSERT OR REPLACE INTO meta VALUES ('fingerprint', ?1)")?;
    put.execute([format!("{fingerprint:016x}")])?;
    Ok(())
}
