//! A queue service over any engine, with clocks that only the test moves, that can be stopped and started again.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use lazuli_engine::{Clock, Engine, Memory};
use lazuli_model::queue::operation::MessageTarget;
use lazuli_model::queue::{Dequeued, Enqueued, Message, Operation, Outcome, QueueName, Receipt};
use lazuli_model::{ErrorCode, Guid, Metadata};
use lazuli_service::access::Authorized;
use lazuli_service::{Error, Grant, Options, Services};

/// 2020-01-01.
pub const START_TICKS: u64 = 637_134_336_000_000_000;
/// Ticks of a second.
pub const SECOND: u64 = 10_000_000;
/// The queue that most tests use.
pub const JOBS: &str = "jobs";

/// The clocks of a test. The clock of the machine can be set; the time that has passed only grows.
#[derive(Clone)]
pub struct Time {
    pub clock: Arc<AtomicU64>,
    pub passed: Arc<AtomicU64>,
}

impl Time {
    pub fn new() -> Self {
        Self { clock: Arc::new(AtomicU64::new(START_TICKS)), passed: Arc::default() }
    }

    /// The clock of the machine. It advances by a tick with every reading, as a real one does.
    pub fn clock(&self) -> Clock {
        let clock = self.clock.clone();
        Clock::new(move || clock.fetch_add(1, Ordering::SeqCst))
    }

    /// Time passes.
    pub fn pass(&self, ticks: u64) {
        self.clock.fetch_add(ticks, Ordering::SeqCst);
        self.passed.fetch_add(ticks, Ordering::SeqCst);
    }

    /// Sets the clock.
    pub fn set_back(&self, ticks: u64) {
        self.clock.fetch_sub(ticks, Ordering::SeqCst);
    }

    /// Sets the clock.
    pub fn set_forward(&self, ticks: u64) {
        self.clock.fetch_add(ticks, Ordering::SeqCst);
    }

    pub fn options(&self) -> Options {
        let passed = self.passed.clone();
        Options {
            clock: self.clock(),
            elapsed: Arc::new(move || Duration::from_nanos(passed.load(Ordering::SeqCst) * 100)),
            query_time_max: Duration::from_secs(5),
            name_hold: Duration::ZERO,
            secret: [1; 16],
        }
    }
}

/// A service with its engine and its clocks.
pub struct World {
    pub service: Arc<Services>,
    pub engine: Arc<dyn Engine>,
    pub time: Time,
}

impl World {
    /// An empty service in memory.
    pub fn new() -> Self {
        let time = Time::new();
        Self::over(Arc::new(Memory::new(time.clock())), time)
    }

    pub fn over(engine: Arc<dyn Engine>, time: Time) -> Self {
        let service = Arc::new(Services::new(engine.clone(), time.options()));
        Self { service, engine, time }
    }

    /// A service in memory with one queue.
    pub async fn with_queue() -> Self {
        let world = Self::new();
        world.create(JOBS).await;
        world
    }

    /// Another process on the same engine: the same after a restart, or a second one.
    pub fn again(&self) -> Self {
        Self::over(self.engine.clone(), self.time.clone())
    }

    pub async fn try_run(&self, operation: Operation) -> Result<Outcome, Error> {
        self.service.freshen().await?;
        self.service.execute_queue(Authorized::new(&Grant::everything("acct"), operation)?).await
    }

    pub async fn run(&self, operation: Operation) -> Result<Outcome, ErrorCode> {
        self.try_run(operation).await.map_err(|error| match error {
            Error::Rejected(failure) => failure.code,
            Error::Engine(error) => panic!("{error}"),
        })
    }

    pub async fn create(&self, name: &str) {
        self.run(Operation::CreateQueue(queue(name), Metadata::default())).await.unwrap();
    }

    pub async fn put_into(&self, name: &str, text: &str, visibility: u32, ttl: Option<u32>) -> Enqueued {
        let operation = Operation::PutMessage { queue: queue(name), text: text.into(), visibility, ttl };
        match self.run(operation).await.unwrap() {
            Outcome::MessagePut(enqueued) => enqueued,
            other => panic!("{other:?}"),
        }
    }

    pub async fn put(&self, text: &str) -> Enqueued {
        self.put_into(JOBS, text, 0, None).await
    }

    pub async fn get_from(&self, name: &str, count: u32, visibility: u32) -> Vec<Dequeued> {
        let operation = Operation::GetMessages { queue: queue(name), count, visibility };
        match self.run(operation).await.unwrap() {
            Outcome::Messages(messages) => messages,
            other => panic!("{other:?}"),
        }
    }

    pub async fn get(&self, count: u32, visibility: u32) -> Vec<Dequeued> {
        self.get_from(JOBS, count, visibility).await
    }

    pub async fn peek(&self, count: u32) -> Vec<Message> {
        match self.run(Operation::PeekMessages { queue: queue(JOBS), count }).await.unwrap() {
            Outcome::Peeked(messages) => messages,
            other => panic!("{other:?}"),
        }
    }

    pub async fn delete(&self, id: Guid, receipt: Receipt) -> Result<(), ErrorCode> {
        let target = MessageTarget { queue: queue(JOBS), id, receipt };
        self.run(Operation::DeleteMessage(target)).await.map(drop)
    }

    pub async fn update(
        &self,
        id: Guid,
        receipt: Receipt,
        visibility: u32,
        text: Option<&str>,
    ) -> Result<Receipt, ErrorCode> {
        let target = MessageTarget { queue: queue(JOBS), id, receipt };
        let text = text.map(Into::into);
        match self.run(Operation::UpdateMessage { target, visibility, text }).await? {
            Outcome::MessageUpdated { receipt } => Ok(receipt),
            other => panic!("{other:?}"),
        }
    }

    /// The number of messages that the service reports.
    pub async fn count(&self, name: &str) -> u64 {
        match self.run(Operation::GetMetadata(queue(name))).await.unwrap() {
            Outcome::Metadata { messages, .. } => messages,
            other => panic!("{other:?}"),
        }
    }

    /// Runs background work until there is no more of it.
    pub async fn sweep(&self) {
        let mut sweep = self.service.sweep();
        for _ in 0..10 {
            sweep.round().await.unwrap();
        }
    }
}

pub fn queue(name: &str) -> QueueName {
    name.parse().unwrap()
}

pub fn texts(messages: &[Dequeued]) -> Vec<&str> {
    messages.iter().map(|dequeued| &*dequeued.message.text).collect()
}
