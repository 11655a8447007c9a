//! Sweeps that can free nothing at the moment: while everything is in use, they must wait, not try again and again.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use lazuli_engine::content::{
    Content, ContentReader, ContentStatus, ContentSweep, ContentWriter, ExtentPage, Fold, MemoryContent,
    Piece, Pinned, Spot, Swept,
};
use lazuli_engine::memory::Memory;
use lazuli_engine::{Engine, EngineFuture, Layer, Page, Scan, SharedState};
use lazuli_model::blob::container::ContainerAction;
use lazuli_model::blob::operation::Revision;

use crate::world::{CONTAINER, START_TICKS, World, bytes_of, clock};

/// How long others may read content that was replaced, in seconds.
const HOUR: u64 = 60 * 60 + 1;
/// How long others may take to commit what they upload.
const DAY: u64 = 24 * HOUR;
/// More than one round of the sweep covers.
const BLOBS: u64 = 400;

/// An engine that other processes use, too. It counts scans.
struct SharedMemory(Memory, AtomicU64);

impl Layer for SharedMemory {
    fn below(&self) -> &dyn Engine {
        &self.0
    }

    fn scan(&self, scan: Scan) -> EngineFuture<'_, Page> {
        self.1.fetch_add(1, Ordering::SeqCst);
        self.0.scan(scan)
    }

    fn shared_state(&self) -> EngineFuture<'_, Option<SharedState>> {
        Box::pin(async { Ok(Some(SharedState { changes: 0, epoch: 1 })) })
    }
}

/// Content that another process can hold.
struct Held {
    below: MemoryContent,
    is_held: AtomicBool,
    /// How often something was to be freed.
    releases: AtomicU64,
}

impl Content for Held {
    fn inline_max(&self) -> usize {
        self.below.inline_max()
    }
    fn begin(&self, expected: Option<u64>, fold: Option<Fold>) -> Box<dyn ContentWriter> {
        self.below.begin(expected, fold)
    }
    fn read(&self, piece: &Piece, range: Range<u64>) -> Box<dyn ContentReader> {
        self.below.read(piece, range)
    }
    fn pin(&self, pieces: &[Piece]) -> Pinned {
        self.below.pin(pieces)
    }
    fn pin_all(&self) -> Pinned {
        self.below.pin_all()
    }
    fn is_held(&self) -> EngineFuture<'_, bool> {
        Box::pin(async { Ok(self.is_held.load(Ordering::SeqCst)) })
    }
    fn release(&self, pieces: Vec<Piece>) -> EngineFuture<'_, Vec<Piece>> {
        self.releases.fetch_add(1, Ordering::SeqCst);
        match self.is_held.load(Ordering::SeqCst) {
            true => Box::pin(async { Ok(pieces) }),
            false => self.below.release(pieces),
        }
    }
    fn adopt(&self, piece: Piece, bytes: bytes::Bytes) -> EngineFuture<'_, ()> {
        self.below.adopt(piece, bytes)
    }
    fn list(&self, from: Spot) -> EngineFuture<'_, ExtentPage> {
        self.below.list(from)
    }
    fn sweep(&self) -> EngineFuture<'_, Box<dyn ContentSweep>> {
        match self.is_held.load(Ordering::SeqCst) {
            true => Box::pin(async { Ok(Box::new(HeldSweep) as Box<dyn ContentSweep>) }),
            false => self.below.sweep(),
        }
    }
    fn status(&self) -> EngineFuture<'_, ContentStatus> {
        self.below.status()
    }
}

/// A sweep that frees nothing.
struct HeldSweep;

impl ContentSweep for HeldSweep {
    fn keep(&mut self, _: &Piece) {}

    fn finish(self: Box<Self>) -> EngineFuture<'static, Swept> {
        Box::pin(async { Ok(Swept::default()) })
    }
}

/// A world with such an engine and content.
fn shared(memory: MemoryContent) -> (World, Arc<SharedMemory>, Arc<Held>) {
    let ticks = Arc::new(AtomicU64::new(START_TICKS));
    let engine = Arc::new(SharedMemory(Memory::new(clock(&ticks)), AtomicU64::new(0)));
    let (is_held, releases) = Default::default();
    let held = Arc::new(Held { below: memory.clone(), is_held, releases });
    let world = World::over(engine.clone(), memory, ticks, 20, Some(held.clone()), Arc::default());
    (world, engine, held)
}

/// The same, in which each of some blobs was overwritten.
async fn overwritten(blobs: u64) -> (World, Arc<SharedMemory>, Arc<Held>) {
    let (mut world, engine, held) = shared(MemoryContent::default());
    world.create_container(CONTAINER).await.unwrap();
    world.settle().await;
    for n in 0..2 * blobs {
        world.put(&format!("b{}", n % blobs), bytes_of(n, 100)).await.unwrap();
    }
    (world, engine, held)
}

/// Rounds until there is nothing to do immediately; returns their number.
async fn rounds(world: &mut World) -> u64 {
    for round in 1..=2 * BLOBS {
        if !world.reclaim.round().await.unwrap() {
            return round;
        }
    }
    panic!("there is always more to do");
}

/// A round that must do nothing.
async fn idle_round(world: &mut World, engine: &SharedMemory) {
    let before = engine.1.load(Ordering::SeqCst);
    assert!(!world.reclaim.round().await.unwrap());
    assert_eq!(engine.1.load(Ordering::SeqCst), before, "it has read rows");
}

/// A front end of several keeps overwritten content for a day. If it had overwritten more blobs than a round covers, it looked at
/// them without any pause until then: 13,000 transactions a second, and a third of a core.
#[tokio::test]
async fn content_that_other_processes_may_use_is_left_alone_until_it_is_old_enough() {
    let (mut world, engine, held) = overwritten(BLOBS).await;
    assert!(rounds(&mut world).await < 5);
    idle_round(&mut world, &engine).await;
    world.pass(DAY);
    rounds(&mut world).await;
    assert_eq!(world.pieces().await as u64, 2 * BLOBS, "reads that have just begun may last an hour");
    assert_eq!(held.releases.load(Ordering::SeqCst), 0);
    world.pass(HOUR);
    rounds(&mut world).await;
    assert_eq!(world.pieces().await as u64, BLOBS);
}

/// The same with readers of this process.
#[tokio::test]
async fn a_sweep_pauses_while_many_blobs_are_read() {
    let mut world = World::with_inline(20).await;
    world.settle().await;
    let mut readers = Vec::new();
    for n in 0..BLOBS {
        let name = format!("b{n}");
        world.put(&name, bytes_of(n, 100)).await.unwrap();
        readers.push(world.open(&name, Revision::Current).await.unwrap());
        world.put(&name, bytes_of(BLOBS + n, 100)).await.unwrap();
    }
    assert!(rounds(&mut world).await < 5);
    assert_eq!(world.pieces().await as u64, 2 * BLOBS);
    drop(readers);
    rounds(&mut world).await;
    assert_eq!(world.pieces().await as u64, BLOBS);
}

/// While a copy of everything held the content, which may take hours, front ends looked at all garbage again every 5 s.
#[tokio::test]
async fn a_sweep_waits_until_the_content_is_no_longer_held() {
    let (mut world, engine, held) = overwritten(3).await;
    rounds(&mut world).await;
    world.pass(DAY);
    rounds(&mut world).await;
    world.pass(HOUR);
    held.is_held.store(true, Ordering::SeqCst);
    idle_round(&mut world, &engine).await;
    // The same for the rows of a deleted container, which name content.
    world.on_container(CONTAINER, ContainerAction::Delete).await.unwrap();
    world.pass(HOUR);
    world.sweep.round().await.unwrap();
    assert_eq!(held.releases.load(Ordering::SeqCst), 0);
    assert_eq!(world.pieces().await, 6);
    held.is_held.store(false, Ordering::SeqCst);
    world.sweep.round().await.unwrap();
    world.settle().await;
    assert_eq!(world.pieces().await, 0);
}

/// The content of a deleted container was freed within seconds, while other front ends still read blobs of it.
#[tokio::test]
async fn content_of_a_deleted_container_stays_for_the_readers_of_other_processes() {
    let (mut world, _, _) = overwritten(3).await;
    world.on_container(CONTAINER, ContainerAction::Delete).await.unwrap();
    world.settle().await;
    assert_eq!(world.pieces().await, 6);
    world.pass(HOUR);
    world.settle().await;
    assert_eq!(world.pieces().await, 0);
}

/// Content of earlier processes that could not be freed because a copy was being made stayed for another day, and forever if a copy
/// is made every day at that time.
#[tokio::test]
async fn content_of_earlier_processes_is_freed_when_it_is_no_longer_held() {
    let memory = MemoryContent::default();
    let mut upload = memory.begin(None, None);
    upload.write(bytes_of(1, 100)).await.unwrap();
    upload.seal().await.unwrap();
    let (mut world, engine, held) = shared(memory.reopened());
    held.is_held.store(true, Ordering::SeqCst);
    rounds(&mut world).await;
    idle_round(&mut world, &engine).await;
    assert_eq!(world.pieces().await, 1);
    held.is_held.store(false, Ordering::SeqCst);
    rounds(&mut world).await;
    assert_eq!(world.pieces().await, 0);
    idle_round(&mut world, &engine).await;
}
