//! Endurance: mixed work on bounded data, tables that are created and deleted, restarts and kills; nothing may
//! grow.
//!
//! Every worker owns a partition, a queue or a container and knows its contents, so every read is a check. When
//! a response is lost, the worker waits for the server to restart, and checks: the operation in progress was
//! applied completely or not at all, everything else is as acknowledged. A server that gives no response, or
//! 5xx, without having been stopped has failed.
//!
//! All restarts are in the first half. In the second half the server keeps running, so that growth becomes
//! visible.

mod events;
mod gauge;

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use lazuli_model::Service;
use lazuli_probe::{Request, Response};
use tokio::sync::watch;

pub use gauge::{Gauge, SoakReport};

use crate::caller::{Lost, TrialCaller};
use crate::random::Random;
use crate::subject::{End, Process, Subject};
use crate::{blob, queue, table};
use events::EventsWorker;
use gauge::Meter;

/// How long the server may be down.
const AWAY_MAX: Duration = Duration::from_secs(60);
/// Measurements in a soak.
const SAMPLES: u32 = 60;

/// The kind and length of the work.
#[derive(Clone, Debug)]
pub struct Options {
    /// The program.
    pub binary: PathBuf,
    /// Where its data goes.
    pub location: PathBuf,
    /// How long.
    pub time: Duration,
    /// Number of workers, each with its own connection and partition.
    pub workers: usize,
    /// Number of restarts, alternately by a clean stop and by kill -9.
    pub restarts: u32,
    /// Where chance starts.
    pub seed: u64,
}

/// The current addresses of the server. The number changes with every start.
#[derive(Clone, Debug)]
pub(crate) struct Where {
    pub(crate) start: u64,
    /// In the order of [`Service::ALL`].
    authorities: Vec<String>,
}

impl Where {
    fn of(process: &Process, start: u64) -> Self {
        Self { start, authorities: Service::ALL.map(|service| process.authority(service)).to_vec() }
    }

    /// Where a service listens.
    pub(crate) fn authority(&self, service: Service) -> &str {
        let index = Service::ALL.iter().position(|other| *other == service).unwrap_or_default();
        &self.authorities[index]
    }
}

/// The state that the workers share.
#[derive(Clone)]
pub(crate) struct Shared {
    pub(crate) place: watch::Receiver<Where>,
    pub(crate) stop: Arc<AtomicBool>,
    /// Number of stops and kills of the server, incremented before each of them.
    ends: Arc<AtomicU64>,
    pub(crate) meter: Arc<Meter>,
}

impl Shared {
    /// Handles a missing response, or one that reports a server failure. This is correct if the server was
    /// stopped since this start.
    pub(crate) fn lost(&self, start: u64, why: &str) -> Result<(), String> {
        if self.ends.load(Ordering::SeqCst) > start {
            return Ok(());
        }
        Err(format!("the server stopped unexpectedly: {why}"))
    }
}

/// A connection of a worker that survives restarts of the server, and the number of the start that it knows.
pub(crate) struct Link {
    service: Service,
    pub(crate) caller: TrialCaller,
    shared: Shared,
    start: u64,
}

impl Link {
    pub(crate) fn new(service: Service, shared: Shared) -> Self {
        let place = shared.place.borrow().clone();
        let caller = TrialCaller::new(service, place.authority(service));
        Self { service, caller, shared, start: place.start }
    }

    /// Is the soak over?
    pub(crate) fn is_over(&self) -> bool {
        self.shared.stop.load(Ordering::Relaxed)
    }

    /// Counts compared values.
    pub(crate) fn checked(&self, count: usize) {
        self.shared.meter.checked(count);
    }

    /// Sends a request. `None` if the server was stopped or killed in the meantime: the outcome is unknown, and
    /// the server has been restarted.
    pub(crate) async fn send(&mut self, request: Request) -> Result<Option<Response>, String> {
        let began = Instant::now();
        let sent = self.caller.send(request).await;
        self.received(sent, began).await
    }

    /// Visits a page of the website of an account. `None` as for a request.
    pub(crate) async fn visit(&mut self, account: &str, page: &str) -> Result<Option<Response>, String> {
        let began = Instant::now();
        let sent = self.caller.visit(account, page).await;
        self.received(sent, began).await
    }

    async fn received(
        &mut self,
        sent: Result<Response, Lost>,
        began: Instant,
    ) -> Result<Option<Response>, String> {
        let why = match sent {
            Ok(response) if response.status < 500 => {
                self.shared.meter.record_response(began.elapsed());
                return Ok(Some(response));
            }
            Ok(response) => response.text(),
            Err(lost) => lost.into(),
        };
        self.shared.lost(self.start, &why)?;
        let start = self.start;
        let back = tokio::time::timeout(AWAY_MAX, self.shared.place.wait_for(|place| place.start > start));
        let place = match back.await {
            Ok(Ok(place)) => place.clone(),
            Ok(Err(_)) => return Err("the soak ended while the server was down".into()),
            Err(_) => return Err("the server did not come back".into()),
        };
        self.start = place.start;
        self.caller.moved(place.authority(self.service));
        Ok(None)
    }
}

/// Runs the soak. An error describes lost, torn or wrong data; the report lists the measurements that grew.
pub async fn run(options: &Options, mut progress: impl FnMut(&Gauge)) -> Result<SoakReport, String> {
    let mut process = Process::start(&options.binary, &options.location)?;
    table::history::prepare(&process, table::soak::TABLE).await?;
    let (tell, place) = watch::channel(Where::of(&process, 0));
    let shared = Shared { place, stop: Arc::default(), ends: Arc::default(), meter: Arc::default() };
    let mut random = Random::from_seed(options.seed);
    let mut tasks = Vec::new();
    for index in 0..options.workers {
        tasks.push(tokio::spawn(table::soak::Worker::new(index, random.fork(), shared.clone()).run()));
    }
    tasks.push(tokio::spawn(table::soak::churn(shared.clone())));
    tasks.push(tokio::spawn(EventsWorker::new(shared.clone()).run()));
    tasks.push(tokio::spawn(blob::soak::WebsiteWorker::new(random.fork(), shared.clone()).run()));
    // A quarter as many workers each on queues and blobs.
    for index in 0..options.workers.div_ceil(4) {
        let (first, second) = (random.fork(), random.fork());
        tasks.push(tokio::spawn(queue::soak::Worker::new(index, first, shared.clone()).run()));
        tasks.push(tokio::spawn(blob::soak::Worker::new(index, second, shared.clone()).run()));
    }
    let mut report = SoakReport::default();
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

/// Takes samples and restarts the server until the time is over, or until a worker has found an error.
async fn watch_over(
    options: &Options,
    process: &mut Process,
    tell: &watch::Sender<Where>,
    shared: &Shared,
    report: &mut SoakReport,
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
            let _ = tell.send(Where::of(process, starts));
        }
    }
    Ok(())
}
