#![cfg(test)]
//! What tests of the watcher begin with.

use std::path::Path;

use super::Site;
use crate::admit::Surroundings;

/// A folder under no rules but its own.
pub fn site(root: &Path) -> Site {
    Site {
        root: root.canonicalize().unwrap(),
        around: Surroundings::from_vars(&std::collections::BTreeMap::new()),
        scope: Vec::new(),
        rules: true,
        now: std::time::SystemTime::now,
        remote: |_| None,
        limit: || None,
    }
}
