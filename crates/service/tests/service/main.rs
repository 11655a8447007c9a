//! The rules, over the memory engine with a clock that the test sets.
//!
//! | what | where |
//! |---|---|
//! | tables, deletion, space | `tables.rs` |
//! | queries: rows read, paging, time | `queries.rs` |
//! | changes and their conditions | `writes.rs` |
//! | queues and messages | `queues.rs` |
//! | grants | `access.rs` |
//! | access policies, service properties | `settings.rs` |
//! | accounts and their removal | `accounts.rs` |
//! | counters | `usage.rs` |
//! | the tables of the service's own metrics | `analytics.rs` |

#![allow(clippy::unwrap_used, reason = "a failed step fails its test")]

mod access;
mod accounts;
mod analytics;
mod inspect;
mod queries;
mod queues;
mod settings;
mod tables;
mod usage;
mod writes;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use lazuli_engine::Clock;
use lazuli_engine::memory::Memory;
use lazuli_filter::Schema;
use lazuli_model::table::operation::{EntityChange, EntityPage, EntityQuery, EntityWrite};
use lazuli_model::table::{Operation, Outcome};
use lazuli_model::time::TICKS_PER_SECOND;
use lazuli_model::{EntityKey, ErrorCode, Key, Properties, Property, TableName, Value};
use lazuli_service::access::Authorized;
use lazuli_service::{Error, Grant, Options, Services};

/// 2020-01-01.
const START_TICKS: u64 = 637_134_336_000_000_000;

/// A service with a clock that only the test moves.
struct World {
    service: Services,
    engine: Arc<Memory>,
    ticks: Arc<AtomicU64>,
    /// How far each reading of the stopwatch advances it.
    step: Arc<AtomicU64>,
}

impl World {
    fn new() -> Self {
        Self::with_hold(Duration::ZERO)
    }

    fn with_hold(name_hold: Duration) -> Self {
        let ticks = Arc::new(AtomicU64::new(START_TICKS));
        let step = Arc::new(AtomicU64::new(0));
        let clock = {
            let ticks = ticks.clone();
            Clock::new(move || ticks.load(Ordering::SeqCst))
        };
        let elapsed = {
            let (step, total) = (step.clone(), AtomicU64::new(0));
            move || Duration::from_secs(total.fetch_add(step.load(Ordering::SeqCst), Ordering::SeqCst))
        };
        let engine = Arc::new(Memory::new(clock.clone()));
        let options = Options {
            clock,
            elapsed: Arc::new(elapsed),
            query_time_max: Duration::from_secs(5),
            name_hold,
            secret: [1; 16],
        };
        Self { service: Services::new(engine.clone(), options), engine, ticks, step }
    }

    fn pass(&self, seconds: u64) {
        self.ticks.fetch_add(seconds * TICKS_PER_SECOND, Ordering::SeqCst);
    }

    async fn run_as(&self, account: &str, operation: Operation) -> Result<Outcome, ErrorCode> {
        self.run_within(account, operation, Duration::MAX).await
    }

    async fn run_within(
        &self,
        account: &str,
        operation: Operation,
        time: Duration,
    ) -> Result<Outcome, ErrorCode> {
        let grant = Grant::everything(account);
        let authorized = Authorized::new(&grant, operation).map_err(|failure| failure.code)?;
        self.service.execute_table_within(authorized, time).await.map_err(|error| match error {
            Error::Rejected(failure) => failure.code,
            Error::Engine(error) => panic!("{error}"),
        })
    }

    async fn run(&self, operation: Operation) -> Result<Outcome, ErrorCode> {
        self.run_as("acct", operation).await
    }

    async fn create(&self, name: &str) -> Result<Outcome, ErrorCode> {
        self.run(Operation::CreateTable(table(name))).await
    }

    async fn drop(&self, name: &str) -> Result<Outcome, ErrorCode> {
        self.run(Operation::DeleteTable(table(name))).await
    }

    async fn write(
        &self,
        name: &str,
        keys: (&str, &str),
        change: EntityChange,
    ) -> Result<Outcome, ErrorCode> {
        self.run(Operation::Write { table: table(name), write: EntityWrite { key: key(keys), change } }).await
    }

    async fn insert(&self, name: &str, keys: (&str, &str), age: i32) -> Result<Outcome, ErrorCode> {
        self.write(name, keys, EntityChange::Insert(properties(&[("Age", age)]))).await
    }

    async fn query(&self, name: &str, filter: &str, query: EntityQuery) -> EntityPage {
        let filter = lazuli_filter::parse_optional(filter, Schema::Entity).unwrap();
        let query = EntityQuery { filter, ..query };
        match self.run(Operation::QueryEntities { table: table(name), query }).await.unwrap() {
            Outcome::Page(page) => page,
            other => panic!("{other:?}"),
        }
    }
}

fn table(name: &str) -> TableName {
    TableName::new(name).unwrap()
}

fn key((partition, row): (&str, &str)) -> EntityKey {
    EntityKey { partition: Key::new(partition).unwrap(), row: Key::new(row).unwrap() }
}

fn properties(list: &[(&str, i32)]) -> Properties {
    let list =
        list.iter().map(|(name, value)| Property { name: (*name).into(), value: Value::Int32(*value) });
    Properties::new(list.collect()).unwrap()
}

fn keys(page: &EntityPage) -> String {
    page.rows.iter().map(|row| format!("{}/{} ", row.partition, row.row)).collect()
}
