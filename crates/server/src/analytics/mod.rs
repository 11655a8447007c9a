//! Storage Analytics: the request log and the metrics that an account's service properties enable.
//!
//! A request puts a record into a bounded queue and continues; if the queue is full the record is dropped and counted.
//! One task takes the records, aggregates them, and writes lines and rows when there are enough or an interval has
//! passed. A crash loses unwritten data: about a second of log lines, and up to an hour of metrics.
//!
//! Logs are written by a task of their own, one at a time, so that a slow engine does not keep records waiting.

mod capacity;
mod facts;
mod import;
pub mod line;
mod logs;
mod period;
mod record;
mod status;
mod totals;
mod work;

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use lazuli_model::properties::{Logging, Metrics as MetricsSettings};
use lazuli_model::table::name::metrics_tables;
use lazuli_model::time::TICKS_PER_SECOND;
use lazuli_model::{DateTime, ErrorCode, OperationKind, Service, TableName};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};
use tokio::task::JoinHandle;
use tokio::time::{MissedTickBehavior, interval};

use crate::clock;
use crate::state::State;
use crate::throttle::{Rate, TokenBucket};
use logs::{LogWriter, Waiting};
use period::{Period, Sums, Unit, merged, partition};
use work::{AnalyticsWork, Outdated, carry_out};

pub use record::{CompletedExchange, Record, is_unauthenticated, is_wanted, period_start};
pub use status::Auth;

/// The directory in the data directory in which earlier versions wrote their logs.
pub const DIRECTORY: &str = "analytics";
/// Maximum records in the queue.
const QUEUE_RECORDS_MAX: usize = 4096;
/// Maximum memory of the queued records. Records beyond it are dropped, as are records beyond the maximum
/// number.
const QUEUE_BYTES_MAX: usize = 16 * 1024 * 1024;
/// Bytes in one unit of that bound.
const QUEUE_UNIT_BYTES: usize = 64;
/// Upper bound of the memory for unwritten data: records, waiting lines, and lines that are being written.
pub const MEMORY_BYTES_MAX: usize = QUEUE_BYTES_MAX + 2 * logs::LATE_BYTES_MAX;
/// Maximum records taken from the queue at a time.
const TAKEN_MAX: usize = 256;
/// Maximum time that a line waits.
const FLUSH_EVERY: Duration = Duration::from_secs(1);
/// Interval between deletions of old logs and metrics, in flushes.
const TRIM_EVERY: u64 = 600;
/// Maximum attempts to add metrics to those of other front ends, if another one always writes first.
const MERGES_MAX: usize = 50;
/// Maximum rate of records about requests that failed to authenticate, for all accounts together.
const REJECTED_RATE: Rate = Rate { per_second: 20, burst: 200 };
/// Flushes before metrics that could not be written are retried.
const RETRY_AFTER: u64 = 30;
const DAY_SECONDS: u64 = 24 * 60 * 60;

/// The handle with which requests submit their records.
pub struct Analytics {
    sender: mpsc::Sender<Message>,
    receiver: Mutex<Option<mpsc::Receiver<Message>>>,
    /// The memory left for records.
    room: Arc<Semaphore>,
    taken: AtomicU64,
    dropped: AtomicU64,
    /// Records of requests that failed to authenticate.
    rejected: TokenBucket,
}

enum Message {
    /// A record with its share of the memory.
    Record(Box<Record>, OwnedSemaphorePermit),
    /// Write everything, then exit.
    Close,
}

impl Default for Analytics {
    fn default() -> Self {
        let (sender, receiver) = mpsc::channel(QUEUE_RECORDS_MAX);
        Self {
            sender,
            receiver: Mutex::new(Some(receiver)),
            room: Arc::new(Semaphore::new(QUEUE_BYTES_MAX / QUEUE_UNIT_BYTES)),
            taken: AtomicU64::default(),
            dropped: AtomicU64::default(),
            rejected: TokenBucket::new(REJECTED_RATE),
        }
    }
}

impl Analytics {
    /// Queues a record; never waits. `now` is a monotonic time. Requests that failed to authenticate are recorded at a
    /// bounded rate: a client without a key must not decide how much is logged.
    pub fn leave(&self, record: Record, now: Duration) {
        if record.is_unauthenticated() && !self.rejected.take(now) {
            self.dropped.fetch_add(1, Ordering::Relaxed);
            return;
        }
        let units = u32::try_from(record.bytes().div_ceil(QUEUE_UNIT_BYTES)).unwrap_or(u32::MAX);
        let room = Arc::clone(&self.room).try_acquire_many_owned(units);
        let left =
            room.is_ok_and(|room| self.sender.try_send(Message::Record(Box::new(record), room)).is_ok());
        if !left {
            self.dropped.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Numbers of records that were processed, and of records that were dropped because too many were waiting
    /// or they could not be written.
    pub fn counts(&self) -> (u64, u64) {
        (self.taken.load(Ordering::Relaxed), self.dropped.load(Ordering::Relaxed))
    }

    /// Writes everything that is still queued. Call this after the last request.
    pub async fn close(&self) {
        let _ = self.sender.send(Message::Close).await;
    }
}

/// Starts the task that processes the records of requests; `None` if it is already running. Log files of
/// earlier versions in `old_logs` become blobs.
pub fn start(state: Arc<State>, old_logs: Option<PathBuf>, quota: u64) -> Option<JoinHandle<()>> {
    let receiver = state.analytics().receiver.lock().unwrap_or_else(PoisonError::into_inner).take()?;
    let mut clerk = Clerk::new(state, quota);
    if let Some(directory) = old_logs {
        clerk.work(AnalyticsWork::Import(directory));
    }
    Some(tokio::spawn(clerk.run(receiver)))
}

/// Creates the log container of an account whose properties now enable logging.
pub async fn prepare(state: &State, service: Service, account: &str) {
    let (Some(blobs), Some(home)) = (state.blobs(), state.directory().home(account)) else { return };
    let Logging { read, write, delete, .. } = state.properties(service, account).await.logging;
    if (read || write || delete)
        && let Err(error) = blobs.ensure_logs(&home).await
    {
        tracing::error!(account, %error, "failed to create the container of request logs");
    }
}

/// Takes records and writes log lines and metrics.
struct Clerk {
    state: Arc<State>,
    /// Lines not yet passed to the writer.
    waiting: Waiting,
    /// The writer while it is idle.
    writer: Option<LogWriter>,
    /// The writer at work.
    writing: Option<JoinHandle<LogWriter>>,
    /// Logs to delete before lines are written again.
    outdated: Option<Outdated>,
    /// The daily measurement of blobs.
    measuring: Option<JoinHandle<()>>,
    periods: HashMap<Period, Sums>,
    flushes: u64,
    /// The flush with which metrics are written again after a failure.
    resume: u64,
}

impl Clerk {
    fn new(state: Arc<State>, quota: u64) -> Self {
        Self {
            writer: Some(LogWriter::new(state.clone(), quota)),
            state,
            waiting: Waiting::default(),
            writing: None,
            outdated: None,
            measuring: None,
            periods: HashMap::new(),
            flushes: 0,
            resume: 0,
        }
    }

    async fn run(mut self, mut receiver: mpsc::Receiver<Message>) {
        let mut ticks = interval(FLUSH_EVERY);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut taken = Vec::with_capacity(TAKEN_MAX);
        loop {
            let is_due = tokio::select! {
                _ = ticks.tick() => true,
                count = receiver.recv_many(&mut taken, TAKEN_MAX) => {
                    if count == 0 { return; }
                    false
                }
            };
            let mut is_last = false;
            for message in taken.drain(..) {
                match message {
                    Message::Record(record, room) => {
                        self.take(&record);
                        drop(room);
                    }
                    Message::Close => is_last = true,
                }
            }
            if is_last {
                self.outdated = None;
                self.settle().await;
                self.flush().await;
                self.settle().await;
            } else if is_due || self.waiting.is_full() {
                self.flush().await;
            }
            if is_due || is_last {
                self.write_periods(clock::now(), is_last).await;
            }
            if is_last {
                return;
            }
            if is_due {
                self.flushes += 1;
                if self.flushes % TRIM_EVERY == 1 {
                    self.trim(clock::now()).await;
                }
            }
        }
    }

    fn take(&mut self, record: &Record) {
        let analytics = self.state.analytics();
        analytics.taken.fetch_add(1, Ordering::Relaxed);
        if let Some(line) = &record.line {
            let times = (record.start, record.end());
            let owner = (record.service, record.account.as_str());
            if !self.waiting.push(owner, times, record.kind.access(), &line.print()) {
                analytics.dropped.fetch_add(1, Ordering::Relaxed);
            }
        }
        for (unit, settings) in [(Unit::Hour, record.hour_metrics), (Unit::Minute, record.minute_metrics)] {
            let Some(include_apis) = settings.include_apis else { continue };
            let period = Period {
                service: record.service,
                account: record.account.clone(),
                secondary: record.secondary,
                unit,
                start: period_start(record.end(), unit.seconds()),
            };
            let sums = self.periods.entry(period).or_default();
            sums.all.add(record);
            if include_apis && record.kind != OperationKind::Unknown {
                sums.kinds.entry(record.kind).or_default().add(record);
            }
        }
    }

    /// Writes the waiting lines. If the writer is still busy, they wait for the next flush.
    async fn flush(&mut self) {
        if self.writing.as_ref().is_some_and(JoinHandle::is_finished) {
            self.settle().await;
        }
        if self.writer.is_none() {
            return;
        }
        if let Some(logs) = self.outdated.take() {
            self.work(AnalyticsWork::Trim(logs));
        } else if !self.waiting.is_empty() {
            let waiting = std::mem::take(&mut self.waiting);
            self.work(AnalyticsWork::Write(waiting));
        }
    }

    /// Starts the next job of the writer, if it is idle.
    fn work(&mut self, work: AnalyticsWork) {
        if let Some(writer) = self.writer.take() {
            self.writing = Some(tokio::spawn(carry_out(self.state.clone(), writer, work)));
        }
    }

    /// Waits until the writer is done.
    async fn settle(&mut self) {
        if let Some(writing) = self.writing.take() {
            // A writer that panicked is not replaced: its lines are dropped from now on.
            self.writer = writing.await.ok();
        }
    }

    /// Writes the periods that are over, or all of them, including empty periods for idle accounts with metrics
    /// enabled. Periods that the engine cannot write now are kept for later.
    async fn write_periods(&mut self, now: DateTime, all: bool) {
        if !all {
            self.add_idle(now).await;
        }
        if self.flushes < self.resume && !all {
            return;
        }
        let due: Vec<Period> =
            self.periods.keys().filter(|period| all || period.is_over(now)).cloned().collect();
        for period in due {
            let Some(sums) = self.periods.remove(&period) else { continue };
            if let Err(error) = self.write_period(&period, &sums).await {
                tracing::error!(account = period.account, %error, "failed to write metrics");
                if was_not_written(&error) && !period.is_forgotten(now) {
                    self.periods.insert(period, sums);
                    self.resume = self.flushes + RETRY_AFTER;
                } else {
                    self.state.analytics().dropped.fetch_add(1, Ordering::Relaxed);
                }
            }
        }
    }

    /// Adds the metrics to those that were written before a restart, or by another front end, for the same period. If
    /// two front ends do so at the same time, the second one detects the conflict and reads again.
    async fn write_period(&self, period: &Period, sums: &Sums) -> lazuli_service::Result<()> {
        let Some(table) = period.table() else { return Ok(()) };
        // The metrics of an account are deleted with it.
        let Some(home) = self.state.directory().home(&period.account) else { return Ok(()) };
        let service = self.state.service();
        let name = partition(period.start);
        for _ in 0..MERGES_MAX {
            let before = match service.metrics_of(&home, &table, &name).await {
                Ok(rows) => rows,
                Err(lazuli_service::Error::Rejected(_)) => Vec::new(),
                Err(error) => return Err(error),
            };
            if service.put_metrics(&home, &table, &name, merged(sums, &before)).await? {
                return Ok(());
            }
        }
        Err(ErrorCode::ServerBusy.into())
    }

    /// An account with hourly metrics has a row for every hour, even without requests.
    async fn add_idle(&mut self, now: DateTime) {
        // Once an hour would do; once a minute is cheap.
        if self.flushes % 60 != 1 {
            return;
        }
        for (service, account) in self.endpoints() {
            let Some(home) = self.state.directory().home(&account) else { continue };
            let Ok(properties) = self.state.service().properties(service, &home).await else { continue };
            if properties.hour_metrics.include_apis.is_some() {
                let start = period_start(now, Unit::Hour.seconds());
                let period = Period { service, account, secondary: false, unit: Unit::Hour, start };
                self.periods.entry(period).or_default();
            }
        }
    }

    /// Every service of every account.
    fn endpoints(&self) -> impl Iterator<Item = (Service, String)> + use<> {
        let names = self.state.directory().names();
        names.into_iter().flat_map(|name| Service::ALL.map(|service| (service, name.clone())))
    }

    /// Deletes logs and metrics that are older than their retention.
    async fn trim(&mut self, now: DateTime) {
        let ago = |days: u16| {
            let ticks = u64::from(days) * DAY_SECONDS * TICKS_PER_SECOND;
            DateTime::from_ticks(now.ticks().saturating_sub(ticks)).unwrap_or(DateTime::MIN)
        };
        let mut logs = Vec::new();
        for (service, account) in self.endpoints() {
            let Some(home) = self.state.directory().home(&account) else { continue };
            let Ok(properties) = self.state.service().properties(service, &home).await else { continue };
            if let Some(days) = properties.logging.retention_days {
                logs.push((service, account.clone(), ago(days)));
            }
            let names = metrics_tables(service);
            let capacity: &[&str] = if service == Service::Blob { &[capacity::TABLE] } else { &[] };
            let hourly = [&names[0..2], capacity].concat();
            let tables =
                [(properties.hour_metrics, hourly), (properties.minute_metrics, names[2..4].to_vec())];
            for (MetricsSettings { retention_days, .. }, names) in tables {
                let Some(days) = retention_days else { continue };
                for table in names.iter().filter_map(|name| TableName::of_metrics(name)) {
                    let limit = partition(ago(days));
                    let trimmed = self.state.service().trim_metrics(&home, &table, &limit);
                    if let Err(error) = trimmed.await {
                        tracing::warn!(account, %error, "failed to delete old metrics");
                    }
                }
            }
        }
        self.outdated = Some(logs);
        if self.measuring.as_ref().is_none_or(JoinHandle::is_finished) {
            let state = self.state.clone();
            self.measuring = Some(tokio::spawn(async move { capacity::measure(&state, now).await }));
        }
    }
}

/// Can metrics be written again after this error? If the outcome is unknown, a second write might count them
/// twice.
fn was_not_written(error: &lazuli_service::Error) -> bool {
    use lazuli_engine::Error::{Busy, Conflict, Unavailable};
    match error {
        lazuli_service::Error::Engine(error) => matches!(error, Busy(_) | Conflict | Unavailable(_)),
        lazuli_service::Error::Rejected(failure) => failure.code == ErrorCode::ServerBusy,
    }
}

impl Drop for Clerk {
    fn drop(&mut self) {
        // A measurement can take long. The next start repeats it.
        self.measuring.iter().for_each(JoinHandle::abort);
    }
}

#[cfg(test)]
mod tests;
