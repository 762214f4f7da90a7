//! Opening a file by its name when only a regular file will do. Whatever took its place, opening
//! never waits: a FIFO, a socket, a device or a folder is an error that says what is there.

use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;

use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, fstat, openat, statat};
use rustix::io::Errno;
use rustix::path::Arg;

use crate::error::Error;
use crate::visible::quote;

/// Opening must neither wait for the other end of a FIFO nor take a terminal.
const CALM: OFlags = OFlags::CLOEXEC.union(OFlags::NONBLOCK).union(OFlags::NOCTTY);

/// Where a link stands for the file itself, and where it may not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Links {
    /// Follow a link in the last component, as for a file that belongs to the user.
    Follow,
    /// Take a link for what it is, as for a file in a folder that others may have filled.
    Refuse,
}

impl Links {
    fn flags(self) -> OFlags {
        match self {
            Links::Follow => OFlags::empty(),
            Links::Refuse => OFlags::NOFOLLOW,
        }
    }
}

/// What stands where a regular file should: the source of an [`io::Error`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NotRegular(FileType);

impl std::fmt::Display for NotRegular {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let what = match self.0 {
            FileType::Fifo => "a FIFO",
            FileType::Socket => "a socket",
            FileType::Directory => "a folder",
            FileType::Symlink => "a symbolic link",
            _ => "a device",
        };
        write!(f, "it is {what}, not a regular file")
    }
}

impl std::error::Error for NotRegular {}

/// Opens a file for reading, by its name in an open folder.
///
/// # Errors
/// [`is_other`] tells that something is there and no regular file; else as open(2).
pub fn open_at(dir: impl AsFd, name: impl Arg + Copy, links: Links) -> io::Result<File> {
    let flags = OFlags::RDONLY | CALM | links.flags();
    let opened = openat(&dir, name, flags, Mode::empty());
    let opened = opened.map_err(|errno| explain(errno, &dir, name, links))?;
    checked(opened)
}

/// Opens a file for reading.
///
/// # Errors
/// As [`open_at`].
pub fn open(path: &Path, links: Links) -> io::Result<File> {
    open_at(CWD, path, links)
}

/// The bytes of a file.
///
/// # Errors
/// As [`open_at`], and those of reading.
pub fn read(path: &Path, links: Links) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    open(path, links)?.read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Opens a file of our own for reading and writing, and makes it when there is none. A link in its
/// place is not followed.
///
/// # Errors
/// As [`open_at`].
pub fn open_own(path: &Path) -> io::Result<File> {
    let flags = OFlags::RDWR | OFlags::CREATE | CALM | OFlags::NOFOLLOW;
    let mode = Mode::from_raw_mode(0o666);
    let opened = openat(CWD, path, flags, mode);
    checked(opened.map_err(|errno| explain(errno, CWD, path, Links::Refuse))?)
}

/// An open descriptor as a file, if it is a regular one.
///
/// # Errors
/// As [`open_at`].
pub fn checked(opened: OwnedFd) -> io::Result<File> {
    match FileType::from_raw_mode(fstat(&opened)?.st_mode) {
        FileType::RegularFile => Ok(File::from(opened)),
        other => Err(not_regular(other)),
    }
}

/// The size of a regular file, without opening it. A link is not followed.
///
/// # Errors
/// As [`open_at`].
pub fn size(path: &Path) -> io::Result<u64> {
    let stat = statat(CWD, path, AtFlags::SYMLINK_NOFOLLOW)?;
    match FileType::from_raw_mode(stat.st_mode) {
        FileType::RegularFile => Ok(u64::try_from(stat.st_size).unwrap_or_default()),
        other => Err(not_regular(other)),
    }
}

/// Whether a name is there at all, also as a link that leads nowhere.
pub fn is_there(path: &Path) -> bool {
    statat(CWD, path, AtFlags::SYMLINK_NOFOLLOW).is_ok()
}

/// Whether an error says that something else than a regular file is there.
pub fn is_other(e: &io::Error) -> bool {
    found(e).is_some()
}

/// Whether an error says that a device is there: with `/dev/null` people say that there is nothing.
pub fn is_device(e: &io::Error) -> bool {
    matches!(found(e), Some(FileType::CharacterDevice | FileType::BlockDevice))
}

fn found(e: &io::Error) -> Option<FileType> {
    e.get_ref()?.downcast_ref::<NotRegular>().map(|cause| cause.0)
}

/// The error of a file that cannot be opened, `what` being `open`, `read` or `write`; with the way
/// out when something else is in its place.
pub fn cannot(what: &str, path: &Path, e: &io::Error) -> Error {
    let shown = quote(path);
    if !is_other(e) {
        return Error::io(what, shown, e);
    }
    Error::failed("not-regular", format!("cannot {what} '{shown}'"))
        .because(e)
        .hint(format!("move it out of the way: `mv {shown} {shown}.odd`"))
}

fn not_regular(found: FileType) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, NotRegular(found))
}

/// Some of them cannot even be opened; the name says what they are.
fn explain(errno: Errno, dir: impl AsFd, name: impl Arg, links: Links) -> io::Error {
    if !matches!(errno, Errno::NXIO | Errno::LOOP | Errno::ISDIR | Errno::NODEV | Errno::OPNOTSUPP)
    {
        return errno.into();
    }
    let flags = match links {
        Links::Follow => AtFlags::empty(),
        Links::Refuse => AtFlags::SYMLINK_NOFOLLOW,
    };
    match statat(dir, name, flags).map(|stat| FileType::from_raw_mode(stat.st_mode)) {
        Ok(FileType::RegularFile) | Err(_) => errno.into(),
        Ok(other) => not_regular(other),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A folder with one of each: `fifo`, `socket`, `folder`, `link` (to `file`), `file`.
    fn zoo() -> tempfile::TempDir {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        let mode = Mode::RUSR | Mode::WUSR;
        rustix::fs::mknodat(CWD, at("fifo"), FileType::Fifo, mode, 0).unwrap();
        drop(std::os::unix::net::UnixListener::bind(at("socket")).unwrap());
        std::fs::create_dir(at("folder")).unwrap();
        std::fs::write(at("file"), "x").unwrap();
        std::os::unix::fs::symlink("file", at("link")).unwrap();
        dir
    }

    #[test]
    fn whatever_is_there_is_named_and_not_waited_for() {
        let dir = zoo();
        for (name, what) in [
            ("fifo", "a FIFO"),
            ("socket", "a socket"),
            ("folder", "a folder"),
            ("link", "a symbolic link"),
            ("/dev/null", "a device"),
        ] {
            let path = dir.path().join(name);
            let tried = [read(&path, Links::Refuse).map(|_| ()), open_own(&path).map(|_| ())];
            for error in tried.map(|tried| tried.unwrap_err()) {
                assert!(is_other(&error), "{name}: {error}");
                assert_eq!(error.to_string(), format!("it is {what}, not a regular file"));
                let told = cannot("open", &path, &error);
                assert_eq!((told.code(), told.hints().len()), ("not-regular", 1));
            }
        }
    }

    #[test]
    fn a_regular_file_is_opened_and_one_is_made() {
        let dir = zoo();
        assert_eq!(read(&dir.path().join("file"), Links::Refuse).unwrap(), b"x");
        assert_eq!(read(&dir.path().join("link"), Links::Follow).unwrap(), b"x");
        let missing = read(&dir.path().join("new"), Links::Follow).unwrap_err();
        assert_eq!(missing.kind(), io::ErrorKind::NotFound);
        open_own(&dir.path().join("new")).unwrap();
        assert!(is_there(&dir.path().join("new")));
    }
}
