//! The files outside the tree that admission goes by: git's index, configuration and excludes, and
//! the ignore files above the root.

use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustc_hash::{FxHashMap, FxHashSet};
use rustix::fs::CWD;

use super::Watches;
use crate::admit::{Policy, Stat};
use crate::listing;
use crate::watch::pending::Dirty;

/// The files, how they were, and the watches on the directories that they are in, or would be.
#[derive(Debug, Default)]
pub struct Controls {
    files: Vec<PathBuf>,
    stats: Vec<Option<Stat>>,
    names: FxHashMap<i32, FxHashSet<Vec<u8>>>,
}

impl Controls {
    /// Those of a policy that has just been opened, watched where that is possible. How they were
    /// before it was opened is what `before` says: what changed meanwhile is yet to be seen.
    pub fn of(policy: &Policy, watches: Option<&dyn Watches>, before: &Controls) -> Controls {
        let mut files = policy.control_files().to_vec();
        // Where a link stands, what it leads to counts too.
        let targets = files.iter().filter_map(|file| file.canonicalize().ok());
        let targets: Vec<PathBuf> = targets.filter(|target| !files.contains(target)).collect();
        files.extend(targets);
        let stats = files.iter().map(|file| before.stat(file)).collect();
        let mut controls = Controls { files, stats, ..Controls::default() };
        if let Some(watches) = watches {
            controls.watch(watches);
        }
        controls
    }

    fn stat(&self, file: &Path) -> Option<Stat> {
        let at = self.files.iter().position(|known| known == file)?;
        self.stats.get(at).copied().flatten()
    }

    fn watch(&mut self, watches: &dyn Watches) {
        for file in &self.files {
            let there = file
                .ancestors()
                .zip(file.ancestors().skip(1))
                .find_map(|(at, dir)| Some((watches.add_control(dir).ok()?, at.file_name()?)));
            if let Some((watch, name)) = there {
                self.names.entry(watch).or_default().insert(name.as_bytes().to_vec());
            }
        }
    }

    /// The directories of the files.
    pub fn dirs(&self) -> impl Iterator<Item = &Path> {
        self.files.iter().filter_map(|file| file.parent())
    }

    /// Whether it is one of the files.
    pub fn is_control(&self, path: &Path) -> bool {
        self.files.iter().any(|file| file == path)
    }

    /// The watches.
    pub fn watches(&self) -> impl Iterator<Item = i32> {
        self.names.keys().copied()
    }

    /// Whether a watch is needed here.
    pub fn has(&self, watch: i32) -> bool {
        self.names.contains_key(&watch)
    }

    /// Whether one of the files may have changed.
    pub fn hit(&self, watch: i32, dirty: &Dirty) -> bool {
        let Some(own) = self.names.get(&watch) else { return false };
        match dirty {
            Dirty::All => true,
            Dirty::Names(names) => own.iter().any(|name| names.contains_key(name)),
        }
    }

    /// Whether a file differs from the last time that this was asked, by its stat data.
    pub fn differ(&mut self) -> bool {
        let stat = |file: &PathBuf| listing::stat(CWD, file.as_os_str().as_bytes()).ok();
        let now = self.files.iter().map(stat).collect();
        std::mem::replace(&mut self.stats, now) != self.stats
    }
}
