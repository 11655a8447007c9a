//! What the limit of uncommitted blocks costs.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use lazuli_engine::content::MemoryContent;
use lazuli_engine::memory::Memory;
use lazuli_engine::{Engine, EngineFuture, Layer, Page, Scan};

use crate::world::{CONTAINER, START_TICKS, World, clock};

const BLOCKS: u64 = 50;

/// An engine in which other requests continue before each scan. It counts the rows that scans return.
struct Yielding(Memory, Arc<AtomicU64>);

impl Layer for Yielding {
    fn below(&self) -> &dyn Engine {
        &self.0
    }

    fn scan(&self, scan: Scan) -> EngineFuture<'_, Page> {
        Box::pin(async {
            tokio::task::yield_now().await;
            let page = self.0.scan(scan).await?;
            self.1.fetch_add(page.rows.len() as u64, Ordering::SeqCst);
            Ok(page)
        })
    }
}

/// Each of several uploads at the same time counted the blocks of a blob that the process did not know, and copied their rows.
#[tokio::test]
async fn parallel_uploads_count_the_blocks_once() {
    let ticks = Arc::<AtomicU64>::default();
    let returned = Arc::<AtomicU64>::default();
    let engine = Arc::new(Yielding(Memory::new(clock(&ticks)), returned.clone()));
    ticks.store(START_TICKS, Ordering::SeqCst);
    let world = World::over(engine, MemoryContent::default(), ticks, 20, None, Arc::default());
    world.create_container(CONTAINER).await.unwrap();
    for n in 0..BLOCKS {
        world.stage("b", &format!("{n:04}"), "x").await.unwrap();
    }
    let world = world.restarted();
    let before = returned.load(Ordering::SeqCst);
    let uploads = async {
        tokio::join!(
            world.stage("b", "new0", "x"),
            world.stage("b", "new1", "x"),
            world.stage("b", "new2", "x"),
            world.stage("b", "new3", "x"),
        )
    };
    let ((a, b, c, d), judged) = world.counting(uploads).await;
    for upload in [a, b, c, d] {
        upload.unwrap();
    }
    assert!(judged < 2 * BLOCKS, "{judged} rows judged");
    let copied = returned.load(Ordering::SeqCst) - before;
    assert!(copied < BLOCKS, "{copied} rows copied");
}
