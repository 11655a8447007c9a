//! The rules of the Table service: what each operation does to rows.
//!
//! The only place where the data model and the storage engine meet. It never sees a header, a status or JSON.

pub mod access;
pub mod accounts;
mod analytics;
mod catalog;
mod deadline;
mod error;
pub mod figures;
pub mod heat;
pub mod inspect;
mod keyspace;
mod partition;
mod properties;
mod record;
pub mod shard;
mod sweep;
mod table;

use std::sync::{Arc, Mutex};
use std::time::Duration;

use lazuli_engine::{Clock, Engine, SharedState};
use lazuli_model::{ErrorCode, Operation, Outcome, ServiceProperties, SignedIdentifier, TableName};

pub use access::{Grant, RangeEnds, Scope};
pub use accounts::{Account, Accounts};
pub use analytics::MetricsRow;
pub use error::{Error, Result};
pub use figures::Figures;
pub use partition::{PartitionUse, partition_of};
#[doc(hidden)]
pub use record::check_records;
pub use sweep::Sweep;

use catalog::Catalog;
use deadline::Deadline;
use properties::PropertyStore;

/// How often a change of the service's own records is tried while others come between its reading and its writing. Each
/// time one of them has succeeded, so only that many at once make one give up: with `Conflict`, nothing having been done.
const ATTEMPTS_MAX: usize = 256;

/// What can be set.
#[derive(Clone)]
pub struct Options {
    /// The clock that deadlines and records are measured by.
    pub clock: Clock,
    /// Tells how much time has passed since some fixed moment; never goes back.
    pub elapsed: Arc<dyn Fn() -> Duration + Send + Sync>,
    /// A query that has run so long returns what it has, with a continuation.
    pub query_time_max: Duration,
    /// How long the name of a deleted table stays blocked.
    pub name_hold: Duration,
}

/// The Table service over a storage engine.
pub struct Service {
    engine: Arc<dyn Engine>,
    catalog: Catalog,
    properties: Arc<PropertyStore>,
    figures: Arc<Figures>,
    options: Options,
    /// Up to which change of a shared engine nothing outdated is remembered.
    known: Mutex<Option<u64>>,
}

impl Service {
    /// A service over an engine.
    pub fn new(engine: Arc<dyn Engine>, options: Options) -> Self {
        let figures: Arc<Figures> = Arc::default();
        let catalog = Catalog::new(engine.clone(), options.clock.clone(), options.name_hold, figures.clone());
        let properties = Arc::new(PropertyStore::new(engine.clone()));
        Self { engine, catalog, properties, figures, options, known: Mutex::default() }
    }

    /// To be called before a request is looked at: forgets what another process has changed since. Tells where a shared
    /// engine stands; `None` if nobody else uses it.
    pub async fn freshen(&self) -> Result<Option<SharedState>> {
        let Some(state) = self.engine.shared_state().await? else { return Ok(None) };
        let mut known = self.known.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        if *known != Some(state.changes) {
            self.catalog.forget_all();
            self.properties.forget_all();
            *known = Some(state.changes);
        }
        Ok(Some(state))
    }

    /// Has a shared engine gone over to another server since? Then what was remembered may be news to that one.
    pub fn has_moved(&self, state: Option<SharedState>) -> bool {
        state.is_some_and(|state| state.epoch != self.engine.epoch())
    }

    /// Carries an operation out, if the grant allows it.
    pub async fn execute(&self, grant: &Grant, operation: Operation) -> Result<Outcome> {
        self.execute_within(grant, operation, self.options.query_time_max).await
    }

    /// The same for a caller who has less time: a query that has run so long returns what it has, with a continuation.
    pub async fn execute_within(
        &self,
        grant: &Grant,
        operation: Operation,
        query_time_max: Duration,
    ) -> Result<Outcome> {
        let time = query_time_max.min(self.options.query_time_max);
        access::authorize(grant, &operation)?;
        let account = grant.account.as_str();
        match operation {
            Operation::QueryTables(query) => {
                let deadline = Deadline::new(self.options.elapsed.clone(), time);
                self.catalog.list(account, query, deadline).await
            }
            Operation::GetTable(name) => self.catalog.get(account, &name).await,
            Operation::CreateTable(name) => self.catalog.create(account, &name).await,
            Operation::DeleteTable(name) => self.catalog.drop(account, &name).await,
            Operation::GetEntity { table, key } => self.get_entity(grant, &table, &key).await,
            Operation::QueryEntities { table, query } => {
                self.query_entities(grant, &table, query, time).await
            }
            Operation::Write { table, write } => self.write(account, &table, write).await,
            Operation::Batch { table, writes } => self.batch(account, &table, writes).await,
            Operation::GetAcl(table) => {
                let policies = self.policies(account, &table).await?.ok_or(ErrorCode::TableNotFound)?;
                Ok(Outcome::Acl(policies.to_vec()))
            }
            Operation::SetAcl(table, policies) => self.catalog.set_policies(account, &table, policies).await,
            Operation::GetProperties => Ok(Outcome::Properties(self.properties(account).await?)),
            Operation::SetProperties(update) => {
                self.properties.update(account, *update).await?;
                Ok(Outcome::PropertiesSet)
            }
            Operation::GetStats => Ok(Outcome::Stats),
        }
    }

    /// Does the table exist? A request that fails in its body is still told first that its table does not.
    pub async fn has_table(&self, account: &str, table: &TableName) -> Result<bool> {
        Ok(self.catalog.find(account, table).await?.is_some())
    }

    /// The stored access policies of a table, if there is such a table.
    pub async fn policies(
        &self,
        account: &str,
        table: &TableName,
    ) -> Result<Option<Arc<[SignedIdentifier]>>> {
        self.catalog.policies(account, table).await
    }

    /// The properties of an account's table service.
    pub async fn properties(&self, account: &str) -> Result<Arc<ServiceProperties>> {
        self.properties.get(account).await
    }

    /// The accounts that are kept in the engine.
    pub fn accounts(&self) -> Accounts {
        Accounts::new(self.engine.clone(), self.options.clock.clone(), self.properties.clone())
    }

    /// The background work of giving back the space of deleted tables.
    pub fn sweep(&self) -> Sweep {
        Sweep::new(self.engine.clone(), self.options.clock.clone(), self.catalog.dropped())
    }

    /// What is counted about tables and partitions.
    pub fn figures(&self) -> &Figures {
        &self.figures
    }

    /// The engine underneath.
    pub fn engine(&self) -> &Arc<dyn Engine> {
        &self.engine
    }
}
