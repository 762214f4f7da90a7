//! What an export carries beside reads.

use serde::{Deserialize, Serialize};

use crate::record::SegmentId;

/// What a reader found in a segment.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Finding {
    /// The plan that was in force.
    pub plan: String,
    /// The segment.
    pub segment: SegmentId,
    /// Who closed it.
    pub reader: String,
    /// When.
    pub at: String,
    /// What was found.
    pub text: String,
}

/// Paths that a strict verify need not find read, and why.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Waiver {
    /// Which paths: a pattern as in an ignore file, of one repository with its name and `:` before it.
    pub glob: String,
    /// Why they need not be read.
    pub reason: String,
    /// Who said so.
    pub reader: String,
    /// When.
    pub at: String,
    /// When it was removed; absent while it stands.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub removed_at: Option<String>,
    /// Who removed it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub removed_by: Option<String>,
}
