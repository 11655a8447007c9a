//! Counters of requests, and their text for Prometheus.
//!
//! This is not the registry of a library: all counters are known at compile time, so a request finds its
//! counters by index, without looking up a name, locking or allocating. A request costs a few additions to the
//! counters of its processor and one clock reading; the processors' counters are added up when they are read.
//!
//! Every family has a bounded number of series, regardless of the number of tables, partitions and clients.

mod process;
mod render;
mod slow;
mod text;
mod traffic;

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use lazuli_engine::Histogram;
use lazuli_engine::metric::MICROS;
use lazuli_model::{Class, ErrorCode, OperationKind, ReadCost};
use lazuli_service::shard::Sharded;
use tokio::sync::watch;

use crate::clock::{self, Stopwatch};
use crate::state::State;

pub use render::{View, render, render_only_queues};
pub use slow::{SlowQueries, SlowQuery};
pub use text::CONTENT_TYPE;
pub use traffic::{Counted, Traffic};

/// The reported hottest partitions are those of the last one to two periods of this length.
pub const HEAT_PERIOD: Duration = Duration::from_secs(60);
/// QY-22: the log warns about a table scan that reads at least this many rows, ...
const WARN_ROWS_READ_MIN: u64 = 10_000;
/// ... and at least this many rows for each row that it returns, ...
const WARN_ROWS_PER_RESULT_MIN: u64 = 100;
/// ... but at most once per this interval.
const WARN_EVERY: Duration = Duration::from_secs(60);

const KINDS: usize = OperationKind::ALL.len();
/// The first entry counts requests that did not fail.
const CODES: usize = 1 + ErrorCode::ALL.len();
const CLASSES: usize = Class::ALL.len();

/// The limit that a rejected request exceeded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exceeded {
    /// The account has exceeded its rate.
    Account,
    /// Its partition is.
    Partition,
    /// The server has reached a limit.
    Load,
    /// Too many requests from its address have failed to authenticate.
    Failures,
}

impl Exceeded {
    const ALL: [Exceeded; 4] = [Exceeded::Account, Exceeded::Partition, Exceeded::Load, Exceeded::Failures];

    fn name(self) -> &'static str {
        match self {
            Exceeded::Account => "account",
            Exceeded::Partition => "partition",
            Exceeded::Load => "load",
            Exceeded::Failures => "failures",
        }
    }
}

/// The facts about a completed request.
#[derive(Clone, Copy, Debug)]
pub struct CompletedRequest {
    /// The kind of operation.
    pub kind: OperationKind,
    /// The error, if it failed.
    pub error: Option<ErrorCode>,
    /// The cost of reading, if it reads entities.
    pub effort: Option<ReadCost>,
    /// Number of entities found.
    pub rows_returned: usize,
    /// How long it took.
    pub time: Duration,
}

/// The counters of one processor. Those of an operation are allocated when it is first seen: a server uses few
/// of all operations and errors.
struct Requests {
    operations: [OnceLock<Box<OperationCounters>>; KINDS],
    queries: [Queries; CLASSES],
}

struct OperationCounters {
    outcomes: [AtomicU64; CODES],
    times: Histogram<{ MICROS.len() }>,
}

impl Default for OperationCounters {
    fn default() -> Self {
        Self { outcomes: [const { AtomicU64::new(0) }; CODES], times: Histogram::default() }
    }
}

impl Default for Requests {
    fn default() -> Self {
        Self {
            operations: [const { OnceLock::new() }; KINDS],
            queries: std::array::from_fn(|_| Queries::default()),
        }
    }
}

#[derive(Default)]
struct Queries {
    count: AtomicU64,
    rows_read: AtomicU64,
    rows_returned: AtomicU64,
}

/// Everything that the server counts.
pub struct ServerMetrics {
    requests: Sharded<Requests>,
    traffic: Arc<Traffic>,
    throttled: [AtomicU64; Exceeded::ALL.len()],
    started: Stopwatch,
    /// Seconds since 1970.
    started_at: i64,
    /// The start times of the current and the previous heat period, in microseconds since the server started.
    periods: [AtomicU64; 2],
    /// The time of the last warning, in microseconds since the server started.
    warned: AtomicU64,
    slow: SlowQueries,
}

impl Default for ServerMetrics {
    fn default() -> Self {
        Self {
            requests: Sharded::default(),
            traffic: Arc::default(),
            throttled: Default::default(),
            started: Stopwatch::start(),
            started_at: clock::now().unix_seconds(),
            periods: Default::default(),
            warned: AtomicU64::default(),
            slow: SlowQueries::default(),
        }
    }
}

impl ServerMetrics {
    /// Counts a completed request.
    pub fn count(&self, completed: &CompletedRequest) {
        let own = self.requests.own();
        let kind = completed.kind.index();
        let code = completed.error.map_or(0, |code| 1 + code as usize);
        let counters = own.operations[kind].get_or_init(Box::default);
        counters.outcomes[code].fetch_add(1, Ordering::Relaxed);
        counters.times.record_time(completed.time);
        if let Some(effort) = completed.effort {
            let queries = &own.queries[effort.class.index()];
            queries.count.fetch_add(1, Ordering::Relaxed);
            queries.rows_read.fetch_add(effort.rows_read, Ordering::Relaxed);
            queries.rows_returned.fetch_add(completed.rows_returned as u64, Ordering::Relaxed);
        }
    }

    /// Counts a valid request that was rejected.
    pub fn throttled(&self, why: Exceeded) {
        self.throttled[why as usize].fetch_add(1, Ordering::Relaxed);
    }

    /// The traffic of all sockets.
    pub fn traffic(&self) -> &Arc<Traffic> {
        &self.traffic
    }

    /// Queries that were slow, or read many rows to return few.
    pub fn slow(&self) -> &SlowQueries {
        &self.slow
    }

    /// QY-22: is a warning due about this request?
    pub fn is_wasteful(&self, completed: &CompletedRequest) -> bool {
        let Some(effort) = completed.effort.filter(|effort| effort.class == Class::Table) else {
            return false;
        };
        let wanted = (completed.rows_returned as u64).saturating_mul(WARN_ROWS_PER_RESULT_MIN);
        if effort.rows_read < WARN_ROWS_READ_MIN || effort.rows_read < wanted {
            return false;
        }
        let now = self.micros();
        let last = self.warned.load(Ordering::Relaxed);
        let is_due = last == 0 || now - last.min(now) >= micros_of(WARN_EVERY);
        is_due && self.warned.compare_exchange(last, now, Ordering::Relaxed, Ordering::Relaxed).is_ok()
    }

    /// Records the start of a heat period.
    fn turn(&self) {
        let before = self.periods[0].swap(self.micros(), Ordering::Relaxed);
        self.periods[1].store(before, Ordering::Relaxed);
    }

    /// The time span that the list of hottest partitions covers.
    fn heat_time(&self) -> Duration {
        Duration::from_micros(self.micros().saturating_sub(self.periods[1].load(Ordering::Relaxed)))
    }

    /// Microseconds since the start, never zero.
    fn micros(&self) -> u64 {
        micros_of(self.started.elapsed()).max(1)
    }
}

fn micros_of(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
}

/// Starts a new heat period at regular intervals until `stop` becomes true.
pub async fn keep_turning(state: Arc<State>, mut stop: watch::Receiver<bool>) {
    while tokio::time::timeout(HEAT_PERIOD, stop.wait_for(|stop| *stop)).await.is_err() {
        state.service().usage().turn();
        state.metrics().turn();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scan(class: Class, rows_read: u64, rows_returned: usize) -> CompletedRequest {
        CompletedRequest {
            kind: OperationKind::QueryEntities,
            error: None,
            effort: Some(ReadCost { class, rows_read, ..ReadCost::default() }),
            rows_returned,
            time: Duration::ZERO,
        }
    }

    /// QY-22: one warning, and only about table scans that read many rows to return few.
    #[test]
    fn wasteful_scans_are_warned_of() {
        let metrics = ServerMetrics::default();
        assert!(!metrics.is_wasteful(&scan(Class::Table, 9_999, 0)));
        assert!(!metrics.is_wasteful(&scan(Class::Table, 10_000, 1_000)));
        assert!(!metrics.is_wasteful(&scan(Class::Partition, 1_000_000, 0)));
        assert!(metrics.is_wasteful(&scan(Class::Table, 10_000, 100)));
        assert!(!metrics.is_wasteful(&scan(Class::Table, 10_000, 100)), "not so soon again");
    }
}
