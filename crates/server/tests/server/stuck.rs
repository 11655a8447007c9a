//! An engine that hangs on request.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use lazuli_engine::memory::Memory;
use lazuli_engine::{Applied, Clock, Engine, EngineFuture, Layer, Page, Scan, Status, TableId, Write};

/// An engine in memory whose calls hang while one of its gates is closed.
pub struct Stuck {
    memory: Memory,
    /// Closed: changes are applied, but their calls never return.
    pub after: AtomicBool,
    /// Closed: scans and changes hang before they do anything.
    pub before: AtomicBool,
    /// Closed: the status hangs.
    pub status: AtomicBool,
    /// Scans that hang, except those of the system table.
    scans: AtomicUsize,
    /// Changes that hang.
    changes: AtomicUsize,
}

impl Stuck {
    pub fn new() -> Arc<Self> {
        let memory = Memory::new(Clock::system());
        Arc::new(Self {
            memory,
            after: AtomicBool::new(false),
            before: AtomicBool::new(false),
            status: AtomicBool::new(false),
            scans: AtomicUsize::new(0),
            changes: AtomicUsize::new(0),
        })
    }

    /// Waits until this number of changes hang.
    pub fn wait_for_changes(&self, number: usize) {
        wait_for(&self.changes, number);
    }

    /// Scans that hang.
    pub fn scans(&self) -> usize {
        self.scans.load(Ordering::SeqCst)
    }

    /// Waits until this number of scans hang. Background tasks scan the system table at any time, so those do not count.
    pub fn wait_for_scans(&self, number: usize) {
        wait_for(&self.scans, number);
    }

    async fn pass(&self, gate: &AtomicBool, hanging: Option<&AtomicUsize>) {
        if gate.load(Ordering::SeqCst) {
            if let Some(hanging) = hanging {
                hanging.fetch_add(1, Ordering::SeqCst);
            }
            std::future::pending::<()>().await;
        }
    }
}

fn wait_for(counter: &AtomicUsize, number: usize) {
    while counter.load(Ordering::SeqCst) < number {
        std::thread::yield_now();
    }
}

impl Layer for Stuck {
    fn below(&self) -> &dyn Engine {
        &self.memory
    }

    fn status(&self) -> EngineFuture<'_, Status> {
        Box::pin(async {
            self.pass(&self.status, None).await;
            self.memory.status().await
        })
    }

    fn scan(&self, scan: Scan) -> EngineFuture<'_, Page> {
        Box::pin(async {
            let counted = scan.table != TableId::SYSTEM;
            self.pass(&self.before, counted.then_some(&self.scans)).await;
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
            self.pass(&self.before, Some(&self.changes)).await;
            let applied = self.memory.apply(table, partition, writes).await;
            self.pass(&self.after, Some(&self.changes)).await;
            applied
        })
    }
}
