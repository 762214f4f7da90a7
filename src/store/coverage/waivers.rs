//! Waivers: what a strict verify need not find read, with the reason. One that is removed is kept as
//! removed.

use rusqlite::{Connection, Row, Transaction, params};

use super::Coverage;
use crate::error::{Error, Result};
use crate::record::Waiver;
use crate::store::db::{Durability, Work};
use crate::visible::one_line;

const COLUMNS: &str = "glob, reason, reader, at, removed_at, removed_by";

impl Coverage {
    /// The waivers, the oldest first; with `removed` also those that do not stand any more.
    ///
    /// # Errors
    /// The ledger's.
    pub fn waivers(&self, removed: bool) -> Result<Vec<Waiver>> {
        let which = if removed { "" } else { "WHERE removed_at IS NULL" };
        let sql = format!("SELECT {COLUMNS} FROM waivers {which} ORDER BY id");
        self.db.read(|c| select(c, &sql))
    }

    /// Makes a waiver, in the place of one that stands for the same pattern. The same again changes
    /// nothing.
    ///
    /// # Errors
    /// The ledger's.
    pub fn waive(&mut self, glob: &str, reason: &str, reader: &str, at: &str) -> Result<()> {
        self.db.write(Durability::Power, |tx| {
            let same = "SELECT 1 FROM waivers WHERE glob = ? AND reason = ? AND removed_at IS NULL";
            if tx.prepare_cached(same)?.exists(params![glob, reason])? {
                return Ok(());
            }
            remove(tx, glob, reader, at)?;
            let sql = "INSERT INTO waivers (glob, reason, reader, at) VALUES (?, ?, ?, ?)";
            tx.execute(sql, params![glob, reason, reader, at])?;
            Ok(())
        })
    }

    /// Removes the waiver of this pattern; its row stays.
    ///
    /// # Errors
    /// `no-waiver` when none stands.
    pub fn unwaive(&mut self, glob: &str, reader: &str, at: &str) -> Result<()> {
        let removed = self.db.write(Durability::Power, |tx| remove(tx, glob, reader, at))?;
        match removed {
            0 => Err(Self::no_waiver(glob)),
            _ => Ok(()),
        }
    }

    /// The error of a waiver that does not stand.
    pub fn no_waiver(glob: &str) -> Error {
        let glob = one_line(glob);
        Error::failed("no-waiver", format!("no waiver stands for '{glob}'"))
            .hint("see which there are: `auwai waive --list`")
    }
}

fn select(c: &Connection, sql: &str) -> Work<Vec<Waiver>> {
    let mut query = c.prepare_cached(sql)?;
    let rows = query.query_map([], waiver)?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

fn waiver(row: &Row<'_>) -> rusqlite::Result<Waiver> {
    Ok(Waiver {
        glob: row.get(0)?,
        reason: row.get(1)?,
        reader: row.get(2)?,
        at: row.get(3)?,
        removed_at: row.get(4)?,
        removed_by: row.get(5)?,
    })
}

fn remove(tx: &Transaction<'_>, glob: &str, reader: &str, at: &str) -> Work<usize> {
    let sql = "UPDATE waivers SET removed_at = ?, removed_by = ?
        WHERE glob = ? AND removed_at IS NULL";
    Ok(tx.execute(sql, params![at, reader, glob])?)
}

/// Keeps a waiver from elsewhere, once; how many were new. That it was removed there counts here,
/// and that it was removed here stays.
pub(super) fn keep(tx: &Transaction<'_>, waiver: &Waiver) -> Work<u64> {
    let Waiver { glob, reason, reader, at, removed_at, removed_by } = waiver;
    let sql = "INSERT INTO waivers (glob, reason, reader, at) SELECT ?1, ?2, ?3, ?4
        WHERE NOT EXISTS (SELECT 1 FROM waivers
            WHERE glob = ?1 AND reason = ?2 AND reader = ?3 AND at = ?4)";
    let new = tx.prepare_cached(sql)?.execute(params![glob, reason, reader, at])?;
    let sql = "UPDATE waivers SET removed_at = ?5, removed_by = ?6
        WHERE glob = ?1 AND reason = ?2 AND reader = ?3 AND at = ?4 AND removed_at IS NULL
            AND ?5 IS NOT NULL";
    let values = params![glob, reason, reader, at, removed_at, removed_by];
    tx.prepare_cached(sql)?.execute(values)?;
    Ok(new as u64)
}
