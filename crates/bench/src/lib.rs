//! Measures a table server beside its peers and beside the machine's own limit, in one run.
//!
//! Absolute times vary from machine to machine and from minute to minute; ratios within interleaved rounds do not, so
//! they are what is reported first. Beside us stand Azurite, if it is there, and two bare servers on the same HTTP stack:
//! one returns a fixed body (the limit for reads), one appends the body with a shared sync (the limit for durable writes).

pub mod bare;
pub mod client;
pub mod growth;
mod histogram;
mod load;
mod process;
mod report;
pub mod request;
mod workload;

use std::path::PathBuf;
use std::time::Duration;

pub use report::{Report, Row};
pub use workload::Workload;

use process::{Kind, Process};

/// What to measure.
#[derive(Clone, Debug)]
pub struct Options {
    /// This program, which also is the bare servers.
    pub binary: PathBuf,
    /// Azurite's table server, to measure beside us.
    pub azurite: Option<PathBuf>,
    /// Which workloads.
    pub workloads: Vec<Workload>,
    /// Connections that send at a time.
    pub connections: usize,
    /// How long each target gets in each round.
    pub slice: Duration,
    /// How often the targets take turns.
    pub rounds: usize,
    /// Entities that are there before the reading workloads start.
    pub entities: usize,
    /// Where the data of the durable servers goes; a temporary folder if not said.
    pub location: Option<PathBuf>,
}

impl Options {
    /// A folder for the data, gone at the end.
    fn folder(&self) -> Result<tempfile::TempDir, String> {
        let folder = match &self.location {
            Some(path) => tempfile::tempdir_in(path),
            None => tempfile::tempdir(),
        };
        folder.map_err(|error| format!("no folder for the data: {error}"))
    }
}

/// Runs the benchmark. `progress` is told what is being done.
pub async fn run(options: &Options, mut progress: impl FnMut(&str)) -> Result<Report, String> {
    let folder = options.folder()?;
    let mut report = Report::new(options);
    for &workload in &options.workloads {
        progress(&format!("{}: starting the servers", workload.name()));
        let mut targets = Vec::new();
        for kind in workload.targets(options.azurite.is_some()) {
            let data = folder.path().join(format!("{}-{}", workload.name(), kind.name()));
            let process = Process::start(kind, options, &data).await?;
            if kind.speaks_tables() {
                progress(&format!("{}: loading {}", workload.name(), kind.name()));
                load::prepare(&process, workload, options).await?;
                if !process.rests().await {
                    progress(&format!("{}: {} does not come to rest", workload.name(), kind.name()));
                }
            }
            targets.push(process);
        }
        for round in 1..=options.rounds {
            for target in &targets {
                progress(&format!(
                    "{}: round {round} of {}, {}",
                    workload.name(),
                    options.rounds,
                    target.kind.name()
                ));
                let sample = load::run(target, workload, options).await?;
                report.add(workload, target.kind, sample);
            }
        }
    }
    Ok(report)
}

/// The targets by name, in the order of a report.
pub const TARGETS: [Kind; 4] = [Kind::Lazuli, Kind::Azurite, Kind::BareRead, Kind::BareAppend];
