//! What is around a folder: the nearest workspace, the nearest repository.

use std::path::{Path, PathBuf};

use super::{StateDir, config};

/// The root of the nearest workspace, upwards from an absolute folder.
pub fn workspace_around(folder: &Path) -> Option<PathBuf> {
    let mut upwards = folder.ancestors();
    upwards.find(|at| config::is_workspace(&StateDir::of(at, None))).map(Path::to_owned)
}

/// The root of the repository around a folder: upwards the first with an index or a `.git`, else
/// the folder.
pub fn repository_around(folder: &Path) -> PathBuf {
    let is_root =
        |at: &&Path| StateDir::of(at, None).ledger().is_file() || at.join(".git").exists();
    folder.ancestors().find(is_root).unwrap_or(folder).to_owned()
}
