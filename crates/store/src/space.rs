//! Free space on the disk: commits are rejected, with nothing applied, before the log can run out of it.
//!
//! A write to the log that fails half way stops all writes until the store is opened again. So a commit is accepted only if
//! the disk also has room for the rows that are not in sorted files yet, and for background work. Once there is room
//! again, commits are accepted again, without a restart. Deletions may use half of the reserve: they free space later.
//!
//! This cannot prevent another program from taking the rest of the disk between the check and the write.

use std::path::Path;

use lazuli_engine::Error;

use crate::limits::{SPACE_RESERVE_BYTES_MAX, SPACE_RESERVE_SHARE};

/// Free space of a file system, and its size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Space {
    /// Bytes that can still be written.
    pub free: u64,
    /// Bytes of the whole file system.
    pub size: u64,
}

impl Space {
    /// Always enough: for systems that cannot report it.
    pub const UNKNOWN: Self = Self { free: u64::MAX, size: u64::MAX };

    /// Reads the free space of a directory's file system.
    #[cfg(target_os = "linux")]
    pub fn of(dir: &Path) -> Self {
        match rustix::fs::statvfs(dir) {
            Ok(found) => Self {
                free: found.f_bavail.saturating_mul(found.f_frsize),
                size: found.f_blocks.saturating_mul(found.f_frsize),
            },
            Err(_) => Self::UNKNOWN,
        }
    }

    /// Reads the free space of a directory's file system.
    #[cfg(not(target_os = "linux"))]
    pub fn of(_: &Path) -> Self {
        Self::UNKNOWN
    }

    /// Bytes that stay free for background work.
    pub fn reserve(&self) -> u64 {
        SPACE_RESERVE_BYTES_MAX.min(self.size / SPACE_RESERVE_SHARE)
    }

    /// Fails if `needed` bytes do not leave `reserve` bytes free.
    pub fn check(&self, needed: u64, reserve: u64) -> Result<(), Error> {
        if needed.saturating_add(reserve) <= self.free {
            return Ok(());
        }
        Err(Error::Unavailable(format!(
            "no space left for writes: {} MiB free, {} MiB needed",
            self.free >> 20,
            (needed.saturating_add(reserve)) >> 20
        )))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1 << 20;

    #[test]
    fn the_reserve_is_a_share_of_small_disks() {
        let reserve = |size| Space { free: 0, size }.reserve();
        assert_eq!(reserve(160 * MIB), 10 * MIB);
        assert_eq!(reserve(1 << 40), SPACE_RESERVE_BYTES_MAX);
        assert_eq!(Space::UNKNOWN.check(u64::MAX, 0), Ok(()));
    }

    #[test]
    fn writes_leave_the_reserve_free() {
        let space = Space { free: 100 * MIB, size: 1 << 40 };
        assert_eq!(space.check(36 * MIB, 64 * MIB), Ok(()));
        assert!(matches!(space.check(36 * MIB + 1, 64 * MIB), Err(Error::Unavailable(_))));
        assert!(matches!(space.check(u64::MAX, u64::MAX), Err(Error::Unavailable(_))));
    }

    #[test]
    fn a_file_system_reports_its_space() {
        let dir = tempfile::tempdir().unwrap();
        let space = Space::of(dir.path());
        assert!(space.free > 0 && space.size >= space.free);
        assert_eq!(Space::of(&dir.path().join("missing")), Space::UNKNOWN);
    }
}
