//! One client of a history of blobs.

use std::collections::HashMap;

use lazuli_model::Service;
use lazuli_probe::{Request, Response};

use super::record::{BLOBS, BlobCall, BlobCondition, Output};
use super::soak::content;
use crate::caller::TrialCaller;
use crate::linear::{self, HistoryEvent, LogicalClock, Recorder};
use crate::random::Random;

/// Maximum values that a client writes; distinguishes the values of clients.
const VALUES_MAX: u32 = 1_000_000;
/// Leases that clients share: with few of them, clients meet the leases of others.
const LEASES: usize = 4;

pub struct Client {
    container: String,
    number: usize,
    random: Random,
    clock: LogicalClock,
    caller: TrialCaller,
    written: u32,
    /// The value and ETag that it last saw of each blob.
    known: HashMap<usize, (u32, String)>,
    events: Vec<HistoryEvent<BlobCall>>,
}

impl Client {
    pub fn new(container: String, recorder: Recorder) -> Self {
        let Recorder { client, authority, random, clock } = recorder;
        Self {
            container,
            number: client,
            random,
            clock,
            caller: TrialCaller::new(Service::Blob, &authority),
            written: 0,
            known: HashMap::new(),
            events: Vec::new(),
        }
    }

    fn choose(&mut self) -> BlobCall {
        let blob = self.random.below(BLOBS);
        let id = self.random.below(LEASES) as u32;
        match self.random.below(20) {
            0..6 => BlobCall::Get { blob },
            6..13 => {
                self.written += 1;
                let value = self.number as u32 * VALUES_MAX + self.written;
                BlobCall::Put { blob, value, condition: self.condition(blob), lease: self.lease() }
            }
            13..15 => {
                // "Delete it if it does not exist" is a malformed request.
                let condition = match self.condition(blob) {
                    BlobCondition::Absent => BlobCondition::None,
                    other => other,
                };
                BlobCall::Delete { blob, condition, lease: self.lease() }
            }
            15..17 => BlobCall::Acquire { blob, id },
            17..19 => BlobCall::Release { blob, id },
            _ => BlobCall::Break { blob },
        }
    }

    fn condition(&mut self, blob: usize) -> BlobCondition {
        match (self.random.below(4), self.known.get(&blob)) {
            (0 | 1, Some((value, _))) => BlobCondition::Is(*value),
            (2, _) => BlobCondition::Absent,
            _ => BlobCondition::None,
        }
    }

    fn lease(&mut self) -> Option<u32> {
        self.random.chance(30).then(|| self.random.below(LEASES) as u32)
    }

    /// `false` if there was no response: the client ends.
    async fn perform(&mut self, operation: BlobCall) -> Result<bool, String> {
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
        if output.is_some() || !matches!(operation, BlobCall::Get { .. }) {
            self.events.push(HistoryEvent { client: self.number, start, end, operation, output });
        }
        Ok(response.is_some())
    }

    fn request(&self, operation: &BlobCall) -> Request {
        let path = format!("/{}/b{}", self.container, operation.blob());
        let lease = |action: &'static str| {
            self.caller.request("PUT", &format!("{path}?comp=lease")).with("x-ms-lease-action", action)
        };
        match operation {
            BlobCall::Get { .. } => self.caller.request("GET", &path),
            BlobCall::Put { blob, value, condition, lease } => {
                let request = self.caller.request("PUT", &path).with("x-ms-blob-type", "BlockBlob");
                self.limited(request.body(content(u64::from(*value))), *blob, *condition, *lease)
            }
            BlobCall::Delete { blob, condition, lease } => {
                self.limited(self.caller.request("DELETE", &path), *blob, *condition, *lease)
            }
            BlobCall::Acquire { id, .. } => lease("acquire")
                .with("x-ms-lease-duration", "-1")
                .with("x-ms-proposed-lease-id", lease_id(*id)),
            BlobCall::Release { id, .. } => lease("release").with("x-ms-lease-id", lease_id(*id)),
            BlobCall::Break { .. } => lease("break").with("x-ms-lease-break-period", "0"),
        }
    }

    fn limited(
        &self,
        request: Request,
        blob: usize,
        condition: BlobCondition,
        lease: Option<u32>,
    ) -> Request {
        let request = match condition {
            BlobCondition::None => request,
            BlobCondition::Absent => request.with("If-None-Match", "*"),
            BlobCondition::Is(_) => {
                let etag = self.known.get(&blob).map(|(_, etag)| etag.clone()).unwrap_or_default();
                request.with("If-Match", etag)
            }
        };
        match lease {
            Some(id) => request.with("x-ms-lease-id", lease_id(id)),
            None => request,
        }
    }

    fn output(&mut self, operation: &BlobCall, response: &Response) -> Result<Output, String> {
        let etag = response.header("ETag").map(str::to_owned);
        match (operation, response.status, etag) {
            (BlobCall::Get { blob }, 200, Some(etag)) => {
                let value = value(&response.body)?;
                self.known.insert(*blob, (value, etag));
                Ok(Output::Value(Some(value)))
            }
            (BlobCall::Get { .. }, 404, _) => Ok(Output::Value(None)),
            (BlobCall::Put { blob, value, .. }, 201, Some(etag)) => {
                self.known.insert(*blob, (*value, etag));
                Ok(Output::Applied)
            }
            (BlobCall::Get { .. } | BlobCall::Put { .. }, 200..300, _) => Err(strange(operation, response)),
            (_, 200..300, _) => Ok(Output::Applied),
            (_, 404 | 409 | 412, _) => Ok(Output::Rejected),
            _ => Err(strange(operation, response)),
        }
    }
}

impl linear::HistoryClient<BlobCall> for Client {
    async fn run(mut self, operations: usize) -> Result<Vec<HistoryEvent<BlobCall>>, String> {
        for _ in 0..operations {
            let operation = self.choose();
            if !self.perform(operation).await? {
                break;
            }
        }
        Ok(self.events)
    }

    async fn read_all(mut self) -> Result<Vec<HistoryEvent<BlobCall>>, String> {
        for blob in 0..BLOBS {
            if !self.perform(BlobCall::Get { blob }).await? {
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

fn strange(operation: &BlobCall, response: &Response) -> String {
    format!("{operation:?} got the response {} {}", response.status, response.text())
}
