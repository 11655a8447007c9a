//! The deadline at which a query stops and returns its rows so far.

use std::sync::Arc;
use std::time::Duration;

/// Number of rows between two readings of the clock. Every page reads at least this many, so that it makes
/// progress.
const ROWS_PER_LOOK: u32 = 256;

/// The deadline of a query, checked row by row.
pub struct Deadline {
    elapsed: Arc<dyn Fn() -> Duration + Send + Sync>,
    at: Duration,
    rows: u32,
}

impl Deadline {
    /// A deadline `time` from now.
    pub fn new(elapsed: Arc<dyn Fn() -> Duration + Send + Sync>, time: Duration) -> Self {
        let now = elapsed();
        Self::after(elapsed, now, time)
    }

    /// A deadline `time` after an earlier moment.
    pub fn after(
        elapsed: Arc<dyn Fn() -> Duration + Send + Sync>,
        started: Duration,
        time: Duration,
    ) -> Self {
        Self { elapsed, at: started.saturating_add(time), rows: 0 }
    }

    /// Counts a row; returns whether the time is up.
    pub fn passed(&mut self) -> bool {
        self.rows = self.rows.wrapping_add(1);
        self.rows.is_multiple_of(ROWS_PER_LOOK) && (self.elapsed)() >= self.at
    }
}
