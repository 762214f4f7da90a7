//! What frames a stream: where it begins, how far it is, where it ends, what went wrong.

use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::record::path_to_wire;

/// Opens a repository's part of a stream.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Repo {
    /// Its name in the workspace.
    pub name: String,
    /// The absolute path of its root, lossy when not UTF-8.
    pub path: String,
    /// The root's bytes in base64, only when not UTF-8.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub path_b64: Option<String>,
    /// In git: the commit that HEAD names, in hex.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub head: Option<String>,
    /// In git: whether a tracked file differs from git's index by its stat data.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub dirty: Option<bool>,
    /// The tokenizer that its index was counted with.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub tokenizer: Option<String>,
    /// Of the chunks of its index: another one where a chunk has come or gone.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub fingerprint: Option<String>,
}

impl Repo {
    /// The repository called `name` with this root, and nothing more known about it.
    pub fn at(name: &str, root: &Path) -> Repo {
        let (path, path_b64) = path_to_wire(root);
        Repo { name: name.to_string(), path, path_b64, ..Repo::default() }
    }
}

/// Ends a finite stream. A stream without it was cut off.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct End {
    /// The type of record that the stream is about.
    pub of: String,
    /// How many of them it had.
    pub count: u64,
}

/// How far a scan has come.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Progress {
    /// Paths looked at.
    pub files: u64,
    /// Bytes read.
    pub bytes: u64,
    /// Paths that the last scan found: about how many there are. Absent in a first scan.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub of_files: Option<u64>,
}

/// A failure, on standard output with `--json`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Problem {
    /// A stable word: `not-indexed`, `unread`, …
    pub code: String,
    /// What happened.
    pub message: String,
    /// The command to run.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub hint: Option<String>,
}
