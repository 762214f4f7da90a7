//! The ledgers. The only place that names rusqlite.

pub mod db;
pub mod ledger;
