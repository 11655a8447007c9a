//! Metrics of the blob service.

use std::sync::atomic::{AtomicU64, Ordering};

use lazuli_engine::Metric;

use super::core::Core;

/// Counters of this process.
#[derive(Debug, Default)]
pub struct Counters {
    /// Bytes of content released.
    pub released_bytes: AtomicU64,
    /// Blobs that the sweep has examined.
    pub swept_blobs: AtomicU64,
    /// Completed scans of all rows.
    pub scans: AtomicU64,
}

impl Core {
    pub fn metrics(&self) -> Vec<Metric> {
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let Counters { released_bytes, swept_blobs, scans } = &self.counters;
        let events = self.outbox.as_ref().map(|outbox| {
            Metric::gauge(
                "blob_events_waiting",
                "Blobs with events that are not delivered yet.",
                outbox.len() as u64,
            )
        });
        let mut metrics = vec![
            Metric::gauge(
                "blob_sweep_waiting",
                "Blobs waiting to be searched for unused content.",
                self.todo.len() as u64,
            ),
            Metric::counter(
                "blob_swept_total",
                "Blobs that were searched for unused content.",
                read(swept_blobs),
            ),
            Metric::counter(
                "blob_sweep_scans_total",
                "Searches of all rows for unused content.",
                read(scans),
            ),
            Metric::counter(
                "blob_released_bytes_total",
                "Bytes of blob content released.",
                read(released_bytes),
            ),
        ];
        metrics.extend(events);
        metrics
    }
}
