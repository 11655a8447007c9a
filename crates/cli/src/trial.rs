//! `lazuli trial` and `lazuli soak`: the long forms of the reliability tests, against this very program.

use std::ops::RangeFrom;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use clap::{Args, Subcommand};
use lazuli_model::Service;
use lazuli_trial::linear::HistorySize;

use lazuli_trial::subject::Process;
use lazuli_trial::table::{history, invariant, sequence};
use lazuli_trial::{blob, queue, soak};
use tempfile::TempDir;

use crate::runtime::{self, Runtime};

/// Table that histories and invariants work on.
const TABLE: &str = "trial";

/// Compare a server with a model under random operations; check concurrent histories and invariants, also with kills.
///
/// Starts `lazuli serve` on new data, sends requests, kills it in the middle, and checks every response. A failure
/// prints the seed that repeats it.
#[derive(Args)]
#[command(
    after_help = "Examples:\n  lazuli trial sequences --count 20\n  lazuli trial histories --count 20 --kill\n  lazuli trial histories --service queue --count 3 --kill\n  lazuli trial bank --seconds 5 --kills 3"
)]
pub struct Trial {
    #[command(subcommand)]
    kind: Kind,
}

#[derive(Subcommand)]
enum Kind {
    /// Run random operations on the server and on a model of it, with restarts: every response and the final state must agree.
    #[command(after_help = "Examples:\n  lazuli trial sequences --count 5")]
    Sequences(Sequences),
    /// Run concurrent clients: the responses must be linearizable.
    ///
    /// Clients of blobs work on block blobs, an append blob, a page blob and a blob with a tag, under conditions of each kind, and
    /// on blobs with versions, with soft delete, and in different tiers.
    #[command(
        after_help = "Examples:\n  lazuli trial histories --count 5\n  lazuli trial histories --service blob --count 5 --kill"
    )]
    Histories(Histories),
    /// Transfer amounts between rows in transactions: the sum never changes.
    #[command(after_help = "Examples:\n  lazuli trial bank --seconds 1 --kills 1")]
    Bank(Invariants),
    /// Reorder rows that name each other in transactions: they always form one ring.
    #[command(after_help = "Examples:\n  lazuli trial ring --seconds 1 --kills 1")]
    Ring(Invariants),
}

#[derive(Args)]
struct DataLocation {
    /// Directory for the data [default: a temporary one]
    #[arg(long, value_name = "DIR")]
    location: Option<PathBuf>,
    /// Seed of the random numbers
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

/// The server under test.
#[derive(Args)]
struct Tried {
    /// Another engine that outlives the server: postgres://… of an empty database
    #[arg(long, value_name = "URL", conflicts_with = "location")]
    engine: Option<String>,
    /// Object store for the content of blobs: s3://…
    #[arg(long, value_name = "URL", requires = "engine")]
    content: Option<String>,
    #[command(flatten)]
    place: DataLocation,
}

#[derive(Args)]
struct Sequences {
    /// Number of sequences
    #[arg(long, default_value_t = 100)]
    count: u32,
    /// Maximum number of steps per sequence
    #[arg(long, default_value_t = 100)]
    steps: usize,
    #[command(flatten)]
    tried: Tried,
}

#[derive(Args)]
struct Histories {
    /// The service: table, queue or blob
    #[arg(long, value_name = "SERVICE", default_value = "table", value_parser = service)]
    service: Service,
    /// Number of histories
    #[arg(long, default_value_t = 100)]
    count: u64,
    /// Number of concurrent clients
    #[arg(long, default_value_t = 8)]
    clients: usize,
    /// Number of operations per client
    #[arg(long, default_value_t = 30)]
    operations: usize,
    /// Kill the server in the middle of each history
    #[arg(long)]
    kill: bool,
    #[command(flatten)]
    tried: Tried,
}

#[derive(Args)]
struct Invariants {
    /// Duration of the run
    #[arg(long, default_value_t = 30)]
    seconds: u64,
    /// Number of writers; there are as many readers
    #[arg(long, default_value_t = 8)]
    writers: usize,
    /// Number of times the server is killed during the run
    #[arg(long, default_value_t = 5)]
    kills: usize,
    #[command(flatten)]
    tried: Tried,
}

/// Mixed work on tables, queues and blobs for a long time, with restarts and kills: nothing may be lost, nothing may grow.
///
/// Blobs are of all three types, with tags, versions, soft delete and tiers.
#[derive(Args)]
#[command(
    after_help = "Examples:\n  lazuli soak --minutes 0.2\n  lazuli soak --minutes 60 --restarts 30 --location /var/tmp/soak"
)]
pub struct Soak {
    /// Duration
    #[arg(long, default_value_t = 10.0, value_parser = minutes)]
    minutes: f64,
    /// Workers on tables, each with its own connection and partition; a quarter as many work on queues and blobs
    #[arg(long, default_value_t = 16)]
    workers: usize,
    /// Restarts during the run, alternating between clean stops and kill -9
    #[arg(long, default_value_t = 10)]
    restarts: u32,
    #[command(flatten)]
    place: DataLocation,
}

fn minutes(text: &str) -> Result<f64, String> {
    let minutes: f64 = text.parse().map_err(|_| "not a number".to_owned())?;
    if (0.05..=100_000.0).contains(&minutes) { Ok(minutes) } else { Err("from 0.05 to 100000".into()) }
}

impl Trial {
    /// Runs it.
    pub fn run(self) -> Result<ExitCode, String> {
        let runtime = runtime::many_threads()?;
        match self.kind {
            Kind::Sequences(options) => options.run(&runtime),
            Kind::Histories(options) => runtime.block_on(options.run()),
            Kind::Bank(options) => runtime.block_on(options.run(invariant::Bank)),
            Kind::Ring(options) => runtime.block_on(options.run(invariant::Ring)),
        }
    }
}

impl Sequences {
    fn run(self, runtime: &Runtime) -> Result<ExitCode, String> {
        let (mut process, _folder) = start(&self.tried)?;
        let outcome =
            sequence::search(runtime.tokio(), &mut process, self.count, self.steps, self.tried.place.seed);
        let met = outcome.map_err(|found| format!("the server and the model disagree: {found}"))?;
        say!(
            "{} sequences of up to {} steps, {} of {} situations: all responses agreed",
            self.count,
            self.steps,
            sequence::situations().len() - met.missing().len(),
            sequence::situations().len()
        );
        Ok(ExitCode::SUCCESS)
    }
}

fn service(name: &str) -> Result<Service, String> {
    let found = Service::ALL.into_iter().find(|service| service.label() == name);
    found.ok_or_else(|| "expected table, queue or blob".to_owned())
}

impl Histories {
    async fn run(self) -> Result<ExitCode, String> {
        let (mut process, _folder) = start(&self.tried)?;
        let shape = HistorySize { clients: self.clients, operations: self.operations, kill: self.kill };
        let seeds = Seeds { first: self.tried.place.seed, wanted: self.count };
        match self.service {
            Service::Table => table_histories(&mut process, seeds, shape).await?,
            Service::Queue => queue_histories(&mut process, seeds, shape).await?,
            Service::Blob => blob_histories(&mut process, seeds, shape).await?,
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// The seeds of the histories to record.
#[derive(Clone, Copy)]
struct Seeds {
    first: u64,
    wanted: u64,
}

impl Seeds {
    /// A few short histories may lack a rare event by chance. Further ones are recorded until all events have happened, up
    /// to this many times the wanted number.
    const TIMES_MAX: u64 = 10;

    fn all(self) -> RangeFrom<u64> {
        self.first..
    }

    /// Does this seed end the run? `shown` tells whether every kind of event has happened so far.
    fn is_last(self, seed: u64, shown: Result<(), String>) -> Result<bool, String> {
        let recorded = seed - self.first + 1;
        match shown {
            _ if recorded < self.wanted => Ok(false),
            Ok(()) => Ok(true),
            Err(missing) if recorded >= self.wanted.saturating_mul(Self::TIMES_MAX) => Err(missing),
            Err(_) => Ok(false),
        }
    }
}

async fn table_histories(process: &mut Process, seeds: Seeds, shape: HistorySize) -> Result<(), String> {
    history::prepare(process, TABLE).await?;
    let (mut count, mut total) = (0, history::Seen::default());
    for seed in seeds.all() {
        total.add(history::run(process, TABLE, seed, shape).await?);
        count += 1;
        if seeds.is_last(seed, total.shows_something(shape))? {
            break;
        }
    }
    let history::Seen { responses, transactions, unknown } = total;
    say!(
        "{count} histories, {responses} responses, {transactions} transactions, {unknown} unknown outcomes: all are linearizable"
    );
    Ok(())
}

async fn queue_histories(process: &mut Process, seeds: Seeds, shape: HistorySize) -> Result<(), String> {
    let (mut count, mut total) = (0, queue::Seen::default());
    for seed in seeds.all() {
        total.add(queue::run(process, seed, shape).await?);
        count += 1;
        if seeds.is_last(seed, total.shows_something(shape))? {
            break;
        }
    }
    let queue::Seen { put, received, deleted, moved, expiring, cleared, unknown } = total;
    say!(
        "{count} histories, {put} messages put, {expiring} of them for a few seconds, {received} received, {moved} of them after a move, {deleted} deleted, {cleared} times cleared, {unknown} unknown outcomes: none lost, none held twice"
    );
    Ok(())
}

async fn blob_histories(process: &mut Process, seeds: Seeds, shape: HistorySize) -> Result<(), String> {
    let (mut count, mut total) = (0, blob::Seen::default());
    for seed in seeds.all() {
        total.add(blob::run(process, seed, shape).await?);
        count += 1;
        if seeds.is_last(seed, total.shows_something(shape))? {
            break;
        }
    }
    let blob::Seen { responses, conditional, leases, appends, page_writes, tagged, found, .. } = total;
    let blob::Seen { past, restored, moved, protected, keyed, unknown, .. } = total;
    say!(
        "{count} histories, {responses} responses, {conditional} conditional writes, {leases} leases, {appends} appends at a position, {page_writes} page writes by sequence number, {tagged} requests by tag, {found} found by tag, {past} reads of versions and snapshots, {restored} restorations, {moved} moves between tiers, {protected} holds and policies, {keyed} reads with a key, {unknown} unknown outcomes: all are linearizable"
    );
    Ok(())
}

impl Invariants {
    async fn run<I: invariant::Invariant>(self, invariant: I) -> Result<ExitCode, String> {
        let (mut process, _folder) = start(&self.tried)?;
        history::prepare(&process, TABLE).await?;
        let time = Duration::from_secs(self.seconds);
        let effort = invariant::Effort { writers: self.writers, time, kills: self.kills };
        let done = invariant::run(&mut process, invariant, TABLE, self.tried.place.seed, effort).await?;
        say!(
            "{}: {} transactions applied, {} rejected because of a concurrent one, {} reads, {} kills: the invariant always held",
            I::NAME,
            done.applied,
            done.rejected,
            done.reads,
            self.kills
        );
        Ok(ExitCode::SUCCESS)
    }
}

impl Soak {
    /// Runs it.
    pub fn run(self) -> Result<ExitCode, String> {
        let (location, _folder) = location(&self.place)?;
        let options = soak::Options {
            binary: binary()?,
            location,
            time: Duration::from_secs_f64(self.minutes * 60.0),
            workers: self.workers,
            restarts: self.restarts,
            seed: self.place.seed,
        };
        let report = runtime::many_threads()?.block_on(soak::run(&options, |gauge| {
            tell!(
                "{:6.1} min, {} requests, p99 {} µs, {} MB of memory, {} handles, {} MB on disk",
                gauge.at.as_secs_f64() / 60.0,
                gauge.requests,
                gauge.p99,
                gauge.memory >> 20,
                gauge.handles,
                gauge.disk >> 20
            );
        }));
        let report = report.map_err(|error| format!("seed {}: {error}", self.place.seed))?;
        say!("{}", report.text().trim_end());
        if !report.tells_growth() {
            say!("no data lost, no wrong responses; too short to detect growth: run at least 10 minutes");
            return Ok(ExitCode::SUCCESS);
        }
        let growth = report.growth();
        if growth.is_empty() {
            say!("no data lost, no wrong responses, no growth");
            return Ok(ExitCode::SUCCESS);
        }
        Err(growth.join("; "))
    }
}

fn start(tried: &Tried) -> Result<(Process, Option<TempDir>), String> {
    if let Some(engine) = &tried.engine {
        let arguments = ["serve", "--table-port", "0", "--admin-port", "0", "--engine", engine];
        let mut arguments = arguments.map(str::to_owned).to_vec();
        arguments.extend(tried.content.iter().flat_map(|content| ["--content".to_owned(), content.clone()]));
        return Ok((Process::start_with(&binary()?, arguments)?, None));
    }
    let (location, folder) = location(&tried.place)?;
    Ok((Process::start(&binary()?, &location)?, folder))
}

fn location(place: &DataLocation) -> Result<(PathBuf, Option<TempDir>), String> {
    match &place.location {
        Some(path) => Ok((path.clone(), None)),
        None => {
            let folder = tempfile::tempdir()
                .map_err(|error| format!("failed to create a directory for the data: {error}"))?;
            Ok((folder.path().join("data"), Some(folder)))
        }
    }
}

fn binary() -> Result<PathBuf, String> {
    std::env::current_exe().map(|path| Path::new(&path).to_owned()).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::Seeds;

    #[test]
    fn few_histories_that_lack_an_event_are_continued() {
        let seeds = Seeds { first: 7, wanted: 2 };
        let missing = || Err("nothing was appended".to_owned());
        assert_eq!(seeds.is_last(7, Ok(())), Ok(false), "fewer than wanted");
        assert_eq!(seeds.is_last(8, Ok(())), Ok(true));
        assert_eq!(seeds.is_last(8, missing()), Ok(false), "the event may be in the next one");
        assert_eq!(seeds.is_last(25, missing()), Ok(false));
        assert_eq!(seeds.is_last(26, missing()), missing().map(|()| true), "twenty without the event");
    }
}
