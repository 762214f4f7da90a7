//! Random changes to a random tree, each with the paths that a watcher would tell.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use auwai::record::RepoPath;

use crate::admit::random::{NAMES, Random, nested, patterns};

/// Changes a tree, and keeps the paths that changed.
pub struct Edits<'a> {
    pub random: &'a mut Random,
    root: PathBuf,
    pub changed: BTreeSet<RepoPath>,
}

impl<'a> Edits<'a> {
    pub fn of(root: PathBuf, random: &'a mut Random) -> Self {
        Edits { random, root, changed: BTreeSet::new() }
    }

    /// Everything in the tree but the repository's own `.git`.
    fn all(&self) -> Vec<PathBuf> {
        let walk = walkdir::WalkDir::new(&self.root).min_depth(1).sort_by_file_name();
        let walk = walk.into_iter().filter_entry(|entry| entry.file_name() != ".git");
        walk.filter_map(Result::ok).map(|entry| entry.into_path()).collect()
    }

    fn tell(&mut self, path: &Path) {
        let inside = path.strip_prefix(&self.root).unwrap().as_os_str().as_bytes();
        self.changed.insert(RepoPath::new(inside).unwrap());
    }

    fn any(&mut self, wanted: impl Fn(&Path) -> bool) -> Option<PathBuf> {
        let all: Vec<_> = self.all().into_iter().filter(|path| wanted(path)).collect();
        (!all.is_empty()).then(|| all[self.random.below(all.len())].clone())
    }

    /// A folder, the root among them.
    fn folder(&mut self) -> PathBuf {
        let found = self.any(is_open_folder).filter(|_| !self.random.one_in(4));
        found.unwrap_or_else(|| self.root.clone())
    }

    /// A name in some folder, taken or free.
    fn place(&mut self) -> PathBuf {
        let folder = self.folder();
        folder.join(self.random.pick(NAMES))
    }

    fn text(&mut self) -> String {
        (0..self.random.below(40)).map(|n| format!("line {n} {}\n", self.random.below(3))).collect()
    }

    /// One change, or none where it does not fit.
    pub fn edit(&mut self) {
        match self.random.below(16) {
            0..=3 => self.write(),
            4 | 5 => self.remove(),
            6 | 7 => self.rename(),
            8 => self.link(),
            9 | 10 => self.grow(),
            11 | 12 => self.rules(),
            13 => self.nest(),
            14 => self.close(),
            _ => self.unnest(),
        }
    }

    fn write(&mut self) {
        let path = self.any(Path::is_file).filter(|_| self.random.one_in(2));
        let path = path.unwrap_or_else(|| self.place());
        let text = self.text();
        // A folder may stand there, or a link to nowhere.
        if !path.is_symlink() && fs::write(&path, text).is_ok() {
            self.tell(&path);
        }
    }

    fn remove(&mut self) {
        let Some(path) = self.any(|_| true) else { return };
        self.clear(&path);
        self.tell(&path);
    }

    fn clear(&self, path: &Path) {
        // Below a closed folder, whoever is not root can take nothing away.
        let _ = if is_folder(path) { fs::remove_dir_all(path) } else { fs::remove_file(path) };
    }

    fn rename(&mut self) {
        let (Some(from), to) = (self.any(|_| true), self.place()) else { return };
        if to.starts_with(&from) || from.starts_with(&to) {
            return;
        }
        if to.symlink_metadata().is_ok() {
            self.clear(&to);
        }
        // A closed folder cannot be moved; what it was to replace has gone all the same.
        let _ = fs::rename(&from, &to);
        self.tell(&from);
        self.tell(&to);
    }

    fn link(&mut self) {
        let path = self.place();
        if path.symlink_metadata().is_ok() {
            self.clear(&path);
        }
        let _ = std::os::unix::fs::symlink(self.random.pick(NAMES), &path);
        self.tell(&path);
    }

    /// A folder of some depth with files in it, perhaps in the place of a file.
    fn grow(&mut self) {
        let top = self.place();
        if top.symlink_metadata().is_ok_and(|meta| !meta.is_dir()) {
            self.clear(&top);
        }
        let mut folder = top.clone();
        for _ in 0..1 + self.random.below(3) {
            let _ = fs::create_dir_all(&folder);
            let (file, text) = (folder.join(self.random.pick(NAMES)), self.text());
            if file.symlink_metadata().is_err() {
                let _ = fs::write(file, text);
            }
            folder = folder.join(format!("d{}", self.random.below(3)));
        }
        self.tell(&top);
    }

    /// An ignore file comes, goes or changes.
    fn rules(&mut self) {
        let folder = self.folder();
        let name = self.random.pick(&[".gitignore", ".auwai-ignore"]);
        let path = folder.join(name);
        if path.is_file() && self.random.one_in(3) {
            let _ = fs::remove_file(&path);
        } else if path.symlink_metadata().is_err() || path.is_file() {
            let _ = fs::write(&path, patterns(self.random));
        }
        self.tell(&path);
    }

    fn nest(&mut self) {
        let path = self.place();
        if path.symlink_metadata().is_err() {
            nested(self.random, &path);
            self.tell(&path);
        }
    }

    /// A nested repository becomes a folder again.
    fn unnest(&mut self) {
        let is_nested =
            |path: &Path| is_folder(path) && path.join(".git").symlink_metadata().is_ok();
        if let Some(folder) = self.any(is_nested) {
            self.clear(&folder.join(".git"));
            self.tell(&folder);
        }
    }

    /// A folder is closed, or opened again. Root may go in anyway.
    fn close(&mut self) {
        let Some(folder) = self.any(is_folder) else { return };
        let mode = [0o000, 0o300, 0o400, 0o755][self.random.below(4)];
        let _ = fs::set_permissions(&folder, fs::Permissions::from_mode(mode));
        self.tell(&folder);
    }
}

impl Drop for Edits<'_> {
    /// Opens closed folders, so that the tree can be taken away.
    fn drop(&mut self) {
        let mut folders = vec![self.root.clone()];
        while let Some(folder) = folders.pop() {
            let _ = fs::set_permissions(&folder, fs::Permissions::from_mode(0o755));
            let inside = fs::read_dir(&folder).into_iter().flatten().filter_map(Result::ok);
            folders.extend(inside.map(|entry| entry.path()).filter(|path| is_folder(path)));
        }
    }
}

/// A folder in which files can be made.
fn is_open_folder(path: &Path) -> bool {
    let meta = path.join(".").metadata();
    is_folder(path) && meta.is_ok_and(|meta| meta.permissions().mode() & 0o700 == 0o700)
}

fn is_folder(path: &Path) -> bool {
    path.symlink_metadata().is_ok_and(|meta| meta.is_dir())
}

/// Runs a case for some seeds; `AUWAI_TEST_SEED` and `AUWAI_TEST_CASES` choose others.
pub fn cases(count: u64, case: impl Fn(u64) + std::panic::RefUnwindSafe) {
    let number = |name: &str| std::env::var(name).ok().and_then(|value| value.parse().ok());
    let first = number("AUWAI_TEST_SEED").unwrap_or(1);
    for seed in first..first + number("AUWAI_TEST_CASES").unwrap_or(count) {
        let done = std::panic::catch_unwind(|| case(seed));
        assert!(done.is_ok(), "AUWAI_TEST_SEED={seed}");
    }
}
