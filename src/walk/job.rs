//! What is still to be visited, and the way there.

use std::ops::Range;
use std::os::fd::OwnedFd;
use std::sync::Arc;

use rustix::io::Errno as Code;

use crate::admit::{Dir, Policy, RuleFiles};
use crate::error::{Error, Result};
use crate::listing;
use crate::visible;

/// A directory to visit.
pub struct Job {
    /// How to get there.
    pub way: Way,
    /// The directory above.
    pub parent: Dir,
    /// Its name there.
    pub name: Vec<u8>,
    /// Git's index has an entry of exactly this path, beside those below.
    pub entry: Option<usize>,
    /// The tracked entries below.
    pub below: Range<usize>,
}

/// How to get to a directory.
pub enum Way {
    /// It is the root, open.
    Root(OwnedFd),
    /// By name from the one above, or from the root when that is not held open.
    Name(Option<Arc<OwnedFd>>, usize),
    /// Not at all: it is not there, or what is above it cannot be searched.
    None(Option<Code>),
}

impl Job {
    /// The root of a walk.
    pub fn root(policy: &Policy) -> Result<Self> {
        let fd = open_root(policy)?;
        let parent = policy.root(RuleFiles::default());
        Ok(Job { way: Way::Root(fd), parent, name: Vec::new(), entry: None, below: 0..0 })
    }

    /// Opens a directory; when it may not be listed, perhaps to look up names in it.
    pub fn open(
        &self,
        policy: &Policy,
        above: Option<Arc<OwnedFd>>,
    ) -> std::result::Result<OwnedFd, (Code, Option<OwnedFd>)> {
        let above = match above {
            Some(fd) => fd,
            None => Arc::new(open_from_root(policy, &self.parent).map_err(|code| (code, None))?),
        };
        listing::open_dir(&above, &self.name).map_err(|code| {
            let denied = code == Code::ACCESS;
            (code, denied.then(|| listing::open_to_search(&above, &self.name).ok()).flatten())
        })
    }
}

/// Opens the root of a walk.
pub fn open_root(policy: &Policy) -> Result<OwnedFd> {
    use std::os::unix::ffi::OsStrExt;
    let path = policy.root_path();
    listing::open_root(path).map_err(|code| {
        Error::io("read", visible::quote_path(path.as_os_str().as_bytes()), &code.into())
    })
}

fn open_from_root(policy: &Policy, dir: &Dir) -> rustix::io::Result<OwnedFd> {
    listing::open_below(policy.root_path(), policy.path_of_dir(dir).as_ref())
}
