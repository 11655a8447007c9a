//! Facts collected about a request while it is served: for the log, for the metrics, and for clients that
//! request an explanation.
//!
//! Reads no clock and allocates no memory unless the request asks to be explained.

use std::time::Duration;

use lazuli_model::table::{Operation, Outcome};
use lazuli_model::{Class, ErrorCode, Failure, OperationKind, ReadCost, Service};
use lazuli_protocol::auth::bearer::Identity;
use lazuli_protocol::{Address, Head, Response};
use lazuli_protocol::{queue, table};

use crate::clock::Stopwatch;
use crate::metrics::CompletedRequest;

/// The header that requests an explanation of the query plan.
const EXPLAIN: &str = "x-lazuli-explain";

/// Facts collected about a request while it is served.
#[derive(Default)]
pub struct Note {
    /// Its operation, if known.
    pub kind: OperationKind,
    /// The cost of reading, if it reads entities.
    pub effort: Option<ReadCost>,
    /// Number of entities found.
    pub rows_returned: usize,
    /// The account has logs or metrics enabled.
    pub records: bool,
    /// The identity in a verified bearer token, if the log format includes it.
    pub identity: Option<Box<Identity>>,
    /// Bytes of the body that were read.
    pub body_bytes: usize,
    /// Time to read the body, if the request is logged or measured.
    pub body_time: Duration,
    /// The client requested an explanation.
    explains: bool,
    encode_time: Duration,
}

impl Note {
    /// The facts about a request of which only the head is known.
    pub fn new(head: &Head<'_>) -> Self {
        Self { explains: head.get(EXPLAIN).is_some_and(|value| value == "1"), ..Self::default() }
    }

    /// Records the operation of a request that was rejected before its operation was known. This parses the
    /// path again, only to name the metric.
    pub fn name(&mut self, service: Service, head: &Head<'_>, address: &Address<'_>) {
        if self.kind == OperationKind::Unknown {
            self.kind = match service {
                Service::Table => table::kind::named(head, address),
                Service::Queue => queue::kind::named(head, address),
                Service::Blob => OperationKind::Unknown,
            };
        }
    }

    /// All that is counted.
    pub fn completed(&self, response: &Response, time: Duration) -> CompletedRequest {
        CompletedRequest {
            kind: self.kind,
            error: response.error,
            effort: self.effort,
            rows_returned: self.rows_returned,
            time,
        }
    }

    /// Records the operation that is about to start.
    pub fn begin(&mut self, operation: &Operation) -> Option<Stopwatch> {
        self.kind = operation.kind();
        self.explains.then(Stopwatch::start)
    }

    /// Records the cost of reading. `watch` is the result of [`Note::begin`].
    pub fn observe(&mut self, outcome: Result<&Outcome, ErrorCode>, watch: Option<Stopwatch>) {
        let point = |rows_read| ReadCost {
            class: Class::Point,
            ranges: 1,
            rows_read,
            plan_time: Duration::ZERO,
            scan_time: watch.map_or(Duration::ZERO, |watch| watch.elapsed()),
        };
        match outcome {
            Ok(Outcome::Page(page)) => {
                self.effort = Some(page.effort);
                self.rows_returned = page.rows.len();
            }
            Ok(Outcome::Entity(_)) => {
                self.effort = Some(point(1));
                self.rows_returned = 1;
            }
            Err(ErrorCode::ResourceNotFound) if self.kind == OperationKind::QueryEntity => {
                self.effort = Some(point(0));
            }
            _ => {}
        }
    }

    /// Reads a body and records its length.
    pub async fn receive(
        &mut self,
        body: impl Future<Output = Result<Vec<u8>, Failure>>,
    ) -> Result<Vec<u8>, Failure> {
        let watch = self.records.then(Stopwatch::start);
        let received = body.await;
        self.body_bytes = received.as_ref().map_or(0, Vec::len);
        self.body_time = watch.map_or(Duration::ZERO, |watch| watch.elapsed());
        received
    }

    /// Encodes an outcome as a response and records how long that takes.
    pub async fn encode<T>(&mut self, encode: impl Future<Output = T>) -> T {
        let watch = self.explains.then(Stopwatch::start);
        let encoded = encode.await;
        self.encode_time = watch.map_or(Duration::ZERO, |watch| watch.elapsed());
        encoded
    }

    /// Adds the explanation to the response, if the client requested it.
    pub fn explain(&self, response: &mut Response) {
        let Some(effort) = self.effort.filter(|_| self.explains) else { return };
        let mut add = |name: &'static str, value: u128| {
            response.fields.push((name.into(), value.to_string().into()));
        };
        add("x-lazuli-ranges", effort.ranges as u128);
        add("x-lazuli-rows-read", effort.rows_read.into());
        add("x-lazuli-rows-returned", self.rows_returned as u128);
        add("x-lazuli-us-plan", effort.plan_time.as_micros());
        add("x-lazuli-us-scan", effort.scan_time.as_micros());
        add("x-lazuli-us-encode", self.encode_time.as_micros());
        response.fields.push(("x-lazuli-plan".into(), effort.class.name().into()));
    }
}
