//! Reads: rows by their keys, and pages of a scan.

use std::collections::VecDeque;
use std::sync::Arc;

use bytes::Bytes;
use lazuli_engine::rules::{Offered, Pager};
use lazuli_engine::{KeyRange, Page, Result, Row, RowView, Scan, TableId, Version};
use tokio_postgres::types::ToSql;

use crate::engine::Core;
use crate::instance::Instance;
use crate::key::{self, Address, Edge, Span};
use crate::outcome::Failure;
use crate::plan::{Current, number};
use crate::point::{Attempt, SharedRead, alone};
use crate::pool::Lease;
use crate::session::Session;
use crate::sql::{BEGIN_SNAPSHOT, COMMIT, ROLLBACK};
use crate::url::Reads;

/// Maximum attempts of a read.
const ATTEMPTS_MAX: usize = 4;
/// Maximum rows fetched at a time.
const CHUNK_ROWS_MAX: usize = 1_024;
/// Rows in the first fetch, if the page can be small.
const CHUNK_ROWS_FIRST: usize = 16;
/// Maximum bytes of values fetched at a time, plus at most one value.
const CHUNK_BYTES_MAX: i64 = 4 * 1024 * 1024;
/// Maximum single rows that are fetched together.
const POINTS_MAX: usize = 128;

/// A row as it comes from the database.
pub struct Fetched {
    /// Its encoded key.
    pub key: Edge,
    /// Its version.
    pub version: Version,
    /// Its value.
    pub value: Bytes,
}

/// Rows in order, and whether there may be more in the span.
struct Chunk {
    rows: Vec<Fetched>,
    is_cut: bool,
}

impl Core {
    /// See [`lazuli_engine::Engine::get`].
    pub async fn get(&self, table: TableId, partition: &str, rows: &[&str]) -> Result<Vec<Option<Row>>> {
        let number = key::table_number(table)?;
        let encoded = key::encode(partition);
        let addresses: Vec<Address> =
            rows.iter().map(|row| key::address(number, &encoded, &key::encode(row))).collect();
        let found = self.rows(&addresses, false).await?;
        let row = |(row, address): (&&str, &Address)| {
            found.get(address).map(|(version, value)| Row {
                partition: partition.into(),
                row: (*row).into(),
                version: *version,
                value: value.clone(),
            })
        };
        Ok(rows.iter().zip(&addresses).map(row).collect())
    }

    /// The rows at some addresses of one partition, from one snapshot. With `always_proven`, proves the read
    /// even if the read mode does not require it.
    pub async fn rows(&self, addresses: &[Address], always_proven: bool) -> Result<Current> {
        if addresses.is_empty() {
            return Ok(Current::new());
        }
        let mut attempts = 0;
        loop {
            attempts += 1;
            let (instance, fetched) = self.attempt(addresses).await?;
            let read = match fetched {
                Ok(rows) => self.prove(&instance, always_proven).await.map(|()| rows),
                Err(failure) => Err(failure),
            };
            match read {
                Ok(rows) => return Ok(rows),
                Err(failure) if failure.is_transient() && attempts < ATTEMPTS_MAX => {
                    if !matches!(failure, Failure::Conflict) {
                        instance.suspect();
                    }
                }
                Err(failure) => return Err(failure.of_read()),
            }
        }
    }

    /// Reads rows once. A single row may share its statement with others, except if its key is long: those are rare.
    async fn attempt(&self, addresses: &[Address]) -> Result<Attempt> {
        if let [address] = addresses
            && address.long.is_none()
            && let SharedRead::Done(attempt) = self.points.read(address.clone()).await?
        {
            return attempt;
        }
        alone(&self.pool, addresses).await
    }

    /// Does any of some rows of one partition have this version? Always proven.
    pub async fn has_version(&self, addresses: &[&Address], version: Version) -> Result<bool> {
        let mut attempts = 0;
        loop {
            attempts += 1;
            let lease = self.pool.take().await?;
            let instance = lease.instance.clone();
            let found = match find_version(lease, addresses, version).await {
                Ok(found) => self.prove(&instance, true).await.map(|()| found),
                Err(failure) => Err(failure),
            };
            match found {
                Ok(found) => return Ok(found),
                Err(failure) if failure.is_transient() && attempts < ATTEMPTS_MAX => {
                    if !matches!(failure, Failure::Conflict) {
                        instance.suspect();
                    }
                }
                Err(failure) => return Err(failure.of_read()),
            }
        }
    }

    /// Proves that a read from a server was not stale.
    pub async fn prove(&self, instance: &Arc<Instance>, always: bool) -> std::result::Result<(), Failure> {
        if always || self.pool.url.reads == Reads::Linearizable {
            return instance.barrier(&self.pool.url).await;
        }
        Ok(())
    }

    /// See [`lazuli_engine::Engine::scan`].
    pub async fn scan(&self, scan: Scan) -> Result<Page> {
        let table = key::table_number(scan.table)?;
        let spans: VecDeque<Span> =
            scan.ranges.iter().map(Span::new).filter(|span| !span.is_empty()).collect();
        if spans.is_empty() {
            return Ok(Pager::new(scan).finish());
        }
        let first_rows = match scan.rows_max.saturating_add(1) {
            all if all > CHUNK_ROWS_MAX => CHUNK_ROWS_MAX,
            few => few.max(CHUNK_ROWS_FIRST),
        };
        let (lease, first) = self.begin(table, spans, first_rows).await?;
        let instance = lease.instance.clone();
        let paged = fill(&lease, first, Pager::new(scan)).await;
        match paged {
            Ok(page) => {
                lease.send_only(COMMIT).await;
                lease.give_back();
                self.prove(&instance, false).await.map_err(Failure::of_read)?;
                Ok(page)
            }
            // The connection may be at fault.
            Err(error) => Err(error),
        }
    }

    /// Starts a snapshot and reads the first chunk from it; retries if the connection breaks.
    async fn begin(&self, table: i64, spans: VecDeque<Span>, rows: usize) -> Result<(Lease, Cursor)> {
        let mut attempts = 0;
        loop {
            attempts += 1;
            let lease = self.pool.take().await?;
            let mut cursor =
                Cursor { table, has_long: self.has_long(), spans: spans.clone(), rows, first: None };
            let begin = lease.client().batch_execute(BEGIN_SNAPSHOT);
            let both = async {
                let (begun, chunk) = tokio::join!(biased; begin, cursor.next(&lease));
                begun.map_err(|error| crate::outcome::failure(&error)).and(chunk)
            };
            match both.await {
                Ok(chunk) => {
                    cursor.first = chunk;
                    return Ok((lease, cursor));
                }
                Err(failure) if failure.is_transient() && attempts < ATTEMPTS_MAX => {
                    if matches!(failure, Failure::Conflict) {
                        lease.send_only(ROLLBACK).await;
                        lease.give_back();
                    } else {
                        lease.instance.suspect();
                    }
                }
                Err(failure) => return Err(failure.of_read()),
            }
        }
    }
}

/// Passes chunk after chunk to the page until it is full or the spans are done.
async fn fill(session: &Session, mut cursor: Cursor, mut pager: Pager) -> Result<Page> {
    let mut chunk = cursor.first.take();
    // The partition to which the judge has skipped. Rows before it may already have been fetched.
    let mut leap: Option<Vec<u8>> = None;
    while let Some(rows) = chunk {
        for Fetched { key: (partition_key, row), version, value } in rows {
            if leap.as_ref().is_some_and(|to| partition_key < *to) {
                continue;
            }
            leap = None;
            let (partition, row) = (key::text(&partition_key)?, key::text(&row)?);
            let view = RowView { partition: &partition, row: &row, version, value: &value };
            match pager.offer_or_leap(view, || value.clone())? {
                Offered::Next => {}
                Offered::End => return Ok(pager.finish()),
                Offered::Leap(to) => {
                    let to = key::encode(&to);
                    if to <= partition_key {
                        pager.end_at(&view);
                        return Ok(pager.finish());
                    }
                    leap = Some(to);
                }
            }
        }
        if let Some(to) = &leap {
            cursor.leap(to);
        }
        chunk = cursor.next(session).await.map_err(Failure::of_read)?;
    }
    Ok(pager.finish())
}

/// The position of a scan.
pub struct Cursor {
    table: i64,
    has_long: bool,
    /// The remaining spans, in order.
    spans: VecDeque<Span>,
    /// Number of rows to fetch next.
    rows: usize,
    first: Option<Vec<Fetched>>,
}

impl Cursor {
    /// At the beginning of a table.
    pub fn everything(table: i64) -> Self {
        let spans = VecDeque::from([Span::new(&KeyRange::ALL)]);
        Self { table, has_long: true, spans, rows: CHUNK_ROWS_MAX, first: None }
    }

    /// The next rows, possibly none; `None` at the end.
    pub async fn next(&mut self, session: &Session) -> std::result::Result<Option<Vec<Fetched>>, Failure> {
        let Some(front) = self.spans.front() else { return Ok(None) };
        let chunk = if front.point().is_some() {
            self.points(session).await?
        } else {
            let chunk = self.range(session, front).await?;
            self.advance(&chunk);
            chunk
        };
        self.rows = (self.rows * 4).min(CHUNK_ROWS_MAX);
        Ok(Some(chunk.rows))
    }

    /// Continues at a partition, if it is after the rows that were read.
    fn leap(&mut self, partition: &[u8]) {
        let start = (partition.to_vec(), Vec::new());
        while self.spans.front().is_some_and(|span| span.end <= start) {
            self.spans.pop_front();
        }
        if let Some(front) = self.spans.front_mut()
            && front.start < start
        {
            front.start = start;
            // It is likely to skip again soon.
            self.rows = CHUNK_ROWS_FIRST;
        }
    }

    /// Removes the part that was read from the first span.
    fn advance(&mut self, chunk: &Chunk) {
        match (chunk.is_cut, chunk.rows.last(), self.spans.front_mut()) {
            (true, Some(last), Some(front)) => front.start = key::after(last.key.clone()),
            _ => {
                self.spans.pop_front();
            }
        }
    }

    async fn range(&self, session: &Session, span: &Span) -> std::result::Result<Chunk, Failure> {
        let short = ranged(session, &session.statements.scan, self.table, span, self.rows);
        if !self.has_long {
            return short.await;
        }
        let table = key::long_table(self.table);
        let long = ranged(session, &session.statements.scan_long, table, span, self.rows);
        let (short, long) = tokio::join!(biased; short, long);
        Ok(merged(short?, long?))
    }

    /// Reads the single rows at the start of the spans.
    async fn points(&mut self, session: &Session) -> std::result::Result<Chunk, Failure> {
        let points: Vec<Edge> =
            self.spans.iter().map_while(|span| span.point().cloned()).take(POINTS_MAX).collect();
        let partitions: Vec<&[u8]> = points.iter().map(|(partition, _)| &partition[..]).collect();
        let rows: Vec<&[u8]> = points.iter().map(|(_, row)| &row[..]).collect();
        let statement = &session.statements.points;
        let found = session
            .wait(session.client().query(statement, &[&self.table, &partitions, &rows, &CHUNK_BYTES_MAX]))
            .await?;
        let chunk = chunk(found, usize::MAX);
        let last = if chunk.is_cut { chunk.rows.last() } else { None };
        let done = last.map_or(points.len(), |last| points.partition_point(|point| *point <= last.key));
        self.spans.drain(..done);
        Ok(chunk)
    }
}

async fn ranged(
    session: &Session,
    statement: &tokio_postgres::Statement,
    table: i64,
    span: &Span,
    rows: usize,
) -> std::result::Result<Chunk, Failure> {
    let limit = i64::try_from(rows).unwrap_or(i64::MAX);
    let Span { start, end } = span;
    let found = session
        .wait(
            session
                .client()
                .query(statement, &[&table, &start.0, &start.1, &end.0, &end.1, &limit, &CHUNK_BYTES_MAX]),
        )
        .await?;
    Ok(chunk(found, rows))
}

/// The rows of a response. There may be more if it reached the requested number of rows or bytes.
fn chunk(found: Vec<tokio_postgres::Row>, rows_max: usize) -> Chunk {
    let rows: Vec<Fetched> = found.iter().map(fetched).collect();
    let bytes: usize = rows.iter().map(|row| row.value.len()).sum();
    Chunk { is_cut: rows.len() >= rows_max || bytes as i64 >= CHUNK_BYTES_MAX, rows }
}

fn fetched(row: &tokio_postgres::Row) -> Fetched {
    let (partition, key, version, value): (&[u8], &[u8], i64, &[u8]) =
        (row.get(0), row.get(1), row.get(2), row.get(3));
    Fetched {
        key: (partition.to_vec(), key.to_vec()),
        version: Version(version.unsigned_abs()),
        value: Bytes::copy_from_slice(value),
    }
}

/// Merges two chunks of the same span: drops everything after the end of a truncated chunk.
fn merged(one: Chunk, two: Chunk) -> Chunk {
    let end = |chunk: &Chunk| chunk.rows.last().filter(|_| chunk.is_cut).map(|row| row.key.clone());
    let end = match (end(&one), end(&two)) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (a, b) => a.or(b),
    };
    let is_cut = end.is_some();
    let mut rows: Vec<Fetched> = one.rows.into_iter().chain(two.rows).collect();
    rows.sort_by(|a, b| a.key.cmp(&b.key));
    if let Some(end) = end {
        rows.retain(|row| row.key <= end);
    }
    Chunk { rows, is_cut }
}

/// Reads rows by address, and returns the connection to the pool.
pub async fn fetch(lease: Lease, addresses: &[Address]) -> std::result::Result<Current, Failure> {
    let mut sorted: Vec<&Address> = addresses.iter().collect();
    sorted.sort();
    sorted.dedup();
    let groups: Vec<&[&Address]> = sorted.chunk_by(|a, b| a.table == b.table).collect();
    let current = match groups[..] {
        [group] => some(&lease, group).await?,
        [one, two] => {
            let begin = lease.client().batch_execute(BEGIN_SNAPSHOT);
            let (begun, one, two) =
                tokio::join!(biased; lease.wait(begin), some(&lease, one), some(&lease, two));
            begun?;
            lease.send_only(COMMIT).await;
            let mut current = one?;
            current.extend(two?);
            current
        }
        _ => Current::new(),
    };
    lease.give_back();
    Ok(current)
}

async fn some(session: &Session, group: &[&Address]) -> std::result::Result<Current, Failure> {
    let (table, partition) = (group[0].table, &group[0].partition);
    let found = if let [address] = group {
        session
            .wait(session.client().query(&session.statements.get, &[&table, partition, &address.row]))
            .await?
    } else {
        let keys: Vec<&[u8]> = group.iter().map(|address| &address.row[..]).collect();
        session
            .wait(session.client().query(&session.statements.get_some, &[&table, partition, &keys]))
            .await?
    };
    let mut current = Current::new();
    for row in found {
        let (key, version, value): (&[u8], i64, &[u8]) = (row.get(0), row.get(1), row.get(2));
        if let Ok(at) = group.binary_search_by(|address| address.row[..].cmp(key)) {
            let version = Version(version.unsigned_abs());
            current.insert(group[at].clone(), (version, Bytes::copy_from_slice(value)));
        }
    }
    Ok(current)
}

async fn find_version(
    lease: Lease,
    addresses: &[&Address],
    version: Version,
) -> std::result::Result<bool, Failure> {
    let mut is_found = false;
    for group in addresses.chunk_by(|a, b| a.table == b.table) {
        let keys: Vec<&[u8]> = group.iter().map(|address| &address.row[..]).collect();
        let (table, partition, number) = (group[0].table, &group[0].partition, number(version));
        let parameters: [&(dyn ToSql + Sync); 4] = [&table, partition, &keys, &number];
        let call = lease.client().query(&lease.statements.find_version, &parameters);
        is_found |= !lease.wait(call).await?.is_empty();
    }
    lease.give_back();
    Ok(is_found)
}
