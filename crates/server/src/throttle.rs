//! Token buckets: how many requests an account, and how many entities a partition, may use per second.
//!
//! A bucket is one number: the time at which it will be full again. So all buckets are one array of fixed size,
//! without locks, regardless of the number of accounts and partitions. A name has two slots, found by hashing
//! with a secret. It is rejected only when both are used up, so a name that shares a slot with a busy one can
//! still use the other.

use std::hash::{BuildHasher as _, Hash, RandomState};
use std::net::IpAddr;
use std::sync::atomic::{AtomicU64, Ordering};

/// Slots for accounts in each of the two rows.
const ACCOUNT_PLACES: usize = 1 << 12;
/// Slots for partitions in each of the two rows, 1 MiB for both rows.
const PARTITION_PLACES: usize = 1 << 16;
const NANOS_PER_SECOND: u64 = 1_000_000_000;

/// A rate limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rate {
    /// Tokens per second.
    pub per_second: u32,
    /// Maximum tokens used in one burst, after a pause.
    pub burst: u32,
}

/// All rate limits, off by default.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rates {
    /// Requests of one account.
    pub account: Option<Rate>,
    /// Entities of one partition.
    pub partition: Option<Rate>,
}

/// Allowed rate of requests of one address that fail to authenticate. A client with a wrong key sends far fewer, so users
/// never notice the limit.
const FAILED_RATE: Rate = Rate { per_second: 100, burst: 2000 };
/// Slots for addresses in each of the two rows.
const FAILED_SLOTS: usize = 1 << 10;

/// Enforces the rates of accounts, partitions and addresses.
pub struct Throttle {
    accounts: Option<Buckets>,
    partitions: Option<Buckets>,
    failed: Buckets,
}

impl Throttle {
    /// Full buckets.
    pub fn new(rates: Rates) -> Self {
        Self {
            accounts: rates.account.map(|rate| Buckets::new(rate, ACCOUNT_PLACES)),
            partitions: rates.partition.map(|rate| Buckets::new(rate, PARTITION_PLACES)),
            failed: Buckets::new(FAILED_RATE, FAILED_SLOTS),
        }
    }

    /// May the account make another request? `now` is any monotonic time.
    pub fn account(&self, account: &str, now: impl FnOnce() -> std::time::Duration) -> bool {
        self.accounts.as_ref().is_none_or(|buckets| buckets.take(account, 1, nanos(now())))
    }

    /// May a request from this address fail to authenticate once more? Addresses of one IPv6 network share a
    /// rate, since one host can use them all.
    pub fn failure(&self, address: IpAddr, now: std::time::Duration) -> bool {
        let network = match address.to_canonical() {
            IpAddr::V4(address) => u64::from(address.to_bits()),
            IpAddr::V6(address) => (address.to_bits() >> 64) as u64,
        };
        self.failed.take(network, 1, nanos(now))
    }

    /// Do partitions have a rate limit at all?
    pub fn limits_partitions(&self) -> bool {
        self.partitions.is_some()
    }

    /// May a request use this many entities of the partition?
    pub fn partition(
        &self,
        partition: impl Hash,
        entities: usize,
        now: impl FnOnce() -> std::time::Duration,
    ) -> bool {
        self.partitions.as_ref().is_none_or(|buckets| buckets.take(partition, entities, nanos(now())))
    }
}

fn nanos(time: std::time::Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

/// One token bucket, for a rate without a name.
pub struct TokenBucket(Buckets);

impl TokenBucket {
    /// A full bucket.
    pub fn new(rate: Rate) -> Self {
        Self(Buckets::new(rate, 1))
    }

    /// Takes a token, if one is available. `now` is any monotonic time.
    pub fn take(&self, now: std::time::Duration) -> bool {
        self.0.take((), 1, nanos(now))
    }
}

struct Buckets {
    /// Time to get one token.
    interval: u64,
    /// Time to fill a bucket.
    capacity: u64,
    places: usize,
    /// The times when each bucket will be full again. The second row follows the first.
    full_at: Box<[AtomicU64]>,
    secret: RandomState,
}

impl Buckets {
    fn new(rate: Rate, places: usize) -> Self {
        let interval = NANOS_PER_SECOND / u64::from(rate.per_second.max(1));
        Self {
            interval,
            capacity: interval.saturating_mul(rate.burst.max(1).into()),
            places,
            full_at: (0..2 * places).map(|_| AtomicU64::new(0)).collect(),
            secret: RandomState::new(),
        }
    }

    /// Takes all tokens or none. A request for more tokens than a bucket holds needs a full bucket; otherwise
    /// it could never succeed.
    fn take(&self, name: impl Hash, tokens: usize, now: u64) -> bool {
        let tokens = u64::try_from(tokens).unwrap_or(u64::MAX);
        let needed = self.interval.saturating_mul(tokens).min(self.capacity);
        let hash = self.secret.hash_one(name);
        let (first, second) = ((hash >> 32) as usize, (hash & 0xffff_ffff) as usize);
        let places = [first % self.places, self.places + second % self.places];
        // Always update both buckets: each counts independently.
        places.map(|place| self.take_at(place, needed, now)).contains(&true)
    }

    fn take_at(&self, place: usize, needed: u64, now: u64) -> bool {
        let after = |full_at: u64| {
            let full_at = full_at.max(now).saturating_add(needed);
            (full_at - now <= self.capacity).then_some(full_at)
        };
        self.full_at[place].fetch_update(Ordering::Relaxed, Ordering::Relaxed, after).is_ok()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    const RATE: Rate = Rate { per_second: 10, burst: 5 };

    /// The results of requests for tokens at the given milliseconds.
    #[track_caller]
    fn check(requests: &[(u64, usize)], expected: &[bool]) {
        let throttle = Throttle::new(Rates { partition: Some(RATE), account: None });
        let told: Vec<bool> = requests
            .iter()
            .map(|&(at, tokens)| throttle.partition("p", tokens, || Duration::from_millis(at)))
            .collect();
        assert_eq!(told, expected, "{requests:?}");
    }

    /// PR-11: a burst, then the rate; a rejected request costs nothing; a pause fills the bucket, but not beyond its
    /// size.
    #[test]
    fn buckets() {
        check(&[(0, 1), (0, 1), (0, 1), (0, 1), (0, 1), (0, 1)], &[true, true, true, true, true, false]);
        check(
            &[(0, 5), (0, 1), (99, 1), (100, 1), (100, 1), (200, 1)],
            &[true, false, false, true, false, true],
        );
        check(&[(0, 3), (0, 3), (0, 2), (0, 1)], &[true, false, true, false]);
        check(&[(0, 5), (60_000, 5), (60_000, 1)], &[true, true, false]);
        check(&[(0, 4), (300, 4), (300, 1), (300, 1)], &[true, true, false, false]);
        // A batch larger than the burst waits for a full bucket, and empties it.
        check(&[(0, 100), (400, 100), (500, 100), (500, 1)], &[true, false, true, false]);
        check(&[(0, 0), (0, 5), (0, 0)], &[true, true, true]);
    }

    /// A client that takes all it can get does not affect others, although they share few slots.
    #[test]
    fn the_greedy_hurt_only_themselves() {
        let throttle = Throttle::new(Rates { partition: Some(RATE), account: Some(RATE) });
        let taken = (0..1000).filter(|_| throttle.partition("greedy", 1, || Duration::ZERO)).count();
        assert!(taken <= 2 * RATE.burst as usize, "{taken}");
        let served =
            (0..1000).filter(|name| throttle.partition(("modest", name), 1, || Duration::ZERO)).count();
        assert_eq!(served, 1000);
        assert!(throttle.account("greedy", || Duration::ZERO));
    }

    /// Finding 4 of the security review: clients without a key had no rate limit.
    #[test]
    fn finding_4_failed_authentication_has_a_rate() {
        let throttle = Throttle::new(Rates::default());
        let [first, second]: [IpAddr; 2] =
            ["192.0.2.1", "::ffff:192.0.2.2"].map(|text| text.parse().unwrap());
        let failed = (0..10_000).filter(|_| throttle.failure(first, Duration::ZERO)).count();
        let burst = FAILED_RATE.burst as usize;
        assert!((burst..=2 * burst).contains(&failed), "{failed}");
        assert!(throttle.failure(second, Duration::ZERO), "another address is not affected");
        assert!(throttle.failure(first, Duration::from_secs(1)), "after a while it may fail again");
        let hosts = (0..10_000_u128).map(|host| IpAddr::V6((0x2001_0db8 << 96 | host).into()));
        let failed = hosts.filter(|host| throttle.failure(*host, Duration::ZERO)).count();
        assert!(failed <= 2 * burst, "a network has one rate: {failed}");
    }

    #[test]
    fn without_a_rate_nothing_is_rejected_and_no_clock_is_read() {
        let throttle = Throttle::new(Rates::default());
        let no_clock = || -> Duration { panic!("nobody needs the time") };
        assert!(throttle.account("a", no_clock) && throttle.partition("p", usize::MAX, no_clock));
    }
}
