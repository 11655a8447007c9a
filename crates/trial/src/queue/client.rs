//! One client of a queue's history: chooses operations, sends them, records the responses.

use std::time::Duration;

use lazuli_probe::{Request, Response};
use lazuli_server::clock::Stopwatch;

use super::check::{Act, CallOutcome, QueueEvent, Received};
use super::wire;
use crate::caller::TrialCaller;
use crate::linear::LogicalClock;
use crate::random::Random;

/// The time for which messages stay hidden: long compared with a history, short enough to wait for at the end.
const HIDDEN_SECONDS: [u64; 2] = [3, 5];
/// Maximum messages that a client requests.
const BATCH_MAX: usize = 8;
/// The time to live of some messages: they expire while others are still hidden.
const LIFE_SECONDS: u64 = 2;
/// Maximum messages that a client moves at a time.
const MOVE_MAX: usize = 4;
/// One of this many clients clears the queue in the middle of its work.
const CLEARING: usize = 5;
/// Maximum messages that a client puts; keeps the numbers of different clients apart.
const MESSAGES_MAX: u64 = 1_000_000;

/// A message in hand.
struct Held {
    id: String,
    received: Received,
}

/// The clocks of a history.
pub struct Timing {
    /// When things happened.
    pub watch: Stopwatch,
    /// Number of operations that have been sent.
    pub progress: LogicalClock,
}

/// A client.
pub struct Client {
    number: usize,
    caller: TrialCaller,
    /// The queue into which messages are put, and the one to which they are moved.
    queues: [String; 2],
    random: Random,
    timing: Timing,
    put: u64,
    held: Vec<Held>,
    events: Vec<QueueEvent>,
}

impl Client {
    pub fn new(
        number: usize,
        caller: TrialCaller,
        queues: [String; 2],
        random: Random,
        timing: Timing,
    ) -> Self {
        Self { number, caller, queues, random, timing, put: 0, held: Vec::new(), events: Vec::new() }
    }

    /// Executes a number of operations; ends early when the server has stopped.
    pub async fn run(mut self, operations: usize) -> Result<Vec<QueueEvent>, String> {
        for at in 0..operations {
            let clears = self.number.is_multiple_of(CLEARING) && at == operations / 2;
            let has_response = match self.random.below(20) {
                _ if clears => self.clear().await?,
                0..7 => self.put().await?,
                7 => self.move_some().await?,
                8..13 => {
                    let count = 1 + self.random.below(BATCH_MAX);
                    let is_moved = self.random.chance(30);
                    self.get(count, is_moved).await?
                }
                13..16 => self.update().await?,
                _ => self.delete().await?,
            };
            if !has_response {
                break;
            }
        }
        Ok(self.events)
    }

    /// The time since the history began.
    pub fn now(&self) -> Duration {
        self.timing.watch.elapsed()
    }

    /// Receives messages from both queues and deletes them. Returns their numbers.
    pub async fn receive_and_delete(&mut self) -> Result<Vec<u64>, String> {
        for is_moved in [false, true] {
            if !self.get(32, is_moved).await? {
                return Err("a get at the end got no response".into());
            }
        }
        let found: Vec<u64> = self.held.iter().map(|held| held.received.message).collect();
        while !self.held.is_empty() {
            if !self.delete().await? {
                return Err("a delete at the end got no response".into());
            }
        }
        Ok(found)
    }

    /// The recorded events.
    pub fn into_events(self) -> Vec<QueueEvent> {
        self.events
    }

    async fn put(&mut self) -> Result<bool, String> {
        self.put += 1;
        let message = self.number as u64 * MESSAGES_MAX + self.put;
        let ttl = self.random.chance(20).then_some(LIFE_SECONDS);
        let (queue, text) = (self.queue(false), text(message, 0));
        let request = match ttl {
            Some(seconds) => wire::put_expiring(&self.caller, queue, &text, seconds),
            None => wire::put(&self.caller, queue, &text),
        };
        let (index, response) = self.send(request, Act::Put { message, ttl }).await;
        self.conclude(index, response.as_ref(), 201)
    }

    async fn clear(&mut self) -> Result<bool, String> {
        let request = wire::clear(&self.caller, self.queue(false));
        let (index, response) = self.send(request, Act::Clear).await;
        self.conclude(index, response.as_ref(), 204)
    }

    async fn move_some(&mut self) -> Result<bool, String> {
        let count = 1 + self.random.below(MOVE_MAX);
        let request = wire::move_some(&self.caller, self.queue(false), self.queue(true), count);
        let (index, response) = self.send(request, Act::Move).await;
        self.conclude(index, response.as_ref(), 200)
    }

    fn queue(&self, is_moved: bool) -> &str {
        &self.queues[usize::from(is_moved)]
    }

    async fn get(&mut self, count: usize, is_moved: bool) -> Result<bool, String> {
        let seconds = *self.random.pick(&HIDDEN_SECONDS);
        let request = wire::get(&self.caller, self.queue(is_moved), count, seconds);
        let (index, response) = self.send(request, Act::Get { seconds, received: Vec::new() }).await;
        let has_response = self.conclude(index, response.as_ref(), 200)?;
        let Some(response) = response.filter(|response| response.status == 200) else {
            return Ok(has_response);
        };
        let mut all = Vec::new();
        for message in wire::messages(&response)? {
            let (number, version) = numbers(&message.text)?;
            let received = Received {
                message: number,
                version,
                receipt: message.receipt,
                dequeue_count: message.dequeue_count,
                is_moved,
            };
            all.push(received.clone());
            self.held.push(Held { id: message.id, received });
        }
        if let Act::Get { received, .. } = &mut self.events[index].act {
            *received = all;
        }
        Ok(has_response)
    }

    async fn update(&mut self) -> Result<bool, String> {
        let Some(held) = self.pick() else { return Ok(true) };
        let seconds = if self.random.chance(30) { 0 } else { *self.random.pick(&HIDDEN_SECONDS) };
        let Received { message, version, receipt, .. } = held.received.clone();
        let version = version + 1;
        let text = text(message, version);
        let queue = self.queue(held.received.is_moved);
        let request = wire::update(&self.caller, queue, &held.id, &receipt, &text, seconds);
        let act = Act::Update { message, receipt, version, seconds, given: None };
        let (index, response) = self.send(request, act).await;
        let has_response = self.conclude(index, response.as_ref(), 204)?;
        if let Some(response) = response.filter(|response| response.status == 204) {
            let receipt = response.header("x-ms-popreceipt").ok_or("an update without a receipt")?.to_owned();
            if let Act::Update { given, .. } = &mut self.events[index].act {
                *given = Some(receipt.clone());
            }
            let received = Received { version, receipt, ..held.received };
            self.held.push(Held { id: held.id, received });
        }
        Ok(has_response)
    }

    async fn delete(&mut self) -> Result<bool, String> {
        let Some(held) = self.pick() else { return Ok(true) };
        let Received { message, receipt, is_moved, .. } = held.received;
        let request = wire::delete(&self.caller, self.queue(is_moved), &held.id, &receipt);
        let (index, response) = self.send(request, Act::Delete { message, receipt }).await;
        self.conclude(index, response.as_ref(), 204)
    }

    fn pick(&mut self) -> Option<Held> {
        if self.held.is_empty() {
            return None;
        }
        let index = self.random.below(self.held.len());
        Some(self.held.swap_remove(index))
    }

    async fn send(&mut self, request: Request, act: Act) -> (usize, Option<Response>) {
        self.timing.progress.tick();
        let start = self.timing.watch.elapsed();
        let response = self.caller.send(request).await.ok();
        let end = self.timing.watch.elapsed();
        // A 5xx leaves the outcome of the request open.
        let response = response.filter(|response| response.status < 500);
        self.events.push(QueueEvent { client: self.number, start, end, act, outcome: CallOutcome::Unknown });
        (self.events.len() - 1, response)
    }

    /// Records the outcome. `false` if there was no response: the client ends.
    fn conclude(&mut self, index: usize, response: Option<&Response>, success: u16) -> Result<bool, String> {
        let event = &mut self.events[index];
        event.outcome = match response.map(|response| response.status) {
            None => return Ok(false),
            Some(status) if status == success => CallOutcome::Done,
            // The message no longer exists, or the receipt is not the latest one.
            Some(400 | 404) if matches!(event.act, Act::Update { .. } | Act::Delete { .. }) => {
                CallOutcome::Rejected
            }
            Some(status) => {
                let body = response.map(Response::text).unwrap_or_default();
                return Err(format!("{:?} got the response {status} {body}", event.act));
            }
        };
        Ok(true)
    }
}

/// The text of a message: its number and the number of its update.
fn text(message: u64, version: u64) -> String {
    format!("{message}:{version}")
}

fn numbers(text: &str) -> Result<(u64, u64), String> {
    let parsed = text
        .split_once(':')
        .and_then(|(message, version)| Some((message.parse().ok()?, version.parse().ok()?)));
    parsed.ok_or_else(|| format!("a message that nobody put: {text}"))
}
