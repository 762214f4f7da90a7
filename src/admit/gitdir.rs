//! Where a repository's git directory is, and what counts as one: git's own test.

use std::ffi::{OsStr, OsString};
use std::io::Read;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use rustix::fs::{self, Access, AtFlags, FileType, Mode, OFlags};
use rustix::io::Errno;

use crate::regular::{self, Links};

/// A `.git` file may not be larger.
const LARGEST_GITFILE: u64 = 1 << 20;

/// A work tree and its git directories, as absolute paths.
#[derive(Debug, Clone)]
pub struct GitDir {
    /// The top of the work tree: the directory that holds `.git`.
    pub top: PathBuf,
    /// The git directory of this work tree: its `HEAD` and `index`.
    pub own: PathBuf,
    /// The one shared by all work trees: `config`, `info`, refs.
    pub common: PathBuf,
}

impl GitDir {
    /// Finds the repository around `root` (absolute, without links), not looking past the file
    /// system that `root` is on, as git does.
    pub fn around(root: &Path) -> Option<Self> {
        let device = device(root)?;
        root.ancestors().take_while(|dir| self::device(dir) == Some(device)).find_map(Self::at)
    }

    fn at(top: &Path) -> Option<Self> {
        let dir = open_dir(top)?;
        let own = top.join(git_dir_in(&dir)?);
        let own = own.canonicalize().ok()?;
        let common = own.join(common_dir(&dir, &own));
        let common = common.canonicalize().ok()?;
        Some(GitDir { top: top.to_path_buf(), own, common })
    }
}

/// Names in `.git` that decide whether it is a repository's.
pub const GIT_NAMES: [&[u8]; 4] = [b"HEAD", b"objects", b"refs", b"commondir"];

/// Whether an open directory is the top of a repository's work tree, as `git ls-files -o` decides
/// whether to go into it: a valid `.git` directory or file, or a file that cannot be read.
pub fn is_repository(dir: impl AsFd) -> bool {
    match read_gitfile(&dir) {
        GitFile::Path(path) => is_git_dir(&dir, &path),
        GitFile::Unreadable => true,
        GitFile::No => is_git_dir(&dir, Path::new(".git")),
    }
}

/// The git directory of a work tree's top, relative to it or absolute.
fn git_dir_in(dir: &OwnedFd) -> Option<PathBuf> {
    let path = match read_gitfile(dir) {
        GitFile::Path(path) => path,
        GitFile::Unreadable => return None,
        GitFile::No => PathBuf::from(".git"),
    };
    is_git_dir(dir, &path).then_some(path)
}

enum GitFile {
    Path(PathBuf),
    Unreadable,
    No,
}

/// Reads `.git` when it is a file that says `gitdir: <path>`.
fn read_gitfile(dir: impl AsFd) -> GitFile {
    match fs::statat(&dir, ".git", AtFlags::empty()) {
        Ok(stat) if FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile => {}
        _ => return GitFile::No,
    }
    let file = match regular::open_at(&dir, ".git", Links::Follow) {
        Ok(file) => file,
        Err(e) if regular::is_other(&e) => return GitFile::No,
        Err(_) => return GitFile::Unreadable,
    };
    let mut text = Vec::new();
    if file.take(LARGEST_GITFILE + 1).read_to_end(&mut text).is_err() {
        return GitFile::Unreadable;
    }
    match text.strip_prefix(b"gitdir: ").map(trim_line_ends) {
        Some(path) if !path.is_empty() && text.len() as u64 <= LARGEST_GITFILE => {
            GitFile::Path(OsString::from_vec(path.to_vec()).into())
        }
        _ => GitFile::No,
    }
}

/// Git's test of a git directory: a HEAD that could be one, and `objects` and `refs` to enter.
fn is_git_dir(at: impl AsFd, path: &Path) -> bool {
    let common = path.join(common_dir(&at, path));
    let may_enter = |name: &str| {
        fs::accessat(&at, common.join(name), Access::EXEC_OK, AtFlags::empty()).is_ok()
    };
    has_head(&at, &path.join("HEAD")) && may_enter("objects") && may_enter("refs")
}

fn has_head(at: impl AsFd, head: &Path) -> bool {
    match fs::readlinkat(&at, head, Vec::new()) {
        Ok(target) => return target.as_bytes().starts_with(b"refs/"),
        Err(Errno::INVAL) => {}
        Err(_) => return false,
    }
    let text = read_start(at, head).unwrap_or_default();
    match text.strip_prefix(b"ref:") {
        Some(name) => name.trim_ascii_start().starts_with(b"refs/"),
        None => text.len() >= 40 && text[..40].iter().all(u8::is_ascii_hexdigit),
    }
}

/// What `commondir` says, relative to the git directory at `path`; `.` when it is its own.
fn common_dir(at: impl AsFd, path: &Path) -> PathBuf {
    let text = read_start(at, &path.join("commondir")).unwrap_or_default();
    match trim_line_ends(&text) {
        b"" => PathBuf::from("."),
        path => OsStr::from_bytes(path).into(),
    }
}

/// The first 4 kB of a small file.
fn read_start(at: impl AsFd, path: &Path) -> Option<Vec<u8>> {
    let file = regular::open_at(at, path, Links::Follow).ok()?;
    let mut text = Vec::new();
    file.take(4096).read_to_end(&mut text).ok()?;
    Some(text)
}

fn trim_line_ends(text: &[u8]) -> &[u8] {
    let end = text.iter().rposition(|b| !matches!(b, b'\n' | b'\r')).map_or(0, |at| at + 1);
    &text[..end]
}

fn open_dir(path: &Path) -> Option<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    fs::open(path, flags, Mode::empty()).ok()
}

fn device(path: &Path) -> Option<u64> {
    use std::os::unix::fs::MetadataExt;
    std::fs::metadata(path).ok().map(|meta| meta.dev())
}
