//! The readiness of the server: one probe of the engine, shared by all health checks.
//!
//! Invariant: a check returns within [`Limits::health_time_max`](crate::Limits::health_time_max),
//! however long the engine takes, and all concurrent checks share one call of the engine.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use lazuli_engine::{Engine, Error, Status};
use tokio::sync::watch;
use tokio::time::{Instant, timeout_at};

/// The outcome of a health check.
#[derive(Clone, Debug)]
pub enum Readiness {
    /// The engine accepts writes.
    Ready(Arc<Status>),
    /// The engine responds and accepts no writes, for this reason.
    Closed(Arc<Status>, String),
    /// The engine has failed.
    Failed(Error),
    /// The engine has not responded within this time.
    Stalled(Duration),
}

impl Readiness {
    /// The response text on the data ports.
    pub fn name(&self) -> &'static str {
        match self {
            Readiness::Ready(_) => "ok",
            Readiness::Closed(..) | Readiness::Failed(_) => "unavailable",
            Readiness::Stalled(_) => "stalled",
        }
    }

    /// Why the server is not ready; `None` if it is.
    pub fn reason(&self) -> Option<String> {
        match self {
            Readiness::Ready(_) => None,
            Readiness::Closed(_, why) => Some(format!("the server does not accept writes: {why}")),
            Readiness::Failed(error) => Some(error.to_string()),
            Readiness::Stalled(time) => Some(format!(
                "the storage engine has not responded for {} ms; check the disk or the database",
                time.as_millis()
            )),
        }
    }

    /// The status of the engine, if it responded.
    pub fn into_status(self) -> Result<Arc<Status>, String> {
        match self {
            Readiness::Ready(status) | Readiness::Closed(status, _) => Ok(status),
            Readiness::Failed(_) | Readiness::Stalled(_) => Err(self.reason().unwrap_or_default()),
        }
    }
}

/// Checks the engine; concurrent checks share one call.
pub struct Health {
    engine: Arc<dyn Engine>,
    time_max: Duration,
    probe: Mutex<Option<Probe>>,
}

type Outcome = lazuli_engine::Result<Arc<Status>>;

/// A call of the engine that has begun.
#[derive(Clone)]
struct Probe {
    deadline: Instant,
    outcome: watch::Receiver<Option<Outcome>>,
}

impl Probe {
    fn start(engine: Arc<dyn Engine>, time_max: Duration) -> Self {
        let (sender, outcome) = watch::channel(None);
        // The call runs to its end, even if no check waits for it any more: a stalled engine does not get a
        // second call.
        tokio::spawn(async move {
            let status = engine.status().await.map(Arc::new);
            sender.send_replace(Some(status));
        });
        Self { deadline: Instant::now() + time_max, outcome }
    }

    /// Has the call neither returned nor panicked?
    fn is_running(&self) -> bool {
        self.outcome.borrow().is_none() && self.outcome.has_changed().is_ok()
    }

    /// The outcome; `None` if there is none by the deadline.
    async fn wait(mut self) -> Option<Outcome> {
        match timeout_at(self.deadline, self.outcome.wait_for(Option::is_some)).await {
            Ok(Ok(outcome)) => outcome.clone(),
            Ok(Err(_)) => Some(Err(Error::Unavailable("the probe of the storage engine panicked".into()))),
            Err(_) => None,
        }
    }
}

impl Health {
    /// Checks of this engine, each of which takes at most `time_max`.
    pub fn new(engine: Arc<dyn Engine>, time_max: Duration) -> Self {
        Self { engine, time_max, probe: Mutex::default() }
    }

    /// Checks the engine, or waits for a check that is in progress.
    pub async fn check(&self) -> Readiness {
        match self.probe().wait().await {
            None => Readiness::Stalled(self.time_max),
            Some(Err(error)) => Readiness::Failed(error),
            Some(Ok(status)) => match status.poisoned.clone() {
                None => Readiness::Ready(status),
                Some(why) => Readiness::Closed(status, why),
            },
        }
    }

    fn probe(&self) -> Probe {
        let mut probe = self.probe.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(running) = probe.as_ref().filter(|probe| probe.is_running()) {
            return running.clone();
        }
        probe.insert(Probe::start(self.engine.clone(), self.time_max)).clone()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use lazuli_engine::memory::Memory;
    use lazuli_engine::{Clock, EngineFuture, Layer};
    use tokio::sync::Semaphore;

    use super::*;

    /// An engine whose status needs a permit.
    struct Gated {
        memory: Memory,
        gate: Semaphore,
        calls: AtomicUsize,
    }

    impl Layer for Gated {
        fn below(&self) -> &dyn Engine {
            &self.memory
        }

        fn status(&self) -> EngineFuture<'_, Status> {
            Box::pin(async {
                self.calls.fetch_add(1, Ordering::SeqCst);
                self.gate.acquire().await.map_err(|_| Error::Unavailable("closed".into()))?.forget();
                self.memory.status().await
            })
        }
    }

    /// A stalled engine made every health check hang, and each one left another pending call.
    #[tokio::test(start_paused = true)]
    async fn checks_of_a_stalled_engine_return_in_time_and_share_one_probe() {
        let memory = Memory::new(Clock::system());
        let engine = Arc::new(Gated { memory, gate: Semaphore::new(0), calls: AtomicUsize::new(0) });
        let time_max = Duration::from_secs(1);
        let health = Arc::new(Health::new(engine.clone(), time_max));
        let start = Instant::now();
        let checks: Vec<_> = (0..100)
            .map(|_| {
                let health = health.clone();
                tokio::spawn(async move { health.check().await })
            })
            .collect();
        for check in checks {
            assert_eq!(check.await.unwrap().name(), "stalled");
        }
        // A later check does not wait again.
        assert!(matches!(health.check().await, Readiness::Stalled(time) if time == time_max));
        assert_eq!((start.elapsed(), engine.calls.load(Ordering::SeqCst)), (time_max, 1));
        engine.gate.add_permits(2);
        // The old probe ends, and the next check starts a new one.
        while health.check().await.name() != "ok" {
            tokio::task::yield_now().await;
        }
        assert_eq!(engine.calls.load(Ordering::SeqCst), 2);
        engine.gate.close();
        assert!(matches!(health.check().await, Readiness::Failed(_)));
    }
}
