//! Where file systems are mounted. That one is mounted over a directory, or taken away, is no event
//! there; but the system's list of mounts wakes whoever waits for it to change.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;

/// The list, as this process sees it; missing where the system has none.
pub const LIST: &str = "/proc/self/mountinfo";

/// A mount point, and what is mounted there.
type Mount = (PathBuf, Vec<Vec<u8>>);

/// The mounts when they were last looked at.
#[derive(Debug)]
pub struct Mounts(BTreeSet<Mount>);

impl Mounts {
    /// As they are now.
    pub fn read() -> Mounts {
        Mounts(parse(&std::fs::read(LIST).unwrap_or_default()))
    }

    /// Where something else is mounted than at the last look, or nothing any more. The deepest come
    /// last.
    pub fn changed(&mut self) -> Vec<PathBuf> {
        let old = std::mem::replace(self, Self::read());
        let points = self.0.symmetric_difference(&old.0).map(|(point, _)| point.clone());
        let points: BTreeSet<PathBuf> = points.collect();
        points.into_iter().collect()
    }
}

fn parse(list: &[u8]) -> BTreeSet<Mount> {
    let mount = |line: &[u8]| {
        let fields: Vec<&[u8]> = line.split(|byte| *byte == b' ').collect();
        // The mount's number, its parent's, the device, what of it is mounted, where.
        let [id, _, device, source, point, ..] = fields[..] else { return None };
        let what = [id, device, source].map(<[u8]>::to_vec).to_vec();
        Some((PathBuf::from(OsString::from_vec(unescape(point))), what))
    };
    list.split(|byte| *byte == b'\n').filter_map(mount).collect()
}

/// A name in which white space and backslashes are written as three octal digits.
fn unescape(field: &[u8]) -> Vec<u8> {
    let (mut name, mut rest) = (Vec::with_capacity(field.len()), field);
    while let Some((first, after)) = rest.split_first() {
        let digits = after.get(..3).filter(|_| *first == b'\\');
        let digits = digits.and_then(|digits| std::str::from_utf8(digits).ok());
        let byte = digits.and_then(|digits| u8::from_str_radix(digits, 8).ok());
        name.push(byte.unwrap_or(*first));
        rest = if byte.is_some() { &after[3..] } else { after };
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINES: &str = "22 1 254:0 / / rw,relatime - ext4 /dev/root rw\n\
        30 22 0:27 / /mnt/two\\040words\\134 rw - tmpfs tmpfs rw\n\
        31 22 254:0 /src /tree/d rw shared:1 - ext4 /dev/root rw\n";

    fn points(mounts: &Mounts) -> Vec<&str> {
        mounts.0.iter().map(|(point, _)| point.to_str().unwrap()).collect()
    }

    #[test]
    fn a_mount_point_may_have_any_name() {
        let mounts = Mounts(parse(LINES.as_bytes()));
        assert_eq!(points(&mounts), ["/", "/mnt/two words\\", "/tree/d"]);
        assert!(parse(b"nonsense\n\n").is_empty());
    }

    /// The same place with another thing on it is another mount; other options are not.
    #[test]
    fn a_mount_is_what_is_mounted_where() {
        let one = parse(LINES.as_bytes());
        assert_eq!(parse(LINES.replace("rw,relatime", "ro").as_bytes()), one);
        let other = parse(LINES.replace("/src /tree", "/lib /tree").as_bytes());
        assert_eq!(one.symmetric_difference(&other).count(), 2);
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn nothing_changes_by_looking() {
        let mut mounts = Mounts::read();
        assert!(points(&mounts).contains(&"/"));
        mounts.0.insert((PathBuf::from("/nowhere/at all"), Vec::new()));
        assert!(mounts.changed().contains(&PathBuf::from("/nowhere/at all")));
    }
}
