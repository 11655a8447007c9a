//! How a store is opened.

use lazuli_engine::Clock;

use crate::limits::{CACHE_BYTES, MEMTABLE_BYTES};

/// How a store is opened. Take [`Options::default`] and change what you need.
#[derive(Clone, Debug)]
pub struct Options {
    /// Memory for blocks of sorted files that were read.
    pub cache_bytes: u64,
    /// Memory for rows in the order of scans, of ranges that are scanned again and again; nothing turns it off.
    pub scan_cache_bytes: u64,
    /// Memory for single rows that were read by their keys; nothing turns it off.
    pub row_cache_bytes: u64,
    /// When a commit counts as done.
    pub durability: Durability,
    /// Where versions come from.
    pub clock: Clock,
    /// Memory for rows that are not yet in a sorted file; about three times as much is in use under load.
    pub memtable_bytes: u64,
    /// Scans that run at the same time; more wait.
    pub scans_max: usize,
}

impl Options {
    /// Divides one size among the caches.
    pub fn with_caches(self, bytes: u64) -> Self {
        let (scan_cache_bytes, row_cache_bytes) = (bytes / 8 * 3, bytes / 8);
        let cache_bytes = bytes - scan_cache_bytes - row_cache_bytes;
        Self { cache_bytes, scan_cache_bytes, row_cache_bytes, ..self }
    }
}

impl Default for Options {
    fn default() -> Self {
        Self {
            cache_bytes: CACHE_BYTES / 2,
            scan_cache_bytes: CACHE_BYTES / 8 * 3,
            row_cache_bytes: CACHE_BYTES / 8,
            durability: Durability::Full,
            clock: Clock::system(),
            memtable_bytes: MEMTABLE_BYTES,
            scans_max: 2 * std::thread::available_parallelism().map_or(1, usize::from),
        }
    }
}

/// When a commit counts as done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Durability {
    /// When the disk has it: it survives the loss of power.
    Full,
    /// When the operating system has it: it survives the end of the process, but not the loss of power.
    Relaxed,
}
