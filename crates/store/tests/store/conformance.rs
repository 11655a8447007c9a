//! The suite that every engine runs.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use lazuli_engine::conformance::EngineFactory;
use lazuli_engine::{
    Adopted, Applied, Clock, Engine, EngineFuture, Page, Row, Scan, Status, TableId, Write, conformance_tests,
};
use lazuli_store::{Options, Store};
use tempfile::TempDir;
use tokio::sync::{RwLock, RwLockReadGuard};

use crate::support::{directory, options};

/// A store that is closed or dropped, and opened again, every few calls.
struct Reopening {
    store: RwLock<Option<Store>>,
    dir: TempDir,
    options: Options,
    every: u64,
    calls: AtomicU64,
}

impl Reopening {
    fn new(options: Options, every: u64) -> Self {
        let dir = directory();
        let store = Store::open(dir.path(), options.clone()).unwrap();
        Self { store: RwLock::new(Some(store)), dir, options, every, calls: AtomicU64::new(0) }
    }

    async fn store(&self) -> RwLockReadGuard<'_, Store> {
        let call = self.calls.fetch_add(1, Ordering::SeqCst);
        if call % self.every == self.every - 1 {
            let mut store = self.store.write().await;
            let old = store.take().unwrap();
            // Every other time without closing it first.
            if (call / self.every).is_multiple_of(2) {
                old.close().await.unwrap();
            }
            drop(old);
            *store = Some(Store::open(self.dir.path(), self.options.clone()).unwrap());
        }
        RwLockReadGuard::map(self.store.read().await, |store| store.as_ref().unwrap())
    }
}

impl Engine for Reopening {
    fn get<'a>(
        &'a self,
        table: TableId,
        partition: &'a str,
        rows: &'a [&'a str],
    ) -> EngineFuture<'a, Vec<Option<Row>>> {
        Box::pin(async move { self.store().await.get(table, partition, rows).await })
    }

    fn scan(&self, scan: Scan) -> EngineFuture<'_, Page> {
        Box::pin(async move { self.store().await.scan(scan).await })
    }

    fn apply<'a>(
        &'a self,
        table: TableId,
        partition: &'a str,
        writes: Vec<Write>,
    ) -> EngineFuture<'a, Applied> {
        Box::pin(async move { self.store().await.apply(table, partition, writes).await })
    }

    fn adopt(&self, table: TableId, rows: Vec<Row>) -> EngineFuture<'_, Adopted> {
        Box::pin(async move { self.store().await.adopt(table, rows).await })
    }

    fn fresh_table(&self) -> EngineFuture<'_, TableId> {
        Box::pin(async move { self.store().await.fresh_table().await })
    }

    fn erase(&self, table: TableId) -> EngineFuture<'_, bool> {
        Box::pin(async move { self.store().await.erase(table).await })
    }

    fn status(&self) -> EngineFuture<'_, Status> {
        Box::pin(async move { self.store().await.status().await })
    }

    fn close(&self) -> EngineFuture<'_, ()> {
        Box::pin(async move {
            let store = self.store().await;
            let report = store.check().await?;
            assert!(report.is_clean(), "{report:?}");
            store.close().await
        })
    }
}

struct OnDisk;

impl EngineFactory for OnDisk {
    async fn open(&self, clock: Clock) -> Arc<dyn Engine> {
        Arc::new(Reopening::new(options(clock), u64::MAX))
    }
}

struct Uncached;

impl EngineFactory for Uncached {
    async fn open(&self, clock: Clock) -> Arc<dyn Engine> {
        Arc::new(Reopening::new(
            Options { scan_cache_bytes: 0, row_cache_bytes: 0, ..options(clock) },
            u64::MAX,
        ))
    }
}

/// Caches with room for only some rows, in segments of a few rows.
struct HardlyCached;

impl EngineFactory for HardlyCached {
    async fn open(&self, clock: Clock) -> Arc<dyn Engine> {
        Arc::new(Reopening::new(
            Options { scan_cache_bytes: 4096, row_cache_bytes: 16 * 1024, ..options(clock) },
            u64::MAX,
        ))
    }
}

struct OnDiskReopened;

impl EngineFactory for OnDiskReopened {
    async fn open(&self, clock: Clock) -> Arc<dyn Engine> {
        Arc::new(Reopening::new(options(clock), 41))
    }
}

mod open {
    use super::*;
    conformance_tests!(OnDisk);
}

mod reopened {
    use super::*;
    conformance_tests!(OnDiskReopened);
}

mod uncached {
    use super::*;
    conformance_tests!(Uncached);
}

mod hardly_cached {
    use super::*;
    conformance_tests!(HardlyCached);
}
