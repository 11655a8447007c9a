//! How a store is opened.

use lazuli_engine::Clock;

use crate::limits::MEMTABLE_BYTES;

/// How a store is opened. Take [`Options::default`] and change what you need.
#[derive(Clone, Debug)]
pub struct Options {
    /// Memory for blocks of sorted files that were read.
    pub cache_bytes: u64,
    /// When a commit counts as done.
    pub durability: Durability,
    /// Where versions come from.
    pub clock: Clock,
    /// Memory for rows that are not yet in a sorted file; about three times as much is in use under load.
    pub memtable_bytes: u64,
    /// Scans that run at the same time; more wait.
    pub scans_max: usize,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            cache_bytes: 64 * 1024 * 1024,
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
