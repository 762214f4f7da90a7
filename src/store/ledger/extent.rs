//! How much of the repository the index knows: that with which scans have come to their end. A scan
//! that is bounded adds its part; one that cuts anew, by other rules than before, leaves its part
//! alone, and until it has come to its end there is none.

use super::{Ledger, View};
use crate::error::Result;
use crate::store::db::{Durability, Work};
use rusqlite::{Connection, OptionalExtension, Transaction};

/// When a scan last came to its end with something new.
const SCANNED: &str = "scanned";
/// "1" while all is cut anew.
const ANEW: &str = "anew";
/// The subtrees, as [`View::to_text`]; of a ledger that has been scanned and does not say: all.
const EXTENT: &str = "extent";

/// What is known of the part that is looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Extent {
    /// No scan has come to its end, or none of all of it.
    Unscanned,
    /// It is being cut anew, or that was cut off.
    HalfAnew,
    /// All of it.
    Known,
}

impl Ledger {
    /// What is known of the part that is looked at.
    ///
    /// # Errors
    /// The ledger's.
    pub fn extent(&self) -> Result<Extent> {
        self.db.moment(|c| {
            if meta(c, SCANNED)?.is_none() {
                return Ok(Extent::Unscanned);
            }
            if meta(c, ANEW)?.as_deref() == Some("1") {
                return Ok(Extent::HalfAnew);
            }
            let known = known(c)?.is_some_and(|known| known.covers(&self.view));
            Ok(if known { Extent::Known } else { Extent::Unscanned })
        })
    }

    /// Whether a scan that cuts anew was cut off.
    ///
    /// # Errors
    /// The ledger's.
    pub fn is_half_anew(&self) -> Result<bool> {
        Ok(self.meta(ANEW)?.as_deref() == Some("1"))
    }

    /// Notes with which rules chunks are cut from now on, and that all is `anew` by them.
    ///
    /// # Errors
    /// The ledger's.
    pub fn begin_cutting(&mut self, tokenizer: &str, chunker: &str, anew: bool) -> Result<()> {
        let flag = if anew { "1" } else { "0" };
        self.set_meta(&[("tokenizer", tokenizer), ("chunker", chunker), (ANEW, flag)])
    }

    /// Notes that a scan of what is looked at has come to its end.
    ///
    /// # Errors
    /// The ledger's.
    pub fn end_scan(&mut self, at: &str) -> Result<()> {
        let view = self.view.clone();
        self.db.write(Durability::Process, |tx| {
            let extent = match known(tx)? {
                Some(known) => known.with(&view),
                None => view,
            };
            put(tx, SCANNED, at)?;
            put(tx, EXTENT, &extent.to_text())?;
            put(tx, ANEW, "0")
        })
    }

    /// A fact about the part that is looked at.
    ///
    /// # Errors
    /// The ledger's.
    pub fn meta_of_part(&self, key: &str) -> Result<Option<String>> {
        self.meta(&self.view.key(key))
    }

    /// Notes one.
    ///
    /// # Errors
    /// The ledger's.
    pub fn set_meta_of_part(&mut self, key: &str, value: &str) -> Result<()> {
        let key = self.view.key(key);
        self.set_meta(&[(&key, value)])
    }
}

/// What scans have come to their end with, by the rules that hold.
fn known(c: &Connection) -> Work<Option<View>> {
    if meta(c, SCANNED)?.is_none() || meta(c, ANEW)?.as_deref() == Some("1") {
        return Ok(None);
    }
    Ok(match meta(c, EXTENT)? {
        Some(text) => View::from_text(&text),
        None => Some(View::default()),
    })
}

fn meta(c: &Connection, key: &str) -> Work<Option<String>> {
    let mut query = c.prepare_cached("SELECT value FROM meta WHERE key = ?1")?;
    Ok(query.query_row([key], |row| row.get(0)).optional()?)
}

fn put(tx: &Transaction<'_>, key: &str, value: &str) -> Work<()> {
    let mut put = tx.prepare_cached("INSERT OR REPLACE INTO meta VALUES (?1, ?2)")?;
    put.execute([key, value])?;
    Ok(())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::record::RepoPath;

    #[test]
    fn a_bounded_scan_speaks_for_its_part_alone() {
        let dir = tempfile::tempdir().unwrap();
        let of = |only: &[&str]| {
            let only: Vec<RepoPath> = only.iter().map(|it| RepoPath::new(*it).unwrap()).collect();
            Ledger::open_or_create(&dir.path().join("l.sqlite")).unwrap().bounded(&only)
        };
        let known = |only: &[&str]| of(only).extent().unwrap();
        of(&[]).begin_cutting("o200k_base", "1", false).unwrap();
        assert_eq!(known(&["src"]), Extent::Unscanned);
        of(&["src"]).end_scan("now").unwrap();
        for (part, extent) in [
            (&["src"][..], Extent::Known),
            (&["src/a", "src/b"], Extent::Known),
            (&["srcs"], Extent::Unscanned),
            (&["docs", "src"], Extent::Unscanned),
            (&[], Extent::Unscanned),
        ] {
            assert_eq!(known(part), extent, "{part:?}");
        }
        of(&["docs"]).end_scan("now").unwrap();
        assert_eq!(known(&["docs", "src"]), Extent::Known);
        of(&[]).end_scan("now").unwrap();
        of(&["docs"]).end_scan("now").unwrap();
        assert_eq!(known(&[]), Extent::Known);
        of(&["docs"]).begin_cutting("bytes/4", "1", true).unwrap();
        assert_eq!(known(&["docs"]), Extent::HalfAnew);
        of(&["docs"]).end_scan("now").unwrap();
        assert_eq!((known(&["docs"]), known(&["src"])), (Extent::Known, Extent::Unscanned));
        assert_eq!(known(&[]), Extent::Unscanned);
    }

    #[test]
    fn facts_of_a_part_are_its_own() {
        let dir = tempfile::tempdir().unwrap();
        let of = |only: &[&str]| {
            let only: Vec<RepoPath> = only.iter().map(|it| RepoPath::new(*it).unwrap()).collect();
            Ledger::open_or_create(&dir.path().join("l.sqlite")).unwrap().bounded(&only)
        };
        of(&[]).set_meta_of_part("dirty", "true").unwrap();
        of(&["a b", "c"]).set_meta_of_part("dirty", "false").unwrap();
        assert_eq!(of(&[]).meta("dirty").unwrap().as_deref(), Some("true"));
        assert_eq!(of(&["a b", "c"]).meta_of_part("dirty").unwrap().as_deref(), Some("false"));
        assert_eq!(of(&["a"]).meta_of_part("dirty").unwrap(), None);
    }
}
