//! The only place where the server reads a clock.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use lazuli_model::DateTime;

/// The machine's time.
#[allow(clippy::disallowed_methods, reason = "this is where the server gets the time from")]
pub fn now() -> DateTime {
    DateTime::from_unix(SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default())
}

/// Measures monotonic time.
#[derive(Clone, Copy, Debug)]
pub struct Stopwatch(Instant);

impl Stopwatch {
    /// Starts.
    #[allow(clippy::disallowed_methods, reason = "this is where the server gets the time from")]
    pub fn start() -> Self {
        Self(Instant::now())
    }

    /// Time since it was started.
    pub fn elapsed(&self) -> Duration {
        self.0.elapsed()
    }
}
