//! Space for the data of commits: in memory, which background work frees, and on disk.

use lazuli_engine::Result;

use super::Committer;
use crate::commit::Decided;
use crate::error::poisoned;
use crate::limits::STALL_POLL;

impl Committer {
    /// Waits while background work is behind, or while rows in memory leave no space for `bytes` more; an error
    /// if background work has failed.
    pub(super) fn wait_for_room(&self, bytes: u64) -> Result<()> {
        loop {
            let has_room = self.files.unwritten_bytes() + bytes <= self.unwritten_bytes_max
                || self.files.is_all_written();
            if has_room && !self.files.is_behind() {
                return Ok(());
            }
            if self.files.is_dead() {
                return Err(poisoned("writing sorted files has failed"));
            }
            if !has_room && !self.files.is_writing_out() {
                self.files.write_out();
            }
            std::thread::park_timeout(STALL_POLL);
        }
    }

    /// Checks the free disk space before a group is decided.
    pub(super) fn look_at_space(&mut self) {
        self.space = self.log.space(self.files.directory.path());
        let shortage = self.check_space(0, false).err();
        match (&shortage, self.is_short) {
            (Some(error), false) => {
                tracing::error!(%error, "the disk is nearly full: writes fail until there is free space");
            }
            (None, true) => tracing::info!("the disk has space again: writes are accepted"),
            _ => {}
        }
        self.is_short = shortage.is_some();
    }

    /// Fails if the disk does not have room for `bytes` more. Bytes are written to the log first and to a
    /// sorted file later. Writes that free space later may use half of the reserve.
    pub(super) fn check_space(&self, bytes: usize, frees: bool) -> Result<()> {
        let reserve = self.space.reserve();
        let needed = (2 * bytes as u64).saturating_add(self.files.unwritten_bytes());
        self.space.check(needed, if frees { reserve / 2 } else { reserve })
    }

    /// Like [`Self::check_space`], for a decided commit that joins a group of `group_bytes`.
    pub(super) fn check_space_of(&self, decided: &Decided, group_bytes: usize) -> Result<()> {
        let frees = decided.changes.iter().any(|change| change.state.is_none());
        self.check_space(group_bytes + decided.bytes, frees)
    }
}
