//! What an operation costs as the data grows: more entities, more partitions, more tables.
//!
//! Costs of one server are compared with each other, in one run: what matters is how they change with the size.

mod axis;
mod report;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use lazuli_server::clock::Stopwatch;

use crate::Options;
use crate::client::Connection;
use crate::histogram::Histogram;
use crate::load::{expect, open};
use crate::process::{Kind, Process};
use crate::request::{Signer, entity, entity_path};

pub use axis::Axis;
use axis::{Layout, key};
pub use report::Growth;

/// Connections that load, and those that read pages.
const LOADERS: u64 = 16;
const PAGERS: usize = 4;
/// The part of a slice that an operation runs before it is measured.
const WARM_SHARE: u32 = 4;

/// Distinguishes the entities that are inserted.
static INSERTED: AtomicU64 = AtomicU64::new(0);

/// What is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// Reads an entity.
    Get,
    /// Replaces an entity.
    Upsert,
    /// Inserts an entity among the others.
    Insert,
    /// Reads the first thousand entities of a table.
    FirstPage,
    /// Reads the last thousand.
    LastPage,
}

impl Operation {
    /// All of them.
    pub const ALL: [Operation; 5] =
        [Operation::Get, Operation::Upsert, Operation::Insert, Operation::FirstPage, Operation::LastPage];

    /// Its name in reports.
    pub fn name(self) -> &'static str {
        match self {
            Operation::Get => "get",
            Operation::Upsert => "upsert",
            Operation::Insert => "insert",
            Operation::FirstPage => "first page",
            Operation::LastPage => "last page",
        }
    }

    fn is_write(self) -> bool {
        matches!(self, Operation::Upsert | Operation::Insert)
    }

    fn is_page(self) -> bool {
        matches!(self, Operation::FirstPage | Operation::LastPage)
    }
}

/// One measurement.
#[derive(Clone, Debug)]
pub struct Point {
    /// What grew.
    pub axis: Axis,
    /// How far.
    pub size: u64,
    /// What was done.
    pub operation: Operation,
    /// How often a second.
    pub rate: f64,
    /// Processor time of the server for each.
    pub cpu_micros: f64,
    /// The median latency.
    pub p50_micros: u64,
    /// 99 of 100 are below.
    pub p99_micros: u64,
    /// Memory of the server at the end.
    pub memory_bytes: u64,
}

/// Measures each operation at each size of each axis. The long form goes to ten million entities.
pub async fn run(
    options: &Options,
    axes: &[Axis],
    is_long: bool,
    mut progress: impl FnMut(&str),
) -> Result<Growth, String> {
    let folder = options.folder()?;
    let mut points = Vec::new();
    for &axis in axes {
        let mut started: Option<Process> = None;
        let mut loaded = 0;
        for &size in axis.sizes(is_long) {
            // Entities are added to those that are there; otherwise everything lies elsewhere.
            let process = match started.take().filter(|_| axis == Axis::Entities) {
                Some(process) => process,
                None => {
                    loaded = 0;
                    Process::start(Kind::Lazuli, options, &folder.path().join(format!("{axis}-{size}")))
                        .await?
                }
            };
            let layout = axis.layout(size);
            progress(&format!("{size} {axis}: loading"));
            load(&process, layout, loaded).await?;
            loaded = layout.entities;
            for operation in Operation::ALL {
                // Not for writes: that they leave work behind is part of what they cost.
                if !operation.is_write() && !process.rests().await {
                    progress(&format!(
                        "{size} {axis}: the server does not come to rest; its work is measured too"
                    ));
                }
                progress(&format!("{size} {axis}: {}", operation.name()));
                measure(&process, layout, operation, options.slice / WARM_SHARE, options).await?;
                let sample = measure(&process, layout, operation, options.slice, options).await?;
                points.push(sample.point(axis, size, operation));
            }
            started = Some(process);
        }
    }
    Ok(Growth { points, slice_seconds: options.slice.as_secs_f64(), connections: options.connections })
}

/// Creates the tables, and the entities from `first` on.
async fn load(process: &Process, layout: Layout, first: u64) -> Result<(), String> {
    let tables = layout.entities / layout.table_rows;
    // The one table of the axis of entities is there from the first size on.
    if first == 0 {
        in_parallel(process, tables, move |signer, number| {
            let body = format!("{{\"TableName\":\"{}\"}}", layout.table(number * layout.table_rows));
            signer.request("POST", "/Tables", "", &body)
        })
        .await?;
    }
    let group = layout.group();
    in_parallel(process, (layout.entities - first) / group, move |signer, number| {
        let start = first + number * group;
        let rows: Vec<_> = (start..start + group).map(|n| (layout.partition(n), key(n))).collect();
        signer.batch(&layout.table(start), &rows)
    })
    .await
}

/// Sends so many requests over several connections.
async fn in_parallel(
    process: &Process,
    count: u64,
    request: impl Fn(&Signer, u64) -> Vec<u8> + Copy + Send + Sync + 'static,
) -> Result<(), String> {
    let next = Arc::new(AtomicU64::new(0));
    let mut workers = Vec::new();
    for _ in 0..LOADERS.min(count) {
        let mut connection = open(process).await?;
        let (signer, next) = (Signer::new(&process.authority), Arc::clone(&next));
        workers.push(tokio::spawn(async move {
            loop {
                let number = next.fetch_add(1, Ordering::Relaxed);
                if number >= count {
                    return Ok::<_, String>(());
                }
                expect(connection.exchange(&request(&signer, number)).await, &[201, 202], "loading")?;
            }
        }));
    }
    for worker in workers {
        worker.await.map_err(|error| error.to_string())??;
    }
    Ok(())
}

/// What a slice of time gave.
#[derive(Default)]
struct Sample {
    operations: u64,
    seconds: f64,
    cpu_seconds: f64,
    memory_bytes: u64,
    latency: Histogram,
}

impl Sample {
    fn point(&self, axis: Axis, size: u64, operation: Operation) -> Point {
        Point {
            axis,
            size,
            operation,
            rate: self.operations as f64 / self.seconds.max(1e-9),
            cpu_micros: self.cpu_seconds * 1e6 / self.operations.max(1) as f64,
            p50_micros: self.latency.quantile(0.5),
            p99_micros: self.latency.quantile(0.99),
            memory_bytes: self.memory_bytes,
        }
    }
}

async fn measure(
    process: &Process,
    layout: Layout,
    operation: Operation,
    slice: Duration,
    options: &Options,
) -> Result<Sample, String> {
    let before = process.usage();
    let watch = Stopwatch::start();
    let connections = if operation.is_page() { options.connections.min(PAGERS) } else { options.connections };
    let mut workers = Vec::new();
    for worker in 0..connections {
        let worker = Worker {
            connection: open(process).await?,
            signer: Signer::new(&process.authority),
            layout,
            operation,
            random: 0x9E37_79B9_7F4A_7C15_u64.wrapping_mul(worker as u64 + 1),
        };
        workers.push(tokio::spawn(worker.run(watch, slice)));
    }
    let mut total = Sample::default();
    for worker in workers {
        let latency = worker.await.map_err(|error| error.to_string())??;
        total.operations += latency.count();
        total.latency.merge(&latency);
    }
    let after = process.usage();
    total.seconds = watch.elapsed().as_secs_f64();
    total.cpu_seconds = after.cpu_seconds - before.cpu_seconds;
    total.memory_bytes = after.memory_bytes;
    Ok(total)
}

/// One connection's work.
struct Worker {
    connection: Connection,
    signer: Signer,
    layout: Layout,
    operation: Operation,
    random: u64,
}

impl Worker {
    async fn run(mut self, watch: Stopwatch, slice: Duration) -> Result<Histogram, String> {
        let mut latency = Histogram::default();
        while watch.elapsed() < slice {
            let request = self.request();
            let sent = Stopwatch::start();
            let answer = self.connection.exchange(&request).await;
            latency.record(u64::try_from(sent.elapsed().as_micros()).unwrap_or(u64::MAX));
            expect(answer, &[200, 201, 204], self.operation.name())?;
        }
        Ok(latency)
    }

    fn request(&mut self) -> Vec<u8> {
        let number = self.next_random() % self.layout.entities;
        let (table, partition) = (self.layout.table(number), self.layout.partition(number));
        let path = || entity_path(&table, &partition, &key(number));
        match self.operation {
            Operation::Get => self.signer.request("GET", &path(), "", ""),
            Operation::Upsert => self.signer.request("PUT", &path(), "", &entity(&partition, &key(number))),
            Operation::Insert => {
                let unique = INSERTED.fetch_add(1, Ordering::Relaxed);
                let row = format!("{}-{unique:012}", key(number));
                let prefer = "Prefer: return-no-content\r\n";
                self.signer.request("POST", &format!("/{table}"), prefer, &entity(&partition, &row))
            }
            Operation::FirstPage => self.page(""),
            Operation::LastPage => self.page(&self.layout.last_page()),
        }
    }

    fn page(&self, rest: &str) -> Vec<u8> {
        self.signer.request("GET", &format!("/{}()?$top=1000{rest}", self.layout.table(0)), "", "")
    }

    fn next_random(&mut self) -> u64 {
        // xorshift: spread is all that is asked of it.
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        self.random
    }
}
