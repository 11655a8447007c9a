//! What is noted about a request while it is served: for the log, for the figures, and for clients that ask.
//!
//! Costs no clock and no memory unless the request asks to be explained.

use std::time::Duration;

use lazuli_model::table::{Operation, Outcome};
use lazuli_model::{Class, Effort, ErrorCode, Failure, OperationKind, Service};
use lazuli_protocol::{Address, Head, Response};
use lazuli_protocol::{queue, table};

use crate::clock::Stopwatch;
use crate::metrics::Answered;

/// The header by which a request asks how it was answered.
const EXPLAIN: &str = "x-lazuli-explain";

/// What is noted about a request while it is served.
#[derive(Default)]
pub struct Note {
    /// What it wants, as far as that is known.
    pub kind: OperationKind,
    /// How much reading it took, if it is one that reads entities.
    pub effort: Option<Effort>,
    /// How many entities were found.
    pub rows_returned: usize,
    /// The account wants it logged or measured.
    pub records: bool,
    /// How much of a body was read.
    pub body_bytes: usize,
    /// How long that took, if it is logged or measured.
    pub body_time: Duration,
    /// The client wants to know how it was answered.
    explains: bool,
    encode_time: Duration,
}

impl Note {
    /// A note about a request of which nothing is known but its head.
    pub fn new(head: &Head<'_>) -> Self {
        Self { explains: head.get(EXPLAIN).is_some_and(|value| value == "1"), ..Self::default() }
    }

    /// Notes what a request wanted that was rejected before that was known.
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
    pub fn answered(&self, response: &Response, time: Duration) -> Answered {
        Answered {
            kind: self.kind,
            error: response.error,
            effort: self.effort,
            rows_returned: self.rows_returned,
            time,
        }
    }

    /// Notes what is about to be done.
    pub fn begin(&mut self, operation: &Operation) -> Option<Stopwatch> {
        self.kind = operation.kind();
        self.explains.then(Stopwatch::start)
    }

    /// Notes how much was read. `watch` is what [`Note::begin`] gave.
    pub fn observe(&mut self, outcome: Result<&Outcome, ErrorCode>, watch: Option<Stopwatch>) {
        let point = |rows_read| Effort {
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

    /// Reads a body and notes how much there was of it.
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

    /// Makes a response of an outcome and notes how long that takes.
    pub async fn encode<T>(&mut self, encode: impl Future<Output = T>) -> T {
        let watch = self.explains.then(Stopwatch::start);
        let encoded = encode.await;
        self.encode_time = watch.map_or(Duration::ZERO, |watch| watch.elapsed());
        encoded
    }

    /// Tells a client that asked how its query was answered.
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
