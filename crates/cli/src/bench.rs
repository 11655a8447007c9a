//! `lazuli bench`: how fast it is, beside a peer and beside the machine's own limit.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use clap::{Args, ValueEnum};
use lazuli_bench::bare::{self, Bare};
use lazuli_bench::growth::Axis;
use lazuli_bench::{Options, Workload};

use crate::runtime;

/// Measure how fast it is.
///
/// Starts servers of its own with throw-away data: this one, Azurite if it is named, and bare servers on the same HTTP
/// stack that do nothing but answer, or append with a shared sync. They take turns in short slices, and the ratios of
/// the same round are what counts, since absolute times vary.
#[derive(Args)]
#[command(after_help = "\
Examples:
  lazuli bench                                      every workload, a few minutes
  lazuli bench --workload get --workload insert
  lazuli bench --azurite node_modules/.bin/azurite-table --html bench.html
  lazuli bench --growth                             cost by entities, partitions and tables
  lazuli bench --growth --long                      up to ten million entities; needs 25 GB of disk

Workloads: insert insert-one upsert get mix egt page scan full hot")]
pub struct Bench {
    /// Only this workload; may be repeated
    #[arg(long, value_name = "NAME", value_parser = workload)]
    workload: Vec<Workload>,

    /// Azurite's table server, to measure beside us
    #[arg(long, value_name = "PROGRAM")]
    azurite: Option<PathBuf>,

    /// Connections that send at a time
    #[arg(long, value_name = "COUNT", default_value_t = 64)]
    connections: usize,

    /// Seconds that each server gets in each round
    #[arg(long, value_name = "SECONDS", default_value_t = 3.0)]
    slice: f64,

    /// How often the servers take turns
    #[arg(long, value_name = "COUNT", default_value_t = 3)]
    rounds: usize,

    /// Entities that are there before the reading workloads start
    #[arg(long, value_name = "COUNT", default_value_t = 10_000)]
    entities: usize,

    /// Folder for the data, on the disk to be measured
    #[arg(long, value_name = "DIR")]
    location: Option<PathBuf>,

    /// Measure what operations cost as the data grows: more entities, partitions, tables
    #[arg(long, conflicts_with_all = ["workload", "azurite", "rounds", "entities"])]
    growth: bool,

    /// Only this axis of growth: entities, partitions or tables; may be repeated
    #[arg(long, value_name = "NAME", requires = "growth", value_parser = axis)]
    axis: Vec<Axis>,

    /// Grow up to ten million entities
    #[arg(long, requires = "growth")]
    long: bool,

    /// Print JSON
    #[arg(long)]
    json: bool,

    /// Write a page with charts
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,

    /// Be one of the bare servers
    #[arg(long, hide = true, value_enum)]
    bare: Option<BareArg>,
}

#[derive(Clone, Copy, ValueEnum)]
enum BareArg {
    BareRead,
    BareAppend,
}

fn workload(name: &str) -> Result<Workload, String> {
    Workload::from_name(name).ok_or_else(|| format!("there is no workload '{name}'"))
}

fn axis(name: &str) -> Result<Axis, String> {
    let found = Axis::ALL.into_iter().find(|axis| axis.to_string() == name);
    found.ok_or_else(|| format!("nothing grows by '{name}'; entities, partitions or tables do"))
}

impl Bench {
    /// Measures, and prints what it found.
    pub fn run(self) -> Result<ExitCode, String> {
        let runtime = runtime::many_threads()?;
        if let Some(kind) = self.bare {
            let kind = match kind {
                BareArg::BareRead => Bare::Read,
                BareArg::BareAppend => Bare::Append,
            };
            let location = self.location.unwrap_or_default();
            let served = runtime.block_on(bare::serve(kind, &location, |address| say!("http://{address}")));
            return served.map(|()| ExitCode::SUCCESS).map_err(|error| error.to_string());
        }
        let options = Options {
            binary: std::env::current_exe().map_err(|error| error.to_string())?,
            azurite: self.azurite,
            workloads: if self.workload.is_empty() { Workload::ALL.to_vec() } else { self.workload },
            connections: self.connections.max(1),
            slice: Duration::from_secs_f64(self.slice.clamp(0.1, 3600.0)),
            rounds: self.rounds.max(1),
            entities: self.entities.max(1),
            location: self.location,
        };
        let progress = |step: &str| tell!("{step}");
        let (text, json, html) = if self.growth {
            let axes = if self.axis.is_empty() { Axis::ALL.to_vec() } else { self.axis };
            let found = runtime.block_on(lazuli_bench::growth::run(&options, &axes, self.long, progress))?;
            (found.text(), found.json(), found.html())
        } else {
            let report = runtime.block_on(lazuli_bench::run(&options, progress))?;
            (report.text(), report.json(), report.html())
        };
        if let Some(path) = self.html {
            std::fs::write(&path, html).map_err(|error| format!("{}: {error}", path.display()))?;
        }
        if self.json {
            say!("{json}");
        } else {
            say!("{}", text.trim_end());
        }
        Ok(ExitCode::SUCCESS)
    }
}
