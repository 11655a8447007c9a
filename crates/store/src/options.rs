//! The options for opening a store.

use lazuli_engine::Clock;

use crate::content;
use crate::limits::{
    BATCH_BYTES_MAX, CACHE_BYTES, FIXED_BYTES, GROUP_BYTES_MAX, MEMTABLE_BYTES_MAX, MEMTABLE_BYTES_MIN,
    MEMTABLE_SHARE, QUEUE_BYTES_MAX, READS, VALUE_BYTES_MAX, WRITE_BUFFERS_MAX,
};

/// The options for opening a store. Start from [`Options::default`] and change what you need.
#[derive(Clone, Debug)]
pub struct Options {
    /// Memory for cached blocks of sorted files.
    pub cache_bytes: u64,
    /// Memory for rows of ranges that are scanned repeatedly; zero turns this cache off.
    pub scan_cache_bytes: u64,
    /// Memory for single rows that were read by their keys; zero turns this cache off.
    pub row_cache_bytes: u64,
    /// Defines when a commit counts as complete.
    pub durability: Durability,
    /// Open the store even if acknowledged data is missing.
    pub accept_data_loss: bool,
    /// Where versions come from.
    pub clock: Clock,
    /// Memory for rows that are not yet in a sorted file; about three times as much is in use under load.
    pub memtable_bytes: u64,
    /// Maximum concurrent scans; more wait.
    pub scans_max: usize,
    /// Maximum concurrent reads of single rows from files; more wait.
    pub reads_max: usize,
}

impl Options {
    /// Divides one size among the caches. Small caches come with small memtables, since both are memory.
    pub fn with_caches(self, bytes: u64) -> Self {
        let (scan_cache_bytes, row_cache_bytes) = (bytes / 4, bytes / 4);
        let cache_bytes = bytes - scan_cache_bytes - row_cache_bytes;
        Self { cache_bytes, scan_cache_bytes, row_cache_bytes, memtable_bytes: memtable_bytes(bytes), ..self }
    }

    /// Upper bound of the memory that a store with these options takes: its caches; rows that are in no sorted
    /// file yet, including the batch that is decided; the row that an update computes, twice; waiting commits;
    /// content in transit; and a fixed amount for the rest. Pages of scans and returned rows belong to the
    /// callers.
    pub fn memory_bytes_max(&self) -> u64 {
        let caches = self.cache_bytes + self.scan_cache_bytes + self.row_cache_bytes;
        let computed = 2 * VALUE_BYTES_MAX as u64;
        caches
            + self.unwritten_bytes_max().max(BATCH_BYTES_MAX as u64)
            + computed
            + QUEUE_BYTES_MAX as u64
            + content::limits::MEMORY_BYTES_MAX
            + FIXED_BYTES
    }

    /// New writes wait while they and the rows that are in no sorted file yet take more than this, unless there is nothing
    /// left to write out.
    pub(crate) fn unwritten_bytes_max(&self) -> u64 {
        WRITE_BUFFERS_MAX * self.memtable_bytes + GROUP_BYTES_MAX as u64
    }
}

impl Default for Options {
    fn default() -> Self {
        Self {
            cache_bytes: CACHE_BYTES / 2,
            scan_cache_bytes: CACHE_BYTES / 4,
            row_cache_bytes: CACHE_BYTES / 4,
            durability: Durability::Full,
            accept_data_loss: false,
            clock: Clock::system(),
            memtable_bytes: memtable_bytes(CACHE_BYTES),
            reads_max: READS,
            scans_max: 2 * std::thread::available_parallelism().map_or(1, usize::from),
        }
    }
}

/// The size of a memtable for caches of a given size.
fn memtable_bytes(cache_bytes: u64) -> u64 {
    (cache_bytes / MEMTABLE_SHARE).clamp(MEMTABLE_BYTES_MIN, MEMTABLE_BYTES_MAX)
}

/// Defines when a commit counts as complete.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Durability {
    /// When it is on the disk: it survives a loss of power.
    Full,
    /// When the operating system has it: it survives the end of the process, but not a loss of power.
    Relaxed,
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1024 * 1024;

    /// With caches of 64 MiB, rows that were in no sorted file yet took up to 129 MiB, so a server under load
    /// exceeded its memory bound.
    #[test]
    fn small_caches_come_with_small_write_buffers() {
        let unwritten = |mib: u64| Options::default().with_caches(mib * MIB).unwritten_bytes_max() / MIB;
        assert_eq!([0, 16, 64, 100, 128, 256, 4096].map(unwritten), [33, 33, 65, 101, 129, 129, 129]);
        let default = Options::default();
        assert_eq!(default.memtable_bytes, default.clone().with_caches(CACHE_BYTES).memtable_bytes);
    }
}
