//! Whether two policies of one root admit the same, as far as the control files decide it.
//!
//! `git status` rewrites the index, and an editor its configuration, without a change that matters:
//! a watcher compares fingerprints and goes on when they are equal.

use blake3::{Hash, Hasher};

use super::policy::Policy;

impl Policy {
    /// A hash of the tracked paths, of the rules from outside the root, and of the settings that
    /// admission goes by. Ignore files in the tree itself are not in it.
    pub fn fingerprint(&self) -> Hash {
        let mut hasher = Hasher::new();
        for at in self.tracked().all() {
            part(&mut hasher, self.tracked().path(at));
            hasher.update(&[u8::from(self.tracked().is_submodule(at))]);
        }
        hasher.update(&[u8::from(self.in_git()), u8::from(self.fold())]);
        for list in self.rules_from_outside() {
            hasher.update(b"\nfile ");
            part(&mut hasher, list.source());
            list.texts().for_each(|text| part(&mut hasher, text));
        }
        hasher.finalize()
    }
}

fn part(hasher: &mut Hasher, bytes: &[u8]) {
    hasher.update(&(bytes.len() as u64).to_le_bytes());
    hasher.update(bytes);
}
