//! `lazuli bench`: compares the server with other servers and with the limits of the machine.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use clap::Args;
use lazuli_bench::table::growth::{self, Axis, Growth, GrowthEvent};
use lazuli_bench::{Options, RunEvent, Workload, bare};

use crate::progress::Bar;
use crate::{memory, runtime};

const MIB: u64 = 1024 * 1024;

/// Measure the performance of the server.
///
/// Starts its own servers with temporary data: this one; Azurite and nginx if they are named; and bare servers on the
/// same HTTP stack that only send a fixed body, or append the request body with a shared sync. They are measured in
/// short, alternating slices. Compare the ratios of one run, since absolute times vary.
#[derive(Args)]
#[command(after_help = "\
Examples:
  lazuli bench                                      every workload
  lazuli bench --workload get --workload insert
  lazuli bench --workload queue --deep 1000000      the workloads of one service
  lazuli bench --azurite node_modules/.bin/azurite --html bench.html
  lazuli bench --workload table --cache-mib 64      also shows if memory stays within its bound
  lazuli bench --growth                             cost by entities, partitions and tables
  lazuli bench --growth --long                      up to ten million entities; needs 25 GB of disk

Workloads:
  table  insert insert-one insert-append insert-pieces upsert get mix egt page scan full hot
  queue  queue-put queue-get queue-delete queue-drain queue-peek queue-pairs queue-deep queue-hidden queue-expired
  blob   blob-put-4k blob-get-4k blob-put-4m blob-get-4m blob-range blob-blocks blob-list blob-delimiter blob-deep
         blob-append blob-page blob-tags")]
pub struct Bench {
    /// Run only this workload, or all of this service (table, queue, blob); may be repeated
    #[arg(long, value_name = "NAME", value_parser = workload)]
    workload: Vec<Selection>,

    /// The azurite program, to measure it too
    #[arg(long, value_name = "PROGRAM")]
    azurite: Option<PathBuf>,

    /// Another build of lazuli, to compare this one with
    #[arg(long, value_name = "PROGRAM")]
    against: Option<PathBuf>,

    /// The nginx program, to measure it too in workloads that read blobs
    #[arg(long, value_name = "PROGRAM")]
    nginx: Option<PathBuf>,

    /// Number of concurrent connections
    #[arg(long, value_name = "COUNT", default_value_t = 64)]
    connections: usize,

    /// Seconds for which each server is measured in each round
    #[arg(long, value_name = "SECONDS", default_value_t = 3.0)]
    slice: f64,

    /// Number of rounds; in each, every server is measured once
    #[arg(long, value_name = "COUNT", default_value_t = 3)]
    rounds: usize,

    /// Entities, or blobs, to load before the reading workloads start
    #[arg(long, value_name = "COUNT", default_value_t = 10_000)]
    entities: usize,

    /// Number of messages or blobs in workloads that compare a large number with one thousand
    #[arg(long, value_name = "COUNT", default_value_t = 100_000)]
    deep: u64,

    /// Messages to load before each slice of queue-get and queue-delete
    #[arg(long, value_name = "COUNT", default_value_t = 20_000)]
    stock: u64,

    /// Size of the blob in the workload blob-range, in MiB
    #[arg(long, value_name = "MIB", default_value_t = 256)]
    blob_mib: u64,

    /// Memory for the caches of this server, in MiB [default: as for lazuli serve]
    #[arg(long, value_name = "MIB", value_parser = clap::value_parser!(u64).range(1..))]
    cache_mib: Option<u64>,

    /// Directory for the data, on the disk to measure
    #[arg(long, value_name = "DIR")]
    location: Option<PathBuf>,

    /// Measure the cost of operations as tables grow: more entities, partitions, tables
    #[arg(long, conflicts_with_all = ["workload", "azurite", "against", "nginx", "rounds", "entities", "deep", "stock", "blob_mib"])]
    growth: bool,

    /// Measure only this axis of growth: entities, partitions or tables; may be repeated
    #[arg(long, value_name = "NAME", requires = "growth", value_parser = axis)]
    axis: Vec<Axis>,

    /// Grow up to ten million entities
    #[arg(long, requires = "growth")]
    long: bool,

    /// Print JSON at the end instead of text
    #[arg(long)]
    json: bool,

    /// Write a page with charts
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,

    /// Run as the bare server, with bodies of this size
    #[arg(long, hide = true, value_name = "BYTES")]
    bare: Option<usize>,
}

/// The workloads that a name selects.
#[derive(Clone, Debug)]
struct Selection(Vec<Workload>);

fn workload(name: &str) -> Result<Selection, String> {
    match Workload::from_name(name) {
        none if none.is_empty() => Err(format!("unknown workload '{name}'")),
        some => Ok(Selection(some)),
    }
}

fn axis(name: &str) -> Result<Axis, String> {
    let found = Axis::ALL.into_iter().find(|axis| axis.to_string() == name);
    found.ok_or_else(|| format!("unknown axis '{name}'; expected entities, partitions or tables"))
}

impl Bench {
    /// Runs the measurements and prints the results.
    pub fn run(self) -> Result<ExitCode, String> {
        let runtime = runtime::many_threads()?;
        if let Some(body_bytes) = self.bare {
            let location = self.location.unwrap_or_default();
            let served =
                runtime.block_on(bare::serve(body_bytes, &location, |address| say!("http://{address}")));
            return served.map(|()| ExitCode::SUCCESS).map_err(|error| error.to_string());
        }
        let options = self.options()?;
        let html = if self.growth {
            let axes = if self.axis.is_empty() { Axis::ALL.to_vec() } else { self.axis };
            runtime.block_on(grow(&options, &axes, self.long, self.json))?
        } else {
            runtime.block_on(workloads(&options, self.json))?
        };
        if let Some(path) = self.html {
            std::fs::write(&path, html).map_err(|error| format!("{}: {error}", path.display()))?;
        }
        Ok(ExitCode::SUCCESS)
    }

    fn options(&self) -> Result<Options, String> {
        let selected = || self.workload.iter().flat_map(|selection| selection.0.clone()).collect();
        Ok(Options {
            binary: std::env::current_exe().map_err(|error| error.to_string())?,
            azurite: self.azurite.clone(),
            against: self.against.clone(),
            nginx: self.nginx.clone(),
            workloads: if self.workload.is_empty() { Workload::all() } else { selected() },
            connections: self.connections.max(1),
            slice: Duration::from_secs_f64(self.slice.clamp(0.1, 3600.0)),
            rounds: self.rounds.max(1),
            entities: self.entities.max(1),
            deep: self.deep.max(1),
            stock: self.stock.max(1),
            blob_mib: self.blob_mib.max(1),
            cache_mib: self.cache_mib.unwrap_or(memory::cache_bytes() / MIB),
            location: self.location.clone(),
        })
    }
}

/// Measures growth. Prints each measurement when it is finished, or JSON at the end. Returns the page with charts.
async fn grow(options: &Options, axes: &[Axis], is_long: bool, is_json: bool) -> Result<String, String> {
    if !is_json {
        say!("{}", Growth::heading(options));
    }
    let found = growth::run(options, axes, is_long, |event| match event {
        GrowthEvent::Step(text) => tell!("{text}"),
        GrowthEvent::Finished(row) if !is_json => say!("{row}"),
        GrowthEvent::Finished(_) => {}
    });
    let found = found.await?;
    if is_json {
        say!("{}", found.json());
    } else {
        say!("\n{}", found.goals());
    }
    Ok(found.html())
}

/// Runs the workloads. Shows the progress, prints each workload when it is finished, or JSON at the end. Returns the page with
/// charts.
async fn workloads(options: &Options, is_json: bool) -> Result<String, String> {
    if !is_json {
        say!("{}", lazuli_bench::heading(options));
    }
    let mut bar = Bar::new();
    let report = lazuli_bench::run(options, |event| match event {
        RunEvent::Step { text, done, all } => bar.show(done, all, text),
        RunEvent::Finished(section) if !is_json => {
            bar.clear();
            say!("{}", section.trim_end());
        }
        RunEvent::Finished(_) => {}
    });
    let report = report.await;
    bar.clear();
    let report = report?;
    if is_json {
        say!("{}", report.json());
    } else {
        say!("\n{}", report.memory_text());
    }
    Ok(report.html())
}
