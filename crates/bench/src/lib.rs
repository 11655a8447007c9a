//! Compares a server with its peers and with the limits of the machine, in one run.
//!
//! Absolute times vary from machine to machine and from minute to minute; ratios within alternating rounds vary
//! much less, so the report puts them first. A workload runs on our server and on other contestants: Azurite
//! and nginx on request, bare servers on the same HTTP stack that only send a fixed body or append the request
//! body, plain files, or our own server with more or less data.
//!
//! `table`, `queue` and `blob` hold the workloads of each service. Everything else is shared.

pub mod bare;
mod blob;
mod contestant;
mod file;
mod histogram;
mod load;
mod nginx;
mod page;
mod process;
pub mod queue;
mod report;
pub mod session;
pub mod table;
mod workload;

use std::path::PathBuf;
use std::time::Duration;

pub use report::{BenchReport, Ratio, ReportRow, heading};
pub use workload::Workload;

use contestant::Contestant;

/// The settings of a run.
#[derive(Clone, Debug)]
pub struct Options {
    /// This program, which also contains the bare servers.
    pub binary: PathBuf,
    /// The `azurite` program, to compare with.
    pub azurite: Option<PathBuf>,
    /// Another build of this program, to compare with.
    pub against: Option<PathBuf>,
    /// The `nginx` program, to compare with in workloads that read blobs.
    pub nginx: Option<PathBuf>,
    /// The workloads.
    pub workloads: Vec<Workload>,
    /// Number of concurrent connections.
    pub connections: usize,
    /// Time for which each server is measured in each round.
    pub slice: Duration,
    /// Number of rounds. In each round, every server is measured once.
    pub rounds: usize,
    /// Number of entities or blobs that are loaded before the reading workloads start.
    pub entities: usize,
    /// Number of messages or blobs in the workloads that compare a large population with a small one.
    pub deep: u64,
    /// Number of messages that are loaded before each slice of the workloads that consume them.
    pub stock: u64,
    /// Size of the large blob that is read in ranges.
    pub blob_mib: u64,
    /// Memory for the caches of our server.
    pub cache_mib: u64,
    /// Directory for the data of the durable servers; a temporary directory by default.
    pub location: Option<PathBuf>,
}

impl Options {
    /// Maximum memory of our server after the loads: a quarter more than its caches, plus 64 MB.
    pub(crate) fn memory_bytes_max(&self) -> u64 {
        const MIB: u64 = 1024 * 1024;
        self.cache_mib * MIB * 5 / 4 + 64_000_000
    }

    /// A directory for the data, deleted at the end.
    fn folder(&self) -> Result<tempfile::TempDir, String> {
        let folder = match &self.location {
            Some(path) => tempfile::tempdir_in(path),
            None => tempfile::tempdir(),
        };
        folder.map_err(|error| format!("cannot create a directory for the data: {error}"))
    }
}

/// Progress of a run.
pub enum RunEvent<'a> {
    /// The next step begins, or the current one reports something.
    Step {
        /// A description of the step.
        text: &'a str,
        /// Steps that are done.
        done: usize,
        /// Number of steps in the whole run.
        all: usize,
    },
    /// A workload is finished: its rows and ratios as text.
    Finished(&'a str),
}

/// Runs the benchmark.
pub async fn run(
    options: &Options,
    mut report_event: impl FnMut(RunEvent<'_>),
) -> Result<BenchReport, String> {
    let folder = options.folder()?;
    let mut report = BenchReport::new(options);
    let plans = options.workloads.iter().map(|workload| workload.plans(options).len());
    let (mut done, all) = (0, plans.sum::<usize>() * (1 + options.rounds));
    for &workload in &options.workloads {
        let mut step = |text: String, done: usize| {
            report_event(RunEvent::Step { text: &format!("{}: {text}", workload.name()), done, all });
        };
        let mut contestants = Vec::new();
        for plan in workload.plans(options) {
            step(format!("preparing {}", plan.label), done);
            let data = folder.path().join(format!("{}-{}", workload.name(), contestants.len()));
            let contestant = Contestant::start(plan, workload, options, &data).await?;
            contestant.refill().await?;
            if !contestant.rests().await {
                let text =
                    format!("{} does not become idle; its background work is measured too", plan.label);
                step(text, done);
            }
            contestants.push(contestant);
            done += 1;
        }
        for round in 1..=options.rounds {
            for contestant in &contestants {
                step(format!("round {round} of {}, {}", options.rounds, contestant.plan.label), done);
                if round > 1 {
                    contestant.refill().await?;
                }
                report.add(workload, contestant.plan, contestant.measure(options).await?);
                done += 1;
            }
        }
        drop(contestants);
        report_event(RunEvent::Finished(&report.section(workload)));
    }
    Ok(report)
}
