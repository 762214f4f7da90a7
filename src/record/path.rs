//! Paths inside a repository: bytes, `/` between components, and their form on the wire.

use std::cmp::Ordering;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use crate::visible;

/// A path relative to a repository's root: bytes, components separated by `/`, never empty, never
/// absolute, no `.` or `..` component, no NUL. Ordered by component, byte by byte.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct RepoPath(Vec<u8>);

impl RepoPath {
    /// Takes a relative path; `None` when it could name anything outside the repository.
    pub fn new(bytes: impl Into<Vec<u8>>) -> Option<Self> {
        let bytes = bytes.into();
        let inside = !bytes.is_empty()
            && !bytes.contains(&0)
            && bytes.split(|b| *b == b'/').all(|c| !matches!(c, b"" | b"." | b".."));
        inside.then_some(RepoPath(bytes))
    }

    /// The bytes.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// Whether it is `dir` or something below it.
    pub fn is_within(&self, dir: &RepoPath) -> bool {
        let rest = self.0.strip_prefix(dir.as_bytes());
        rest.is_some_and(|rest| rest.is_empty() || rest[0] == b'/')
    }

    /// The path above it; `None` when that is the root.
    pub fn parent(&self) -> Option<RepoPath> {
        let end = self.0.iter().rposition(|b| *b == b'/')?;
        Some(RepoPath(self.0[..end].to_vec()))
    }

    /// The last component.
    pub fn name(&self) -> &[u8] {
        let start = self.0.iter().rposition(|b| *b == b'/').map_or(0, |at| at + 1);
        &self.0[start..]
    }

    /// The path below `root`, for the file system.
    pub fn under(&self, root: &Path) -> PathBuf {
        root.join(OsStr::from_bytes(&self.0))
    }

    /// A sort key for databases: `/` becomes NUL, so that plain byte order is component order.
    pub fn to_key(&self) -> Vec<u8> {
        let mut key = Vec::with_capacity(self.0.len());
        self.push_key(&mut key);
        key
    }

    /// Appends the key to `out`, for those who make many.
    pub fn push_key(&self, out: &mut Vec<u8>) {
        out.extend(self.0.iter().map(|b| if *b == b'/' { 0 } else { *b }));
    }

    /// Back from [`RepoPath::to_key`].
    pub fn from_key(key: &[u8]) -> Option<Self> {
        Self::new(key.iter().map(|b| if *b == 0 { b'/' } else { *b }).collect::<Vec<u8>>())
    }

    /// The wire form: `path` (lossy when not UTF-8) and, only then, `path_b64`, which counts.
    pub fn to_wire(&self) -> (String, Option<String>) {
        path_to_wire(Path::new(OsStr::from_bytes(&self.0)))
    }

    /// Back from [`RepoPath::to_wire`]; the error says what is wrong.
    pub fn from_wire(path: &str, path_b64: Option<&str>) -> Result<Self, String> {
        let bytes = path_from_wire(path, path_b64)?.into_os_string().into_vec();
        Self::new(bytes).ok_or_else(|| format!("not a path inside a repository: '{path}'"))
    }

    /// The form for people, C-quoted where needed.
    pub fn display(&self) -> std::borrow::Cow<'_, str> {
        visible::quote_path(&self.0)
    }
}

/// The wire form of any path: its text (lossy when not UTF-8) and, only then, its bytes in base64,
/// for a key that ends in `_b64` and counts.
pub fn path_to_wire(path: &Path) -> (String, Option<String>) {
    let bytes = path.as_os_str().as_bytes();
    match std::str::from_utf8(bytes) {
        Ok(text) => (text.to_string(), None),
        Err(_) => (String::from_utf8_lossy(bytes).into_owned(), Some(STANDARD.encode(bytes))),
    }
}

/// Back from [`path_to_wire`]; the error says what is wrong.
pub fn path_from_wire(text: &str, b64: Option<&str>) -> Result<PathBuf, String> {
    Ok(match b64 {
        None => PathBuf::from(text),
        Some(b64) => {
            let bytes = STANDARD.decode(b64).map_err(|e| format!("bad base64: {e}"))?;
            PathBuf::from(OsString::from_vec(bytes))
        }
    })
}

impl Ord for RepoPath {
    fn cmp(&self, other: &Self) -> Ordering {
        self.0.split(|b| *b == b'/').cmp(other.0.split(|b| *b == b'/'))
    }
}

impl PartialOrd for RepoPath {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_reaches_outside() {
        for bad in ["", "/a", "a//b", "../a", "a/..", "./a", "a\0b", "a/"] {
            assert!(RepoPath::new(bad).is_none(), "{bad:?}");
        }
    }

    #[test]
    fn a_directory_comes_before_its_longer_neighbours() {
        let (inside, beside) = (RepoPath::new("a/z").unwrap(), RepoPath::new("a.b").unwrap());
        assert!(inside < beside);
        assert!(inside.to_key() < beside.to_key());
    }

    #[test]
    fn bytes_survive_the_wire() {
        let path = RepoPath::new(b"a/\xff".to_vec()).unwrap();
        let (text, b64) = path.to_wire();
        assert_eq!(RepoPath::from_wire(&text, b64.as_deref()), Ok(path));
    }
}
