//! The engine: opens the database, holds its slot, and implements the operations without a separate module.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use lazuli_engine::{
    Applied, Clock, Content, Dump, Engine, EngineFuture, Error, Page, Result, Row, Scan, SharedState, Status,
    TableId, Write,
};
use tokio::task::AbortHandle;
use tokio::time::Instant;
use tokio_postgres::Row as PgRow;
use tokio_postgres::types::ToSql;

use crate::caretaker;
use crate::content::{ChunkContent, StreamLedger, in_objects};
use crate::dump::{FILLING, OpenFuture};
use crate::error::DatabaseError;
use crate::key;
use crate::outcome::Failure;
use crate::point::{LANES_MAX, MetaFetch, PointFetch, Points};
use crate::pool::Pool;
use crate::room::{self, Room};
use crate::schema::{self, Flavour};
use crate::together::Together;
use crate::url::PostgresUrl;
use crate::version::{LEASE, Versions};

/// Maximum rows that one call of `erase` removes.
const ERASE_ROWS_MAX: i64 = 2_000;
/// Maximum attempts of small statements of the engine itself.
const ATTEMPTS_MAX: usize = 20;
/// Maximum attempts to read the shared state for a request.
const QUESTIONS_MAX: usize = 3;

/// An engine whose rows are in a database that others may use at the same time.
pub struct Postgres {
    core: Arc<Core>,
    pub(crate) ledger: Arc<StreamLedger>,
    content: ChunkContent,
    caretaker: AbortHandle,
}

/// State that all parts of the engine share.
pub struct Core {
    /// Connections.
    pub pool: Arc<Pool>,
    /// Reads of single rows.
    pub points: Points,
    /// Reads of the state that front ends share.
    meta: Together<MetaFetch>,
    /// Versions.
    pub versions: Versions,
    /// Memory for commits.
    pub room: Room,
    has_long: AtomicBool,
    /// The name of this process among the front ends.
    pub holder: String,
}

impl Postgres {
    /// Opens a database; sets it up if it is empty. Fails if its content is in an object store.
    pub fn open(url: PostgresUrl, clock: Clock) -> OpenFuture<Self> {
        Box::pin(async move {
            let engine = Self::open_rows(url, clock).await?;
            let found = engine.ledger.object_store().await;
            match found.and_then(|number| number.map_or(Ok(()), |_| Err(in_objects()))) {
                Ok(()) => Ok(engine),
                Err(error) => {
                    engine.core.leave().await;
                    Err(DatabaseError::new(error.to_string()))
                }
            }
        })
    }

    /// Opens a database for its rows; the caller knows where its content is. Sets it up if it is empty.
    pub fn open_rows(url: PostgresUrl, clock: Clock) -> OpenFuture<Self> {
        Box::pin(async move {
            let engine = Self::open_any(url, clock, "").await?;
            let filling = "SELECT 1 FROM lazuli_meta WHERE name = $1::text";
            match engine.core.small(filling, &[&FILLING]).await {
                Ok(rows) if rows.is_empty() => Ok(engine),
                Ok(_) => {
                    let why = "an earlier copy into this database is not complete: \
                               finish it with lazuli engine copy";
                    engine.core.leave().await;
                    Err(DatabaseError::new(why.into()))
                }
                Err(error) => Err(DatabaseError::new(error.to_string())),
            }
        })
    }

    /// Opens a database, even an incomplete one. `title` is the prefix of this process's name.
    pub(crate) async fn open_any(
        url: PostgresUrl,
        clock: Clock,
        title: &str,
    ) -> std::result::Result<Self, DatabaseError> {
        let pool = Pool::new(url);
        let link = pool.find().await.map_err(DatabaseError::new)?;
        schema::check(&link.client, link.identity.flavour).await.map_err(DatabaseError::new)?;
        drop(link);
        let mut random = [0; 16];
        getrandom::fill(&mut random).map_err(|error| DatabaseError::new(error.to_string()))?;
        let name: String = random.iter().map(|byte| format!("{byte:02x}")).collect();
        let holder = format!("{title}{name}");
        let (slot, high) =
            take_slot(&pool, &holder).await.map_err(|why| DatabaseError::new(why.to_string()))?;
        let core = Arc::new(Core {
            points: Points::new(PointFetch(pool.clone()), LANES_MAX),
            meta: Together::new(MetaFetch(pool.clone()), 1),
            versions: Versions::new(clock, slot, high),
            room: Room::new(),
            has_long: AtomicBool::new(false),
            pool,
            holder,
        });
        core.shared_state().await.map_err(|error| DatabaseError::new(error.to_string()))?;
        let ledger = Arc::new(StreamLedger::new(&core));
        let content = ChunkContent::new(&ledger);
        let caretaker = tokio::spawn(caretaker::look_after(core.clone(), ledger.clone())).abort_handle();
        Ok(Self { core, ledger, content, caretaker })
    }

    /// Migrates the schema of a database to the current version; returns the previous version, if there was a schema.
    pub fn migrate(url: PostgresUrl) -> OpenFuture<Option<i64>> {
        Box::pin(async move {
            let link = Pool::new(url).find().await.map_err(DatabaseError::new)?;
            schema::migrate(&link.client, link.identity.flavour).await.map_err(DatabaseError::new)
        })
    }
}

impl Postgres {
    /// The content in the same database as the rows.
    pub(crate) fn stored_content(&self) -> Arc<dyn Content> {
        Arc::new(self.content.clone())
    }

    /// Renews the slot and the streams of this front end and checks for front ends that have ended, which also
    /// happens every 20 s. `now` is the current time, or a later one in tests.
    pub async fn renew(&self, now: Instant) -> Result<()> {
        caretaker::renew_all(&self.core, &self.ledger, now).await
    }

    /// State that all parts of the engine share.
    pub(crate) fn core(&self) -> &Core {
        &self.core
    }
}

impl Drop for Postgres {
    fn drop(&mut self) {
        self.caretaker.abort();
        self.core.pool.close();
    }
}

impl Core {
    /// Do some rows have keys that are too long for the index?
    pub fn has_long(&self) -> bool {
        self.has_long.load(Ordering::SeqCst)
    }

    /// Records, before the first such row is stored, that there are some: scans read this with each request.
    pub async fn announce_long(&self) -> Result<()> {
        if self.has_long() {
            return Ok(());
        }
        let said = "UPDATE lazuli_meta SET value = CASE name WHEN 'long' THEN 1 ELSE value + 1 END \
                    WHERE name IN ('long', 'changes')";
        self.small(said, &[]).await?;
        self.has_long.store(true, Ordering::SeqCst);
        Ok(())
    }

    async fn shared_state(&self) -> Result<SharedState> {
        let mut attempts = 0;
        loop {
            attempts += 1;
            let (instance, meta) = self.meta.read(()).await??;
            match meta {
                Ok(meta) => {
                    self.has_long.fetch_or(meta.has_long, Ordering::SeqCst);
                    return Ok(SharedState { changes: meta.changes, epoch: instance.epoch });
                }
                Err(failure) if failure.is_transient() && attempts < QUESTIONS_MAX => instance.suspect(),
                Err(failure) => return Err(failure.of_read()),
            }
        }
    }

    async fn fresh_table(&self) -> Result<TableId> {
        let next = "UPDATE lazuli_meta SET value = value + 1 WHERE name = 'tables' RETURNING value";
        let rows = self.small(next, &[]).await?;
        let id: i64 = rows.first().ok_or_else(incomplete)?.get(0);
        Ok(TableId(id.unsigned_abs()))
    }

    /// Removes the next few thousand rows, or all if there are fewer, with short and long keys.
    async fn erase(&self, table: TableId) -> Result<bool> {
        if table == TableId::SYSTEM {
            return Err(Error::Unavailable("the system table cannot be erased".into()));
        }
        let table = key::table_number(table)?;
        let mut is_over = true;
        for table in [table, key::long_table(table)] {
            let last =
                "SELECT pk, rk FROM lazuli_row WHERE tbl = $1::int8 ORDER BY pk, rk OFFSET $2::int8 LIMIT 1";
            let last = self.small(last, &[&table, &(ERASE_ROWS_MAX - 1)]).await?;
            match last.first() {
                Some(last) => {
                    let (partition, row): (Vec<u8>, Vec<u8>) = (last.get(0), last.get(1));
                    let gone =
                        "DELETE FROM lazuli_row WHERE tbl = $1::int8 AND (pk, rk) <= ($2::bytea, $3::bytea)";
                    self.small(gone, &[&table, &partition, &row]).await?;
                    is_over = false;
                }
                // No bound is possible: the keys of long rows are hashes, which may begin with any byte.
                None => drop(self.small("DELETE FROM lazuli_row WHERE tbl = $1::int8", &[&table]).await?),
            }
        }
        Ok(is_over)
    }

    /// Runs a statement that can be repeated safely.
    pub async fn small(&self, statement: &str, parameters: &[&(dyn ToSql + Sync)]) -> Result<Vec<PgRow>> {
        let mut attempts = 0;
        loop {
            attempts += 1;
            let lease = self.pool.take().await?;
            match lease.wait(lease.client().query(statement, parameters)).await {
                Ok(done) => {
                    lease.give_back();
                    return Ok(done);
                }
                Err(failure) if failure.is_transient() && attempts < ATTEMPTS_MAX => {
                    if matches!(failure, Failure::Conflict) {
                        lease.give_back();
                    } else {
                        lease.instance.suspect();
                    }
                }
                Err(failure) => return Err(failure.of_read()),
            }
        }
    }

    async fn status(&self) -> Result<Status> {
        let lease = self.pool.take().await?;
        let identity = lease.instance.identity.clone();
        let size = match identity.flavour {
            Flavour::Postgres => {
                let size = "SELECT pg_total_relation_size('lazuli_row')";
                let row = lease.wait(lease.client().query_one(size, &[])).await.map_err(Failure::of_read)?;
                Some(row.get::<_, i64>(0).unsigned_abs())
            }
            Flavour::Yugabyte | Flavour::Cockroach => None,
        };
        let replicated =
            if lease.instance.is_replicated() { "confirmed by a standby" } else { "not replicated" };
        lease.give_back();
        let place = format!("{} at {}, {replicated}", identity.version, self.pool.url);
        Ok(Status { place, disk_bytes: size, ..Status::default() })
    }

    /// Renews the slot, or takes another one if it was lost. It is trusted for a while from `begun` on.
    pub async fn renew(&self, begun: Instant) -> Result<()> {
        let (slot, high) = self.versions.mark();
        let (slot_number, high_number) = (signed(slot), signed(high));
        let kept = "UPDATE lazuli_writer SET seen = now(), high = greatest(high, $2::int8) \
                    WHERE slot = $1::int8 AND holder = $3::text RETURNING slot";
        if self.small(kept, &[&slot_number, &high_number, &self.holder]).await?.is_empty() {
            let (slot, high) = take_slot(&self.pool, &self.holder).await?;
            self.versions.renewed(slot, high, begun);
            return Ok(());
        }
        let highest = "SELECT max(high) FROM lazuli_writer";
        let rows = self.small(highest, &[]).await?;
        let high: i64 = rows.first().ok_or_else(incomplete)?.get(0);
        self.versions.renewed(slot, high.unsigned_abs(), begun);
        Ok(())
    }

    /// Releases the slot.
    pub async fn leave(&self) {
        let (slot, high) = self.versions.mark();
        let (slot, high) = (signed(slot), signed(high));
        let free = "UPDATE lazuli_writer SET holder = '', seen = now(), high = greatest(high, $2::int8) \
                    WHERE slot = $1::int8 AND holder = $3::text";
        if let Err(error) = self.small(free, &[&slot, &high, &self.holder]).await {
            tracing::warn!(%error, "failed to release the slot of this front end; it stays taken for a while");
        }
    }
}

/// The error for a database that does not match its schema.
pub fn incomplete() -> Error {
    Error::Corrupt("a row that the schema requires is missing from the database".into())
}

fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// Takes the slot that has been free the longest; also returns the highest version of all front ends.
async fn take_slot(pool: &Arc<Pool>, holder: &str) -> Result<(u64, u64)> {
    let take = format!(
        "UPDATE lazuli_writer SET holder = $1::text, seen = now() \
         WHERE (holder = '' OR seen < now() - interval '{0} seconds') AND slot = (SELECT slot FROM lazuli_writer \
         WHERE holder = '' OR seen < now() - interval '{0} seconds' ORDER BY seen, slot LIMIT 1) \
         RETURNING slot, (SELECT max(high) FROM lazuli_writer)",
        LEASE.as_secs()
    );
    let mut last = "all slots are taken: too many front ends use this database".to_owned();
    for _ in 0..ATTEMPTS_MAX {
        let lease = pool.take().await?;
        match lease.wait(lease.client().query_opt(&take, &[&holder])).await {
            Ok(Some(row)) => {
                lease.give_back();
                let (slot, high): (i64, i64) = (row.get(0), row.get(1));
                return Ok((slot.unsigned_abs(), high.unsigned_abs()));
            }
            // Another front end took the same one.
            Ok(None) | Err(Failure::Conflict) => lease.give_back(),
            Err(failure) if failure.is_transient() => {
                lease.instance.suspect();
                last = failure.of_read().to_string();
            }
            Err(failure) => return Err(failure.of_read()),
        }
    }
    Err(Error::Unavailable(last))
}

impl Engine for Postgres {
    fn get<'a>(
        &'a self,
        table: TableId,
        partition: &'a str,
        rows: &'a [&'a str],
    ) -> EngineFuture<'a, Vec<Option<Row>>> {
        Box::pin(self.core.get(table, partition, rows))
    }

    fn scan(&self, scan: Scan) -> EngineFuture<'_, Page> {
        Box::pin(self.core.scan(scan))
    }

    fn apply<'a>(
        &'a self,
        table: TableId,
        partition: &'a str,
        writes: Vec<Write>,
    ) -> EngineFuture<'a, Applied> {
        Box::pin(self.core.apply(table, partition, writes))
    }

    fn fresh_table(&self) -> EngineFuture<'_, TableId> {
        Box::pin(self.core.fresh_table())
    }

    fn erase(&self, table: TableId) -> EngineFuture<'_, bool> {
        Box::pin(self.core.erase(table))
    }

    fn shared_state(&self) -> EngineFuture<'_, Option<SharedState>> {
        Box::pin(async { self.core.shared_state().await.map(Some) })
    }

    fn epoch(&self) -> u64 {
        self.core.pool.epoch()
    }

    fn memory_bytes_max(&self) -> u64 {
        room::memory_bytes_max(self.core.pool.url.pool)
    }

    fn status(&self) -> EngineFuture<'_, Status> {
        Box::pin(self.core.status())
    }

    fn dump(&self) -> EngineFuture<'_, Box<dyn Dump>> {
        Box::pin(async { Ok(Box::new(self.core.dump().await?) as Box<dyn Dump>) })
    }

    fn content(&self) -> Option<Arc<dyn Content>> {
        Some(self.stored_content())
    }

    fn close(&self) -> EngineFuture<'_, ()> {
        Box::pin(async {
            self.caretaker.abort();
            if let Err(error) = self.ledger.leave().await {
                tracing::warn!(%error, "failed to release the streams of this front end; they stay taken for a day");
            }
            self.core.leave().await;
            self.core.pool.close();
            Ok(())
        })
    }
}
