//! Measures queues on the store: `cargo run --release -p lazuli-service --example queue_load -- [depth…]`.
//!
//! For each depth (1,000 and 1,000,000 by default) one queue is filled with visible messages, a second one with hidden
//! messages, and a third one with expired messages at its front. Then put, get of 32, delete, peek and the count are
//! measured on each, with 64 tasks at a time. Every commit is durable; compare only numbers of the same run.

#![allow(clippy::print_stdout, clippy::unwrap_used, clippy::disallowed_methods, reason = "a measuring tool")]

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use lazuli_engine::{Clock, Engine};
use lazuli_model::Metadata;
use lazuli_model::queue::operation::MessageTarget;
use lazuli_model::queue::{Dequeued, Operation, Outcome, QueueName};
use lazuli_service::access::Authorized;
use lazuli_service::{Grant, Options, Services};
use lazuli_store::{Durability, Store};

const TASKS: usize = 64;
const TEXT_BYTES: usize = 1024;
const SECONDS: f64 = 2.0;
/// Messages that are put for the gets to take, so that none of them finds the queue empty.
const GET_MESSAGES: u64 = 50_000;

/// The state of the messages that fill a queue.
#[derive(Clone, Copy)]
enum State {
    Visible,
    Hidden,
    Expired,
}

fn main() {
    let depths: Vec<u64> = std::env::args().skip(1).map(|text| text.parse().unwrap()).collect();
    let depths = if depths.is_empty() { vec![1_000, 1_000_000] } else { depths };
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    for depth in depths {
        for (name, state) in
            [("visible", State::Visible), ("hidden", State::Hidden), ("expired", State::Expired)]
        {
            runtime.block_on(measure(depth, name, state));
        }
    }
}

async fn measure(depth: u64, name: &str, state: State) {
    let directory = tempfile::tempdir().unwrap();
    // Filling need not be durable; the store is opened again for the measurements.
    let world = World::open(directory.path(), Durability::Relaxed).await;
    world.run(Operation::CreateQueue(queue(), Metadata::default())).await;
    world.fill(depth, state).await;
    world.store.close().await.unwrap();
    drop(world);
    let world = Arc::new(World::open(directory.path(), Durability::Full).await);
    let first = Instant::now();
    world.get(1).await;
    let first = first.elapsed();
    let puts = world
        .rate(|world| async move {
            world.put(0, None).await;
            1
        })
        .await;
    let peeks = world
        .rate(|world| async move {
            world.peek().await;
            1
        })
        .await;
    let counts = world
        .rate(|world| async move {
            world.count().await;
            1
        })
        .await;
    world.fill(GET_MESSAGES, State::Visible).await;
    let gets = world.rate(|world| async move { world.get(32).await.len() as u64 }).await / 32.0;
    let taken = world.take(20_000).await;
    let deleted = world.delete_all(taken).await;
    println!(
        "{depth:>8} {name:<8} first get {first:>8.1?}  put {puts:>7.0}/s  get32 {gets:>7.0}/s  delete {deleted:>7.0}/s  \
         peek {peeks:>7.0}/s  count {counts:>7.0}/s"
    );
    world.store.close().await.unwrap();
}

struct World {
    service: Services,
    store: Arc<Store>,
}

impl World {
    async fn open(directory: &std::path::Path, durability: Durability) -> Self {
        let options = lazuli_store::Options { durability, ..lazuli_store::Options::default() };
        let store = Arc::new(Store::open(directory, options).unwrap());
        let started = Instant::now();
        let options = Options {
            clock: Clock::system(),
            elapsed: Arc::new(move || started.elapsed()),
            query_time_max: Duration::from_secs(5),
            name_hold: Duration::ZERO,
            secret: [1; 16],
        };
        Self { service: Services::new(store.clone(), options), store }
    }

    async fn run(&self, operation: Operation) -> Outcome {
        let grant = Grant::everything("acct");
        self.service.execute_queue(Authorized::new(&grant, operation).unwrap()).await.unwrap()
    }

    async fn put(&self, visibility: u32, ttl: Option<u32>) {
        let text = "x".repeat(TEXT_BYTES).into();
        self.run(Operation::PutMessage { queue: queue(), text, visibility, ttl }).await;
    }

    async fn get(&self, count: u32) -> Vec<Dequeued> {
        match self.run(Operation::GetMessages { queue: queue(), count, visibility: 3600 }).await {
            Outcome::Messages(messages) => messages,
            other => panic!("{other:?}"),
        }
    }

    async fn peek(&self) {
        self.run(Operation::PeekMessages { queue: queue(), count: 1 }).await;
    }

    async fn count(&self) {
        self.run(Operation::GetMetadata(queue())).await;
    }

    async fn delete(&self, dequeued: &Dequeued) {
        let (id, receipt) = (dequeued.message.id, dequeued.receipt);
        self.run(Operation::DeleteMessage(MessageTarget { queue: queue(), id, receipt })).await;
    }

    /// Fills the queue, with many messages in progress at a time.
    async fn fill(&self, depth: u64, state: State) {
        let (visibility, ttl) = match state {
            State::Visible => (0, None),
            State::Hidden => (86_400, None),
            State::Expired => (0, Some(1)),
        };
        let mut left = depth;
        while left > 0 {
            let count = left.min(1024);
            let puts: Vec<_> = (0..count).map(|_| self.put(visibility, ttl)).collect();
            join(puts).await;
            left -= count;
        }
        if matches!(state, State::Expired) {
            tokio::time::timeout(Duration::from_millis(1100), std::future::pending::<()>())
                .await
                .unwrap_err();
        }
    }

    /// Operations per second with [`TASKS`] tasks. Each operation returns how many it counts for.
    async fn rate<F: Future<Output = u64> + Send + 'static>(
        self: &Arc<Self>,
        operation: impl Fn(Arc<Self>) -> F + Send + Sync + Clone + 'static,
    ) -> f64 {
        let (done, started) = (Arc::new(AtomicU64::new(0)), Instant::now());
        let tasks: Vec<_> = (0..TASKS)
            .map(|_| {
                let (world, done, operation) = (self.clone(), done.clone(), operation.clone());
                tokio::spawn(async move {
                    while started.elapsed().as_secs_f64() < SECONDS {
                        let count = operation(world.clone()).await;
                        if count == 0 {
                            return;
                        }
                        done.fetch_add(count, Ordering::Relaxed);
                    }
                })
            })
            .collect();
        for task in tasks {
            task.await.unwrap();
        }
        done.load(Ordering::Relaxed) as f64 / started.elapsed().as_secs_f64()
    }

    /// Puts messages and takes them, so that there is something to delete whatever the queue holds.
    async fn take(&self, count: usize) -> Vec<Dequeued> {
        self.fill(count as u64, State::Visible).await;
        let mut taken = Vec::new();
        while taken.len() < count {
            let got = self.get(32).await;
            if got.is_empty() {
                break;
            }
            taken.extend(got);
        }
        taken
    }

    async fn delete_all(self: &Arc<Self>, taken: Vec<Dequeued>) -> f64 {
        let started = Instant::now();
        let count = taken.len();
        let taken = Arc::new(taken);
        let next = Arc::new(AtomicU64::new(0));
        let tasks: Vec<_> = (0..TASKS)
            .map(|_| {
                let (world, taken, next) = (self.clone(), taken.clone(), next.clone());
                tokio::spawn(async move {
                    loop {
                        let at = next.fetch_add(1, Ordering::Relaxed) as usize;
                        let Some(dequeued) = taken.get(at) else { return };
                        world.delete(dequeued).await;
                    }
                })
            })
            .collect();
        for task in tasks {
            task.await.unwrap();
        }
        count as f64 / started.elapsed().as_secs_f64()
    }
}

fn queue() -> QueueName {
    "jobs".parse().unwrap()
}

/// Waits for all of them at the same time.
async fn join<F: Future<Output = ()>>(futures: Vec<F>) {
    let mut futures: Vec<_> = futures.into_iter().map(Box::pin).collect();
    std::future::poll_fn(|context| {
        futures.retain_mut(|future| future.as_mut().poll(context).is_pending());
        if futures.is_empty() { std::task::Poll::Ready(()) } else { std::task::Poll::Pending }
    })
    .await;
}
