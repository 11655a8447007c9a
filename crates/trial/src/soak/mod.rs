//! Endurance: mixed work on a bounded set of data, tables that come and go, restarts and kills; nothing may grow.
//!
//! Every worker owns a partition and knows what each of its rows must be, so every read is a check. When an answer is lost,
//! the worker waits for the server to come back and reads its partition: what was under way is there wholly or not at all,
//! everything else is as acknowledged. A server that gives no answer, or 5xx, without having been ended has failed.
//!
//! All restarts are in the first half. In the second the server runs on, so that whatever grows has time to show it.

mod churn;
mod gauge;
mod worker;

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use tokio::sync::watch;

pub use gauge::{Gauge, Report};

use crate::history::prepare;
use crate::random::Random;
use crate::subject::{End, Process, Subject};
use gauge::Meter;

/// The table that the workers share.
const TABLE: &str = "soak";
const SAMPLES: u32 = 60;

/// What to do for how long.
#[derive(Clone, Debug)]
pub struct Options {
    /// The program.
    pub binary: PathBuf,
    /// Where its data goes.
    pub location: PathBuf,
    /// How long.
    pub time: Duration,
    /// Workers, each with a connection and a partition of its own.
    pub workers: usize,
    /// How often the server is restarted, by turns gently and by kill -9.
    pub restarts: u32,
    /// Where chance starts.
    pub seed: u64,
}

/// Where the server is now. The number changes with every start.
#[derive(Clone, Debug)]
struct Where {
    start: u64,
    authority: String,
}

/// What the workers share.
#[derive(Clone)]
struct Shared {
    place: watch::Receiver<Where>,
    stop: Arc<AtomicBool>,
    /// How often the server was told to end, or killed: counted before it is.
    ends: Arc<AtomicU64>,
    meter: Arc<Meter>,
}

impl Shared {
    /// An answer is missing, or tells of a failure, to somebody who knows of so many starts: fine if the server was ended since.
    fn lost(&self, start: u64, why: &str) -> Result<(), String> {
        if self.ends.load(Ordering::SeqCst) > start {
            return Ok(());
        }
        Err(format!("the server failed by itself: {why}"))
    }
}

/// Runs it. An error says what was lost, torn or wrong; the report says what grew.
pub async fn run(options: &Options, mut progress: impl FnMut(&Gauge)) -> Result<Report, String> {
    let mut process = Process::start(&options.binary, &options.location)?;
    prepare(&process, TABLE).await?;
    let (tell, place) = watch::channel(Where { start: 0, authority: process.authority() });
    let shared = Shared { place, stop: Arc::default(), ends: Arc::default(), meter: Arc::default() };
    let mut random = Random::from_seed(options.seed);
    let mut tasks = Vec::new();
    for index in 0..options.workers {
        tasks.push(tokio::spawn(worker::Worker::new(index, random.fork(), shared.clone()).run()));
    }
    tasks.push(tokio::spawn(churn::run(shared.clone())));
    let mut report = Report::default();
    let outcome = watch_over(options, &mut process, &tell, &shared, &mut report, &mut progress, || {
        tasks.iter().any(tokio::task::JoinHandle::is_finished)
    });
    let outcome = outcome.await;
    shared.stop.store(true, Ordering::Relaxed);
    for task in tasks {
        task.await.map_err(|error| error.to_string())??;
    }
    outcome?;
    process.end(End::Stop)?;
    Ok(report)
}

/// Samples and restarts until the time is over, or until a worker has found something.
async fn watch_over(
    options: &Options,
    process: &mut Process,
    tell: &watch::Sender<Where>,
    shared: &Shared,
    report: &mut Report,
    progress: &mut impl FnMut(&Gauge),
    found: impl Fn() -> bool,
) -> Result<(), String> {
    let began = Instant::now();
    let sample_every = options.time / SAMPLES;
    let restart_every = options.time / 2 / (options.restarts + 1);
    let (mut next_sample, mut next_restart) = (sample_every, restart_every);
    let mut starts = 0;
    while began.elapsed() < options.time && !found() {
        let next = next_sample.min(next_restart).min(options.time);
        tokio::time::sleep(next.saturating_sub(began.elapsed()).min(Duration::from_millis(200))).await;
        if began.elapsed() >= next_sample {
            next_sample += sample_every;
            let gauge = shared.meter.gauge(began.elapsed(), process.id(), &options.location);
            progress(&gauge);
            report.gauges.push(gauge);
        }
        if began.elapsed() >= next_restart && report.restarts < u64::from(options.restarts) {
            next_restart += restart_every;
            starts += 1;
            let end = if starts % 2 == 0 { End::Stop } else { End::Kill };
            shared.ends.store(starts, Ordering::SeqCst);
            process.restart(end).await?;
            report.restarts += 1;
            let _ = tell.send(Where { start: starts, authority: process.authority() });
        }
    }
    Ok(())
}
