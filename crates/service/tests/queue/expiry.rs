//! Expired messages: never returned, passed over once, removed in the background.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use lazuli_engine::{Engine, EngineFuture, Layer, Memory, Page, Scan};
use lazuli_model::queue::Message;

use crate::world::{JOBS, SECOND, Time, World, texts};

/// An engine that counts the rows that scans read.
struct Counting {
    inner: Memory,
    rows_read: Arc<AtomicU64>,
}

impl Layer for Counting {
    fn below(&self) -> &dyn Engine {
        &self.inner
    }

    fn scan(&self, scan: Scan) -> EngineFuture<'_, Page> {
        Box::pin(async move {
            let page = self.inner.scan(scan).await?;
            self.rows_read.fetch_add(page.rows_read, Ordering::SeqCst);
            Ok(page)
        })
    }
}

async fn counting() -> (World, Arc<AtomicU64>) {
    let (time, rows_read) = (Time::new(), Arc::new(AtomicU64::new(0)));
    let engine = Counting { inner: Memory::new(time.clock()), rows_read: rows_read.clone() };
    let world = World::over(Arc::new(engine), time);
    world.create(JOBS).await;
    (world, rows_read)
}

/// Expired messages are read once, not by every Get Messages and Peek Messages.
#[tokio::test]
async fn expired_messages_do_not_slow_gets_down() {
    let (world, rows_read) = counting().await;
    for _ in 0..3000 {
        world.put_into(JOBS, "short", 0, Some(5)).await;
    }
    world.time.pass(6 * SECOND);
    world.put("long").await;
    assert_eq!(world.peek(1).await.len(), 1);
    rows_read.store(0, Ordering::SeqCst);
    for _ in 0..10 {
        assert_eq!(world.peek(1).await.len(), 1);
        assert_eq!(texts(&world.get(1, 1).await), ["long"]);
        assert!(world.get(1, 1).await.is_empty() && world.peek(1).await.is_empty());
        world.time.pass(2 * SECOND);
    }
    let rows = rows_read.load(Ordering::SeqCst);
    assert!(rows < 200, "{rows} rows were read");
}

/// The number of messages is never too low; background work corrects it when messages expire, visible or not.
#[tokio::test]
async fn background_work_removes_expired_messages() {
    let world = World::with_queue().await;
    for number in 0..1200 {
        world.put_into(JOBS, "short", number % 3 * 100, Some(5 + 100 * (number % 3))).await;
    }
    world.put_into(JOBS, "hidden", 5000, None).await;
    assert_eq!(world.count(JOBS).await, 1201);
    world.time.pass(6 * SECOND);
    assert_eq!(world.count(JOBS).await, 1201);
    world.sweep().await;
    assert_eq!(world.count(JOBS).await, 801);
    // Readers that meet expired messages have them removed before the next visit of all queues.
    let mut sweep = world.service.sweep();
    sweep.round().await.unwrap();
    world.time.pass(100 * SECOND);
    assert!(world.get(1, 1).await.is_empty());
    sweep.round().await.unwrap();
    assert_eq!(world.count(JOBS).await, 401);
    world.time.pass(1000 * SECOND);
    sweep.round().await.unwrap();
    assert_eq!(world.count(JOBS).await, 1);
}

/// A queue in another state costs no more to read: neither taken, nor deleted, nor hidden messages are read again.
#[tokio::test]
async fn the_depth_of_a_queue_does_not_matter() {
    let (world, rows_read) = counting().await;
    for _ in 0..3000 {
        world.put_into(JOBS, "hidden", 3600, None).await;
    }
    for number in 0..3000 {
        world.put(&number.to_string()).await;
    }
    rows_read.store(0, Ordering::SeqCst);
    for _ in 0..90 {
        for dequeued in world.get(32, 600).await {
            world.delete(dequeued.message.id, dequeued.receipt).await.unwrap();
        }
    }
    let rows = rows_read.load(Ordering::SeqCst);
    assert!(rows < 3100, "{rows} rows were read for 2880 messages");
}

/// Peek Messages does not search again for messages that it knows, but it notices what became of them.
#[tokio::test]
async fn peek_notices_changes_of_messages_that_were_read_before() {
    let world = World::with_queue().await;
    for text in ["one", "two", "three"] {
        world.put(text).await;
    }
    let held = world.get(1, 1).await;
    world.time.pass(2 * SECOND);
    // A new process reads all three, so that it knows the one that is changed.
    let world = world.again();
    let seen =
        |messages: Vec<Message>| messages.iter().map(|message| message.text.to_string()).collect::<Vec<_>>();
    assert_eq!(seen(world.peek(3).await), ["two", "three", "one"]);
    // Its receipt is valid until somebody else takes it.
    let receipt = world.update(held[0].message.id, held[0].receipt, 0, Some("changed")).await.unwrap();
    assert_eq!(seen(world.peek(3).await), ["two", "three", "changed"]);
    world.delete(held[0].message.id, receipt).await.unwrap();
    assert_eq!(seen(world.peek(2).await), ["two", "three"]);
    assert_eq!(seen(world.peek(3).await), ["two", "three"]);
    let taken = world.get(1, 60).await;
    assert_eq!(seen(world.peek(1).await), ["three"]);
    world.delete(taken[0].message.id, taken[0].receipt).await.unwrap();
    assert_eq!(seen(world.peek(1).await), ["three"]);
}
