//! One client of a history of blobs.

use std::collections::HashMap;

use lazuli_model::Service;
use lazuli_probe::{Request, Response};

use super::record::{BLOBS, Condition, Operation, Output};
use super::soak::content;
use crate::caller::Caller;
use crate::linear::{self, Clock, Event, Recorder};
use crate::random::Random;

/// Maximum values that a client writes; distinguishes the values of clients.
const VALUES_MAX: u32 = 1_000_000;
/// Leases that clients share: with few of them, clients meet the leases of others.
const LEASES: usize = 4;

pub struct Client {
    container: String,
    number: usize,
    random: Random,
    clock: Clock,
    caller: Caller,
    written: u32,
    /// The value and ETag that it last saw of each blob.
    known: HashMap<usize, (u32, String)>,
    events: Vec<Event<Operation>>,
}

impl Client {
    pub fn new(container: String, recorder: Recorder) -> Self {
        let Recorder { client, authority, random, clock } = recorder;
        Self {
            container,
            number: client,
            random,
            clock,
            caller: Caller::new(Service::Blob, &authority),
            written: 0,
            known: HashMap::new(),
            events: Vec::new(),
        }
    }

    fn choose(&mut self) -> Operation {
        let blob = self.random.below(BLOBS);
        let id = self.random.below(LEASES) as u32;
        match self.random.below(20) {
            0..6 => Operation::Get { blob },
            6..13 => {
                self.written += 1;
                let value = self.number as u32 * VALUES_MAX + self.written;
                Operation::Put { blob, value, condition: self.condition(blob), lease: self.lease() }
            }
            13..15 => {
                // "Delete it if it does not exist" is a malformed request.
                let condition = match self.condition(blob) {
                    Condition::Absent => Condition::None,
                    other => other,
                };
                Operation::Delete { blob, condition, lease: self.lease() }
            }
            15..17 => Operation::Acquire { blob, id },
            17..19 => Operation::Release { blob, id },
            _ => Operation::Break { blob },
        }
    }

    fn condition(&mut self, blob: usize) -> Condition {
        match (self.random.below(4), self.known.get(&blob)) {
            (0 | 1, Some((value, _))) => Condition::Is(*value),
            (2, _) => Condition::Absent,
            _ => Condition::None,
        }
    }

    fn lease(&mut self) -> Option<u32> {
        self.random.chance(30).then(|| self.random.below(LEASES) as u32)
    }

    /// `false` if there was no response: the client ends.
    async fn perform(&mut self, operation: Operation) -> Result<bool, String> {
        let request = self.request(&operation);
        let start = self.clock.tick();
        let response = self.caller.send(request).await.ok();
        let end = self.clock.tick();
        // A 5xx leaves the outcome of the request open.
        let response = response.filter(|response| response.status < 500);
        let output = match &response {
            Some(response) => Some(self.output(&operation, response)?),
            None => None,
        };
        let end = if output.is_some() { end } else { u64::MAX };
        // A read without a response proves nothing.
        if output.is_some() || !matches!(operation, Operation::Get { .. }) {
            self.events.push(Event { client: self.number, start, end, operation, output });
        }
        Ok(response.is_some())
    }

    fn request(&self, operation: &Operation) -> Request {
        let path = format!("/{}/b{}", self.container, operation.blob());
        let lease = |action: &'static str| {
            self.caller.request("PUT", &format!("{path}?comp=lease")).with("x-ms-lease-action", action)
        };
        match operation {
            Operation::Get { .. } => self.caller.request("GET", &path),
            Operation::Put { blob, value, condition, lease } => {
                let request = self.caller.request("PUT", &path).with("x-ms-blob-type", "BlockBlob");
                self.limited(request.body(content(u64::from(*value))), *blob, *condition, *lease)
            }
            Operation::Delete { blob, condition, lease } => {
                self.limited(self.caller.request("DELETE", &path), *blob, *condition, *lease)
            }
            Operation::Acquire { id, .. } => lease("acquire")
                .with("x-ms-lease-duration", "-1")
                .with("x-ms-proposed-lease-id", lease_id(*id)),
            Operation::Release { id, .. } => lease("release").with("x-ms-lease-id", lease_id(*id)),
            Operation::Break { .. } => lease("break").with("x-ms-lease-break-period", "0"),
        }
    }

    fn limited(&self, request: Request, blob: usize, condition: Condition, lease: Option<u32>) -> Request {
        let request = match condition {
            Condition::None => request,
            Condition::Absent => request.with("If-None-Match", "*"),
            Condition::Is(_) => {
                let etag = self.known.get(&blob).map(|(_, etag)| etag.clone()).unwrap_or_default();
                request.with("If-Match", etag)
            }
        };
        match lease {
            Some(id) => request.with("x-ms-lease-id", lease_id(id)),
            None => request,
        }
    }

    fn output(&mut self, operation: &Operation, response: &Response) -> Result<Output, String> {
        let etag = response.header("ETag").map(str::to_owned);
        match (operation, response.status, etag) {
            (Operation::Get { blob }, 200, Some(etag)) => {
                let value = value(&response.body)?;
                self.known.insert(*blob, (value, etag));
                Ok(Output::Value(Some(value)))
            }
            (Operation::Get { .. }, 404, _) => Ok(Output::Value(None)),
            (Operation::Put { blob, value, .. }, 201, Some(etag)) => {
                self.known.insert(*blob, (*value, etag));
                Ok(Output::Applied)
            }
            (Operation::Get { .. } | Operation::Put { .. }, 200..300, _) => Err(strange(operation, response)),
            (_, 200..300, _) => Ok(Output::Applied),
            (_, 404 | 409 | 412, _) => Ok(Output::Rejected),
            _ => Err(strange(operation, response)),
        }
    }
}

impl linear::Client<Operation> for Client {
    async fn run(mut self, operations: usize) -> Result<Vec<Event<Operation>>, String> {
        for _ in 0..operations {
            let operation = self.choose();
            if !self.perform(operation).await? {
                break;
            }
        }
        Ok(self.events)
    }

    async fn read_all(mut self) -> Result<Vec<Event<Operation>>, String> {
        for blob in 0..BLOBS {
            if !self.perform(Operation::Get { blob }).await? {
                return Err("a read at the end got no response".into());
            }
        }
        Ok(self.events)
    }
}

/// The value that the content encodes. Every byte of it must be correct.
fn value(body: &[u8]) -> Result<u32, String> {
    let number = std::str::from_utf8(body).ok().and_then(|text| text.split(' ').next()?.parse::<u32>().ok());
    match number {
        Some(value) if content(u64::from(value)) == body => Ok(value),
        _ => Err(format!("content of {} bytes that nobody wrote", body.len())),
    }
}

fn lease_id(number: u32) -> String {
    format!("{number:08x}-0000-4000-8000-000000000000")
}

fn strange(operation: &Operation, response: &Response) -> String {
    format!("{operation:?} got the response {} {}", response.status, response.text())
}
