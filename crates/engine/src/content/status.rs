//! How much content is stored, as metrics.

use crate::figure::Figure;

/// How much content is stored. All numbers are bytes and include checksums and padding.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ContentStatus {
    /// Sealed and not released, or kept by a sweep.
    pub live: u64,
    /// Reserved by uploads in progress.
    pub writing: u64,
    /// Released or abandoned, and not freed yet.
    pub dead: u64,
    /// Stored by earlier processes; the next sweep tells which of them are live.
    pub unswept: u64,
    /// Freed since the store was opened.
    pub freed: u64,
}

impl ContentStatus {
    /// The metrics of a content store.
    pub fn figures(&self) -> Vec<Figure> {
        vec![
            Figure::gauge("content_live_bytes", "Content that is in use.", self.live),
            Figure::gauge("content_writing_bytes", "Content of uploads in progress.", self.writing),
            Figure::gauge("content_dead_bytes", "Content that waits to be freed.", self.dead),
            Figure::gauge(
                "content_unswept_bytes",
                "Content of earlier processes that no sweep has examined yet.",
                self.unswept,
            ),
            Figure::counter("content_freed_bytes_total", "Content that was freed.", self.freed),
        ]
    }
}
