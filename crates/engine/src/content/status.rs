//! The amount of stored content, as metrics.

use crate::metric::Metric;

/// The amount of stored content. All numbers are bytes and include checksums and padding.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ContentStatus {
    /// Sealed and not released, or kept by a sweep.
    pub live: u64,
    /// Reserved by uploads in progress.
    pub writing: u64,
    /// Released or abandoned, and not freed yet.
    pub dead: u64,
    /// Stored by earlier processes; the next sweep determines which of them are live.
    pub unswept: u64,
    /// Freed since the store was opened.
    pub freed: u64,
}

impl ContentStatus {
    /// The metrics of a content store.
    pub fn metrics(&self) -> Vec<Metric> {
        vec![
            Metric::gauge("content_live_bytes", "Content that is in use.", self.live),
            Metric::gauge("content_writing_bytes", "Content of uploads in progress.", self.writing),
            Metric::gauge("content_dead_bytes", "Content that waits to be freed.", self.dead),
            Metric::gauge(
                "content_unswept_bytes",
                "Content of earlier processes that no sweep has examined yet.",
                self.unswept,
            ),
            Metric::counter("content_freed_bytes_total", "Content that was freed.", self.freed),
        ]
    }
}
