//! The rules of the storage services: how each operation reads and changes rows.
//!
//! This is the only place where the data model and the storage engine meet. It never sees a header, a status,
//! JSON or XML. Each service has its own folder; code that several services share is next to the folders.

pub mod access;
pub mod accounts;
pub mod blob;
mod catalog;
mod deadline;
mod error;
pub mod hash;
pub mod heat;
pub mod inspect;
mod keyspace;
mod properties;
mod queue;
mod record;
pub mod shard;
pub mod slots;
pub mod stream;
mod sweep;
mod table;
pub mod usage;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use lazuli_engine::{Clock, Engine, SharedState};
use lazuli_model::{DateTime, ServiceProperties, SignedIdentifier};

pub use access::{Grant, RangeEnds, Scope, SignedPart};
pub use accounts::{Account, AccountRemoval, Accounts};
pub use blob::names::naming;
pub use error::{Error, Result};
#[doc(hidden)]
pub use record::check_records;
pub use sweep::Sweep;
pub use table::{MetricsRow, PartitionUse, partition_of};
pub use usage::UsageMetrics;

use catalog::{Catalog, Name};
use properties::PropertyStore;

/// Maximum number of attempts to change one of the service's own records. An attempt fails only if another
/// change of the record has succeeded between reading and writing. After the last attempt, the change fails
/// with `Conflict` and is not applied.
const ATTEMPTS_MAX: usize = 256;

/// Upper bound of the memory that the service holds between requests: fronts of queues, cached containers, and
/// the work list of the sweep.
pub const MEMORY_BYTES_MAX: usize = queue::FRONTS_BYTES_MAX + catalog::CACHE_BYTES_MAX + blob::TODO_BYTES_MAX;

/// The settings.
#[derive(Clone)]
pub struct Options {
    /// The clock for deadlines and records.
    pub clock: Clock,
    /// Returns the time since some fixed moment; monotonic.
    pub elapsed: Arc<dyn Fn() -> Duration + Send + Sync>,
    /// A query that has run for this long returns the rows found so far, with a continuation.
    pub query_time_max: Duration,
    /// Time for which the name of a deleted table stays blocked.
    pub name_hold: Duration,
    /// Random bytes, different for each process: message ids and receipts made with them cannot be guessed.
    pub secret: [u8; 16],
}

/// The storage services over a storage engine.
pub struct Services {
    engine: Arc<dyn Engine>,
    catalog: Arc<Catalog>,
    properties: Arc<PropertyStore>,
    usage: Arc<UsageMetrics>,
    queues: Arc<queue::QueueState>,
    options: Options,
    /// The last change of a shared engine that the caches are known to include.
    known: Mutex<Option<u64>>,
    /// Other processes use the engine, too. No lock guards it, because every request reads it.
    is_shared: AtomicBool,
}

impl Services {
    /// A service over an engine.
    pub fn new(engine: Arc<dyn Engine>, options: Options) -> Self {
        let usage: Arc<UsageMetrics> = Arc::default();
        let catalog = Catalog::new(engine.clone(), options.clock.clone(), options.name_hold, usage.clone());
        let catalog = Arc::new(catalog);
        let properties = Arc::new(PropertyStore::new(engine.clone()));
        let queues = Arc::new(queue::QueueState::new(&options));
        Self {
            engine,
            catalog,
            properties,
            usage,
            queues,
            options,
            known: Mutex::default(),
            is_shared: AtomicBool::new(false),
        }
    }

    /// Must be called before a request is processed: drops cached data that another process has changed.
    /// Returns the version of the shared engine's state; `None` if no other process uses the engine.
    pub async fn freshen(&self) -> Result<Option<SharedState>> {
        let Some(state) = self.engine.shared_state().await? else { return Ok(None) };
        let mut known = self.known.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        if *known != Some(state.changes) {
            self.catalog.forget_all();
            self.properties.forget_all();
            *known = Some(state.changes);
            self.is_shared.store(true, Ordering::Relaxed);
        }
        Ok(Some(state))
    }

    /// Do other processes use the engine, too?
    fn is_shared(&self) -> bool {
        self.is_shared.load(Ordering::Relaxed)
    }

    /// Has a shared engine failed over to another server since then? If so, that server may not have the cached
    /// data yet.
    pub fn has_moved(&self, state: Option<SharedState>) -> bool {
        state.is_some_and(|state| state.epoch != self.engine.epoch())
    }

    /// The stored access policies of a table, queue or container; `None` if it does not exist. `name` is in lower case.
    pub async fn policies(
        &self,
        service: lazuli_model::Service,
        home: &str,
        name: &str,
    ) -> Result<Option<Arc<[SignedIdentifier]>>> {
        let found = self.catalog.find(Name { service, home, folded: name }).await?;
        Ok(found.map(|live| live.record.policies.clone()))
    }

    /// The properties of an account's service.
    pub async fn properties(
        &self,
        service: lazuli_model::Service,
        home: &str,
    ) -> Result<Arc<ServiceProperties>> {
        self.properties.get(service, home).await
    }

    /// The accounts stored in the engine.
    pub fn accounts(&self) -> Accounts {
        let clock = self.options.clock.clone();
        Accounts::new(self.engine.clone(), clock, self.catalog.clone(), self.properties.clone())
    }

    /// The background work of reclaiming the space of deleted tables, queues and containers.
    pub fn sweep(&self) -> Sweep {
        let clock = self.options.clock.clone();
        let (engine, catalog, options) = (self.engine.clone(), self.catalog.clone(), self.options.clone());
        let queues = queue::Keeper::new(engine.clone(), catalog, self.queues.clone(), options);
        Sweep::new(engine, clock, self.catalog.dropped(), self.accounts(), queues)
    }

    /// Counters of tables, partitions and queues.
    pub fn usage(&self) -> &UsageMetrics {
        &self.usage
    }

    /// The date and time by the service's clock.
    pub fn now(&self) -> DateTime {
        DateTime::from_ticks(self.options.clock.ticks()).unwrap_or(DateTime::MAX)
    }

    /// The engine underneath.
    pub fn engine(&self) -> &Arc<dyn Engine> {
        &self.engine
    }
}
