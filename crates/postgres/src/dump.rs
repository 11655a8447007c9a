//! A dump of the database at one moment, and a database that is being filled.
//!
//! A database that is being filled has a mark, which prevents servers from using it until it is complete.

use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::Arc;

use lazuli_engine::{
    Clock, Content, Dump, EngineFuture, Error, Marks, Result, Row, Stored, TableId, Version,
};
use tokio_postgres::types::ToSql;

use crate::engine::{Core, Postgres, incomplete};
use crate::error::DatabaseError;
use crate::key;
use crate::outcome::{Failure, failure};
use crate::read::Cursor;
use crate::session::Session;
use crate::sql::BEGIN_SNAPSHOT;
use crate::url::PostgresUrl;
use crate::version::LEASE;

/// The mark of a database that is being filled.
pub const FILLING: &str = "filling";

/// Prefix for the names of copying processes, so that a killed one is not mistaken for a server.
const COPIER: &str = "copy ";

/// The next table that has rows, with short or long keys.
const NEXT_TABLE: &str = "SELECT (SELECT min(tbl) FROM lazuli_row WHERE tbl > $1::int8 AND tbl >= 0), \
     (SELECT -1 - max(tbl) FROM lazuli_row WHERE tbl < -1 - $1::int8)";

/// A snapshot of the database, on its own connection.
pub struct Snapshot {
    session: Session,
    marks: Marks,
    /// The current table.
    table: i64,
    cursor: Option<Cursor>,
    ready: VecDeque<Stored>,
}

impl Core {
    /// See [`lazuli_engine::Engine::dump`].
    pub async fn dump(&self) -> Result<Snapshot> {
        let instance = self.pool.instance().await.map_err(Failure::of_read)?;
        let session = instance.connect(&self.pool.url).await.map_err(Failure::of_read)?;
        let begin = format!("SET idle_in_transaction_session_timeout = 0; {BEGIN_SNAPSHOT}");
        session.wait(session.client().batch_execute(&begin)).await.map_err(Failure::of_read)?;
        let read = "SELECT (SELECT value FROM lazuli_meta WHERE name = 'tables'), (SELECT max(high) FROM lazuli_writer)";
        let row = session.wait(session.client().query_one(read, &[])).await.map_err(Failure::of_read)?;
        let (tables, high): (i64, i64) = (row.get(0), row.get(1));
        // Read after the snapshot was taken, so that it covers all commits of this process in the snapshot.
        let own = self.versions.mark().1;
        let marks = Marks {
            last_version: Version(high.unsigned_abs().max(own)),
            last_table: TableId(tables.unsigned_abs()),
        };
        Ok(Snapshot { session, marks, table: -1, cursor: None, ready: VecDeque::new() })
    }
}

impl Snapshot {
    async fn some(&mut self, bytes_max: usize) -> Result<Vec<Stored>> {
        let (mut rows, mut bytes) = (Vec::new(), 0);
        while bytes < bytes_max {
            match self.ready.pop_front() {
                Some(stored) => {
                    bytes += stored.bytes();
                    rows.push(stored);
                }
                None if !self.fetch().await? => break,
                None => {}
            }
        }
        Ok(rows)
    }

    /// Fetches more rows; `false` at the end.
    async fn fetch(&mut self) -> Result<bool> {
        loop {
            if let Some(cursor) = &mut self.cursor {
                if let Some(rows) = cursor.next(&self.session).await.map_err(Failure::of_read)? {
                    for fetched in rows {
                        let row = Row {
                            partition: key::text(&fetched.key.0)?.into(),
                            row: key::text(&fetched.key.1)?.into(),
                            version: fetched.version,
                            value: fetched.value,
                        };
                        // Other front ends may be ahead of the version that they last recorded.
                        self.marks.last_version = self.marks.last_version.max(row.version);
                        self.ready.push_back(Stored { table: TableId(self.table.unsigned_abs()), row });
                    }
                    return Ok(true);
                }
                self.cursor = None;
            }
            let next = self.session.client().query_one(NEXT_TABLE, &[&self.table]).await;
            let row = next.map_err(|error| failure(&error).of_read())?;
            let (short, long): (Option<i64>, Option<i64>) = (row.get(0), row.get(1));
            let Some(table) = short.into_iter().chain(long).min() else { return Ok(false) };
            self.table = table;
            self.cursor = Some(Cursor::everything(table));
        }
    }
}

impl Dump for Snapshot {
    fn marks(&self) -> Marks {
        self.marks
    }

    fn next(&mut self, bytes_max: usize) -> EngineFuture<'_, Vec<Stored>> {
        Box::pin(self.some(bytes_max))
    }
}

/// The future of opening a database. It is boxed, so that it is compiled in this crate and not in each caller.
pub type OpenFuture<T> = Pin<Box<dyn Future<Output = std::result::Result<T, DatabaseError>> + Send>>;

/// A database that is being filled.
pub struct Filler {
    engine: Postgres,
}

impl Filler {
    /// Starts or resumes filling a database. The database must be empty or partly filled, and no server may use
    /// it.
    pub fn begin(url: PostgresUrl) -> OpenFuture<Self> {
        Box::pin(async move {
            Postgres::migrate(url.clone()).await?;
            let engine = Postgres::open_any(url, Clock::system(), COPIER).await?;
            let begun = Self { engine };
            match begun.claim().await {
                Ok(()) => Ok(begun),
                Err(error) => {
                    begun.engine.core().leave().await;
                    Err(DatabaseError::new(error.to_string()))
                }
            }
        })
    }

    async fn claim(&self) -> Result<()> {
        let core = self.engine.core();
        let others = format!(
            "SELECT count(*) FROM lazuli_writer WHERE holder <> '' AND holder NOT LIKE '{COPIER}%' \
             AND seen > now() - interval '{} seconds'",
            LEASE.as_secs()
        );
        let rows = core.small(&others, &[]).await?;
        if rows.first().ok_or_else(incomplete)?.get::<_, i64>(0) > 0 {
            return Err(Error::Unavailable(format!(
                "servers use this database; stop them (a killed server counts as running for up to {} s)",
                LEASE.as_secs()
            )));
        }
        let state = "SELECT (SELECT count(*) FROM lazuli_meta WHERE name = $1::text), \
                     (SELECT count(*) FROM (SELECT 1 FROM lazuli_row LIMIT 1) AS one)";
        let rows = core.small(state, &[&FILLING]).await?;
        let row = rows.first().ok_or_else(incomplete)?;
        match (row.get::<_, i64>(0), row.get::<_, i64>(1)) {
            (0, 0) => {
                let mark = "INSERT INTO lazuli_meta (name, value) VALUES ($1::text, 1)";
                core.small(mark, &[&FILLING]).await?;
            }
            (0, _) => {
                return Err(Error::Unavailable(
                    "the database already has rows, which are never overwritten; choose an empty one".into(),
                ));
            }
            _ => {}
        }
        // These belong to an interrupted copy: no other process fills this database.
        self.engine.take_over_content().await?;
        // Scans always look for long keys: it costs little, and only until the copy is complete.
        core.announce_long().await
    }

    /// The content of the database, to be filled by [`Content::adopt`].
    pub fn content(&self) -> Arc<dyn Content> {
        self.engine.stored_content()
    }

    /// The engine, if content is stored elsewhere.
    pub fn engine(&self) -> &Postgres {
        &self.engine
    }

    /// The rows that it contains so far.
    pub async fn so_far(&self) -> Result<Box<dyn Dump>> {
        Ok(Box::new(self.engine.core().dump().await?))
    }

    /// Stores rows unchanged, replacing existing ones.
    pub async fn put(&self, rows: &[Stored]) -> Result<()> {
        let mut columns = Columns::default();
        for Stored { table, row } in rows {
            let number = key::table_number(*table)?;
            let at = key::address(number, &key::encode(&row.partition), &key::encode(&row.row));
            columns.tables.push(at.table);
            columns.partitions.push(at.partition);
            columns.rows.push(at.row);
            columns
                .versions
                .push(i64::try_from(row.version.0).map_err(|_| Error::TooLarge("a version".into()))?);
            columns.values.push(&row.value[..]);
            let (long_partition, long_row) = at.long.unzip();
            columns.long_partitions.push(long_partition);
            columns.long_rows.push(long_row);
        }
        let put = "INSERT INTO lazuli_row (tbl, pk, rk, ver, val, lpk, lrk) SELECT * FROM unnest($1::int8[], \
                   $2::bytea[], $3::bytea[], $4::int8[], $5::bytea[], $6::bytea[], $7::bytea[]) \
                   ON CONFLICT (tbl, pk, rk) DO UPDATE SET ver = excluded.ver, val = excluded.val";
        let Columns { tables, partitions, rows, versions, values, long_partitions, long_rows } = &columns;
        let parameters: [&(dyn ToSql + Sync); 7] =
            [tables, partitions, rows, versions, values, long_partitions, long_rows];
        self.engine.core().small(put, &parameters).await.map(|_| ())
    }

    /// Removes rows that do not belong to the copy.
    pub async fn remove(&self, rows: &[Stored]) -> Result<()> {
        let mut columns = Columns::default();
        for Stored { table, row } in rows {
            let number = key::table_number(*table)?;
            let at = key::address(number, &key::encode(&row.partition), &key::encode(&row.row));
            columns.tables.push(at.table);
            columns.partitions.push(at.partition);
            columns.rows.push(at.row);
        }
        let gone = "DELETE FROM lazuli_row AS e USING unnest($1::int8[], $2::bytea[], $3::bytea[]) AS r(tbl, pk, rk) \
                    WHERE e.tbl = r.tbl AND e.pk = r.pk AND e.rk = r.rk";
        let Columns { tables, partitions, rows, .. } = &columns;
        self.engine.core().small(gone, &[tables, partitions, rows]).await.map(|_| ())
    }

    /// Marks the database as complete: from now on, servers may use it, and they never issue a version or table
    /// id of the copy again.
    pub async fn finish(self, marks: Marks) -> Result<()> {
        let core = self.engine.core();
        let number = |number: u64| i64::try_from(number).unwrap_or(i64::MAX);
        let tables = "UPDATE lazuli_meta SET value = greatest(value, $1::int8) WHERE name = 'tables'";
        core.small(tables, &[&number(marks.last_table.0)]).await?;
        let high = "UPDATE lazuli_writer SET high = greatest(high, $1::int8) WHERE slot = 0";
        core.small(high, &[&number(marks.last_version.0)]).await?;
        let long = "UPDATE lazuli_meta SET value = (SELECT count(*) FROM (SELECT 1 FROM lazuli_row WHERE tbl < 0 LIMIT 1) \
                    AS one) WHERE name = 'long'";
        core.small(long, &[]).await?;
        core.small("DELETE FROM lazuli_meta WHERE name = $1::text", &[&FILLING]).await?;
        lazuli_engine::Engine::close(&self.engine).await
    }
}

#[derive(Default)]
struct Columns<'a> {
    tables: Vec<i64>,
    partitions: Vec<Vec<u8>>,
    rows: Vec<Vec<u8>>,
    versions: Vec<i64>,
    values: Vec<&'a [u8]>,
    long_partitions: Vec<Option<Vec<u8>>>,
    long_rows: Vec<Option<Vec<u8>>>,
}
