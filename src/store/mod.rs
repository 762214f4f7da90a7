//! The ledgers. The only place that names rusqlite.

pub mod coverage;
pub mod db;
pub mod file;
pub mod ledger;
