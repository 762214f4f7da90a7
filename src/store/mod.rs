//! The ledgers. The only place that names rusqlite.

mod beside;
mod copy;
pub mod coverage;
pub mod db;
pub mod file;
pub mod ledger;
mod look;
pub mod spool;
pub mod stamp;
mod words;
