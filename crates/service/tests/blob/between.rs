//! An engine that lets a test change a blob between two reads of a request.

use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex};

use lazuli_engine::content::MemoryContent;
use lazuli_engine::memory::Memory;
use lazuli_engine::{Engine, EngineFuture, Layer, Page, Row, Scan, TableId};

use crate::world::{CONTAINER, Features, Ran, START_TICKS, World, clock};

type Work = Pin<Box<dyn Future<Output = ()> + Send>>;

/// Runs some work after the n-th read of rows of blobs, or of rows of the catalog.
pub struct Between {
    below: Arc<dyn Engine>,
    work: Mutex<Option<Due>>,
}

struct Due {
    /// How many reads are left.
    left: u32,
    is_catalog: bool,
    work: Work,
}

impl Between {
    async fn read(&self, table: TableId) {
        let work = {
            let mut slot = self.work.lock().unwrap();
            match slot.as_mut().filter(|due| due.is_catalog == (table == TableId::SYSTEM)) {
                Some(due) if due.left > 1 => {
                    due.left -= 1;
                    None
                }
                Some(_) => slot.take().map(|due| due.work),
                None => None,
            }
        };
        if let Some(work) = work {
            work.await;
        }
    }
}

impl Layer for Between {
    fn below(&self) -> &dyn Engine {
        &*self.below
    }

    fn get<'a>(
        &'a self,
        table: TableId,
        partition: &'a str,
        rows: &'a [&'a str],
    ) -> EngineFuture<'a, Vec<Option<Row>>> {
        Box::pin(async move {
            let found = self.below.get(table, partition, rows).await;
            self.read(table).await;
            found
        })
    }

    fn scan(&self, scan: Scan) -> EngineFuture<'_, Page> {
        Box::pin(async move {
            let table = scan.table;
            let page = self.below.scan(scan).await;
            self.read(table).await;
            page
        })
    }
}

/// Two processes on the same stores.
pub struct Two {
    /// The one whose requests are interrupted.
    pub world: World,
    /// The one that interrupts.
    pub other: Arc<World>,
    between: Arc<Between>,
}

impl Two {
    /// With a container, and with these features.
    pub async fn new(features: Features) -> Self {
        let ticks = Arc::default();
        let below: Arc<dyn Engine> = Arc::new(Memory::new(clock(&ticks)));
        ticks.store(START_TICKS, std::sync::atomic::Ordering::SeqCst);
        let between = Arc::new(Between { below: below.clone(), work: Mutex::default() });
        let (memory, ids) = (MemoryContent::default(), Arc::default());
        let over = |engine| {
            World::over_with(engine, memory.clone(), ticks.clone(), 20, None, Arc::clone(&ids), features)
        };
        let (world, other) = (over(between.clone()), Arc::new(over(below)));
        world.create_container(CONTAINER).await.unwrap();
        Self { world, other, between }
    }

    /// Runs `request`, and in the other process `change` after the n-th read. Returns both outcomes; that of `change` is
    /// `None` if there were fewer reads.
    pub async fn run<T, F>(
        &self,
        n: u32,
        change: impl FnOnce(Arc<World>) -> F,
        request: impl Future<Output = T>,
    ) -> (T, Option<Ran>)
    where
        F: Future<Output = Ran> + Send + 'static,
    {
        self.run_at((n, false), change, request).await
    }

    /// The same, but counts the reads of the catalog.
    pub async fn run_at_catalog<T, F>(
        &self,
        n: u32,
        change: impl FnOnce(Arc<World>) -> F,
        request: impl Future<Output = T>,
    ) -> (T, Option<Ran>)
    where
        F: Future<Output = Ran> + Send + 'static,
    {
        self.run_at((n, true), change, request).await
    }

    async fn run_at<T, F>(
        &self,
        (left, is_catalog): (u32, bool),
        change: impl FnOnce(Arc<World>) -> F,
        request: impl Future<Output = T>,
    ) -> (T, Option<Ran>)
    where
        F: Future<Output = Ran> + Send + 'static,
    {
        let (changed, work) = (Arc::new(Mutex::new(None)), change(self.other.clone()));
        let slot = changed.clone();
        let work = async move {
            let outcome = work.await;
            *slot.lock().unwrap() = Some(outcome);
        };
        *self.between.work.lock().unwrap() = Some(Due { left, is_catalog, work: Box::pin(work) });
        let outcome = request.await;
        self.between.work.lock().unwrap().take();
        let changed = changed.lock().unwrap().take();
        (outcome, changed)
    }
}
