//! File systems that take a watch and tell only of what is done through them here: not of what another
//! machine, the host of a virtual machine, or the process behind the mount does.

/// Their numbers in statfs(2), and what they are called.
const REMOTE: [(u64, &str); 24] = [
    (0x0000_517b, "smbfs"),
    (0x0000_564c, "ncpfs"),
    (0x0000_6969, "nfs"),
    (0x00c3_6400, "ceph"),
    (0x0102_1997, "9p"),
    (0x0116_1970, "gfs2"),
    (0x0131_11a8, "ibrix"),
    (0x0bd0_0bd0, "lustre"),
    (0x1983_0326, "beegfs"),
    (0x2003_0528, "orangefs"),
    (0x4750_4653, "gpfs"),
    (0x5346_414f, "afs"),
    // sshfs, virtiofs, rclone and the like; it cannot be told which.
    (0x6573_5546, "fuse"),
    (0x6b41_4653, "afs"),
    (0x7375_7245, "coda"),
    (0x7461_636f, "ocfs2"),
    (0x786f_4256, "vboxsf"),
    (0x7c7c_6673, "prl_fs"),
    (0xaad7_aaea, "panfs"),
    (0xbacb_acbc, "vmhgfs"),
    (0xbeef_dead, "snfs"),
    (0x6163_6673, "acfs"),
    (0xfe53_4d42, "smb3"),
    (0xff53_4d42, "cifs"),
];

/// The name of a file system, by its number in statfs(2), that does not tell of all changes; `None`
/// for any other.
pub fn remote(number: u64) -> Option<&'static str> {
    REMOTE.iter().find(|(known, _)| *known == number).map(|(_, name)| *name)
}

/// Takes every file system at its word.
pub fn trusted(_: u64) -> Option<&'static str> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The numbers as the kernel's headers have them.
    #[test]
    fn what_others_change_unseen_is_known_by_its_number() {
        for (number, name) in [
            (0x6969, "nfs"),
            (0xFF53_4D42, "cifs"),
            (0xFE53_4D42, "smb3"),
            (0x0102_1997, "9p"),
            (0x6573_5546, "fuse"),
            (0x786F_4256, "vboxsf"),
            (0x5346_414F, "afs"),
            (0x6B41_4653, "afs"),
            (0x00C3_6400, "ceph"),
        ] {
            assert_eq!(remote(number), Some(name));
            assert_eq!(trusted(number), None);
        }
    }

    /// ext4, btrfs, xfs, tmpfs, overlayfs (a container's root), ZFS, f2fs, vfat, exfat, ntfs3, squashfs,
    /// ramfs, bcachefs.
    #[test]
    fn what_is_local_is_watched() {
        for number in [
            0xEF53,
            0x9123_683E,
            0x5846_5342,
            0x0102_1994,
            0x794C_7630,
            0x2FC1_2FC1,
            0xF2F5_2010,
            0x4D44,
            0x2011_BAB0,
            0x7366_746E,
            0x7371_7368,
            0x8584_58F6,
            0xCA45_1A4E,
        ] {
            assert_eq!(remote(number), None, "{number:#x}");
        }
    }

    /// Linux gives the numbers of coreutils' table of remote file systems.
    #[test]
    fn no_number_stands_twice() {
        let mut numbers: Vec<u64> = REMOTE.iter().map(|(number, _)| *number).collect();
        numbers.sort_unstable();
        numbers.dedup();
        assert_eq!(numbers.len(), REMOTE.len());
    }
}
