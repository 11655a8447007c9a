//! The clock from which engines derive versions. It is an argument, so that tests can stop it or set it back.

use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

/// 100 ns ticks from the year 1 to 1970.
const UNIX_EPOCH_TICKS: u64 = 621_355_968_000_000_000;

/// Returns the time in 100 ns ticks since the year 1. It may stop or go backwards; versions do not.
#[derive(Clone)]
pub struct Clock(Arc<dyn Fn() -> u64 + Send + Sync>);

impl Clock {
    /// A clock that returns the value of `ticks`.
    pub fn new(ticks: impl Fn() -> u64 + Send + Sync + 'static) -> Self {
        Self(Arc::new(ticks))
    }

    /// The machine's clock.
    pub fn system() -> Self {
        Self::new(system_ticks)
    }

    /// The time now.
    pub fn ticks(&self) -> u64 {
        (self.0)()
    }
}

impl std::fmt::Debug for Clock {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Clock")
    }
}

#[allow(clippy::disallowed_methods, reason = "this is where engines get the time from")]
fn system_ticks() -> u64 {
    let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since_1970.as_nanos() / 100).unwrap_or(u64::MAX).saturating_add(UNIX_EPOCH_TICKS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_system_clock_counts_from_the_year_one() {
        let year_2020 = 637_134_336_000_000_000;
        assert!(Clock::system().ticks() > year_2020);
        assert_eq!(Clock::new(|| 7).ticks(), 7);
    }
}
