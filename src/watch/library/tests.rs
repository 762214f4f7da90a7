#![cfg(test)]
//! What the adapter does with what the library says.

use ::notify::event::RemoveKind;

use super::*;
use crate::admit::Surroundings;
use crate::watch::Change;

fn library(root: &Path) -> Library {
    let site = Site {
        root: root.canonicalize().unwrap(),
        around: Surroundings::from_vars(&std::collections::BTreeMap::new()),
        scope: Vec::new(),
        rules: true,
        now: std::time::SystemTime::now,
        remote: crate::watch::trusted,
        limit: || None,
    };
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
