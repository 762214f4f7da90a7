//! The stamp of what is kept in a state folder: the machine and the folder that it was made in. It
//! tells what was copied, unpacked or shipped here from what was made here.

use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use rusqlite::{Connection, OptionalExtension};
use serde::{Deserialize, Serialize};

use crate::regular::{self, Links};

/// The migration that makes room for it.
pub(super) const TABLE: &str = include_str!("stamp.sql");

/// Where systems keep a number of their own: machine-id(5).
const MACHINE_IDS: [&str; 2] = ["/etc/machine-id", "/var/lib/dbus/machine-id"];

/// What the number is hashed for: it is not to be told to others as it is.
const CONTEXT: &str = "auwai 2026-12-01 the machine of a state folder";

/// Where something was made. No device is part of it, since its number may change when a system
/// starts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stamp {
    /// A hash of the machine's id, in hex; empty where the system has none.
    machine: String,
    /// The inode of the folder.
    folder: u64,
}

impl Stamp {
    /// Of what is made in this folder now.
    ///
    /// # Errors
    /// Those of stat(2).
    pub fn of(folder: &Path) -> io::Result<Stamp> {
        let folder = std::fs::metadata(folder)?.ino();
        let machine = MACHINE_IDS.iter().find_map(|path| machine(Path::new(path)));
        Ok(Stamp { machine: machine.unwrap_or_default(), folder })
    }

    /// The stamp of a database; `None` of one that was made before there were any.
    pub(super) fn read(c: &Connection) -> rusqlite::Result<Option<Stamp>> {
        let there = "SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'stamp'";
        if c.query_row(there, [], |_| Ok(())).optional()?.is_none() {
            return Ok(None);
        }
        let row = c.query_row("SELECT machine, folder FROM stamp", [], |row| {
            let folder = row.get::<_, i64>(1)?.cast_unsigned();
            Ok(Stamp { machine: row.get(0)?, folder })
        });
        row.optional()
    }

    /// Puts it into a database.
    pub(super) fn put(&self, c: &Connection) -> rusqlite::Result<()> {
        let row = rusqlite::params![self.machine, self.folder.cast_signed()];
        c.execute("INSERT OR REPLACE INTO stamp VALUES (1, ?1, ?2)", row).map(drop)
    }
}

/// The hash of the id in a file, if there is one: 32 hex digits. A system that is only being set up
/// has a word there.
fn machine(path: &Path) -> Option<String> {
    let text = regular::read(path, Links::Follow).ok()?;
    let id = text.trim_ascii();
    let is_id = id.len() == 32 && id.iter().all(u8::is_ascii_hexdigit);
    is_id.then(|| blake3::Hash::from_bytes(blake3::derive_key(CONTEXT, id)).to_hex().to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_hashed_and_what_is_none_is_not() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("machine-id");
        let of = |text: &str| {
            std::fs::write(&path, text).unwrap();
            machine(&path)
        };
        let (one, other) = (format!("{:032x}\n", 7), format!("{:032x}\n", 8));
        assert!(of(&one).is_some_and(|hash| hash.len() == 64 && !one.contains(&hash)));
        assert_ne!(of(&one), of(&other));
        for none in ["", "uninitialized\n", "12345\n"] {
            assert_eq!(of(none), None, "{none:?}");
        }
        assert_eq!(machine(&dir.path().join("missing")), None);
    }

    #[test]
    fn a_folder_keeps_its_stamp_where_it_is_renamed_and_a_copy_has_another() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        for name in ["one", "two"] {
            std::fs::create_dir(at(name)).unwrap();
        }
        let one = Stamp::of(&at("one")).unwrap();
        assert_ne!(one, Stamp::of(&at("two")).unwrap());
        std::fs::rename(at("one"), at("three")).unwrap();
        assert_eq!(one, Stamp::of(&at("three")).unwrap());
    }
}
