//! The stat data that decides whether a file may have changed.

/// What `lstat` says about a path, compared with `!=` to see a change.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Stat {
    /// The device.
    pub dev: u64,
    /// The inode.
    pub ino: u64,
    /// The size in bytes.
    pub size: u64,
    /// Nanoseconds since 1970 of the last change to the content.
    pub mtime_ns: i64,
    /// Nanoseconds since 1970 of the last change to content or inode.
    pub ctime_ns: i64,
    /// Type and permissions, as `st_mode`.
    pub mode: u32,
}

const NS: i64 = 1_000_000_000;

impl From<&rustix::fs::Stat> for Stat {
    #[allow(clippy::unnecessary_cast)] // the fields' types differ between systems
    fn from(stat: &rustix::fs::Stat) -> Self {
        let ns = |secs: i64, nsecs: i64| secs.saturating_mul(NS).saturating_add(nsecs);
        Stat {
            dev: stat.st_dev as u64,
            ino: stat.st_ino as u64,
            size: stat.st_size as u64,
            mtime_ns: ns(stat.st_mtime as i64, stat.st_mtime_nsec as i64),
            ctime_ns: ns(stat.st_ctime as i64, stat.st_ctime_nsec as i64),
            mode: stat.st_mode as u32,
        }
    }
}

impl Stat {
    /// The type of file.
    pub fn file_type(&self) -> rustix::fs::FileType {
        rustix::fs::FileType::from_raw_mode(self.mode as rustix::fs::RawMode)
    }

    /// Whether a time equals git's pair of 32-bit seconds and nanoseconds.
    pub(super) fn same_time(ns: i64, secs: u32, nsecs: u32) -> bool {
        ns.div_euclid(NS) as u32 == secs && ns.rem_euclid(NS) as u32 == nsecs
    }
}
