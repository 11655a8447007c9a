//! The cost of an operation as the data grows: more entities, more partitions, more tables.
//!
//! The costs of one server in one run are compared: only their change with the size matters.

mod axis;
mod report;

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use lazuli_model::Service;

use super::request;
use crate::Options;
use crate::contestant::Step;
use crate::load::{self, Sample, in_parallel};
use crate::process::{Process, Server};
use crate::session::Session;

pub use axis::Axis;
use axis::{Layout, key};
pub use report::Growth;

/// Connections that read pages.
const PAGERS: usize = 4;
/// The part of a slice for which an operation runs before it is measured.
const WARM_SHARE: u32 = 4;

/// Distinguishes the entities that are inserted.
static INSERTED: AtomicU64 = AtomicU64::new(0);

/// An operation whose cost is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GrowthOperation {
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

impl GrowthOperation {
    /// All of them.
    pub const ALL: [GrowthOperation; 5] = [
        GrowthOperation::Get,
        GrowthOperation::Upsert,
        GrowthOperation::Insert,
        GrowthOperation::FirstPage,
        GrowthOperation::LastPage,
    ];

    /// Its name in reports.
    pub fn name(self) -> &'static str {
        match self {
            GrowthOperation::Get => "get",
            GrowthOperation::Upsert => "upsert",
            GrowthOperation::Insert => "insert",
            GrowthOperation::FirstPage => "first page",
            GrowthOperation::LastPage => "last page",
        }
    }

    /// Description of the operation for reports.
    pub fn about(self) -> &'static str {
        match self {
            GrowthOperation::Get => {
                "Reads entities by their keys, chosen at random. The more entities there are, the smaller is the share in the caches."
            }
            GrowthOperation::Upsert => "Replaces entities, chosen at random.",
            GrowthOperation::Insert => "Inserts entities at random positions among the others.",
            GrowthOperation::FirstPage => "Reads the first thousand entities of a table.",
            GrowthOperation::LastPage => {
                "Reads the last thousand entities of a table, from a continuation token."
            }
        }
    }

    fn is_write(self) -> bool {
        matches!(self, GrowthOperation::Upsert | GrowthOperation::Insert)
    }

    fn is_page(self) -> bool {
        matches!(self, GrowthOperation::FirstPage | GrowthOperation::LastPage)
    }
}

/// One measurement.
#[derive(Clone, Debug)]
pub struct GrowthPoint {
    /// The quantity that grew.
    pub axis: Axis,
    /// Its size.
    pub size: u64,
    /// The operation.
    pub operation: GrowthOperation,
    /// Operations per second.
    pub rate: f64,
    /// CPU time of the server per operation.
    pub cpu_micros: f64,
    /// The median latency.
    pub p50_micros: u64,
    /// The 99th percentile of the latency.
    pub p99_micros: u64,
    /// Memory of the server at the end.
    pub memory_bytes: u64,
}

/// Progress of a run.
pub enum GrowthEvent<'a> {
    /// The next step begins, or the current one reports something.
    Step(&'a str),
    /// A measurement is finished: its row below [`Growth::heading`].
    Finished(&'a str),
}

/// Measures each operation at each size of each axis. The long form continues up to ten million entities.
pub async fn run(
    options: &Options,
    axes: &[Axis],
    is_long: bool,
    mut report_event: impl FnMut(GrowthEvent<'_>),
) -> Result<Growth, String> {
    let folder = options.folder()?;
    let mut growth = Growth::new(options);
    for &axis in axes {
        let mut started: Option<Process> = None;
        let mut loaded = 0;
        for &size in axis.sizes(is_long) {
            // The axis of entities adds to the existing data; the others start with new data.
            let process = match started.take().filter(|_| axis == Axis::Entities) {
                Some(process) => process,
                None => {
                    loaded = 0;
                    Process::start(Server::Lazuli, options, &folder.path().join(format!("{axis}-{size}")))
                        .await?
                }
            };
            let layout = axis.layout(size);
            report_event(GrowthEvent::Step(&format!("{size} {axis}: loading")));
            load(&process, layout, loaded).await?;
            loaded = layout.entities;
            for operation in GrowthOperation::ALL {
                // Do not wait after writes: the background work that they cause is part of their cost.
                if !operation.is_write() && !process.rests().await {
                    report_event(GrowthEvent::Step(&format!(
                        "{size} {axis}: the server does not become idle; its background work is measured too"
                    )));
                }
                report_event(GrowthEvent::Step(&format!("{size} {axis}: {}", operation.name())));
                measure(&process, layout, operation, options.slice / WARM_SHARE, options).await?;
                let sample = measure(&process, layout, operation, options.slice, options).await?;
                let row = growth.add(point(&sample, axis, size, operation));
                report_event(GrowthEvent::Finished(&row));
            }
            started = Some(process);
        }
    }
    Ok(growth)
}

/// Creates the tables, and the entities from `first` on.
async fn load(process: &Process, layout: Layout, first: u64) -> Result<(), String> {
    let tables = layout.entities / layout.table_rows;
    // The only table of the axis of entities exists from the first size on.
    if first == 0 {
        in_parallel(process, Service::Table, tables, move |mut session, number| async move {
            let table = layout.table(number * layout.table_rows);
            session.send(request::create_table(&session.account, &table), &[201]).await?;
            Ok(session)
        })
        .await?;
    }
    let group = layout.group();
    let groups = (layout.entities - first) / group;
    in_parallel(process, Service::Table, groups, move |mut session, number| async move {
        let start = first + number * group;
        let rows: Vec<_> = (start..start + group).map(|n| (layout.partition(n), key(n))).collect();
        let request = request::transaction(&session.account, &layout.table(start), &rows);
        session.send(request, &[202]).await?;
        Ok(session)
    })
    .await
}

fn point(sample: &Sample, axis: Axis, size: u64, operation: GrowthOperation) -> GrowthPoint {
    GrowthPoint {
        axis,
        size,
        operation,
        rate: sample.operations as f64 / sample.seconds.max(1e-9),
        cpu_micros: sample.cpu_seconds * 1e6 / sample.operations.max(1) as f64,
        p50_micros: sample.latency.quantile(0.5),
        p99_micros: sample.latency.quantile(0.99),
        memory_bytes: sample.memory_bytes,
    }
}

async fn measure(
    process: &Process,
    layout: Layout,
    operation: GrowthOperation,
    slice: Duration,
    options: &Options,
) -> Result<Sample, String> {
    let connections = if operation.is_page() { options.connections.min(PAGERS) } else { options.connections };
    let sessions = process.sessions(Service::Table, connections).await?;
    let sample = load::measure(process, sessions, slice, move |mut session| async move {
        let request = request_of(&mut session, layout, operation);
        session.send(request, &[200, 201, 204]).await?;
        Ok((session, Step::Done(1)))
    });
    sample.await.map_err(|error| format!("{}: {error}", operation.name()))
}

fn request_of(session: &mut Session, layout: Layout, operation: GrowthOperation) -> lazuli_probe::Request {
    let number = session.below(layout.entities);
    let account = &session.account;
    let (table, partition, row) = (layout.table(number), layout.partition(number), key(number));
    let page =
        |rest: &str| request::request(account, "GET", &format!("/{}()?$top=1000{rest}", layout.table(0)));
    match operation {
        GrowthOperation::Get => request::get(account, &table, &partition, &row),
        GrowthOperation::Upsert => request::upsert(account, &table, &partition, &row),
        GrowthOperation::Insert => {
            let unique = INSERTED.fetch_add(1, Ordering::Relaxed);
            request::insert(account, &table, &partition, &format!("{row}-{unique:012}"))
        }
        GrowthOperation::FirstPage => page(""),
        GrowthOperation::LastPage => page(&layout.last_page()),
    }
}
