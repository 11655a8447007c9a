//! Bounded memory for waiting records, and metrics when the engine fails.

use std::sync::atomic::AtomicBool;

use lazuli_engine::memory::Memory;
use lazuli_engine::{Applied, Clock, Engine, EngineFuture, Error, Layer, TableId, Write};

use super::line::LogLine;
use super::*;
use crate::accounts::{ConfiguredAccount, DEVELOPMENT_ACCOUNT, Directory};
use crate::config::Config;

/// An engine that is not available for a while, or that loses the outcome of its commits.
struct Flaky {
    below: Memory,
    is_down: Arc<AtomicBool>,
    forgets: bool,
}

impl Layer for Flaky {
    fn below(&self) -> &dyn Engine {
        &self.below
    }

    fn apply<'a>(
        &'a self,
        table: TableId,
        partition: &'a str,
        writes: Vec<Write>,
    ) -> EngineFuture<'a, Applied> {
        Box::pin(async move {
            match (self.is_down.load(Ordering::SeqCst), self.forgets) {
                (false, _) => self.below.apply(table, partition, writes).await,
                (true, false) => Err(Error::Unavailable("for a while".into())),
                (true, true) => {
                    let applied = self.below.apply(table, partition, writes).await;
                    // Creating the table takes a separate commit.
                    if table == TableId::SYSTEM { applied } else { Err(Error::Unknown("lost".into())) }
                }
            }
        })
    }
}

/// Metrics of an hour were lost if the engine failed while they were being written.
#[tokio::test]
async fn metrics_survive_a_short_failure_of_the_engine() {
    for forgets in [false, true] {
        let is_down = Arc::new(AtomicBool::new(true));
        let engine = Flaky { below: Memory::new(Clock::system()), is_down: is_down.clone(), forgets };
        let directory = Directory::new(vec![ConfiguredAccount::development()]);
        let config = Config::new(([127, 0, 0, 1], 0).into());
        let state = Arc::new(State::over(Arc::new(engine), directory, config).unwrap());
        let mut clerk = Clerk::new(state.clone(), u64::MAX);
        let start = DateTime::parse("2014-07-31T20:00:00Z").unwrap();
        let later = DateTime::parse("2014-07-31T20:02:00Z").unwrap();
        let minute_metrics = MetricsSettings { include_apis: Some(false), retention_days: None };
        let account = DEVELOPMENT_ACCOUNT.into();
        clerk.take(&Record { account, start, minute_metrics, ..record(0) });
        clerk.write_periods(later, false).await;
        is_down.store(false, Ordering::SeqCst);
        clerk.flushes += RETRY_AFTER;
        clerk.write_periods(later, false).await;
        let home = state.directory().home(DEVELOPMENT_ACCOUNT).unwrap();
        let table = TableName::of_metrics("$MetricsMinutePrimaryTransactionsTable").unwrap();
        let rows = state.service().metrics_of(&home, &table, &partition(start)).await.unwrap();
        let total = rows.iter().find(|row| &*row.row == "user;All").unwrap().properties.find("TotalRequests");
        assert_eq!(total, Ok(Some(lazuli_model::ValueRef::Int64(1))), "{forgets}");
        assert_eq!(state.analytics().counts().1, u64::from(forgets));
    }
}

/// An engine that remains unavailable must not fill the memory.
#[tokio::test]
async fn metrics_that_cannot_be_written_for_long_are_dropped() {
    let below = Memory::new(Clock::system());
    let engine = Flaky { below, is_down: Arc::new(AtomicBool::new(true)), forgets: false };
    let directory = Directory::new(vec![ConfiguredAccount::development()]);
    let config = Config::new(([127, 0, 0, 1], 0).into());
    let state = Arc::new(State::over(Arc::new(engine), directory, config).unwrap());
    let mut clerk = Clerk::new(state.clone(), u64::MAX);
    let minute_metrics = MetricsSettings { include_apis: Some(false), retention_days: None };
    let start = DateTime::parse("2014-07-31T20:00:00Z").unwrap();
    let account = DEVELOPMENT_ACCOUNT.into();
    clerk.take(&Record { account, start, minute_metrics, ..record(0) });
    for (now, left) in [("2014-07-31T20:59:00Z", 1), ("2014-07-31T21:02:00Z", 0)] {
        clerk.flushes += RETRY_AFTER;
        clerk.write_periods(DateTime::parse(now).unwrap(), false).await;
        assert_eq!(clerk.periods.len(), left, "{now}");
    }
    assert_eq!(state.analytics().counts().1, 1);
}

fn record(bytes: usize) -> Record {
    Record {
        service: Service::Table,
        account: "account".into(),
        secondary: false,
        kind: OperationKind::QueryEntities,
        error: None,
        auth: Auth::Key,
        start: DateTime::STORABLE_MIN,
        time: Duration::ZERO,
        server_time: Duration::ZERO,
        ingress: 0,
        egress: 0,
        hour_metrics: MetricsSettings::default(),
        minute_metrics: MetricsSettings::default(),
        line: Some(LogLine(vec!["x".repeat(bytes)])),
    }
}

/// 4,096 waiting records of 48 KiB took 192 MiB.
#[test]
fn waiting_records_are_bounded_by_bytes() {
    let analytics = Analytics::default();
    let large = 48 * 1024;
    for _ in 0..QUEUE_RECORDS_MAX {
        analytics.leave(record(large), Duration::ZERO);
    }
    let (_, dropped) = analytics.counts();
    let kept = QUEUE_RECORDS_MAX - usize::try_from(dropped).unwrap();
    assert!(kept * large <= QUEUE_BYTES_MAX && (kept + 2) * large > QUEUE_BYTES_MAX, "{kept}");
    // Processing a record frees its memory.
    let mut receiver = analytics.receiver.lock().unwrap().take().unwrap();
    assert!(receiver.try_recv().is_ok());
    analytics.leave(record(large / 2), Duration::ZERO);
    assert_eq!(analytics.counts().1, dropped);
}
