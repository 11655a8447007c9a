//! Times, sequence numbers and secrets for messages.
//!
//! The time of the queues is monotonic, even if the clock is not. It is the maximum of the clock, of every
//! earlier time plus the time that has passed since, and of the version of every commit that was seen. So a
//! visible message stays visible when the clock is set back, even across a restart, and a visibility timeout
//! ends after the requested time.

use std::hash::Hasher as _;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};

use lazuli_engine::{Clock, Version};
use lazuli_model::Guid;
use lazuli_model::time::TICKS_PER_SECOND;

use crate::Options;

const NANOS_PER_TICK: u128 = 1_000_000_000 / TICKS_PER_SECOND as u128;
/// The time of the queues is stored with a message if it is further ahead of the clock than this.
const AHEAD_TICKS_MAX: u64 = TICKS_PER_SECOND;

/// Generates times, sequence numbers and secrets.
pub struct Tickets {
    clock: Clock,
    elapsed: std::sync::Arc<dyn Fn() -> std::time::Duration + Send + Sync>,
    /// The greatest difference between a queue time and the monotonic clock at that moment.
    offset: AtomicI64,
    last: AtomicU64,
    drawn: AtomicU64,
    /// Two halves of the secret of the process.
    secret: [u64; 2],
}

impl Tickets {
    /// A generator with these clocks and this secret.
    pub fn new(options: &Options) -> Self {
        let secret = u128::from_le_bytes(options.secret);
        let (first, second) = (secret as u64, (secret >> 64) as u64);
        Self {
            clock: options.clock.clone(),
            elapsed: options.elapsed.clone(),
            offset: AtomicI64::new(i64::MIN),
            last: AtomicU64::new(0),
            drawn: AtomicU64::new(0),
            secret: [first, second],
        }
    }

    /// The current time, in ticks. Never less than an earlier result.
    pub fn now(&self) -> u64 {
        self.learn(self.clock.ticks()).max(self.last.load(Ordering::Relaxed))
    }

    /// A time in ticks that is greater than all earlier ones. Also usable as a sequence number.
    pub fn next(&self) -> u64 {
        let now = self.learn(self.clock.ticks());
        let next = |last: u64| Some(now.max(last + 1));
        match self.last.fetch_update(Ordering::Relaxed, Ordering::Relaxed, next) {
            Ok(last) | Err(last) => now.max(last + 1),
        }
    }

    /// Records a time, which may be from before a restart or from another process.
    pub fn observe(&self, version: Version) {
        self.learn(version.0);
    }

    /// Is this time so far ahead of the clock that it must be stored to survive a restart?
    pub fn is_ahead(&self, time: u64) -> bool {
        time > self.clock.ticks().saturating_add(AHEAD_TICKS_MAX)
    }

    /// Records a time; returns the current time.
    fn learn(&self, time: u64) -> u64 {
        let passed = i64::try_from((self.elapsed)().as_nanos() / NANOS_PER_TICK).unwrap_or(i64::MAX);
        let time = i64::try_from(time).unwrap_or(i64::MAX);
        let offset = time.saturating_sub(passed);
        let offset = self.offset.fetch_max(offset, Ordering::Relaxed).max(offset);
        u64::try_from(offset.saturating_add(passed)).unwrap_or(0)
    }

    /// A number that cannot be guessed without the secret.
    #[expect(deprecated, reason = "the standard library has no other keyed hash that takes its key")]
    pub fn nonce(&self) -> u64 {
        let [first, second] = self.secret;
        let mut hasher = std::hash::SipHasher::new_with_keys(first, second);
        hasher.write_u64(self.drawn.fetch_add(1, Ordering::Relaxed));
        hasher.finish()
    }

    /// A random id (UUID version 4).
    pub fn id(&self) -> Guid {
        let mut bytes = [0; 16];
        bytes[..8].copy_from_slice(&self.nonce().to_le_bytes());
        bytes[8..].copy_from_slice(&self.nonce().to_le_bytes());
        bytes[6] = bytes[6] & 0x0f | 0x40;
        bytes[8] = bytes[8] & 0x3f | 0x80;
        Guid(bytes)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::Duration;

    use super::*;

    #[test]
    fn time_advances_while_the_clock_is_behind_and_never_goes_back() {
        let (clock, passed) = (Arc::new(AtomicU64::new(1000)), Arc::new(AtomicU64::new(0)));
        let options = Options {
            clock: Clock::new({
                let clock = clock.clone();
                move || clock.load(Ordering::SeqCst)
            }),
            elapsed: Arc::new({
                let passed = passed.clone();
                move || Duration::from_nanos(passed.load(Ordering::SeqCst) * 100)
            }),
            query_time_max: Duration::MAX,
            name_hold: Duration::ZERO,
            secret: [1; 16],
        };
        let tickets = Tickets::new(&options);
        assert_eq!((tickets.next(), tickets.next(), tickets.now()), (1000, 1001, 1001));
        clock.store(50, Ordering::SeqCst);
        assert_eq!(tickets.next(), 1002, "the clock was set back");
        passed.store(500, Ordering::SeqCst);
        assert_eq!(tickets.now(), 1500, "time has passed nevertheless");
        tickets.observe(Version(2000));
        assert_eq!(tickets.next(), 2000);
        tickets.observe(Version(7));
        passed.store(600, Ordering::SeqCst);
        assert_eq!(tickets.now(), 2100);
        clock.store(3000, Ordering::SeqCst);
        assert_eq!(tickets.now(), 3000);
        assert!(tickets.is_ahead(3001 + AHEAD_TICKS_MAX) && !tickets.is_ahead(3000));
        assert_ne!(tickets.nonce(), tickets.nonce());
        assert_ne!(tickets.id(), tickets.id());
        assert_draws_follow_the_secret(&options);
    }

    /// A simulation replays its messages; two processes never share ids.
    fn assert_draws_follow_the_secret(options: &Options) {
        let drawn = |secret| {
            let tickets = Tickets::new(&Options { secret, ..options.clone() });
            (tickets.nonce(), tickets.nonce(), tickets.id())
        };
        assert_eq!(drawn([1; 16]), drawn([1; 16]));
        for changed in [0, 15] {
            let mut other = [1; 16];
            other[changed] = 2;
            assert_ne!(drawn([1; 16]), drawn(other), "every byte counts");
        }
    }
}
