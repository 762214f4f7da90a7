//! Whether the state that lies somewhere is believed. What is in it says what has been read, and where
//! repositories are: whoever wrote it is believed, so it must be this user, here.
//!
//! Not believed is a state folder that holds a symbolic link or is one, that belongs to somebody else,
//! that git tracks (it came with a clone), or that was not made where it is (it was copied, unpacked, or
//! mounted on another machine). It is left as it is. The user may say otherwise with `--trust-state`,
//! but for a link, behind which there could be anything at any time.

use std::fs::Metadata;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use super::{FULLREAD, StateDir, config};
use crate::admit;
use crate::error::{Error, Result};
use crate::store::coverage::{self, Coverage};
use crate::store::ledger::Ledger;
use crate::visible::quote;

/// How the files begin that are believed, and what SQLite keeps beside them; the others are made from
/// them, or only locked.
const BELIEVED: [&str; 3] = ["ledger.sqlite", "coverage.sqlite", "workspace.json"];

/// Whose state is believed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Trust {
    told: bool,
    own: u32,
    /// The user who became root by sudo.
    sudo: Option<u32>,
}

/// On what terms state is used: where it is kept, and whose is believed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Terms {
    /// The folder that `--state-dir` names for the state of repositories.
    pub elsewhere: Option<PathBuf>,
    /// Whose state is believed.
    pub trust: Trust,
}

impl Trust {
    /// That of this process's user. `told`: the user vouches for all that is opened. `sudo` is what
    /// `SUDO_UID` says: to root, as to git, what belongs to who became root is its own.
    pub fn new(told: bool, sudo: Option<u32>) -> Trust {
        let own = rustix::process::geteuid();
        Trust { told, own: own.as_raw(), sudo: sudo.filter(|_| own.is_root()) }
    }

    /// Whether the user vouches for what is opened.
    pub fn is_told(&self) -> bool {
        self.told
    }

    /// Looks at the state of the repository or workspace at `root` before any of it is opened. With
    /// the user's word it is stamped anew where it was not made here.
    ///
    /// # Errors
    /// `state-link`, `state-owner`, `state-tracked`, `state-moved`, each with the ways out.
    pub fn check(&self, state: &StateDir, root: &Path) -> Result<()> {
        let all = contents(state.path());
        if let Some((link, _)) = all.iter().find(|(_, meta)| meta.is_symlink()) {
            return Err(is_link(link));
        }
        if self.told {
            return stamp_anew(state);
        }
        if let Some((path, meta)) = all.iter().find(|(path, meta)| self.is_foreign(path, meta)) {
            return Err(has_owner(path, meta.uid(), self.own));
        }
        if state.path().starts_with(root) && admit::tracks(root, state.path()) {
            return Err(is_tracked(state.path(), root));
        }
        match made_elsewhere(state).next() {
            Some(_) => Err(has_moved(state.path())),
            None => Ok(()),
        }
    }

    fn is_foreign(&self, path: &Path, meta: &Metadata) -> bool {
        let name = path.file_name().unwrap_or_default().as_bytes();
        let is_believed = |start: &&str| name.starts_with(start.as_bytes());
        let counts = meta.is_dir() || BELIEVED.iter().any(is_believed);
        counts && meta.uid() != self.own && self.sudo != Some(meta.uid())
    }
}

impl Terms {
    /// With the state of repositories in themselves.
    pub fn at_home(trust: Trust) -> Terms {
        Terms { elsewhere: None, trust }
    }
}

/// A state folder and what is in it, as far as it can be seen.
fn contents(folder: &Path) -> Vec<(PathBuf, Metadata)> {
    let Ok(meta) = folder.symlink_metadata() else { return Vec::new() };
    let is_dir = meta.is_dir();
    let mut all = vec![(folder.to_owned(), meta)];
    if is_dir {
        all.extend(list(folder));
        for inner in [FULLREAD, config::FOLDER] {
            let inner = folder.join(inner);
            if inner.symlink_metadata().is_ok_and(|meta| meta.is_dir()) {
                all.extend(list(&inner));
            }
        }
    }
    all
}

/// Editors put links of their own beside a file that is edited, under names that begin with a dot; ours
/// that does is opened following none.
fn list(folder: &Path) -> impl Iterator<Item = (PathBuf, Metadata)> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let entries = entries.filter(|entry| !entry.file_name().as_bytes().starts_with(b"."));
    entries.filter_map(|entry| Some((entry.path(), entry.metadata().ok()?)))
}

/// What is believed and says where it was made.
#[derive(Clone, Copy)]
enum Stamped {
    Ledger,
    Coverage(&'static str),
    Config,
}

impl Stamped {
    const ALL: [Stamped; 4] = [
        Stamped::Ledger,
        Stamped::Coverage(FULLREAD),
        Stamped::Coverage(config::FOLDER),
        Stamped::Config,
    ];

    fn path(self, state: &StateDir) -> PathBuf {
        match self {
            Stamped::Ledger => state.ledger(),
            Stamped::Coverage(folder) => coverage::ledger_path(&state.join(folder)),
            Stamped::Config => config::path(state),
        }
    }

    fn is_made_here(self, state: &StateDir) -> Result<bool> {
        match self {
            Stamped::Ledger => Ledger::is_made_here(&state.ledger()),
            Stamped::Coverage(folder) => Coverage::is_made_here(&state.join(folder)),
            Stamped::Config => config::is_made_here(state),
        }
    }

    fn stamp_anew(self, state: &StateDir) -> Result<()> {
        match self {
            Stamped::Ledger => Ledger::stamp_anew(&state.ledger()),
            Stamped::Coverage(folder) => Coverage::stamp_anew(&state.join(folder)),
            Stamped::Config => config::stamp_anew(state),
        }
    }
}

/// What is there and was not made here. What cannot be read cannot be opened either: whoever needs it
/// says why.
fn made_elsewhere(state: &StateDir) -> impl Iterator<Item = Stamped> {
    let there = move |one: &Stamped| one.path(state).symlink_metadata().is_ok();
    let elsewhere = move |one: &Stamped| matches!(one.is_made_here(state), Ok(false));
    Stamped::ALL.into_iter().filter(there).filter(elsewhere)
}

fn stamp_anew(state: &StateDir) -> Result<()> {
    made_elsewhere(state).try_for_each(|one| one.stamp_anew(state))
}

const ELSEWHERE: &str = "keep the state elsewhere with `--state-dir DIR` (or AUWAI_STATE_DIR)";

fn is_link(link: &Path) -> Error {
    let link = quote(link);
    Error::failed("state-link", format!("'{link}' is a symbolic link, and no state is behind one"))
        .hint(ELSEWHERE)
        .hint(format!("or remove the link, not what it leads to: `rm {link}`"))
}

fn has_owner(path: &Path, owner: u32, own: u32) -> Error {
    let message = format!("'{}' belongs to user {owner}, and this is user {own}", quote(path));
    Error::failed("state-owner", message)
        .because("what it says has been read need not have been")
        .hint(ELSEWHERE)
        .hint("or, if that user is to be believed, say so each time with `--trust-state`")
}

fn is_tracked(folder: &Path, root: &Path) -> Error {
    let (folder, root) = (quote(folder), quote(root));
    Error::failed("state-tracked", format!("git tracks '{folder}', so it may be another's state"))
        .hint(ELSEWHERE)
        .hint(format!(
            "or take it out of git: `git -C {root} rm -r -q --cached {folder}`; what a clone brought \
             is then still to be removed"
        ))
        .hint("or, if it is to be believed, say so each time with `--trust-state`")
}

fn has_moved(folder: &Path) -> Error {
    let folder = quote(folder);
    let message = format!("the state in '{folder}' was not made there, on this machine");
    Error::failed("state-moved", message)
        .hint("if it is your own, say so once with `--trust-state`: then it belongs here")
        .hint(format!("or {ELSEWHERE}"))
        .hint(format!("or begin anew, with nothing read: `rm -rf {folder}`"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::symlink;

    struct Place(tempfile::TempDir);

    impl Place {
        fn new() -> Place {
            let place = Place(tempfile::tempdir().unwrap());
            place.state("r").create().unwrap();
            drop(Ledger::open_or_create(&place.state("r").ledger()).unwrap());
            place
        }

        fn root(&self, name: &str) -> PathBuf {
            self.0.path().canonicalize().unwrap().join(name)
        }

        fn state(&self, name: &str) -> StateDir {
            StateDir::of(&self.root(name), None)
        }

        fn check(&self, name: &str, trust: Trust) -> std::result::Result<(), String> {
            let done = trust.check(&self.state(name), &self.root(name));
            done.map_err(|error| error.code().to_string())
        }
    }

    const REFUSED: fn(&str) -> std::result::Result<(), String> = |code| Err(code.to_string());

    fn own() -> Trust {
        Trust::new(false, None)
    }

    fn told() -> Trust {
        Trust::new(true, None)
    }

    #[test]
    fn what_was_made_here_is_believed_and_a_copy_once_the_user_says_so() {
        let place = Place::new();
        assert_eq!(place.check("r", own()), Ok(()));
        assert_eq!(place.check("nothing", own()), Ok(()));
        fs::create_dir_all(place.root("s/.auwai")).unwrap();
        fs::copy(place.state("r").ledger(), place.state("s").ledger()).unwrap();
        assert_eq!(place.check("s", own()), REFUSED("state-moved"));
        assert_eq!(place.check("s", told()), Ok(()));
        assert_eq!(place.check("s", own()), Ok(()));
        fs::rename(place.root("s"), place.root("t")).unwrap();
        assert_eq!(place.check("t", own()), Ok(()));
    }

    #[test]
    fn no_link_is_believed_whatever_the_user_says() {
        for name in ["", "fullread", "fullread/coverage.sqlite", "ledger.sqlite-wal", "watch.lock"]
        {
            let place = Place::new();
            let folder = place.state("r").path().to_owned();
            let link = if name.is_empty() { folder.clone() } else { folder.join(name) };
            match name.is_empty() {
                true => fs::rename(&folder, place.root("away")).unwrap(),
                false => fs::create_dir_all(link.parent().unwrap()).unwrap(),
            }
            symlink(place.root("away"), link).unwrap();
            for trust in [own(), told()] {
                assert_eq!(place.check("r", trust), REFUSED("state-link"), "{name}");
            }
        }
    }

    #[test]
    fn a_link_of_an_editor_is_no_hindrance() {
        let place = Place::new();
        symlink("ann@host.123", place.state("r").join(".#workspace.json")).unwrap();
        assert_eq!(place.check("r", own()), Ok(()));
    }

    #[test]
    fn another_users_state_is_not_believed_but_that_of_who_became_root() {
        let place = Place::new();
        let own = own();
        let another = Trust { own: own.own + 1, ..own };
        assert_eq!(place.check("r", another), REFUSED("state-owner"));
        assert_eq!(place.check("r", Trust { sudo: Some(own.own), ..another }), Ok(()));
        assert_eq!(place.check("r", Trust { told: true, ..another }), Ok(()));
    }
}
