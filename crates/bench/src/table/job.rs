//! The work of the Table workloads on one server.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};

use lazuli_model::Service;

use super::{ENTITY_BYTES, OTHERWISE, PAGE_ROWS, Work, request};
use crate::contestant::Step;
use crate::process::{Process, Server};
use crate::session::Session;
use crate::{Options, file};

/// The name of the table.
const TABLE: &str = "Bench";
/// Number of partitions of the workloads that spread.
const PARTITIONS: u64 = 1000;
/// Inserts in one transaction.
const TRANSACTION_ROWS: u64 = 100;
/// Number of entities per hour, where keys only increase.
const HOUR_ROWS: u64 = 10_000;
/// Statuses of success.
const SUCCESS: &[u16] = &[200, 201, 202, 204];
/// Keeps the rows of different runs apart.
static NEXT_ROW: AtomicU64 = AtomicU64::new(1_000_000_000);

/// A workload with its size.
#[derive(Clone, Copy)]
pub struct Job {
    work: Work,
    variant: u64,
    entities: u64,
}

impl Job {
    pub(crate) fn new(work: Work, variant: u64, options: &Options) -> Self {
        Self { work, variant, entities: options.entities as u64 }
    }

    /// Prepares a session, before anything is measured.
    pub(crate) fn configure(&self, session: &mut Session) -> Result<(), String> {
        match self.work {
            Work::InsertPieces => session.send_in_pieces(self.variant != OTHERWISE),
            _ => Ok(()),
        }
    }

    /// Creates the table and the entities that the workload reads.
    pub(crate) async fn prepare(&self, process: &Process) -> Result<(), String> {
        let mut session = process.session(Service::Table, 0).await?;
        session.send(request::create_table(&session.account, TABLE), &[201]).await?;
        let count = match self.work {
            Work::Insert | Work::InsertOne | Work::InsertAppend | Work::InsertPieces | Work::Transaction => 0,
            Work::Hot => 1,
            _ => self.entities,
        };
        let mut groups: BTreeMap<String, Vec<(String, String)>> = BTreeMap::new();
        for row in 0..count {
            let partition = self.partition(row);
            groups.entry(partition.clone()).or_default().push((partition, key(row)));
        }
        for rows in groups.values() {
            for chunk in rows.chunks(TRANSACTION_ROWS as usize) {
                session.send(request::transaction(&session.account, TABLE, chunk), &[202]).await?;
            }
        }
        Ok(())
    }

    /// A single connection reads the whole table. Syncs without a server are sequential.
    pub(crate) fn connections(&self, options: &Options, server: Server) -> usize {
        let is_sequential = self.work == Work::FullScan || matches!(server, Server::Files { .. });
        if is_sequential { 1 } else { options.connections }
    }

    /// Does the next operation.
    pub(crate) async fn step(&self, session: &mut Session) -> Result<Step, String> {
        if let Server::Files { .. } = session.server {
            return file::append(session, ENTITY_BYTES).await;
        }
        match self.work {
            Work::FullScan => self.full_scan(session).await,
            Work::Hot => self.hot_update(session).await,
            _ => self.one(session).await,
        }
    }

    async fn one(&self, session: &mut Session) -> Result<Step, String> {
        let (existing, is_read) = (session.below(self.entities), session.below(10) > 0);
        let partition = self.partition(existing);
        let account = &session.account;
        let (request, operations) = match self.work {
            Work::Get => (request::get(account, TABLE, &partition, &key(existing)), 1),
            Work::Mix if is_read => (request::get(account, TABLE, &partition, &key(existing)), 1),
            Work::Upsert | Work::Mix => (request::upsert(account, TABLE, &partition, &key(existing)), 1),
            Work::InsertOne | Work::InsertAppend if self.variant != OTHERWISE => {
                let (partition, row) = self.crowded(fresh(1));
                (request::insert(account, TABLE, &partition, &row), 1)
            }
            Work::Transaction => {
                let first = fresh(TRANSACTION_ROWS);
                let rows = (first..first + TRANSACTION_ROWS).map(|row| (format!("t{first}"), key(row)));
                let rows: Vec<_> = rows.collect();
                (request::transaction(account, TABLE, &rows), TRANSACTION_ROWS)
            }
            Work::Page => {
                (request::query(account, TABLE, "PartitionKey eq 'all'", ""), self.entities.min(PAGE_ROWS))
            }
            Work::ScanNothing => {
                let filter = "PartitionKey eq 'all' and Prop5 eq 'none'";
                (request::query(account, TABLE, filter, ""), self.entities)
            }
            Work::Insert
            | Work::InsertOne
            | Work::InsertAppend
            | Work::InsertPieces
            | Work::FullScan
            | Work::Hot => (request::insert(account, TABLE, &partition, &key(fresh(1))), 1),
        };
        session.send(request, SUCCESS).await?;
        Ok(Step::Done(operations))
    }

    async fn full_scan(&self, session: &mut Session) -> Result<Step, String> {
        let mut rest = String::new();
        if session.server.is_bare() {
            session.send(request::query(&session.account, TABLE, "true", &rest), SUCCESS).await?;
            return Ok(Step::Done(PAGE_ROWS));
        }
        loop {
            let request = request::query(&session.account, TABLE, "PartitionKey ge ''", &rest);
            let response = session.send(request, SUCCESS).await?;
            let next = |name: &str| response.header(&format!("x-ms-continuation-{name}"));
            let Some(partition) = next("NextPartitionKey") else { break };
            let row = next("NextRowKey").unwrap_or_default();
            rest = format!("&NextPartitionKey={partition}&NextRowKey={row}");
        }
        Ok(Step::Done(self.entities))
    }

    /// Reads the entity and replaces it unless it has changed; only replacements count as operations.
    async fn hot_update(&self, session: &mut Session) -> Result<Step, String> {
        let read = request::get(&session.account, TABLE, "p0", &key(0));
        let response = session.send(read, &[200]).await?;
        let etag = response.header("etag").unwrap_or("*").to_owned();
        let update = request::upsert(&session.account, TABLE, "p0", &key(0)).with("If-Match", etag);
        let status = session.send(update, &[204, 412]).await?.status;
        Ok(Step::Done(u64::from(status == 204)))
    }

    /// Keys that are not spread: those of one partition, or those that only increase.
    fn crowded(&self, number: u64) -> (String, String) {
        match self.work {
            Work::InsertAppend => (key(number / HOUR_ROWS), key(number)),
            _ => ("one".to_owned(), scattered(number)),
        }
    }

    fn partition(&self, row: u64) -> String {
        match self.work {
            Work::Page | Work::ScanNothing | Work::FullScan => "all".to_owned(),
            _ => format!("p{}", row % PARTITIONS),
        }
    }
}

fn fresh(count: u64) -> u64 {
    NEXT_ROW.fetch_add(count, Ordering::Relaxed)
}

/// A key for a number, unique to it. The order of the keys is unrelated to the order of the numbers.
fn scattered(number: u64) -> String {
    format!("{:016x}", number.wrapping_mul(0x9E37_79B9_7F4A_7C15))
}

fn key(row: u64) -> String {
    format!("{row:012}")
}
