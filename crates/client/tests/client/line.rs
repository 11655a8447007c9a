//! A scripted transport in front of an embedded service, and a clock that advances when everything waits.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use lazuli_client::transport::TransportResult;
use lazuli_client::{
    BoxFuture, DateTime, Environment, ReadFrom, RetryOptions, System, Table, TableService, Transport,
    TransportError,
};
use lazuli_embedded::Embedded;
use tokio::time::Instant;

/// The fate of a request.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Fate {
    /// It succeeds.
    Pass,
    /// No connection can be established.
    NoConnection,
    /// It is lost in transit.
    LoseRequest,
    /// It is applied, and the response is lost.
    LoseResponse,
    /// There is never a response.
    Hang,
    /// It is applied, and there is never a response.
    HangAfter,
    /// A proxy or the service responds with this status and no body.
    Status(u16),
    /// The service is busy and states a number of seconds.
    Busy(u64),
}

/// A service behind an unreliable connection.
#[derive(Clone)]
pub(crate) struct Line {
    embedded: Embedded,
    script: Arc<Mutex<VecDeque<Fate>>>,
    /// Method and host of every request.
    seen: Arc<Mutex<Vec<String>>>,
}

impl Transport for Line {
    fn send(&self, request: http::Request<Bytes>) -> BoxFuture<'_, TransportResult> {
        let fate = self.script.lock().unwrap().pop_front().unwrap_or(Fate::Pass);
        let secondary = if request.uri().path().contains("-secondary") { " secondary" } else { "" };
        self.seen.lock().unwrap().push(format!("{}{secondary}", request.method()));
        Box::pin(async move {
            match fate {
                Fate::Pass => self.embedded.send(request).await,
                Fate::NoConnection => Err(TransportError::not_sent("refused")),
                Fate::LoseRequest => Err(TransportError::lost("reset")),
                Fate::LoseResponse => {
                    self.embedded.send(request).await?;
                    Err(TransportError::lost("reset"))
                }
                Fate::Hang => std::future::pending().await,
                Fate::HangAfter => {
                    self.embedded.send(request).await?;
                    std::future::pending().await
                }
                Fate::Status(status) => {
                    Ok(http::Response::builder().status(status).body(Bytes::new()).unwrap())
                }
                Fate::Busy(seconds) => {
                    let response = http::Response::builder().status(503).header("retry-after", seconds);
                    let body =
                        "{\"odata.error\":{\"code\":\"ServerBusy\",\"message\":{\"value\":\"Busy.\"}}}";
                    Ok(response.body(body.into()).unwrap())
                }
            }
        })
    }
}

/// The runtime's own time, which the tests pause: it advances to the next timer when nothing else can run.
pub(crate) struct Jumping {
    pub(crate) start: Instant,
    pub(crate) sleeps: Arc<Mutex<Vec<Duration>>>,
}

impl Environment for Jumping {
    fn now(&self) -> DateTime {
        System::default().now()
    }

    fn elapsed(&self) -> Duration {
        self.start.elapsed()
    }

    #[allow(
        clippy::disallowed_methods,
        reason = "time is paused in these tests, so this does not really wait"
    )]
    fn sleep(&self, time: Duration) -> BoxFuture<'_, ()> {
        self.sleeps.lock().unwrap().push(time);
        Box::pin(tokio::time::sleep(time))
    }

    fn random(&self) -> u64 {
        0
    }
}

/// A table behind such a connection.
pub(crate) struct Stage {
    pub(crate) table: Table,
    pub(crate) line: Line,
    pub(crate) sleeps: Arc<Mutex<Vec<Duration>>>,
}

impl Stage {
    pub(crate) async fn new(options: RetryOptions) -> Self {
        Self::reading(options, ReadFrom::Primary).await
    }

    pub(crate) async fn reading(options: RetryOptions, read_from: ReadFrom) -> Self {
        let line =
            Line { embedded: Embedded::memory().unwrap(), script: Arc::default(), seen: Arc::default() };
        let sleeps = Arc::default();
        let service = TableService::builder(lazuli_embedded::account())
            .transport(line.clone())
            .environment(Jumping { start: Instant::now(), sleeps: Arc::clone(&sleeps) })
            .retry(options)
            .read_from(read_from)
            .build()
            .unwrap();
        let table = service.create_table("People").await.unwrap();
        let stage = Self { table, line, sleeps };
        stage.script(&[]);
        stage
    }

    /// Sets the fates of the next requests; later ones succeed.
    pub(crate) fn script(&self, fates: &[Fate]) {
        *self.line.script.lock().unwrap() = fates.iter().copied().collect();
        self.line.seen.lock().unwrap().clear();
        self.sleeps.lock().unwrap().clear();
    }

    pub(crate) fn seen(&self) -> Vec<String> {
        self.line.seen.lock().unwrap().clone()
    }

    /// The delays between attempts; timeouts of attempts do not count.
    pub(crate) fn waits(&self) -> Vec<u64> {
        let longest = RetryOptions::default().delay_max;
        let sleeps = self.sleeps.lock().unwrap();
        sleeps.iter().filter(|time| **time <= longest).map(|time| time.as_millis() as u64).collect()
    }
}

/// Runs a test in paused time.
pub(crate) fn run<F: Future<Output = ()>>(test: F) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build();
    runtime.unwrap().block_on(test);
}
