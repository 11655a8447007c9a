//! The one place where the client meets a clock, waits, and throws dice, so that tests can stand in for all three.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use lazuli_model::DateTime;

use crate::transport::BoxFuture;

/// Time and chance.
pub trait Environment: Send + Sync + 'static {
    /// The time of day, which signatures carry.
    fn now(&self) -> DateTime;

    /// Time since some fixed moment; it never goes back. Deadlines are measured by it.
    fn elapsed(&self) -> Duration;

    /// Waits.
    fn sleep(&self, time: Duration) -> BoxFuture<'_, ()>;

    /// A random number: back-off is jittered with it, and requests and batches get their ids from it.
    fn random(&self) -> u64;
}

/// The machine's own time and chance.
#[derive(Clone, Copy, Debug)]
pub struct System {
    start: Instant,
}

impl Default for System {
    #[allow(clippy::disallowed_methods, reason = "this is where the client gets the time from")]
    fn default() -> Self {
        Self { start: Instant::now() }
    }
}

impl Environment for System {
    #[allow(clippy::disallowed_methods, reason = "this is where the client gets the time from")]
    fn now(&self) -> DateTime {
        DateTime::from_unix(SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default())
    }

    fn elapsed(&self) -> Duration {
        self.start.elapsed()
    }

    #[allow(clippy::disallowed_methods, reason = "this is where the client waits")]
    fn sleep(&self, time: Duration) -> BoxFuture<'_, ()> {
        Box::pin(tokio::time::sleep(time))
    }

    fn random(&self) -> u64 {
        let mut bytes = [0; 8];
        // Without entropy the jitter is gone and nothing else: the ids are for logs.
        let _ = getrandom::fill(&mut bytes);
        u64::from_le_bytes(bytes)
    }
}
