//! Storage Analytics: the request log and the metrics that an account's service properties switch on.
//!
//! A request leaves a record in a bounded queue and goes on; if the queue is full the record is dropped and counted. One
//! task takes the records, adds them up, and writes lines and rows when there are enough of them or it is time. A crash
//! loses what was not written yet: lines of a second or so, figures of the hour.

pub mod files;
pub mod line;
mod record;
mod status;
mod totals;

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use lazuli_model::name::METRICS_TABLES;
use lazuli_model::operation::Stored;
use lazuli_model::service::Metrics as MetricsSettings;
use lazuli_model::time::TICKS_PER_SECOND;
use lazuli_model::{DateTime, ErrorCode, OperationKind, TableName};
use lazuli_service::MetricsRow;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio::time::{MissedTickBehavior, interval};

use crate::clock;
use crate::frontend::Frontend;
use files::LogFiles;
use totals::Totals;

pub use record::{Exchange, Record, is_wanted, period_start};
pub use status::Auth;

/// The directory of the logs in the data directory.
pub const DIRECTORY: &str = "analytics";
/// Records that wait to be taken.
const QUEUE_RECORDS_MAX: usize = 4096;
/// Records that are taken at a time.
const TAKEN_MAX: usize = 256;
/// How long a line waits at most.
const FLUSH_EVERY: Duration = Duration::from_secs(1);
/// How often old logs and figures are deleted, in flushes.
const TRIM_EVERY: u64 = 600;
/// How long after its end a period is written: requests that ended in it are counted a moment later.
const LATE: Duration = Duration::from_secs(2);
/// How often figures are added to what other front ends have written, if one of them is always faster.
const MERGES_MAX: usize = 50;
const DAY_SECONDS: u64 = 24 * 60 * 60;

/// Where requests leave their records.
pub struct Analytics {
    sender: mpsc::Sender<Message>,
    receiver: Mutex<Option<mpsc::Receiver<Message>>>,
    taken: AtomicU64,
    dropped: AtomicU64,
}

enum Message {
    Record(Box<Record>),
    /// Write everything, then end.
    Close,
}

impl Default for Analytics {
    fn default() -> Self {
        let (sender, receiver) = mpsc::channel(QUEUE_RECORDS_MAX);
        Self {
            sender,
            receiver: Mutex::new(Some(receiver)),
            taken: AtomicU64::default(),
            dropped: AtomicU64::default(),
        }
    }
}

impl Analytics {
    /// Leaves a record; never waits.
    pub fn leave(&self, record: Record) {
        if self.sender.try_send(Message::Record(Box::new(record))).is_err() {
            self.dropped.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Records that were taken, and those that were dropped because too many waited or they could not be written.
    pub fn counts(&self) -> (u64, u64) {
        (self.taken.load(Ordering::Relaxed), self.dropped.load(Ordering::Relaxed))
    }

    /// Has everything written that was left. To be called when no more requests come.
    pub async fn close(&self) {
        let _ = self.sender.send(Message::Close).await;
    }
}

/// Starts the task that takes what requests leave; `None` if it runs already. Lines need a directory.
pub fn start(frontend: Arc<Frontend>, directory: Option<PathBuf>) -> Option<JoinHandle<()>> {
    let receiver = frontend.analytics().receiver.lock().unwrap_or_else(PoisonError::into_inner).take()?;
    let clerk = Clerk { frontend, files: directory.map(LogFiles::new), periods: HashMap::new(), flushes: 0 };
    Some(tokio::spawn(clerk.run(receiver)))
}

/// By which unit something is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Unit {
    Hour,
    Minute,
}

impl Unit {
    fn seconds(self) -> u64 {
        match self {
            Unit::Hour => 3600,
            Unit::Minute => 60,
        }
    }
}

/// A period of an account's endpoint.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Period {
    account: String,
    secondary: bool,
    unit: Unit,
    start: DateTime,
}

impl Period {
    fn table(&self) -> Option<TableName> {
        TableName::of_metrics(match (self.unit, self.secondary) {
            (Unit::Hour, false) => METRICS_TABLES[0],
            (Unit::Hour, true) => METRICS_TABLES[1],
            (Unit::Minute, false) => METRICS_TABLES[2],
            (Unit::Minute, true) => METRICS_TABLES[3],
        })
    }

    fn is_over(&self, now: DateTime) -> bool {
        let late = self.unit.seconds() + LATE.as_secs();
        now.ticks() >= self.start.ticks().saturating_add(late * TICKS_PER_SECOND)
    }
}

/// Sums of a period: of all requests, and of each kind if that is wanted.
#[derive(Default)]
struct Sums {
    all: Totals,
    kinds: HashMap<OperationKind, Totals>,
}

/// Takes records and writes what they come to.
struct Clerk {
    frontend: Arc<Frontend>,
    files: Option<LogFiles>,
    periods: HashMap<Period, Sums>,
    flushes: u64,
}

impl Clerk {
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
                    Message::Record(record) => self.take(&record),
                    Message::Close => is_last = true,
                }
            }
            if is_due || is_last || self.files.as_ref().is_some_and(LogFiles::is_full) {
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
        let analytics = self.frontend.analytics();
        analytics.taken.fetch_add(1, Ordering::Relaxed);
        if let (Some(line), Some(files)) = (&record.line, &mut self.files) {
            let times = (record.start, record.end());
            let access = record.kind.access();
            report(files.push(&record.account, times, access, &line.print()), &analytics.dropped);
        }
        for (unit, settings) in [(Unit::Hour, record.hour_metrics), (Unit::Minute, record.minute_metrics)] {
            let Some(include_apis) = settings.include_apis else { continue };
            let period = Period {
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

    /// Writes the lines that wait, where it may block.
    async fn flush(&mut self) {
        let Some(mut files) = self.files.take() else { return };
        let written = tokio::task::spawn_blocking(move || {
            let written = files.flush();
            (files, written)
        });
        if let Ok((files, written)) = written.await {
            self.files = Some(files);
            report(written, &self.frontend.analytics().dropped);
        }
    }

    /// Writes the periods that are over, or all; and an empty one for accounts that are measured and were idle.
    async fn write_periods(&mut self, now: DateTime, all: bool) {
        if !all {
            self.add_idle(now).await;
        }
        let due: Vec<Period> =
            self.periods.keys().filter(|period| all || period.is_over(now)).cloned().collect();
        for period in due {
            let Some(sums) = self.periods.remove(&period) else { continue };
            if let Err(error) = self.write_period(&period, &sums).await {
                tracing::error!(account = period.account, %error, "metrics could not be written");
                self.frontend.analytics().dropped.fetch_add(1, Ordering::Relaxed);
            }
        }
    }

    /// Adds the figures to those that a restart, or another front end, has left of the same period. Front ends that do so
    /// at the same time see each other: whoever comes second reads again.
    async fn write_period(&self, period: &Period, sums: &Sums) -> lazuli_service::Result<()> {
        let Some(table) = period.table() else { return Ok(()) };
        let service = self.frontend.service();
        let name = partition(period.start);
        for _ in 0..MERGES_MAX {
            let before = match service.metrics_of(&period.account, &table, &name).await {
                Ok(rows) => rows,
                Err(lazuli_service::Error::Refused(_)) => Vec::new(),
                Err(error) => return Err(error),
            };
            if service.put_metrics(&period.account, &table, &name, merged(sums, &before)).await? {
                return Ok(());
            }
        }
        Err(ErrorCode::ServerBusy.into())
    }

    /// An account that is measured by the hour has a row for every hour, also for one in which nothing happened.
    async fn add_idle(&mut self, now: DateTime) {
        // Once an hour would do; once a minute is cheap.
        if self.flushes % 60 != 1 {
            return;
        }
        for account in self.frontend.directory().names() {
            let Ok(properties) = self.frontend.service().properties(&account).await else { continue };
            if properties.hour_metrics.include_apis.is_some() {
                let start = period_start(now, Unit::Hour.seconds());
                let period = Period { account, secondary: false, unit: Unit::Hour, start };
                self.periods.entry(period).or_default();
            }
        }
    }

    /// Deletes what is older than it is to be kept.
    async fn trim(&mut self, now: DateTime) {
        let ago = |days: u16| {
            let ticks = u64::from(days) * DAY_SECONDS * TICKS_PER_SECOND;
            DateTime::from_ticks(now.ticks().saturating_sub(ticks)).unwrap_or(DateTime::MIN)
        };
        for account in self.frontend.directory().names() {
            let Ok(properties) = self.frontend.service().properties(&account).await else { continue };
            if let (Some(days), Some(files)) = (properties.logging.retention_days, &mut self.files)
                && let Err(error) = files.trim(&account, ago(days))
            {
                tracing::warn!(account, %error, "old logs could not be deleted");
            }
            let tables = [(properties.hour_metrics, 0..2), (properties.minute_metrics, 2..4)];
            for (MetricsSettings { retention_days, .. }, names) in tables {
                let Some(days) = retention_days else { continue };
                for table in METRICS_TABLES[names].iter().filter_map(|name| TableName::of_metrics(name)) {
                    let limit = partition(ago(days));
                    let trimmed = self.frontend.service().trim_metrics(&account, &table, &limit);
                    if let Err(error) = trimmed.await {
                        tracing::warn!(account, %error, "old metrics could not be deleted");
                    }
                }
            }
        }
    }
}

/// The rows of a period, with what was written before.
fn merged(sums: &Sums, before: &[Stored]) -> Vec<MetricsRow> {
    let system = Totals::default();
    let kinds = sums.kinds.iter().map(|(kind, totals)| (format!("user;{}", kind.name()), totals));
    let rows = [("user;All".to_owned(), &sums.all), ("system;All".to_owned(), &system)];
    let with_earlier = rows.into_iter().chain(kinds).filter_map(|(row, totals)| {
        let mut totals = totals.clone();
        let earlier = before.iter().find(|earlier| *earlier.row == *row);
        if let Some(earlier) = earlier {
            totals.merge(&Totals::of_row(earlier));
        }
        let replaces = earlier.map(|earlier| earlier.timestamp);
        Some(MetricsRow { row, properties: totals.properties()?, replaces })
    });
    with_earlier.collect()
}

/// `20110809T0800`
fn partition(start: DateTime) -> String {
    let text = start.iso_seconds();
    text.as_str()[..16].replace(['-', ':'], "")
}

fn report(written: std::io::Result<()>, dropped: &AtomicU64) {
    if let Err(error) = written {
        dropped.fetch_add(1, Ordering::Relaxed);
        tracing::error!(%error, "the request log cannot be written");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn periods_are_named_by_their_start() {
        let moment = DateTime::parse("2011-08-09T08:44:36.5Z").unwrap();
        assert_eq!(partition(period_start(moment, 3600)), "20110809T0800");
        assert_eq!(partition(period_start(moment, 60)), "20110809T0844");
    }
}
