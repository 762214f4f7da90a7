//! One number for the chunks of an index, whatever the way in which they came: equal for equal
//! chunks, and for others but by a chance of one in 2^64, also where they have the same ids. Each
//! change keeps it, by the chunks that come and go.

use rusqlite::{Connection, OptionalExtension, Transaction};

use super::Ledger;
use crate::error::Result;
use crate::record::ChunkId;
use crate::store::db::Work;

impl Ledger {
    /// The fingerprint of the chunks, in hex.
    pub fn fingerprint(&self) -> Result<String> {
        Ok(format!("{:016x}", self.db.moment(of)?))
    }
}

/// The fingerprint as it was kept; of an index that has none yet, as its ids give it.
pub(super) fn of(c: &Connection) -> Work<u64> {
    let mut query = c.prepare_cached("SELECT value FROM meta WHERE key = 'fingerprint'")?;
    let kept: Option<String> = query.query_row([], |row| row.get(0)).optional()?;
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
