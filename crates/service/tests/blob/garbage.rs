//! The cost of reclaiming many generations of one blob: a blob that is overwritten all the time must not make the sweep read
//! each row once per generation.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;
use lazuli_engine::content::MemoryContent;
use lazuli_engine::memory::Memory;
use lazuli_engine::{Applied, Engine, EngineFuture, Layer, Page, Scan, TableId, Write};
use lazuli_model::ErrorCode;
use lazuli_model::blob::operation::{BlobAction, Revision};
use lazuli_model::blob::write::{Digested, StreamedBody};
use lazuli_service::blob::Supply;
use lazuli_service::stream::Whole;

use crate::world::{CONTAINER, START_TICKS, World, blob, bytes_of, clock, drain};

/// Content above this many bytes is in the content store.
const INLINE_MAX: usize = 20;

/// Counts of the calls to an engine.
#[derive(Clone, Copy, Debug)]
struct Cost {
    /// Rows that scans read.
    rows: u64,
    commits: u64,
}

/// An engine that counts.
struct Costly {
    below: Memory,
    rows: AtomicU64,
    commits: AtomicU64,
}

impl Costly {
    /// The cost since the last call.
    fn take(&self) -> Cost {
        let [rows, commits] = [&self.rows, &self.commits].map(|count| count.swap(0, Ordering::SeqCst));
        Cost { rows, commits }
    }
}

impl Layer for Costly {
    fn below(&self) -> &dyn Engine {
        &self.below
    }

    fn scan(&self, scan: Scan) -> EngineFuture<'_, Page> {
        Box::pin(async {
            let page = self.below.scan(scan).await?;
            self.rows.fetch_add(page.rows_read, Ordering::SeqCst);
            Ok(page)
        })
    }

    fn apply<'a>(
        &'a self,
        table: TableId,
        partition: &'a str,
        writes: Vec<Write>,
    ) -> EngineFuture<'a, Applied> {
        self.commits.fetch_add(1, Ordering::SeqCst);
        self.below.apply(table, partition, writes)
    }
}

/// A world with a container over such an engine, after its first sweep.
async fn world() -> (World, Arc<Costly>) {
    let ticks = Arc::new(AtomicU64::new(START_TICKS));
    let (rows, commits) = Default::default();
    let engine = Arc::new(Costly { below: Memory::new(clock(&ticks)), rows, commits });
    let memory = MemoryContent::default();
    let mut world = World::over(engine.clone(), memory, ticks, INLINE_MAX, None, Arc::default());
    world.create_container(CONTAINER).await.unwrap();
    world.settle().await;
    (world, engine)
}

async fn overwrite(world: &World, times: usize) -> Bytes {
    for n in 0..times {
        world.put("b", bytes_of(n as u64, 100)).await.unwrap();
    }
    let last = bytes_of(times as u64, 100);
    world.put("b", last.clone()).await.unwrap();
    last
}

/// The sweep read all rows of a blob once for each generation, and committed once for each: 5,000 overwrites between two rounds
/// were 25,000,000 rows.
#[tokio::test]
async fn the_cost_of_a_sweep_is_linear_in_the_number_of_overwrites() {
    let mut costs = Vec::new();
    for times in [500, 2000] {
        let (mut world, engine) = world().await;
        let last = overwrite(&world, times).await;
        engine.take();
        world.settle().await;
        costs.push(engine.take());
        assert_eq!((world.pieces().await, world.rows().await), (1, 2), "a head and a segment");
        assert_eq!(world.read("b").await, Ok(last.to_vec()));
    }
    let [few, many] = costs[..] else { panic!() };
    assert!(many.rows <= 4 * few.rows, "{few:?} {many:?}");
    assert!(many.commits <= 4 * few.commits && many.commits < 200, "{few:?} {many:?}");
}

/// The same after failed uploads: the sweep read all rows of the blob once for each of them.
#[tokio::test]
async fn the_cost_of_failed_uploads_does_not_multiply_with_the_rows() {
    let mut costs = Vec::new();
    for times in [10, 100] {
        let (mut world, engine) = world().await;
        for n in 0..50 {
            world.put("b", bytes_of(n, 100)).await.unwrap();
            world.on("b", BlobAction::Snapshot(None)).await.unwrap();
        }
        world.settle().await;
        let expected = Digested { md5: Some([0; 16]), crc64: None };
        let body = StreamedBody { length: 100, expected, ..StreamedBody::default() };
        for n in 0..times {
            let put = blob("b", BlobAction::PutBlob(body, Box::default()));
            let mut source = Whole::from(bytes_of(1000 + n, 100));
            assert_eq!(world.run_with(put, Supply::Body(&mut source)).await, Err(ErrorCode::Md5Mismatch));
        }
        assert_eq!(world.pieces().await, 50 + times as usize);
        engine.take();
        world.settle().await;
        costs.push(engine.take().rows);
        assert_eq!(world.pieces().await, 50);
    }
    assert_eq!(costs[0], costs[1]);
}

/// Generations of one sweep may share pieces with each other, with snapshots and with a download in progress.
#[tokio::test]
async fn a_sweep_of_many_generations_keeps_shared_pieces() {
    let (mut world, _) = world().await;
    for id in ["a", "b", "c"] {
        world.stage("b", id, bytes_of(u64::from(id.as_bytes()[0]), 100)).await.unwrap();
    }
    world.commit("b", &["a", "b"]).await.unwrap();
    for id in ["c", "d"] {
        world.stage("b", id, bytes_of(u64::from(id.as_bytes()[0]), 100)).await.unwrap();
    }
    world.commit("b", &["-a", "c", "d"]).await.unwrap();
    let kept = world.read("b").await.unwrap();
    world.on("b", BlobAction::Snapshot(None)).await.unwrap();
    let mut reader = world.open("b", Revision::Current).await.unwrap();
    world.stage("b", "e", bytes_of(5, 100)).await.unwrap();
    world.commit("b", &["-c", "e"]).await.unwrap();
    let mut other = world.open("b", Revision::Current).await.unwrap();
    let last = overwrite(&world, 300).await;
    world.settle().await;
    assert_eq!(
        world.pieces().await,
        3 + 1 + 1,
        "a, c and d of the snapshot, e of the download, and the blob"
    );
    assert_eq!(drain(&mut reader).await.unwrap(), kept);
    assert_eq!(drain(&mut other).await.unwrap().len(), 200);
    drop((reader, other));
    world.settle().await;
    assert_eq!(world.pieces().await, 3 + 1);
    assert_eq!(world.read("b").await, Ok(last.to_vec()));
}
