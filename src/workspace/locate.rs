//! What is around a folder: the nearest workspace, the nearest repository.

use std::path::{Component, Path, PathBuf};

use super::{StateDir, config};
use crate::regular;

/// The root of the nearest workspace, upwards from an absolute folder.
pub fn workspace_around(folder: &Path) -> Option<PathBuf> {
    let mut upwards = folder.ancestors();
    upwards.find(|at| config::is_workspace(&StateDir::of(at, None))).map(Path::to_owned)
}

/// The root of the repository around a folder: upwards the first with an index or a `.git`, else
/// the folder.
pub fn repository_around(folder: &Path) -> PathBuf {
    let is_root = |at: &&Path| {
        regular::is_there(&StateDir::of(at, None).ledger()) || at.join(".git").exists()
    };
    folder.ancestors().find(is_root).unwrap_or(folder).to_owned()
}

/// An absolute path as it stands below `root` (absolute, without links): links below the root are
/// left as they are, since a path through one is a path of its own. `None` when it leads elsewhere.
pub fn below(root: &Path, path: &Path) -> Option<PathBuf> {
    let path = without_parents(path);
    let mut above: Vec<&Path> = path.ancestors().collect();
    above.reverse();
    above.into_iter().find_map(|at| {
        let real = std::fs::canonicalize(at).ok()?;
        let inside = real.strip_prefix(root).ok()?;
        Some(inside.components().chain(path.strip_prefix(at).ok()?.components()).collect())
    })
}

/// The path without `..`: what stands before the last one is resolved, as the system would.
fn without_parents(path: &Path) -> PathBuf {
    let parts: Vec<Component<'_>> = path.components().collect();
    let Some(last) = parts.iter().rposition(|part| *part == Component::ParentDir) else {
        return path.to_owned();
    };
    let (before, after) = parts.split_at(last + 1);
    match std::fs::canonicalize(before.iter().collect::<PathBuf>()) {
        Ok(real) => real.join(after.iter().collect::<PathBuf>()),
        Err(_) => path.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_above_the_root_are_resolved_and_those_below_stay() {
        use std::os::unix::fs::symlink;
        let dir = tempfile::tempdir().unwrap();
        let top = dir.path().canonicalize().unwrap();
        let root = top.join("r");
        std::fs::create_dir_all(root.join("d/e")).unwrap();
        symlink("d", root.join("gate")).unwrap();
        symlink(".", root.join("loop")).unwrap();
        symlink(&root, top.join("alias")).unwrap();
        symlink(root.join("d"), top.join("inner")).unwrap();
        for (typed, stands) in [
            ("r/d/e", Some("d/e")),
            ("r/gate/e", Some("gate/e")),
            ("r/loop/loop/d", Some("loop/loop/d")),
            ("alias/gate/new", Some("gate/new")),
            ("inner/e", Some("d/e")),
            ("r/d/../d/./f", Some("d/f")),
            ("r/gate/../x", Some("x")),
            ("r/no/folder/f", Some("no/folder/f")),
            ("r", Some("")),
            ("r/..", None),
            ("elsewhere", None),
        ] {
            let found = below(&root, &top.join(typed));
            assert_eq!(found.as_deref(), stands.map(Path::new), "{typed}");
        }
    }
}
