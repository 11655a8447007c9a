//! Versions that are unique to each commit, over all front ends.
//!
//! A version is a time in ticks of 100 ns. Each front end holds one of [`SLOTS`] slots, and its versions are
//! congruent to its slot number, so two front ends never issue the same version; within one front end, versions
//! increase. The database checks with every write that a row's version does not decrease. A front end whose clock is
//! behind learns this from a failed write, and from the marks that all front ends store with their slots.

use std::sync::{Mutex, MutexGuard};
use std::time::Duration;

use lazuli_engine::{Clock, Error, Result, Version};
use tokio::time::Instant;

/// Maximum number of front ends. A version is at most this many ticks (6.4 µs) ahead of the clock.
pub const SLOTS: u64 = 64;
/// A slot that was not renewed for this long counts as free.
pub const LEASE: Duration = Duration::from_secs(300);
/// A front end stops using its slot this long after it was last renewed.
pub const LEASE_TRUSTED: Duration = Duration::from_secs(240);

/// Issues versions.
pub struct Versions {
    clock: Clock,
    state: Mutex<State>,
}

struct State {
    last: u64,
    slot: u64,
    trusted_until: Instant,
    /// No version is issued before this time.
    held_until: Instant,
}

impl Versions {
    /// Versions of a slot that has just been taken, above `high`.
    pub fn new(clock: Clock, slot: u64, high: u64) -> Self {
        let now = Instant::now();
        let state = State { last: high, slot, trusted_until: now + LEASE_TRUSTED, held_until: now };
        Self { clock, state: Mutex::new(state) }
    }

    /// The next version, above `floor`.
    pub fn next(&self, floor: u64) -> Result<Version> {
        let ticks = self.clock.ticks();
        let mut state = self.state();
        let now = Instant::now();
        if now > state.trusted_until {
            return Err(Error::Unavailable("failed to renew the slot of this front end".into()));
        }
        if now < state.held_until {
            return Err(Error::Unavailable(
                "this front end was suspended or cut off for too long; it accepts writes again after four minutes".into(),
            ));
        }
        let lowest = ticks.max(state.last.saturating_add(1)).max(floor.saturating_add(1));
        let version = lowest.saturating_add((SLOTS + state.slot - lowest % SLOTS) % SLOTS);
        if version > i64::MAX as u64 {
            return Err(Error::Unavailable(
                "the clock is beyond the latest date that a version can hold".into(),
            ));
        }
        state.last = version;
        Ok(Version(version))
    }

    /// The slot, and the highest version that may have been issued.
    pub fn mark(&self) -> (u64, u64) {
        let state = self.state();
        (state.slot, state.last)
    }

    /// Records that a statement begun at `begun` renewed or changed the slot; `high` is the highest version of the
    /// other front ends.
    pub fn renewed(&self, slot: u64, high: u64, begun: Instant) {
        let mut state = self.state();
        state.slot = slot;
        state.last = state.last.max(high);
        state.trusted_until = begun + LEASE_TRUSTED;
    }

    /// Issues no version for a while, so that every commit in progress fails.
    pub fn hold(&self) {
        self.state().held_until = Instant::now() + LEASE_TRUSTED;
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// WR-12: unique over all front ends and increasing in each, regardless of the clocks.
    #[tokio::test]
    async fn versions_of_two_front_ends_are_never_equal() {
        let stopped = Versions::new(Clock::new(|| 1000), 3, 0);
        let other = Versions::new(Clock::new(|| 1000), 4, 0);
        let mut all = std::collections::HashSet::new();
        let mut last = [0; 2];
        for round in 0..100 {
            for (versions, last) in [&stopped, &other].into_iter().zip(&mut last) {
                let version = versions.next(round).unwrap().0;
                assert!(version > *last && all.insert(version));
                *last = version;
            }
        }
        assert!(stopped.next(1_000_000).unwrap().0 > 1_000_000);
        assert!(stopped.next(0).unwrap().0 > 1_000_000, "it does not go back");
        stopped.renewed(9, 5_000_000, Instant::now());
        let version = stopped.next(0).unwrap().0;
        assert!(version > 5_000_000 && version % SLOTS == 9);
    }

    #[tokio::test]
    async fn versions_are_held_back_although_the_slot_was_renewed() {
        let versions = Versions::new(Clock::new(|| 1000), 3, 0);
        versions.hold();
        versions.renewed(3, 0, Instant::now());
        assert!(versions.next(0).is_err());
        versions.state().held_until = Instant::now();
        assert!(versions.next(0).is_ok());
    }

    #[tokio::test]
    async fn a_version_is_close_to_the_clock() {
        for ticks in 640_000..640_200 {
            let versions = Versions::new(Clock::new(move || ticks), 17, 0);
            let version = versions.next(0).unwrap().0;
            assert!((ticks..ticks + SLOTS).contains(&version));
        }
    }
}
