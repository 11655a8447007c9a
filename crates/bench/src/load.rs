//! Sends a workload and takes the measure of the server that answers it.

use std::sync::atomic::{AtomicU64, Ordering};

use lazuli_server::clock::Stopwatch;

use crate::client::{Answer, Connection};
use crate::histogram::Histogram;
use crate::process::{Process, Usage};
use crate::request::{Signer, entity, entity_path, query_path};
use crate::{Options, Workload};

/// The table that is used.
const TABLE: &str = "Bench";
/// Partitions of the workloads that spread.
const PARTITIONS: u64 = 1000;
/// Inserts in one transaction.
const TRANSACTION_ROWS: u64 = 100;
/// Distinguishes the rows of one run from those of another.
static NEXT_ROW: AtomicU64 = AtomicU64::new(1_000_000_000);

/// What one slice of time gave.
#[derive(Clone, Debug)]
pub struct Sample {
    /// Operations, in the workload's own unit.
    pub operations: u64,
    /// How long it took.
    pub seconds: f64,
    /// Processor time of the server.
    pub cpu_seconds: f64,
    /// Memory of the server at the end.
    pub memory_bytes: u64,
    /// Latencies of requests.
    pub latency: Histogram,
}

/// Creates the table and what the workload reads.
pub async fn prepare(process: &Process, workload: Workload, options: &Options) -> Result<(), String> {
    let signer = Signer::new(&process.authority);
    let mut connection = open(process).await?;
    let create = signer.request("POST", "/Tables", "", &format!("{{\"TableName\":\"{TABLE}\"}}"));
    expect(connection.exchange(&create).await, &[201], "creating the table")?;
    let partition = |row: u64| match workload {
        Workload::Page | Workload::ScanNothing | Workload::FullScan => "all".to_owned(),
        _ => format!("p{}", row % PARTITIONS),
    };
    let count = match workload {
        Workload::Insert | Workload::InsertOne | Workload::Transaction => 0,
        Workload::Hot => 1,
        _ => options.entities as u64,
    };
    let mut groups: std::collections::BTreeMap<String, Vec<(String, String)>> = Default::default();
    for row in 0..count {
        groups.entry(partition(row)).or_default().push((partition(row), key(row)));
    }
    for rows in groups.values() {
        for chunk in rows.chunks(TRANSACTION_ROWS as usize) {
            expect(connection.exchange(&signer.batch(TABLE, chunk)).await, &[202], "loading")?;
        }
    }
    Ok(())
}

/// Sends the workload for a slice of time.
pub async fn run(process: &Process, workload: Workload, options: &Options) -> Result<Sample, String> {
    let before: Usage = process.usage();
    let watch = Stopwatch::start();
    let mut workers = Vec::new();
    let connections = if workload == Workload::FullScan { 1 } else { options.connections };
    for worker in 0..connections {
        let worker = Worker {
            connection: open(process).await?,
            signer: Signer::new(&process.authority),
            workload,
            entities: options.entities as u64,
            bare: !process.kind.speaks_tables(),
            random: 0x9E37_79B9_7F4A_7C15_u64.wrapping_mul(worker as u64 + 1),
        };
        let slice = options.slice;
        workers.push(tokio::spawn(worker.run(watch, slice)));
    }
    let mut total = Tally::default();
    for worker in workers {
        let tally = worker.await.map_err(|error| error.to_string())??;
        total.operations += tally.operations;
        total.latency.merge(&tally.latency);
    }
    let seconds = watch.elapsed().as_secs_f64();
    let after = process.usage();
    Ok(Sample {
        operations: total.operations,
        seconds,
        cpu_seconds: after.cpu_seconds - before.cpu_seconds,
        memory_bytes: after.memory_bytes,
        latency: total.latency,
    })
}

pub(crate) async fn open(process: &Process) -> Result<Connection, String> {
    Connection::open(&process.authority).await.map_err(|error| format!("{}: {error}", process.kind.name()))
}

pub(crate) fn expect(
    answer: std::io::Result<Answer>,
    statuses: &[u16],
    what: &str,
) -> Result<Answer, String> {
    let answer = answer.map_err(|error| format!("{what}: {error}"))?;
    if statuses.contains(&answer.status) {
        return Ok(answer);
    }
    Err(format!("{what}: status {}: {}", answer.status, String::from_utf8_lossy(&answer.body)))
}

fn key(row: u64) -> String {
    format!("{row:012}")
}

#[derive(Default)]
struct Tally {
    operations: u64,
    latency: Histogram,
}

/// One connection's work.
struct Worker {
    connection: Connection,
    signer: Signer,
    workload: Workload,
    entities: u64,
    /// The server answers anything with 200.
    bare: bool,
    random: u64,
}

impl Worker {
    async fn run(mut self, watch: Stopwatch, slice: std::time::Duration) -> Result<Tally, String> {
        let mut tally = Tally::default();
        while watch.elapsed() < slice {
            match self.workload {
                Workload::FullScan => self.full_scan(&mut tally).await?,
                Workload::Hot => self.hot_update(&mut tally).await?,
                _ => self.one(&mut tally).await?,
            }
        }
        Ok(tally)
    }

    async fn one(&mut self, tally: &mut Tally) -> Result<(), String> {
        let row = NEXT_ROW.fetch_add(TRANSACTION_ROWS, Ordering::Relaxed);
        let existing = self.next_random() % self.entities.max(1);
        let is_read = self.workload == Workload::Get
            || (self.workload == Workload::Mix && !self.next_random().is_multiple_of(10));
        let (request, operations) = match self.workload {
            Workload::Insert => (self.insert(&format!("p{}", existing % PARTITIONS), row), 1),
            Workload::InsertOne => (self.insert("one", row), 1),
            Workload::Get | Workload::Mix if is_read => (self.read(existing), 1),
            Workload::Upsert | Workload::Mix | Workload::Get => (self.upsert(existing), 1),
            Workload::Transaction => {
                let rows: Vec<_> =
                    (row..row + TRANSACTION_ROWS).map(|row| (format!("t{row}"), key(row))).collect();
                let partition = rows[0].0.clone();
                let rows: Vec<_> = rows.into_iter().map(|(_, row)| (partition.clone(), row)).collect();
                (self.signer.batch(TABLE, &rows), TRANSACTION_ROWS)
            }
            Workload::Page => (self.query("PartitionKey eq 'all'", ""), self.entities.min(1000)),
            Workload::ScanNothing => {
                (self.query("PartitionKey eq 'all' and Prop5 eq 'none'", ""), self.entities)
            }
            Workload::FullScan | Workload::Hot => return Ok(()),
        };
        self.send(&request, &[200, 201, 202, 204], tally).await?;
        tally.operations += operations;
        Ok(())
    }

    fn insert(&self, partition: &str, row: u64) -> Vec<u8> {
        let path = format!("/{TABLE}");
        self.signer.request("POST", &path, "Prefer: return-no-content\r\n", &entity(partition, &key(row)))
    }

    fn upsert(&self, row: u64) -> Vec<u8> {
        let partition = format!("p{}", row % PARTITIONS);
        self.signer.request(
            "PUT",
            &entity_path(TABLE, &partition, &key(row)),
            "",
            &entity(&partition, &key(row)),
        )
    }

    fn read(&self, row: u64) -> Vec<u8> {
        self.signer.request("GET", &entity_path(TABLE, &format!("p{}", row % PARTITIONS), &key(row)), "", "")
    }

    fn query(&self, filter: &str, rest: &str) -> Vec<u8> {
        self.signer.request("GET", &query_path(TABLE, filter, rest), "", "")
    }

    async fn full_scan(&mut self, tally: &mut Tally) -> Result<(), String> {
        let mut rest = String::new();
        loop {
            let request = self.query("PartitionKey ge ''", &rest);
            let answer = self.send(&request, &[200], tally).await?;
            let (partition, row) = (
                answer.field("x-ms-continuation-NextPartitionKey"),
                answer.field("x-ms-continuation-NextRowKey"),
            );
            let Some(partition) = partition else { break };
            rest = format!("&NextPartitionKey={partition}&NextRowKey={}", row.unwrap_or_default());
        }
        tally.operations += self.entities;
        Ok(())
    }

    /// Reads the entity and replaces it if nobody else has: only replacements count.
    async fn hot_update(&mut self, tally: &mut Tally) -> Result<(), String> {
        let request = self.read(0);
        let answer = self.send(&request, &[200], tally).await?;
        let etag = answer.field("etag").unwrap_or("*").to_owned();
        let path = entity_path(TABLE, "p0", &key(0));
        let request =
            self.signer.request("PUT", &path, &format!("If-Match: {etag}\r\n"), &entity("p0", &key(0)));
        if self.send(&request, &[204, 412], tally).await?.status == 204 {
            tally.operations += 1;
        }
        Ok(())
    }

    async fn send(&mut self, request: &[u8], statuses: &[u16], tally: &mut Tally) -> Result<Answer, String> {
        let watch = Stopwatch::start();
        let answer = self.connection.exchange(request).await;
        tally.latency.record(u64::try_from(watch.elapsed().as_micros()).unwrap_or(u64::MAX));
        let statuses = if self.bare { &[200, 204] } else { statuses };
        expect(answer, statuses, self.workload.name())
    }

    fn next_random(&mut self) -> u64 {
        // xorshift: spread is all that is asked of it.
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        self.random
    }
}
