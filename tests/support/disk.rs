//! A disk that can be filled.

use std::fs;
use std::process::Command;

use super::site::{Site, skipped};

/// A file system of its own on the folder to work in; gone with the value.
pub struct SmallDisk(pub Site);

impl SmallDisk {
    /// Of `size`, as mount(8) takes it; `None`, and said loudly, where it cannot be had.
    pub fn mount(size: &str) -> Option<SmallDisk> {
        let site = Site::new();
        let mut mount = Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", &format!("size={size}"), "tmpfs"]).arg(site.work(""));
        if mount.output().is_ok_and(|done| done.status.success()) {
            return Some(SmallDisk(site));
        }
        skipped("mounting a tmpfs needs root");
        None
    }

    /// Leaves no more than `free` bytes.
    pub fn fill(&self, free: usize) {
        let mut filler = vec![0; 1 << 22];
        loop {
            let _ = fs::write(self.0.work("filler"), &filler);
            if fs::metadata(self.0.work("filler")).is_ok_and(|m| m.len() == filler.len() as u64) {
                break;
            }
            filler.truncate(filler.len().saturating_sub(4096));
        }
        filler.truncate(filler.len().saturating_sub(free));
        fs::write(self.0.work("filler"), &filler).unwrap();
    }

    /// Makes room again.
    pub fn free(&self) {
        fs::remove_file(self.0.work("filler")).unwrap();
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(self.0.work("")).status();
    }
}
