//! A small file system of its own.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::site::skipped;

/// A file system on a folder; gone with the value.
pub struct SmallDisk(PathBuf);

impl SmallDisk {
    /// With so much room, such as `3m`; only root can.
    pub fn mount(folder: &Path, size: &str) -> Option<SmallDisk> {
        let mut mount = Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", &format!("size={size}"), "tmpfs"]).arg(folder);
        if mount.output().is_ok_and(|done| done.status.success()) {
            return Some(SmallDisk(folder.to_owned()));
        }
        skipped("mounting a tmpfs needs root");
        None
    }

    /// Leaves no more than `free` bytes.
    pub fn fill(&self, free: u64) {
        let path = self.0.join("filler");
        // Of what does not fit the beginning is written.
        let _ = fs::write(&path, vec![0; 1 << 25]);
        let filler = fs::File::options().write(true).open(&path).unwrap();
        let size = filler.metadata().unwrap().len();
        filler.set_len(size.saturating_sub(free)).unwrap();
    }

    /// Makes room again.
    pub fn free(&self) {
        fs::remove_file(self.0.join("filler")).unwrap();
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(&self.0).status();
    }
}
