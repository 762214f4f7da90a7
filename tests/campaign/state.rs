//! What the ledger of a full read says, by python's SQLite.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Deserialize;

use crate::support::site::{Site, tell};

/// A segment: id, kind, status, reader, chunks.
pub type Segment = (String, String, String, Option<String>, Vec<String>);

/// A full read as it stands.
#[derive(Debug, Deserialize)]
pub struct State {
    faults: Vec<String>,
    /// The planned chunks, by their qualified ids, and whether they are read.
    pub complete: BTreeMap<String, bool>,
    /// The segments in order.
    pub segments: Vec<Segment>,
    /// The findings: segment, reader, text.
    pub findings: Vec<(String, String, String)>,
    /// How many of them are not in findings.md yet.
    pub waiting: u64,
    /// How many rows of evidence there are.
    pub reads: u64,
    /// The generation in force.
    pub generation: u64,
    /// Whether fullread.json says the same.
    pub exported: bool,
}

impl State {
    /// Of the full read in a folder below the folder to work in; there must be no fault in it.
    #[track_caller]
    pub fn of(site: &Site, folder: impl AsRef<Path>) -> State {
        let mut python = site.command("python3");
        python.args(["-c", include_str!("state.py")]).arg(site.work(folder));
        let told = tell(python).expect_code(0);
        let state: State = serde_json::from_str(told.text()).unwrap();
        assert!(state.faults.is_empty(), "{}", state.faults.join("\n"));
        state
    }

    /// How many segments are not done.
    pub fn left(&self) -> usize {
        self.segments.iter().filter(|segment| segment.2 != "done").count()
    }
}
