//! The folder that holds a repository's or a workspace's state.

use std::fs;
use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use crate::error::{Error, Result};
use crate::regular;
use crate::store::file::cannot_write;
use crate::visible::quote;

/// The folder's name inside a repository or a workspace's root.
pub const NAME: &str = ".auwai";

/// A state folder: `<root>/.auwai`, or one of its own below `--state-dir`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StateDir(PathBuf);

impl StateDir {
    /// The state folder of the repository or workspace at `root`, an absolute path without links.
    /// `elsewhere` is `--state-dir`: the folder there is `<name>-<hash of the path>`.
    pub fn of(root: &Path, elsewhere: Option<&Path>) -> StateDir {
        let Some(base) = elsewhere else { return StateDir(root.join(NAME)) };
        let bytes = root.as_os_str().as_bytes();
        let hash = blake3::hash(bytes).to_hex();
        let mut name = root.file_name().unwrap_or_default().to_owned();
        name.push(format!("-{}", &hash[..16]));
        StateDir(base.join(name))
    }

    /// The folder.
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// The repository's own ledger: its index and its reads.
    pub fn ledger(&self) -> PathBuf {
        self.0.join("ledger.sqlite")
    }

    /// A file or folder in it.
    pub fn join(&self, name: impl AsRef<Path>) -> PathBuf {
        self.0.join(name)
    }

    /// Makes the folder, with a `.gitignore` that keeps it out of git, if it is not there.
    ///
    /// # Errors
    /// `not-writable` with the way out, when the folder cannot be made.
    pub fn create(&self) -> Result<()> {
        let ignore = self.0.join(".gitignore");
        let make = || -> std::io::Result<()> {
            fs::create_dir_all(&self.0)?;
            // Whoever made it may have been killed before it was filled.
            match regular::size(&ignore) {
                Ok(1..) => Ok(()),
                Err(e) if e.kind() != std::io::ErrorKind::NotFound => Err(e),
                _ => regular::open_own(&ignore)?.write_all(b"*\n"),
            }
        };
        make().map_err(|e| {
            if regular::is_other(&e) {
                return regular::cannot("open", &ignore, &e);
            }
            if e.kind() == std::io::ErrorKind::StorageFull {
                return cannot_write(&self.0, &e);
            }
            let subject = quote(&self.0);
            Error::failed("not-writable", format!("cannot write the state folder '{subject}'"))
                .because(crate::error::plain(&e))
                .hint("keep the state elsewhere with `--state-dir DIR` (or AUWAI_STATE_DIR)")
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_folder_keeps_itself_out_of_git() {
        let dir = tempfile::tempdir().unwrap();
        let state = StateDir::of(dir.path(), None);
        state.create().unwrap();
        fs::write(dir.path().join(".auwai/.gitignore"), "").unwrap();
        state.create().unwrap();
        assert_eq!(fs::read(dir.path().join(".auwai/.gitignore")).unwrap(), b"*\n");
    }

    #[test]
    fn two_roots_of_one_name_do_not_share_a_state() {
        let base = Some(Path::new("/s"));
        let (a, b) = (StateDir::of(Path::new("/a/x"), base), StateDir::of(Path::new("/b/x"), base));
        assert_ne!(a, b);
        assert!(a.path().to_str().unwrap().starts_with("/s/x-"));
    }
}
