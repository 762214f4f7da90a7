//! Stat data: as bytes to compare, and whether its times can be trusted.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crate::store::ledger::StatBytes;
use crate::walk::Stat;

/// Times this close to a scan cannot be told from those of a write after it.
const YOUNG: Duration = Duration::from_secs(2);

/// The fields, big-endian, one after the other: equal bytes mean equal stat data.
pub fn to_bytes(stat: &Stat) -> StatBytes {
    let mut bytes = [0; 48];
    let fields = [
        stat.dev,
        stat.ino,
        stat.size,
        stat.mtime_ns as u64,
        stat.ctime_ns as u64,
        u64::from(stat.mode),
    ];
    for (place, field) in bytes.chunks_exact_mut(8).zip(fields) {
        place.copy_from_slice(&field.to_be_bytes());
    }
    bytes
}

/// Back from [`to_bytes`].
pub fn from_bytes(bytes: &StatBytes) -> Stat {
    let mut fields = [0; 6];
    for (field, place) in fields.iter_mut().zip(bytes.chunks_exact(8)) {
        let mut raw = [0; 8];
        raw.copy_from_slice(place);
        *field = u64::from_be_bytes(raw);
    }
    let [dev, ino, size, mtime_ns, ctime_ns, mode] = fields;
    let (mtime_ns, ctime_ns) = (mtime_ns as i64, ctime_ns as i64);
    Stat { dev, ino, size, mtime_ns, ctime_ns, mode: mode as u32 }
}

/// The moment from which on times are too young to be trusted.
#[derive(Debug, Clone, Copy)]
pub struct Young(i128);

impl Young {
    /// For a scan that begins now.
    pub fn at(now: SystemTime) -> Young {
        let since = now.duration_since(UNIX_EPOCH).unwrap_or_default();
        Young(since.saturating_sub(YOUNG).as_nanos() as i128)
    }

    /// Whether the file must be hashed again by the next scan.
    pub fn is_racy(self, stat: &Stat) -> bool {
        i128::from(stat.mtime_ns) >= self.0 || i128::from(stat.ctime_ns) >= self.0
    }
}
