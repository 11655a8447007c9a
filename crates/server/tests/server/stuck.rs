//! An engine that can be told never to answer.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use lazuli_engine::memory::Memory;
use lazuli_engine::{Applied, Clock, Engine, EngineFuture, Layer, Page, Scan, TableId, Write};

/// An engine that can be told never to answer.
pub struct Stuck {
    memory: Memory,
    /// Changes are made, and nobody is told.
    pub after: AtomicBool,
    /// Nothing is done at all.
    pub before: AtomicBool,
    waiting: AtomicUsize,
}

impl Stuck {
    pub fn new() -> Arc<Self> {
        let memory = Memory::new(Clock::system());
        Arc::new(Self {
            memory,
            after: AtomicBool::new(false),
            before: AtomicBool::new(false),
            waiting: AtomicUsize::new(0),
        })
    }

    /// Waits until so many calls wait for ever.
    pub fn wait_for(&self, calls: usize) {
        while self.waiting.load(Ordering::SeqCst) < calls {
            std::thread::yield_now();
        }
    }

    async fn pass(&self, gate: &AtomicBool) {
        if gate.load(Ordering::SeqCst) {
            self.waiting.fetch_add(1, Ordering::SeqCst);
            std::future::pending::<()>().await;
        }
    }
}

impl Layer for Stuck {
    fn below(&self) -> &dyn Engine {
        &self.memory
    }

    fn scan(&self, scan: Scan) -> EngineFuture<'_, Page> {
        Box::pin(async {
            self.pass(&self.before).await;
            self.memory.scan(scan).await
        })
    }

    fn apply<'a>(
        &'a self,
        table: TableId,
        partition: &'a str,
        writes: Vec<Write>,
    ) -> EngineFuture<'a, Applied> {
        Box::pin(async move {
            self.pass(&self.before).await;
            let applied = self.memory.apply(table, partition, writes).await;
            self.pass(&self.after).await;
            applied
        })
    }
}
