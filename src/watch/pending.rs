//! Events of the system, reduced at once to names that are dirty: bounded, whatever happens.
//!
//! Past [`NAMES_OF_DIR`] names a directory is dirty as a whole, past [`NAMES`] the whole tree is.

use std::time::Instant;

use rustc_hash::{FxHashMap, FxHashSet};

/// More names than this in one directory are not told one by one.
const NAMES_OF_DIR: usize = 512;

/// Nor are more than this in all.
const NAMES: usize = 100_000;

/// What the system said of a name, all of it since the last look.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Hint {
    /// It came to be, or was moved here: what is there now may be another thing.
    pub created: bool,
    /// Whatever is said to have gone was a directory.
    pub dir: bool,
}

impl Hint {
    /// Something came here.
    pub const CREATED: Hint = Hint { created: true, dir: false };
    /// Something else may be here now, whatever it was.
    pub const ANOTHER: Hint = Hint { created: true, dir: true };
    /// Something changed.
    pub const CHANGED: Hint = Hint { created: false, dir: false };
}

/// What is dirty in a directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Dirty {
    /// These names.
    Names(FxHashMap<Vec<u8>, Hint>),
    /// All of it.
    All,
}

impl Dirty {
    /// One name.
    pub fn one(name: &[u8], hint: Hint) -> Dirty {
        Dirty::Names([(name.to_vec(), hint)].into_iter().collect())
    }
}

/// What has been heard since the last look; directories by their watches.
#[derive(Debug, Default)]
pub struct Pending {
    /// Names that are dirty.
    pub dirs: FxHashMap<i32, Dirty>,
    /// Watches whose directory itself was moved or has gone.
    pub moved: FxHashSet<i32>,
    /// Watches that the system has taken away.
    pub ended: FxHashSet<i32>,
    /// The system lost events.
    pub overflow: bool,
    /// A file system was unmounted.
    pub unmount: bool,
    /// Something was mounted or unmounted somewhere.
    pub mounts: bool,
    /// More names than can be told one by one.
    pub flood: bool,
    names: usize,
    /// When the first and the last event came.
    pub span: Option<(Instant, Instant)>,
}

impl Pending {
    /// Notes that something came.
    pub fn heard(&mut self, now: Instant) {
        self.span = Some((self.span.map_or(now, |(first, _)| first), now));
    }

    /// Notes a name.
    pub fn name(&mut self, watch: i32, name: &[u8], hint: Hint) {
        if self.flood {
            return;
        }
        let dirty = self.dirs.entry(watch).or_insert_with(|| Dirty::Names(FxHashMap::default()));
        let Dirty::Names(names) = dirty else { return };
        if let Some(known) = names.get_mut(name) {
            known.created |= hint.created;
            known.dir |= hint.dir;
            return;
        }
        names.insert(name.to_vec(), hint);
        self.names += 1;
        if names.len() > NAMES_OF_DIR {
            self.names -= names.len();
            *dirty = Dirty::All;
        }
        if self.names > NAMES {
            self.flood = true;
            self.names = 0;
            self.dirs = FxHashMap::default();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_crowded_directory_is_dirty_as_a_whole() {
        let mut pending = Pending::default();
        (0..=NAMES_OF_DIR).for_each(|n| pending.name(1, n.to_string().as_bytes(), Hint::CREATED));
        pending.name(2, b"a", Hint::CHANGED);
        pending.name(2, b"a", Hint::CREATED);
        assert_eq!(pending.dirs[&1], Dirty::All);
        assert_eq!(pending.dirs[&2], Dirty::one(b"a", Hint::CREATED));
        assert_eq!(pending.names, 1);
    }

    #[test]
    fn memory_has_a_bound() {
        let mut pending = Pending::default();
        for dir in 0..1_000 {
            (0..200_u32).for_each(|n| pending.name(dir, &n.to_le_bytes(), Hint::CHANGED));
        }
        assert!(pending.flood && pending.dirs.is_empty());
    }
}
