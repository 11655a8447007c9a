//! Moving messages to another queue: exactly once, whichever call of the engine is the last before a crash.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use lazuli_engine::{Applied, Engine, EngineFuture, Error, Layer, Memory, Row, TableId, Write};
use lazuli_model::ErrorCode;
use lazuli_model::queue::{Operation, Outcome};
use tokio::sync::Notify;

use crate::world::{SECOND, Time, World, queue, texts};

/// An engine whose process dies at some commit: before it is applied, or after it is applied but before its result is
/// returned.
struct Mortal {
    inner: Memory,
    commits_left: AtomicU64,
    is_made: bool,
    /// Holds the next read of the trace of a move in the second queue, once armed.
    hold: Hold,
}

/// A point at which one call waits, after it has read, until the test lets it continue.
#[derive(Default)]
struct Hold {
    is_armed: AtomicBool,
    reached: Notify,
    released: Notify,
}

impl Mortal {
    fn new(time: &Time, is_made: bool) -> Self {
        let (inner, commits_left) = (Memory::new(time.clock()), AtomicU64::new(u64::MAX));
        Self { inner, commits_left, is_made, hold: Hold::default() }
    }
}

impl Layer for Mortal {
    fn below(&self) -> &dyn Engine {
        &self.inner
    }

    fn get<'a>(
        &'a self,
        table: TableId,
        partition: &'a str,
        rows: &'a [&'a str],
    ) -> EngineFuture<'a, Vec<Option<Row>>> {
        Box::pin(async move {
            let found = self.inner.get(table, partition, rows).await;
            let is_trace = rows.iter().any(|row| row.starts_with("y/"));
            if is_trace && self.hold.is_armed.swap(false, Ordering::SeqCst) {
                self.hold.reached.notify_one();
                self.hold.released.notified().await;
            }
            found
        })
    }

    fn apply<'a>(
        &'a self,
        table: TableId,
        partition: &'a str,
        writes: Vec<Write>,
    ) -> EngineFuture<'a, Applied> {
        Box::pin(async move {
            let left = self.commits_left.load(Ordering::SeqCst);
            if left == u64::MAX {
                return self.inner.apply(table, partition, writes).await;
            }
            self.commits_left.store(left.saturating_sub(1), Ordering::SeqCst);
            match left {
                0 => {}
                1 if self.is_made => drop(self.inner.apply(table, partition, writes).await?),
                1 => {}
                _ => return self.inner.apply(table, partition, writes).await,
            }
            Err(Error::Unavailable("killed".into()))
        })
    }
}

/// Moves up to `max` messages and returns how many were moved.
async fn moved(world: &World, from: &str, to: &str, max: u32) -> Result<u64, ErrorCode> {
    let operation = Operation::MoveMessages { from: queue(from), to: queue(to), max };
    match world.try_run(operation).await.map_err(|error| error.failure().code)? {
        Outcome::MessagesMoved(count) => Ok(count),
        other => panic!("{other:?}"),
    }
}

async fn all_of(world: &World, name: &str) -> Vec<String> {
    let mut all = Vec::new();
    loop {
        let got = world.get_from(name, 32, 3600).await;
        if got.is_empty() {
            return all;
        }
        all.extend(texts(&got).iter().map(ToString::to_string));
    }
}

async fn queues(world: &World, messages: u32) {
    for name in ["poison", "work"] {
        world.create(name).await;
    }
    for number in 0..messages {
        world.put_into("poison", &format!("{number:03}"), 0, None).await;
    }
}

/// QU-07: messages return from a poison queue in order, and count as never dequeued.
#[tokio::test]
async fn messages_are_moved_in_order() {
    let world = World::new();
    queues(&world, 100).await;
    world.put_into("work", "first", 0, None).await;
    world.put_into("poison", "hidden", 60, None).await;
    assert_eq!(world.get_from("poison", 1, 1).await.len(), 1);
    world.time.pass(2 * SECOND);
    assert_eq!(moved(&world, "poison", "work", 40).await, Ok(40));
    assert_eq!((world.count("poison").await, world.count("work").await), (61, 41));
    assert_eq!(moved(&world, "poison", "work", u32::MAX).await, Ok(60));
    assert_eq!(moved(&world, "poison", "work", u32::MAX).await, Ok(0));
    assert_eq!((world.count("poison").await, world.count("work").await), (1, 101));
    let got = world.get_from("work", 32, 60).await;
    assert!(got.iter().all(|dequeued| dequeued.message.dequeue_count == 1));
    assert_eq!(texts(&got)[..3], ["first", "001", "002"]);
    assert_eq!(moved(&world, "work", "work", 1).await, Err(ErrorCode::InvalidInput));
    assert_eq!(moved(&world, "work", "none", 1).await, Err(ErrorCode::QueueNotFound));
}

/// QU-07: a crash at any commit neither loses nor duplicates a message, whether or not the commit was made.
#[tokio::test]
async fn a_crash_at_any_commit_loses_and_duplicates_nothing() {
    for (last, is_made) in (1..12).flat_map(|last| [(last, false), (last, true)]) {
        let time = Time::new();
        let engine = Arc::new(Mortal::new(&time, is_made));
        let world = World::over(engine.clone(), time);
        queues(&world, 70).await;
        engine.commits_left.store(last, Ordering::SeqCst);
        let _ = moved(&world, "poison", "work", u32::MAX).await;
        engine.commits_left.store(u64::MAX, Ordering::SeqCst);
        let world = world.again();
        world.sweep().await;
        let counts = (world.count("poison").await, world.count("work").await);
        let mut all = all_of(&world, "poison").await;
        let left = all.len() as u64;
        all.extend(all_of(&world, "work").await);
        assert_eq!(counts, (left, 70 - left), "commit {last}, made: {is_made}");
        all.sort();
        let expected: Vec<String> = (0..70).map(|number| format!("{number:03}")).collect();
        assert_eq!(all, expected, "commit {last}, made: {is_made}");
        // The traces of the moves go, too.
        world.time.pass(700 * SECOND);
        world.sweep().await;
        world.time.pass(700 * SECOND);
        world.sweep().await;
        assert_eq!(traces(&world).await, 0, "commit {last}, made: {is_made}");
    }
}

/// Rows of moves that are left in the engine.
async fn traces(world: &World) -> usize {
    let mut dump = world.engine.dump().await.unwrap();
    let mut found = 0;
    loop {
        let rows = dump.next(1 << 20).await.unwrap();
        if rows.is_empty() {
            return found;
        }
        let is_trace = |row: &str| row.starts_with("x/") || row.starts_with("y/");
        found += rows.iter().filter(|stored| is_trace(&stored.row.row)).count();
    }
}

/// Interrupted moves are finished while another one is in progress, by the same and by other processes.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn concurrent_moves_and_background_work_agree() {
    let world = Arc::new(World::new());
    queues(&world, 300).await;
    let movers = (0..6).map(|_| {
        let world = world.clone();
        tokio::spawn(async move {
            loop {
                let once = moved(&world, "poison", "work", 10).await.unwrap();
                world.service.sweep().round().await.unwrap();
                if once == 0 {
                    return;
                }
            }
        })
    });
    for mover in movers.collect::<Vec<_>>() {
        mover.await.unwrap();
    }
    let mut all = all_of(&world, "work").await;
    all.sort();
    assert_eq!(all, (0..300).map(|number| format!("{number:03}")).collect::<Vec<_>>());
    assert_eq!((world.count("poison").await, world.count("work").await), (0, 300));
}

/// If the second queue is deleted or cleared before the messages arrive, they return to the first.
#[tokio::test]
async fn messages_return_if_their_destination_is_gone() {
    for clears in [true, false] {
        let time = Time::new();
        let engine = Arc::new(Mortal::new(&time, false));
        let world = World::over(engine.clone(), time);
        queues(&world, 5).await;
        engine.commits_left.store(2, Ordering::SeqCst);
        assert!(moved(&world, "poison", "work", u32::MAX).await.is_err());
        engine.commits_left.store(u64::MAX, Ordering::SeqCst);
        assert!(world.get_from("poison", 32, 1).await.is_empty(), "they are being moved");
        let gone = if clears { Operation::ClearMessages } else { Operation::DeleteQueue };
        world.run(gone(queue("work"))).await.unwrap();
        world.sweep().await;
        assert_eq!(all_of(&world, "poison").await, ["000", "001", "002", "003", "004"]);
        assert_eq!(world.count("poison").await, 5);
    }
}

/// Messages that had arrived and been handled returned to the first queue if the mover crashed before its last step and
/// the second queue was then cleared or deleted: the sweep erased the trace that they had arrived.
#[tokio::test]
async fn handled_messages_do_not_return_when_their_destination_is_cleared() {
    // The sweep crashes at some commit; in the last cases it does not.
    for (clears, crash) in [true, false].into_iter().flat_map(|clears| (1..6).map(move |at| (clears, at))) {
        let time = Time::new();
        let engine = Arc::new(Mortal::new(&time, false));
        let world = World::over(engine.clone(), time);
        queues(&world, 5).await;
        // It has just visited all queues, and does so again only after ten minutes.
        let mut sweep = world.service.sweep();
        sweep.round().await.unwrap();
        engine.commits_left.store(3, Ordering::SeqCst);
        assert!(moved(&world, "poison", "work", u32::MAX).await.is_err());
        engine.commits_left.store(u64::MAX, Ordering::SeqCst);
        assert_eq!(all_of(&world, "work").await.len(), 5, "they have arrived");
        let gone = if clears { Operation::ClearMessages } else { Operation::DeleteQueue };
        world.run(gone(queue("work"))).await.unwrap();
        engine.commits_left.store(crash, Ordering::SeqCst);
        let _ = sweep.round().await;
        engine.commits_left.store(u64::MAX, Ordering::SeqCst);
        sweep.round().await.unwrap();
        let world = world.again();
        world.sweep().await;
        assert_eq!(all_of(&world, "poison").await, [""; 0], "clears: {clears}, crash: {crash}");
        assert_eq!(world.count("poison").await, 0, "clears: {clears}, crash: {crash}");
    }
}

/// The same, if the messages arrive and the second queue is cleared while another process finishes the move.
#[tokio::test]
async fn handled_messages_do_not_return_when_two_processes_finish_a_move() {
    let time = Time::new();
    let engine = Arc::new(Mortal::new(&time, false));
    let world = World::over(engine.clone(), time);
    queues(&world, 5).await;
    engine.commits_left.store(2, Ordering::SeqCst);
    assert!(moved(&world, "poison", "work", u32::MAX).await.is_err());
    engine.commits_left.store(u64::MAX, Ordering::SeqCst);
    engine.hold.is_armed.store(true, Ordering::SeqCst);
    let slow = tokio::spawn({
        let world = world.again();
        async move { moved(&world, "poison", "work", u32::MAX).await }
    });
    engine.hold.reached.notified().await;
    engine.commits_left.store(2, Ordering::SeqCst);
    assert!(moved(&world, "poison", "work", u32::MAX).await.is_err());
    engine.commits_left.store(u64::MAX, Ordering::SeqCst);
    assert_eq!(all_of(&world, "work").await.len(), 5, "they have arrived");
    world.run(Operation::ClearMessages(queue("work"))).await.unwrap();
    engine.hold.released.notify_one();
    assert_eq!(slow.await.unwrap(), Ok(0));
    assert_eq!(all_of(&world, "poison").await, [""; 0]);
    assert_eq!((world.count("poison").await, world.count("work").await), (0, 0));
}
