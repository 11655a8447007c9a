//! The containers of each account: its tables, queues and blob containers. They are found, created, changed, deleted and
//! listed in the same way.
//!
//! The rows of a container are found by ids that are fresh at each creation, so deleting a container is one small commit
//! and a new container of the same name starts empty. Records are cached. A deleted container never leaves a cached id
//! behind, and a replaced record never stays in the cache.

mod cache;
mod kept;

use std::sync::{Arc, RwLock, RwLockWriteGuard};
use std::time::Duration;

use bytes::Bytes;
use lazuli_engine::types::Judge;
use lazuli_engine::{
    Applied, Bound, Change, Clock, Condition, Engine, KeyRange, Reason, Row, Scan, TableId, Version, Write,
};
use lazuli_model::time::TICKS_PER_SECOND;
use lazuli_model::{ErrorCode, Service};

use crate::record::{ContainerRecord, DroppedRecord};
use crate::slots::Slot;
use crate::sweep::Dropped;
use crate::usage::UsageMetrics;
use crate::{ATTEMPTS_MAX, Result, keyspace};
pub use cache::CACHE_BYTES_MAX;
use cache::Cache;

pub use kept::{Restored, expire};

/// Maximum bytes of catalog records in one page of a listing.
const PAGE_BYTES_MAX: usize = 1024 * 1024;

/// The containers of all accounts and services.
pub struct Catalog {
    engine: Arc<dyn Engine>,
    usage: Arc<UsageMetrics>,
    clock: Clock,
    name_hold: Duration,
    cache: RwLock<Cache>,
    dropped: Dropped,
}

/// Identifies a container among those of all accounts.
#[derive(Clone, Copy, Debug)]
pub struct Name<'a> {
    /// The service that it belongs to.
    pub service: Service,
    /// The home of its account: see [`crate::Grant::home`].
    pub home: &'a str,
    /// Its name in lower case.
    pub folded: &'a str,
}

/// A container that exists.
#[derive(Clone, Debug)]
pub struct Live {
    /// Its record.
    pub record: ContainerRecord,
    /// The version of its record.
    pub version: Version,
    /// Where it is counted.
    pub slot: Slot,
}

/// A container to create.
#[derive(Clone, Debug)]
pub struct NewContainer {
    /// Its name in the letter case of the client.
    pub name: String,
    /// Number of engine tables that it needs, at least one.
    pub tables: usize,
    /// Everything that its service stores about it.
    pub data: Bytes,
}

/// The outcome of a creation.
#[derive(Clone, Debug)]
pub enum Created {
    /// The container was created with this record.
    Done(ContainerRecord),
    /// A container of that name exists.
    Exists,
    /// A container of that name was deleted so recently that the name is blocked.
    Blocked,
}

/// A change of a container's record.
#[derive(Clone, Debug)]
pub struct Edit<T> {
    /// The new record.
    pub record: ContainerRecord,
    /// Engine tables that it no longer uses. Their rows are erased in the background.
    pub dropped: Vec<TableId>,
    /// The result for the caller.
    pub result: T,
}

/// A page of containers.
#[derive(Clone, Debug, Default)]
pub struct Listing {
    /// The containers, in the order of their lower-case names, each with the version of its record.
    pub containers: Vec<(ContainerRecord, Version)>,
    /// The lower-case name at which the next page starts.
    pub next: Option<String>,
}

impl Catalog {
    pub fn new(engine: Arc<dyn Engine>, clock: Clock, name_hold: Duration, usage: Arc<UsageMetrics>) -> Self {
        Self { engine, usage, clock, name_hold, cache: RwLock::default(), dropped: Dropped::default() }
    }

    /// The channel through which deletions are announced to the sweep.
    pub fn dropped(&self) -> Dropped {
        self.dropped.clone()
    }

    /// Drops cached data after another process has changed something: records may be outdated, and containers
    /// may have been deleted.
    pub fn forget_all(&self) {
        self.locked().forget_all();
        self.dropped.announce();
    }

    /// A container, possibly from the cache. Within one process, the result is current; see
    /// [`crate::Service::freshen`] for several processes.
    pub async fn find(&self, name: Name<'_>) -> Result<Option<Arc<Live>>> {
        let changes = {
            let cache = self.cache.read().unwrap_or_else(|poisoned| poisoned.into_inner());
            if let Some(known) = cache.get(name) {
                return Ok(Some(known.clone()));
            }
            cache.changes()
        };
        let Some(live) = self.read(name).await? else { return Ok(None) };
        let live = Arc::new(live);
        let mut cache = self.locked();
        if cache.changes() == changes && cache.is_settled(name) {
            cache.remember(name, live.clone());
        }
        Ok(Some(live))
    }

    /// A container as it is in the engine now.
    pub async fn read(&self, name: Name<'_>) -> Result<Option<Live>> {
        let partition = keyspace::containers(name.service, name.home);
        let found = self.engine.get(TableId::SYSTEM, &partition, &[&keyspace::live(name.folded)]).await?;
        let Some(Row { version, value, .. }) = found.into_iter().next().flatten() else { return Ok(None) };
        let record = ContainerRecord::decode(&value)?;
        let slot = match name.service {
            Service::Table => {
                self.usage.table_slot(keyspace::account_of(name.home), name.folded, &record.name)
            }
            Service::Queue => self.usage.queue_slot(keyspace::account_of(name.home), name.folded),
            Service::Blob => Slot::OTHER,
        };
        Ok(Some(Live { record, version, slot }))
    }

    /// Creates a container, unless there is one of that name or the name is blocked.
    pub async fn create(&self, name: Name<'_>, draft: NewContainer) -> Result<Created> {
        let partition = keyspace::containers(name.service, name.home);
        if self.is_blocked(&partition, name.folded).await? {
            return Ok(Created::Blocked);
        }
        // A new id costs a commit, and clients often create containers that exist.
        let live = keyspace::live(name.folded);
        if self.engine.get(TableId::SYSTEM, &partition, &[&live]).await?.iter().any(Option::is_some) {
            return Ok(Created::Exists);
        }
        let id = self.engine.fresh_table().await?;
        let mut more = Vec::new();
        for _ in 1..draft.tables {
            more.push(self.engine.fresh_table().await?);
        }
        let record =
            ContainerRecord { id, more, name: draft.name, policies: Arc::default(), data: draft.data };
        let absent = |row: String, change| Write { row: row.into(), condition: Condition::Absent, change };
        let writes = vec![
            absent(live, Change::Put(record.encode())),
            // Only its condition matters.
            absent(keyspace::CLOSED.to_owned(), Change::Delete),
        ];
        match self.engine.apply(TableId::SYSTEM, &partition, writes).await? {
            Applied::Done { .. } => Ok(Created::Done(record)),
            Applied::Rejected { index: 0, .. } => Ok(Created::Exists),
            // The account is being removed. If that fails, a retry succeeds; otherwise, the account no longer
            // exists.
            Applied::Rejected { .. } => Err(ErrorCode::ServerBusy.into()),
        }
    }

    /// Changes the record of a container. The last of several concurrent changes wins. `change` may be called
    /// again after a conflict; its error ends the attempt. `None` if there is no such container.
    pub async fn edit<T>(
        &self,
        name: Name<'_>,
        mut change: impl FnMut(&Live) -> Result<Edit<T>>,
    ) -> Result<Option<(Version, T)>> {
        for _ in 0..ATTEMPTS_MAX {
            let Some(live) = self.read(name).await? else { return Ok(None) };
            let Edit { record, dropped, result } = change(&live)?;
            let mut writes = vec![Write {
                row: keyspace::live(name.folded).into(),
                condition: Condition::Version(live.version),
                change: Change::Put(record.encode()),
            }];
            writes.extend(dropped.iter().map(|&id| self.dropped_row(id, Vec::new())));
            let applied = self.apply(name, writes).await;
            if !dropped.is_empty() {
                // Even if the outcome is unknown: there may be rows to erase.
                self.dropped.announce();
            }
            if let Applied::Done { version, .. } = applied? {
                return Ok(Some((version, result)));
            }
        }
        Err(lazuli_engine::Error::Conflict.into())
    }

    /// Deletes a container if `check` permits it: one small commit, regardless of its contents. `false` if
    /// there is none.
    pub async fn delete(&self, name: Name<'_>, mut check: impl FnMut(&Live) -> Result<()>) -> Result<bool> {
        for _ in 0..ATTEMPTS_MAX {
            let Some(live) = self.read(name).await? else { return Ok(false) };
            check(&live)?;
            let applied = self.apply(name, self.drop_writes(name, &live)).await;
            // Even if the outcome is unknown: there may be rows to erase.
            self.dropped.announce();
            match applied? {
                Applied::Done { .. } => {
                    let account = keyspace::account_of(name.home);
                    match name.service {
                        Service::Table => self.usage.release_table(account, name.folded),
                        Service::Queue => self.usage.release_queue(account, name.folded),
                        Service::Blob => {}
                    }
                    return Ok(true);
                }
                Applied::Rejected { reason: Reason::Missing, .. } => return Ok(false),
                // Changed in the meantime, or deleted and created again: the request applies to the current
                // container.
                Applied::Rejected { .. } => {}
            }
        }
        Err(lazuli_engine::Error::Conflict.into())
    }

    /// Lists the containers in a range of [`keyspace::live_between`] that `judge` accepts.
    pub async fn list(&self, range: Option<KeyRange>, rows_max: usize, judge: Judge) -> Result<Listing> {
        let Some(range) = range else { return Ok(Listing::default()) };
        let scan =
            Scan { table: TableId::SYSTEM, ranges: vec![range], rows_max, bytes_max: PAGE_BYTES_MAX, judge };
        let page = self.engine.scan(scan).await?;
        let decode = |row: &Row| Ok((ContainerRecord::decode(&row.value)?, row.version));
        Ok(Listing {
            containers: page.rows.iter().map(decode).collect::<Result<_>>()?,
            next: page.next.as_ref().and_then(|place| keyspace::name_of(&place.row)).map(str::to_owned),
        })
    }

    /// The first engine tables of the containers in a range of all accounts, and the rest of the range.
    pub async fn ids(
        &self,
        range: KeyRange,
        rows_max: usize,
        judge: Judge,
    ) -> Result<(Vec<TableId>, Option<KeyRange>)> {
        let end = range.end.clone();
        let ranges = vec![range];
        let scan = Scan { table: TableId::SYSTEM, ranges, rows_max, bytes_max: PAGE_BYTES_MAX, judge };
        let page = self.engine.scan(scan).await?;
        let ids = page.rows.iter().map(|row| Ok(ContainerRecord::decode(&row.value)?.id));
        let rest = page.next.map(|next| KeyRange { start: Bound::Included(next), end });
        Ok((ids.collect::<Result<_>>()?, rest))
    }

    fn drop_writes(&self, name: Name<'_>, live: &Live) -> Vec<Write> {
        let mut writes = vec![
            Write {
                row: keyspace::live(name.folded).into(),
                condition: Condition::Version(live.version),
                change: Change::Delete,
            },
            self.dropped_row(live.record.id, live.record.more.clone()),
        ];
        if !self.name_hold.is_zero() {
            let row = keyspace::blocked(name.folded).into();
            writes.push(Write { row, ..self.dropped_row(live.record.id, Vec::new()) });
        }
        writes
    }

    fn dropped_row(&self, id: TableId, more: Vec<TableId>) -> Write {
        let record = DroppedRecord { id, more, at: self.clock.ticks() };
        Write {
            row: keyspace::dropped(id).into(),
            condition: Condition::Any,
            change: Change::Put(record.encode()),
        }
    }

    async fn is_blocked(&self, partition: &str, folded: &str) -> Result<bool> {
        if self.name_hold.is_zero() {
            return Ok(false);
        }
        let found = self.engine.get(TableId::SYSTEM, partition, &[&keyspace::blocked(folded)]).await?;
        let Some(row) = found.into_iter().next().flatten() else { return Ok(false) };
        let hold = self.name_hold.as_secs().saturating_mul(TICKS_PER_SECOND);
        let free = DroppedRecord::decode(&row.value)?.at.saturating_add(hold);
        Ok(self.clock.ticks() < free)
    }

    /// Changes a container that may be cached. It is removed from the cache before and after the change, even
    /// if the outcome is unknown.
    async fn apply(&self, name: Name<'_>, writes: Vec<Write>) -> Result<Applied> {
        let partition = keyspace::containers(name.service, name.home);
        self.locked().unsettle(name);
        let applied = self.engine.apply(TableId::SYSTEM, &partition, writes).await;
        self.locked().settle(name);
        Ok(applied?)
    }

    fn locked(&self) -> RwLockWriteGuard<'_, Cache> {
        self.cache.write().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}
