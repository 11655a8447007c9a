//! Several front ends on one engine.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use lazuli_engine::{Applied, Engine, EngineFuture, Error, Layer, Memory, SharedState, TableId, Write};

use crate::world::{JOBS, SECOND, Time, World, texts};

/// An engine that several processes use.
pub struct Shared {
    inner: Memory,
    changes: AtomicU64,
    /// Commits of messages.
    pub commits: AtomicU64,
    /// Whether it rejects writes, as a database whose disk is full.
    pub is_full: AtomicBool,
}

impl Layer for Shared {
    fn below(&self) -> &dyn Engine {
        &self.inner
    }

    fn apply<'a>(
        &'a self,
        table: TableId,
        partition: &'a str,
        writes: Vec<Write>,
    ) -> EngineFuture<'a, Applied> {
        if table == TableId::SYSTEM {
            self.changes.fetch_add(1, Ordering::SeqCst);
        } else {
            self.commits.fetch_add(1, Ordering::SeqCst);
        }
        Box::pin(async move {
            if self.is_full.load(Ordering::SeqCst) {
                return Err(Error::Unavailable("no space left".into()));
            }
            // Lets other tasks run between the read and the write.
            tokio::task::yield_now().await;
            self.inner.apply(table, partition, writes).await
        })
    }

    fn shared_state(&self) -> EngineFuture<'_, Option<SharedState>> {
        let changes = self.changes.load(Ordering::SeqCst);
        Box::pin(std::future::ready(Ok(Some(SharedState { changes, epoch: 0 }))))
    }
}

async fn shared() -> World {
    let time = Time::new();
    let world = World::over(Arc::new(engine(&time)), time);
    world.create(JOBS).await;
    world
}

pub fn engine(time: &Time) -> Shared {
    Shared {
        inner: Memory::new(time.clock()),
        changes: AtomicU64::new(0),
        commits: AtomicU64::new(0),
        is_full: AtomicBool::new(false),
    }
}

/// A peek after a restart on a full disk got a 500, because the first use of a queue commits something to learn the time.
#[tokio::test]
async fn a_full_disk_does_not_prevent_a_peek_after_a_restart() {
    let time = Time::new();
    let engine = Arc::new(engine(&time));
    let world = World::over(engine.clone(), time);
    world.create(JOBS).await;
    world.put("one").await;
    engine.is_full.store(true, Ordering::SeqCst);
    let world = world.again();
    assert_eq!(world.peek(1).await.len(), 1);
    engine.is_full.store(false, Ordering::SeqCst);
    assert_eq!(texts(&world.get(1, 30).await), ["one"]);
}

/// QU-08: consumers of three front ends take every message once.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn consumers_of_several_front_ends_never_share_a_message() {
    let world = shared().await;
    for number in 0..600 {
        world.put(&number.to_string()).await;
    }
    let front_ends: Vec<Arc<World>> = (0..3).map(|_| Arc::new(world.again())).collect();
    let consumers = (0..12).map(|number| {
        let world = front_ends[number % 3].clone();
        tokio::spawn(async move {
            let mut seen = Vec::new();
            loop {
                let got = world.get(8, 600).await;
                if got.is_empty() {
                    return seen;
                }
                for dequeued in got {
                    seen.push(dequeued.message.text.parse::<u32>().unwrap());
                    world.delete(dequeued.message.id, dequeued.receipt).await.unwrap();
                }
            }
        })
    });
    let mut all = Vec::new();
    for consumer in consumers.collect::<Vec<_>>() {
        all.extend(consumer.await.unwrap());
    }
    all.sort_unstable();
    assert_eq!(all, (0..600).collect::<Vec<_>>());
    assert_eq!(world.count(JOBS).await, 0);
}

/// Two messages of different front ends with the same sequence number stay distinct, even if one Get Messages returns
/// both: none replaces the other.
#[tokio::test]
async fn messages_with_the_same_sequence_number_are_distinct() {
    let mut same = 0;
    for behind in 0..40 {
        let world = shared().await;
        let other = world.again();
        // Both have learnt the time of the engine.
        assert!(world.get(1, 1).await.is_empty() && other.get(1, 1).await.is_empty());
        let one = world.put("one").await;
        assert_eq!(world.get(1, 1).await.len(), 1);
        // The clock of the other front end is behind.
        world.time.set_back(behind);
        let two = other.put_into(JOBS, "two", 1, None).await;
        same += u32::from(one.receipt.sequence == two.receipt.sequence);
        for holder in [&world, &other, &world] {
            world.time.pass(3 * SECOND);
            let got = holder.get(32, 1).await;
            assert_eq!(got.len(), 2, "{:?}", texts(&got));
        }
    }
    assert!(same > 0, "the case never occurred");
}

/// A front end sees messages that another one puts, also below those it has read already.
#[tokio::test]
async fn messages_of_other_front_ends_are_found() {
    let world = shared().await;
    let other = world.again();
    for round in 0..5 {
        let text = format!("round {round}");
        assert!(world.get(32, 60).await.is_empty());
        other.put(&text).await;
        world.time.pass(SECOND);
        assert_eq!(texts(&world.get(32, 3600).await), [&text]);
    }
}

/// Both front ends have read the first messages; each loses against the other again and again, and still the order holds.
#[tokio::test]
async fn front_ends_that_take_turns_keep_the_order() {
    let world = shared().await;
    for number in 0..40 {
        world.put(&format!("{number:02}")).await;
    }
    let front_ends = [world.again(), world.again()];
    let mut taken = Vec::new();
    for turn in 0..10 {
        let messages = front_ends[turn % 2].get(4, 30).await;
        taken.extend(texts(&messages).into_iter().map(str::to_owned));
    }
    let expected: Vec<String> = (0..40).map(|number| format!("{number:02}")).collect();
    assert_eq!(taken, expected);
}
