//! Reclaiming content of blobs that are written and read all the time: every commit of the sweep meets a change, and at every
//! moment someone is about to read.

use std::future::poll_fn;
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::task::Poll;

use lazuli_engine::content::MemoryContent;
use lazuli_engine::memory::Memory;
use lazuli_engine::{Applied, Change, Engine, EngineFuture, Layer, Page, Row, Scan, TableId, Write};
use lazuli_model::blob::operation::{BlobAction, Revision};

use crate::world::{CONTAINER, START_TICKS, World, bytes_of, clock};

const DAY: u64 = 24 * 60 * 60;

/// The constant activity of a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Load {
    /// It overwrites the blob right before each commit that makes content unnameable or removes states.
    Writes,
    /// It begins to read the blob before the last such read has ended, with each scan of the sweep.
    Reads,
}

type Reading = Pin<Box<dyn Future<Output = ()> + Send>>;

/// An engine with such a client.
struct Busy {
    below: Memory,
    load: Load,
    client: Mutex<Option<Arc<World>>>,
    reading: tokio::sync::Mutex<Option<Reading>>,
    writes: AtomicU64,
}

impl Busy {
    fn client(&self, load: Load) -> Option<Arc<World>> {
        self.client.lock().unwrap().clone().filter(|_| self.load == load)
    }
}

/// Is it a commit of the sweep that removes names?
fn unnames(writes: &[Write]) -> bool {
    let removed = writes.iter().filter(|write| matches!(write.change, Change::Delete));
    removed.into_iter().any(|write| write.row.starts_with("x/") || write.row.starts_with("s/"))
}

impl Layer for Busy {
    fn below(&self) -> &dyn Engine {
        &self.below
    }

    fn get<'a>(
        &'a self,
        table: TableId,
        partition: &'a str,
        rows: &'a [&'a str],
    ) -> EngineFuture<'a, Vec<Option<Row>>> {
        Box::pin(async move {
            let found = self.below.get(table, partition, rows).await;
            if rows == [""] && self.client(Load::Reads).is_some() {
                tokio::task::yield_now().await;
            }
            found
        })
    }

    fn scan(&self, scan: Scan) -> EngineFuture<'_, Page> {
        Box::pin(async move {
            if let Some(client) = self.client(Load::Reads) {
                let read = async move { drop(client.open("b", Revision::Current).await.unwrap()) };
                let mut next: Reading = Box::pin(read);
                poll_fn(|context| {
                    assert!(next.as_mut().poll(context).is_pending());
                    Poll::Ready(())
                })
                .await;
                if let Some(before) = self.reading.lock().await.replace(next) {
                    before.await;
                }
            }
            self.below.scan(scan).await
        })
    }

    fn apply<'a>(
        &'a self,
        table: TableId,
        partition: &'a str,
        writes: Vec<Write>,
    ) -> EngineFuture<'a, Applied> {
        Box::pin(async move {
            if let Some(client) = self.client(Load::Writes).filter(|_| unnames(&writes)) {
                let number = 10_000 + self.writes.fetch_add(1, Ordering::SeqCst);
                client.put("b", bytes_of(number, 100)).await.unwrap();
            }
            self.below.apply(table, partition, writes).await
        })
    }
}

async fn world(load: Load) -> (World, Arc<Busy>) {
    let ticks = Arc::new(AtomicU64::new(START_TICKS));
    let below = Memory::new(clock(&ticks));
    let (client, reading, writes) = Default::default();
    let engine = Arc::new(Busy { below, load, client, reading, writes });
    let mut world = World::over(engine.clone(), MemoryContent::default(), ticks, 20, None, Arc::default());
    world.create_container(CONTAINER).await.unwrap();
    world.settle().await;
    (world, engine)
}

/// Some rounds. With a client that writes all the time there is always something left to do.
async fn sweep(world: &mut World) {
    for _ in 0..4 {
        world.reclaim.round().await.unwrap();
    }
}

/// Overwritten content was never reclaimed from a blob that was written all the time, because the commit of the sweep required the
/// blob to be unchanged, nor from one that was read all the time, because some request was always about to read its content.
#[tokio::test]
async fn content_of_a_blob_that_is_always_in_use_is_reclaimed() {
    for load in [Load::Writes, Load::Reads] {
        let (mut world, engine) = world(load).await;
        for n in 0..600 {
            world.put("b", bytes_of(n, 100)).await.unwrap();
        }
        world.on("b", BlobAction::Snapshot(None)).await.unwrap();
        assert_eq!(world.pieces().await, 600);
        *engine.client.lock().unwrap() = Some(Arc::new(world.peer()));
        sweep(&mut world).await;
        let left = world.pieces().await;
        assert!(left < 10, "{load:?} {left}");
        let writes = engine.writes.load(Ordering::SeqCst);
        assert_eq!(writes > 0, load == Load::Writes);
        engine.client.lock().unwrap().take();
        engine.reading.lock().await.take();
        let last = if writes > 0 { 9_999 + writes } else { 599 };
        assert_eq!(world.read("b").await.unwrap(), bytes_of(last, 100));
        world.settle().await;
        assert_eq!(world.pieces().await, if writes > 0 { 2 } else { 1 }, "the blob and its snapshot");
    }
}

/// The same for states that can no longer be restored: they stayed for as long as the blob was written all the time.
#[tokio::test]
async fn states_of_a_blob_that_is_always_written_expire() {
    let (mut world, engine) = world(Load::Writes).await;
    world.retain(Some(1)).await;
    for n in 0..600 {
        world.put("b", bytes_of(n, 100)).await.unwrap();
    }
    world.settle().await;
    assert_eq!(world.pieces().await, 600);
    world.pass(2 * DAY);
    *engine.client.lock().unwrap() = Some(Arc::new(world.peer()));
    sweep(&mut world).await;
    let left = world.pieces().await;
    assert!(left < 20, "{left}");
    // States that were deleted since can be restored.
    let writes = engine.writes.load(Ordering::SeqCst);
    engine.client.lock().unwrap().take();
    assert_eq!(left as u64, 1 + writes, "the blob and those that were overwritten today");
}
