//! Runs work on many sessions: for a measured slice of time, or a fixed number of times to load data.

use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use lazuli_model::Service;
use lazuli_server::clock::Stopwatch;

use crate::contestant::Step;
use crate::histogram::Histogram;
use crate::process::Process;
use crate::session::Session;

/// Connections that load data.
const LOADERS: u64 = 64;

/// The measurements of one slice of time.
#[derive(Clone, Debug)]
pub struct Sample {
    /// Operations, in the workload's own unit.
    pub operations: u64,
    /// How long it took.
    pub seconds: f64,
    /// CPU time of the server.
    pub cpu_seconds: f64,
    /// Resident memory of the server at the end.
    pub memory_bytes: u64,
    /// Latencies of requests.
    pub latency: Histogram,
}

/// Repeats `step` on all sessions until the slice is over, or until one session has nothing left to do.
pub async fn measure<F>(
    process: &Process,
    sessions: Vec<Session>,
    slice: Duration,
    step: impl Fn(Session) -> F + Clone + Send + 'static,
) -> Result<Sample, String>
where
    F: Future<Output = Result<(Session, Step), String>> + Send,
{
    let is_over = Arc::new(AtomicBool::new(false));
    let before = process.usage();
    let watch = Stopwatch::start();
    let mut tasks = Vec::new();
    for mut session in sessions {
        let (step, is_over) = (step.clone(), is_over.clone());
        tasks.push(tokio::spawn(async move {
            let mut operations = 0;
            while watch.elapsed() < slice && !is_over.load(Ordering::Relaxed) {
                let done;
                (session, done) = step(session).await?;
                match done {
                    Step::Done(count) => operations += count,
                    Step::Exhausted => is_over.store(true, Ordering::Relaxed),
                }
            }
            Ok::<_, String>((operations, session.latency))
        }));
    }
    let (mut operations, mut latency) = (0, Histogram::default());
    for task in tasks {
        let (done, recorded) = task.await.map_err(|error| error.to_string())??;
        operations += done;
        latency.merge(&recorded);
    }
    let seconds = watch.elapsed().as_secs_f64();
    let after = process.usage();
    let cpu_seconds = after.cpu_seconds - before.cpu_seconds;
    Ok(Sample { operations, seconds, cpu_seconds, memory_bytes: after.memory_bytes, latency })
}

/// Calls `one` with every number below `count`, on several concurrent sessions.
pub async fn in_parallel<F>(
    process: &Process,
    service: Service,
    count: u64,
    one: impl Fn(Session, u64) -> F + Clone + Send + 'static,
) -> Result<(), String>
where
    F: Future<Output = Result<Session, String>> + Send,
{
    let next = Arc::new(AtomicU64::new(0));
    let mut tasks = Vec::new();
    for mut session in process.sessions(service, LOADERS.min(count) as usize).await? {
        let (next, one) = (next.clone(), one.clone());
        tasks.push(tokio::spawn(async move {
            loop {
                let number = next.fetch_add(1, Ordering::Relaxed);
                if number >= count {
                    return Ok::<_, String>(());
                }
                session = one(session, number).await.map_err(|error| format!("loading: {error}"))?;
            }
        }));
    }
    for task in tasks {
        task.await.map_err(|error| error.to_string())??;
    }
    Ok(())
}
