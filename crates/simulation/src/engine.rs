//! The simulated engine: rows in memory, with simulated calls that take time, stall, fail, and stop when their
//! server crashes.
//!
//! With a single server it behaves like the store: a crash takes everything that was not applied, and after a
//! failed sync nothing more is acknowledged until the server starts again. Shared by several servers it behaves
//! like a database: a commit that was sent may be applied long after its sender has crashed or given up.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use lazuli_engine::{
    Applied, Content, Dump, Engine, EngineFuture, Error, Memory, MemoryContent, Page, Result, Row, Scan,
    SharedState, Status, TableId, Write,
};

use crate::content::SlowContent;
use crate::rng::SharedRng;
use crate::time::{Time, pass};

/// Rates of failures, per 1000 calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Faults {
    /// A call takes tens of milliseconds.
    pub slow: u64,
    /// A call takes seconds.
    pub stall: u64,
    /// A call fails before it has any effect.
    pub unavailable: u64,
    /// The outcome of a commit, or of a change of content, is lost.
    pub lost: u64,
}

impl Faults {
    /// Nothing goes wrong.
    pub const NONE: Self = Self { slow: 0, stall: 0, unavailable: 0, lost: 0 };
}

/// The rows and the content that survive crashes.
pub struct Core {
    memory: Memory,
    content: Mutex<MemoryContent>,
    /// Do several servers use it at the same time?
    pub is_shared: bool,
    changes: AtomicU64,
    epoch: AtomicU64,
    is_poisoned: AtomicBool,
    failed: AtomicU64,
    faults: Mutex<Faults>,
    rng: SharedRng,
}

impl Core {
    /// An empty engine.
    pub fn new(is_shared: bool, faults: Faults, rng: SharedRng, time: Time) -> Self {
        Self {
            memory: Memory::new(time.clock()),
            content: Mutex::default(),
            is_shared,
            changes: AtomicU64::new(1),
            epoch: AtomicU64::new(1),
            is_poisoned: AtomicBool::new(false),
            failed: AtomicU64::new(0),
            faults: Mutex::new(faults),
            rng,
        }
    }

    /// The engine, as seen by a server that starts now.
    pub fn open(self: &Arc<Self>) -> Handle {
        if !self.is_shared {
            self.is_poisoned.store(false, Ordering::SeqCst);
            let mut content = self.content.lock().unwrap_or_else(PoisonError::into_inner);
            *content = content.reopened();
        }
        Handle { core: Arc::clone(self), line: Line(Arc::new(AtomicBool::new(true))) }
    }

    /// From now on nothing fails.
    pub fn heal(&self) {
        *self.faults.lock().unwrap_or_else(PoisonError::into_inner) = Faults::NONE;
    }

    /// Number of calls that have failed so far.
    pub fn failed_calls(&self) -> u64 {
        self.failed.load(Ordering::SeqCst)
    }

    /// Has a sync failed since the server was started?
    pub fn is_poisoned(&self) -> bool {
        self.is_poisoned.load(Ordering::SeqCst)
    }

    /// Makes the database fail over to another machine: data cached by servers may be outdated.
    pub fn fail_over(&self) {
        self.epoch.fetch_add(1, Ordering::SeqCst);
        self.changes.fetch_add(1, Ordering::SeqCst);
    }

    /// The rows, without simulated delays.
    pub fn memory(&self) -> &Memory {
        &self.memory
    }

    /// The content, without simulated delays.
    pub fn stored_content(&self) -> MemoryContent {
        self.content.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn faults(&self) -> Faults {
        *self.faults.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for half the duration of a call.
    pub async fn delay(&self) {
        let Faults { slow, stall, .. } = self.faults();
        let time = match self.rng.below(1000) {
            n if n < stall => 1000 + self.rng.below(20_000),
            n if n < stall + slow => 5 + self.rng.below(100),
            n if n < 600 => self.rng.below(4),
            _ => 0,
        };
        pass(time).await;
    }

    /// Fails sometimes, before a call has any effect.
    pub fn check(&self) -> Result<()> {
        if self.rng.chance(self.faults().unavailable) {
            self.failed.fetch_add(1, Ordering::SeqCst);
            return Err(Error::Unavailable("simulated".into()));
        }
        Ok(())
    }

    /// Fails sometimes, after a call has changed content. Unlike a commit, a change of content with an unknown
    /// outcome does not stop the store: only its own upload or release fails.
    pub fn check_outcome(&self) -> Result<()> {
        if self.rng.chance(self.faults().lost) {
            self.failed.fetch_add(1, Ordering::SeqCst);
            return Err(Error::Unavailable("simulated, carried out".into()));
        }
        Ok(())
    }

    async fn commit(&self, table: TableId, partition: &str, writes: Vec<Write>) -> Result<Applied> {
        if self.is_poisoned() {
            return Err(Error::Poisoned("simulated".into()));
        }
        let is_lost = self.rng.chance(self.faults().lost);
        if is_lost && self.rng.chance(500) {
            self.poison();
            return Err(Error::Unknown("simulated, not applied".into()));
        }
        let applied = self.memory.apply(table, partition, writes).await?;
        if table == TableId::SYSTEM {
            self.changes.fetch_add(1, Ordering::SeqCst);
        }
        if is_lost {
            self.poison();
            return Err(Error::Unknown("simulated, applied".into()));
        }
        Ok(applied)
    }

    fn poison(&self) {
        if !self.is_shared {
            self.is_poisoned.store(true, Ordering::SeqCst);
        }
    }
}

/// The connection between a server and its engine. It is cut when the server crashes: calls never return then.
#[derive(Clone, Debug)]
pub struct Line(Arc<AtomicBool>);

impl Line {
    /// Cuts the line.
    pub fn cut(&self) {
        self.0.store(false, Ordering::SeqCst);
    }

    /// Returns immediately, or never.
    pub async fn hold(&self) {
        if !self.0.load(Ordering::SeqCst) {
            std::future::pending::<()>().await;
        }
    }
}

/// The engine, as seen by one server.
pub struct Handle {
    core: Arc<Core>,
    line: Line,
}

impl Handle {
    /// The line to the engine.
    pub fn line(&self) -> Line {
        self.line.clone()
    }

    async fn there(&self) -> Result<()> {
        self.core.delay().await;
        self.line.hold().await;
        self.core.check()
    }

    async fn back(&self) {
        self.core.delay().await;
        self.line.hold().await;
    }
}

impl Engine for Handle {
    fn get<'a>(
        &'a self,
        table: TableId,
        partition: &'a str,
        rows: &'a [&'a str],
    ) -> EngineFuture<'a, Vec<Option<Row>>> {
        Box::pin(async move {
            self.there().await?;
            let found = self.core.memory.get(table, partition, rows).await;
            self.back().await;
            found
        })
    }

    fn scan(&self, scan: Scan) -> EngineFuture<'_, Page> {
        Box::pin(async move {
            self.there().await?;
            let page = self.core.memory.scan(scan).await;
            self.back().await;
            page
        })
    }

    fn apply<'a>(
        &'a self,
        table: TableId,
        partition: &'a str,
        writes: Vec<Write>,
    ) -> EngineFuture<'a, Applied> {
        Box::pin(async move {
            self.there().await?;
            let applied = if self.core.is_shared {
                let (core, partition) = (Arc::clone(&self.core), partition.to_owned());
                let sent = async move {
                    core.delay().await;
                    core.commit(table, &partition, writes).await
                };
                tokio::spawn(sent).await.unwrap_or_else(|error| Err(Error::Unknown(error.to_string())))
            } else {
                self.core.commit(table, partition, writes).await
            };
            self.back().await;
            applied
        })
    }

    fn fresh_table(&self) -> EngineFuture<'_, TableId> {
        Box::pin(async {
            self.there().await?;
            let table = self.core.memory.fresh_table().await;
            self.back().await;
            table
        })
    }

    fn erase(&self, table: TableId) -> EngineFuture<'_, bool> {
        Box::pin(async move {
            self.there().await?;
            self.core.memory.erase(table).await
        })
    }

    fn shared_state(&self) -> EngineFuture<'_, Option<SharedState>> {
        Box::pin(async {
            if !self.core.is_shared {
                return Ok(None);
            }
            self.there().await?;
            let changes = self.core.changes.load(Ordering::SeqCst);
            let epoch = self.core.epoch.load(Ordering::SeqCst);
            self.back().await;
            Ok(Some(SharedState { changes, epoch }))
        })
    }

    fn epoch(&self) -> u64 {
        self.core.epoch.load(Ordering::SeqCst)
    }

    fn status(&self) -> EngineFuture<'_, Status> {
        self.core.memory.status()
    }

    fn dump(&self) -> EngineFuture<'_, Box<dyn Dump>> {
        self.core.memory.dump()
    }

    fn content(&self) -> Option<Arc<dyn Content>> {
        let content = self.core.stored_content();
        Some(Arc::new(SlowContent::new(content, Arc::clone(&self.core), self.line.clone())))
    }

    fn close(&self) -> EngineFuture<'_, ()> {
        Box::pin(std::future::ready(Ok(())))
    }
}
