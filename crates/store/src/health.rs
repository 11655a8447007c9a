//! The state that the committer shares with the store's callers: its health, and its counters.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use lazuli_engine::metric::{COUNTS, Histogram, MICROS};

/// The state that the committer shares with the store's callers.
#[derive(Debug, Default)]
pub struct Health {
    poison: OnceLock<String>,
    commits: AtomicU64,
    groups: AtomicU64,
    largest_group: AtomicU64,
    /// Histogram: number of commits that shared a sync.
    pub group_commits: Histogram<{ COUNTS.len() }>,
    /// Histogram: time to make a group durable.
    pub sync_time: Histogram<{ MICROS.len() }>,
}

impl Health {
    /// The reason why writes are no longer accepted; `None` if they are.
    pub fn poison(&self) -> Option<&str> {
        self.poison.get().map(String::as_str)
    }

    /// Permanently stops accepting writes.
    pub fn set_poison(&self, why: String) {
        // Only the first reason is reported.
        let _ = self.poison.set(why);
    }

    /// Counts a group that was published, by the bytes that it wrote.
    pub fn count_group(&self, bytes: usize) {
        self.groups.fetch_add(1, Ordering::Relaxed);
        self.largest_group.fetch_max(bytes as u64, Ordering::Relaxed);
    }

    /// Counts commits that were made.
    pub fn count_commits(&self, commits: u64) {
        self.commits.fetch_add(commits, Ordering::Relaxed);
    }

    /// Commits made, and batches in which they were made durable.
    pub fn commits_and_groups(&self) -> (u64, u64) {
        (self.commits.load(Ordering::Relaxed), self.groups.load(Ordering::Relaxed))
    }

    /// Bytes of the largest group.
    pub fn largest_group(&self) -> u64 {
        self.largest_group.load(Ordering::Relaxed)
    }
}
