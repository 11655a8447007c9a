//! The simulated time: tokio's clock, which a simulation pauses.

use std::time::Duration;

use lazuli_engine::Clock;
use lazuli_model::DateTime;
use tokio::time::Instant;

/// 2026-06-15 12:00:00, in 100 ns ticks since the year 1.
const START_TICKS: u64 = 639_171_216_000_000_000;
/// 100 ns ticks in a millisecond.
const TICKS_PER_MILLISECOND: u64 = 10_000;

/// The time since the start of a simulation.
#[derive(Clone, Copy, Debug)]
pub struct Time(Instant);

impl Time {
    /// Starts now.
    pub fn start() -> Self {
        Self(Instant::now())
    }

    /// Milliseconds since the start.
    pub fn milliseconds(self) -> u64 {
        u64::try_from(self.0.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    /// The date and time of day in ticks.
    pub fn ticks(self) -> u64 {
        START_TICKS + self.milliseconds() * TICKS_PER_MILLISECOND
    }

    /// The date and time of day.
    pub fn now(self) -> DateTime {
        DateTime::from_ticks(self.ticks()).unwrap_or(DateTime::MAX)
    }

    /// The clock for an engine.
    pub fn clock(self) -> Clock {
        self.skewed_clock(0)
    }

    /// A clock that is this many milliseconds ahead.
    pub fn skewed_clock(self, ahead: u64) -> Clock {
        Clock::new(move || self.ticks() + ahead * TICKS_PER_MILLISECOND)
    }
}

/// Lets simulated time pass.
#[allow(
    clippy::disallowed_methods,
    reason = "simulated time passes only by sleeping, and takes no real time"
)]
pub async fn pass(milliseconds: u64) {
    if milliseconds == 0 {
        tokio::task::yield_now().await;
    } else {
        tokio::time::sleep(Duration::from_millis(milliseconds)).await;
    }
}
