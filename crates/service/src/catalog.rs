//! The tables of each account: found, created, deleted, listed.
//!
//! A table's rows are found by an id that is fresh at each creation, so that deleting a table is one small commit and a
//! new table of the same name starts empty. Ids and access policies are cached; a deleted table never leaves a cached id
//! behind, nor a replaced policy itself.

use std::collections::HashMap;
use std::sync::{Arc, RwLock, RwLockWriteGuard};
use std::time::Duration;

use lazuli_engine::{Applied, Change, Clock, Condition, Engine, Reason, Row, Scan, TableId, Verdict, Write};
use lazuli_filter::TableRow;
use lazuli_model::limits::PAGE_ROWS_MAX;
use lazuli_model::operation::TableQuery;
use lazuli_model::time::TICKS_PER_SECOND;
use lazuli_model::{ErrorCode, Outcome, SignedIdentifier, TableName};

use crate::deadline::Deadline;
use crate::figures::{Figures, Slot};
use crate::record::{DroppedRecord, TableRecord};
use crate::sweep::Dropped;
use crate::{ATTEMPTS_MAX, Result, keyspace};

mod window;
use window::Window;

/// Tables remembered at most; beyond it the cache starts over.
const CACHED_MAX: usize = 100_000;
/// Bytes of catalog records in one page of a listing.
const PAGE_BYTES_MAX: usize = 1024 * 1024;

pub struct Catalog {
    engine: Arc<dyn Engine>,
    figures: Arc<Figures>,
    clock: Clock,
    name_hold: Duration,
    cache: RwLock<Cache>,
    dropped: Dropped,
}

/// A table that exists.
#[derive(Clone, Copy, Debug)]
pub struct Found {
    /// The id of its rows.
    pub id: TableId,
    /// Where it is counted.
    pub slot: Slot,
}

/// What is remembered of a table.
#[derive(Clone)]
struct Known {
    id: TableId,
    slot: Slot,
    policies: Arc<[SignedIdentifier]>,
}

/// Account to lower-case name to what is known.
#[derive(Default)]
struct Cache {
    tables: HashMap<Box<str>, HashMap<Box<str>, Known>>,
    count: usize,
    /// Counts deletions and new policies, so that a look-up that overlaps one does not remember what it found.
    changes: u64,
    /// Tables that are being changed: until that is settled nothing is remembered of them. A change is visible in the
    /// engine before the one who made it gets to forget what it replaced.
    unsettled: HashMap<(Box<str>, Box<str>), usize>,
}

impl Catalog {
    pub fn new(engine: Arc<dyn Engine>, clock: Clock, name_hold: Duration, figures: Arc<Figures>) -> Self {
        Self { engine, figures, clock, name_hold, cache: RwLock::default(), dropped: Dropped::default() }
    }

    /// Where deletions are announced to the sweep.
    pub fn dropped(&self) -> Dropped {
        self.dropped.clone()
    }

    /// Another process has changed something: what is remembered may be outdated, and tables may have been deleted.
    pub fn forget_all(&self) {
        let mut cache = self.locked();
        cache.changes += 1;
        cache.tables.clear();
        cache.count = 0;
        self.dropped.announce();
    }

    /// Where a table's rows are, and where it is counted.
    pub async fn find(&self, account: &str, table: &TableName) -> Result<Option<Found>> {
        Ok(self.known(account, table).await?.map(|known| Found { id: known.id, slot: known.slot }))
    }

    /// The stored access policies of a table.
    pub async fn policies(
        &self,
        account: &str,
        table: &TableName,
    ) -> Result<Option<Arc<[SignedIdentifier]>>> {
        Ok(self.known(account, table).await?.map(|known| known.policies))
    }

    async fn known(&self, account: &str, table: &TableName) -> Result<Option<Known>> {
        let folded = table.folded();
        let changes = {
            let cache = self.cache.read().unwrap_or_else(|poisoned| poisoned.into_inner());
            if let Some(known) = cache.tables.get(account).and_then(|names| names.get(folded.as_str())) {
                return Ok(Some(known.clone()));
            }
            cache.changes
        };
        let Some((_, record)) = self.read(account, &folded).await? else { return Ok(None) };
        let slot = self.figures.slot(account, &folded, &record.name);
        let known = Known { id: record.id, slot, policies: record.policies.into() };
        let mut cache = self.locked();
        if cache.changes == changes && cache.is_settled(account, &folded) {
            cache.remember(account, folded, known.clone());
        }
        Ok(Some(known))
    }

    /// OP-22: effective at once, and gone with the table.
    pub async fn set_policies(
        &self,
        account: &str,
        table: &TableName,
        policies: Vec<SignedIdentifier>,
    ) -> Result<Outcome> {
        let folded = table.folded();
        let partition = keyspace::tables(account);
        for _ in 0..ATTEMPTS_MAX {
            let Some((row, record)) = self.read(account, &folded).await? else {
                return Err(ErrorCode::TableNotFound.into());
            };
            let record = TableRecord { policies: policies.clone(), ..record };
            let write = Write {
                row: keyspace::live(&folded).into(),
                condition: Condition::Version(row.version),
                change: Change::Put(record.encode()),
            };
            match self.change(account, &folded, &partition, vec![write]).await? {
                Applied::Done { .. } => return Ok(Outcome::AclSet),
                // Changed in between: the last one wins.
                Applied::Refused { .. } => {}
            }
        }
        Err(lazuli_engine::Error::Conflict.into())
    }

    /// OP-02.
    pub async fn get(&self, account: &str, table: &TableName) -> Result<Outcome> {
        match self.read(account, &table.folded()).await? {
            Some((_, record)) => Ok(Outcome::Table(record.name)),
            None => Err(ErrorCode::ResourceNotFound.into()),
        }
    }

    /// OP-03, OP-04, OP-18.
    pub async fn create(&self, account: &str, table: &TableName) -> Result<Outcome> {
        let folded = table.folded();
        let partition = keyspace::tables(account);
        self.refuse_blocked(&partition, &folded).await?;
        let id = self.engine.fresh_table().await?;
        let record = TableRecord { id, name: table.as_str().to_owned(), policies: Vec::new() };
        let write = Write {
            row: keyspace::live(&folded).into(),
            condition: Condition::Absent,
            change: Change::Put(record.encode()),
        };
        match self.engine.apply(TableId::SYSTEM, &partition, vec![write]).await? {
            Applied::Done { .. } => Ok(Outcome::TableCreated(record.name)),
            Applied::Refused { .. } => Err(ErrorCode::TableAlreadyExists.into()),
        }
    }

    /// OP-05, OP-19: one small commit, whatever the size of the table.
    pub async fn drop(&self, account: &str, table: &TableName) -> Result<Outcome> {
        let folded = table.folded();
        let partition = keyspace::tables(account);
        for _ in 0..ATTEMPTS_MAX {
            let Some((row, record)) = self.read(account, &folded).await? else {
                return Err(ErrorCode::ResourceNotFound.into());
            };
            let writes = self.drop_writes(&folded, &row, &record);
            match self.change(account, &folded, &partition, writes).await? {
                Applied::Done { .. } => {
                    self.figures.release(account, &folded);
                    self.dropped.announce();
                    return Ok(Outcome::TableDeleted);
                }
                Applied::Refused { reason: Reason::Missing, .. } => {
                    return Err(ErrorCode::ResourceNotFound.into());
                }
                // Changed in between, or deleted and created again: what is there now is meant.
                Applied::Refused { .. } => {}
            }
        }
        Err(lazuli_engine::Error::Conflict.into())
    }

    fn drop_writes(&self, folded: &str, row: &Row, record: &TableRecord) -> Vec<Write> {
        let dropped = DroppedRecord { id: record.id, at: self.clock.ticks() }.encode();
        let put = |row: String| Write {
            row: row.into(),
            condition: Condition::Any,
            change: Change::Put(dropped.clone()),
        };
        let mut writes = vec![
            Write {
                row: keyspace::live(folded).into(),
                condition: Condition::Version(row.version),
                change: Change::Delete,
            },
            put(keyspace::dropped(record.id)),
        ];
        if !self.name_hold.is_zero() {
            writes.push(put(keyspace::blocked(folded)));
        }
        writes
    }

    /// OP-01, PG-13.
    pub async fn list(&self, account: &str, query: TableQuery, mut deadline: Deadline) -> Result<Outcome> {
        if query.top == Some(0) {
            return Ok(Outcome::Tables { names: Vec::new(), next: None });
        }
        let filter = query.filter;
        let Some(window) = filter.as_ref().map_or(Some(Window::default()), Window::of) else {
            return Ok(Outcome::Tables { names: Vec::new(), next: None });
        };
        let from = query.from.as_deref().unwrap_or_default().max(&window.from);
        let scan = Scan {
            table: TableId::SYSTEM,
            ranges: keyspace::live_between(account, from, window.before.as_deref()).into_iter().collect(),
            rows_max: query.top.unwrap_or(PAGE_ROWS_MAX).min(PAGE_ROWS_MAX),
            bytes_max: PAGE_BYTES_MAX,
            judge: Box::new(move |row| {
                if deadline.passed() {
                    return Ok(Verdict::Stop);
                }
                let Some(filter) = &filter else { return Ok(Verdict::Keep) };
                let record = TableRecord::decode(row.value)?;
                let wanted = lazuli_filter::matches(filter, &TableRow(&record.name))
                    .map_err(|corrupt| lazuli_engine::Error::Corrupt(corrupt.to_string()))?;
                Ok(if wanted { Verdict::Keep } else { Verdict::Skip })
            }),
        };
        let page = self.engine.scan(scan).await?;
        let names: lazuli_engine::Result<Vec<String>> =
            page.rows.iter().map(|row| Ok(TableRecord::decode(&row.value)?.name)).collect();
        let next = page.next.as_ref().and_then(|place| keyspace::name_of(&place.row)).map(str::to_owned);
        Ok(Outcome::Tables { names: names?, next })
    }

    async fn read(&self, account: &str, folded: &str) -> Result<Option<(Row, TableRecord)>> {
        let partition = keyspace::tables(account);
        let found = self.engine.get(TableId::SYSTEM, &partition, &[&keyspace::live(folded)]).await?;
        let Some(row) = found.into_iter().next().flatten() else { return Ok(None) };
        let record = TableRecord::decode(&row.value)?;
        Ok(Some((row, record)))
    }

    async fn refuse_blocked(&self, partition: &str, folded: &str) -> Result<()> {
        if self.name_hold.is_zero() {
            return Ok(());
        }
        let found = self.engine.get(TableId::SYSTEM, partition, &[&keyspace::blocked(folded)]).await?;
        let Some(row) = found.into_iter().next().flatten() else { return Ok(()) };
        let hold = self.name_hold.as_secs().saturating_mul(TICKS_PER_SECOND);
        let free = DroppedRecord::decode(&row.value)?.at.saturating_add(hold);
        if self.clock.ticks() < free { Err(ErrorCode::TableBeingDeleted.into()) } else { Ok(()) }
    }

    /// Changes a table that may be remembered. Forgotten before and after, also where the engine does not know what
    /// became of the change.
    async fn change(
        &self,
        account: &str,
        folded: &str,
        partition: &str,
        writes: Vec<Write>,
    ) -> Result<Applied> {
        let name: (Box<str>, Box<str>) = (account.into(), folded.into());
        {
            let mut cache = self.locked();
            *cache.unsettled.entry(name.clone()).or_default() += 1;
            cache.forget(account, folded);
        }
        let applied = self.engine.apply(TableId::SYSTEM, partition, writes).await;
        let mut cache = self.locked();
        cache.forget(account, folded);
        if let Some(count) = cache.unsettled.get_mut(&name) {
            *count -= 1;
            if *count == 0 {
                cache.unsettled.remove(&name);
            }
        }
        Ok(applied?)
    }

    fn locked(&self) -> RwLockWriteGuard<'_, Cache> {
        self.cache.write().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

impl Cache {
    fn is_settled(&self, account: &str, folded: &str) -> bool {
        self.unsettled.is_empty() || !self.unsettled.contains_key(&(account.into(), folded.into()))
    }

    fn forget(&mut self, account: &str, folded: &str) {
        self.changes += 1;
        if self.tables.get_mut(account).and_then(|names| names.remove(folded)).is_some() {
            self.count -= 1;
        }
    }

    fn remember(&mut self, account: &str, folded: String, known: Known) {
        if self.count >= CACHED_MAX {
            self.tables.clear();
            self.count = 0;
        }
        let names = self.tables.entry(account.into()).or_default();
        if names.insert(folded.into(), known).is_none() {
            self.count += 1;
        }
    }
}
