//! Conversion between the points in time of the service and of the operating system. Reads no clock.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use super::{DateTime, TICKS_PER_SECOND, UNIX_EPOCH_TICKS};

/// Times outside the years 1 to 9999 are clamped; the service counts in 100 ns.
impl From<SystemTime> for DateTime {
    fn from(time: SystemTime) -> Self {
        match time.duration_since(UNIX_EPOCH) {
            Ok(since) => Self::from_unix(since),
            Err(before) => {
                let ticks = u64::try_from(before.duration().as_nanos().div_ceil(100)).unwrap_or(u64::MAX);
                Self(UNIX_EPOCH_TICKS.saturating_sub(ticks))
            }
        }
    }
}

impl From<DateTime> for SystemTime {
    fn from(time: DateTime) -> Self {
        let span = |ticks: u64| {
            let nanos = u32::try_from(ticks % TICKS_PER_SECOND * 100).unwrap_or_default();
            Duration::new(ticks / TICKS_PER_SECOND, nanos)
        };
        let moved = match time.0.checked_sub(UNIX_EPOCH_TICKS) {
            Some(after) => UNIX_EPOCH.checked_add(span(after)),
            None => UNIX_EPOCH.checked_sub(span(UNIX_EPOCH_TICKS - time.0)),
        };
        moved.unwrap_or(UNIX_EPOCH)
    }
}
