#![cfg(test)]
//! What the adapter does with what the library says.

use ::notify::event::RemoveKind;

use super::*;
use crate::watch::Change;

fn library(root: &Path) -> Library {
    let site = crate::watch::tests::site(root);
    let pace = Pace { settle: Duration::ZERO, interval: ROOT };
    Library::open(site, pace, Beside::default(), WatchBackend::Notify).unwrap()
}

fn is_rescan_of_all(changes: &Changes) -> bool {
    changes.changed.iter().any(|change| matches!(change, Change::Rescan(None, _)))
}

/// The library watches it no longer then, and the new one may have the inode of the old: what
/// happened in it was never told.
#[test]
fn a_root_that_is_made_anew_within_a_look_is_watched_anew() {
    let dir = tempfile::tempdir().unwrap();
    let mut library = library(dir.path());
    let inode = library.root;
    library.wait(Some(Duration::ZERO)).unwrap();
    // As when the root was removed and made again with the same inode.
    let gone = Event::new(Kind::Remove(RemoveKind::Folder)).add_path(library.site.root.clone());
    library.watcher = None;
    library.shared.hear(Ok(gone));
    let changes = library.wait(Some(Duration::ZERO)).unwrap();
    assert!(is_rescan_of_all(&changes), "{changes:?}");
    assert_eq!(library.root, inode);
    std::fs::write(dir.path().join("f"), "x").unwrap();
    let changes = library.wait(Some(Duration::ZERO)).unwrap();
    let path = RepoPath::new("f").unwrap();
    let told =
        |change: &Change| matches!(change, Change::Event { path: told, .. } if *told == path);
    assert!(changes.changed.iter().any(told), "{changes:?}");
}

/// It was tried again at every look, and nobody was told what is wrong.
#[test]
fn rules_that_cannot_be_read_are_told_once_and_tried_again() {
    let dir = tempfile::tempdir().unwrap();
    for folder in [".git/objects", ".git/refs"] {
        std::fs::create_dir_all(dir.path().join(folder)).unwrap();
    }
    let config = dir.path().join(".git/config");
    std::fs::write(dir.path().join(".git/HEAD"), "ref: refs/heads/main\n").unwrap();
    std::fs::write(&config, "[core]\n").unwrap();
    let mut library = library(dir.path());
    let mut look = || library.wait(Some(Duration::ZERO)).unwrap();
    look();
    std::fs::write(&config, "[core\n").unwrap();
    let changes = look();
    assert_eq!((changes.warnings.len(), is_rescan_of_all(&changes)), (1, true), "{changes:?}");
    let changes = look();
    assert!(changes.is_empty(), "{changes:?}");
    std::fs::write(&config, "[core]\n\texcludesFile = /nowhere\n").unwrap();
    let changes = look();
    assert!(changes.warnings.is_empty() && !library.stale, "{changes:?}");
}
