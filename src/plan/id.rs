//! The plan id: BLAKE3 over the policy and the segment skeleton (ids, kinds, qualified chunk ids).
//!
//! Roots, clock and locale do not enter; the same tree under the same policy has the same id.

use crate::error::{Error, Result};
use crate::record::{Policy, Segment, SegmentKind, to_json};

/// The hash so far.
pub(super) struct PlanId(blake3::Hasher);

impl PlanId {
    /// Begins with the policy.
    pub fn new(policy: &Policy) -> Result<Self> {
        let text = to_json(policy)
            .map_err(|e| Error::failed("bug", "cannot write a policy record").because(e))?;
        let mut id = PlanId(blake3::Hasher::new());
        id.field(text.as_bytes());
        Ok(id)
    }

    /// Adds a segment; the order counts.
    pub fn add(&mut self, segment: &Segment) {
        self.field(segment.id.0.as_bytes());
        self.field(match segment.kind {
            SegmentKind::Read => b"read",
            SegmentKind::Synthesis => b"synthesis",
        });
        self.number(segment.chunks.len() as u64);
        for chunk in &segment.chunks {
            self.field(chunk.repo.as_bytes());
            self.number(chunk.id.0);
        }
    }

    /// The id in hex.
    pub fn finish(&self) -> String {
        self.0.finalize().to_hex().to_string()
    }

    /// Text with its length before it, so that no two skeletons are hashed as the same bytes.
    fn field(&mut self, text: &[u8]) {
        self.number(text.len() as u64);
        self.0.update(text);
    }

    fn number(&mut self, number: u64) {
        self.0.update(&number.to_le_bytes());
    }
}
