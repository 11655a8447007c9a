//! Trials of the Queue service.
//!
//! Concurrent clients put, get, update and delete messages of one queue, move some to another, and clear it,
//! with kills. Every response is recorded with its interval of time, and [`check`] then looks for violations: a
//! message with two holders, an acknowledged message that is lost, a deleted, cleared or expired one that
//! reappears, a moved one that is in two queues, an old receipt that still works, a current receipt that does
//! not, or messages out of order.

pub mod check;
mod client;
mod gone;
pub mod soak;
pub(crate) mod wire;

use std::collections::BTreeSet;
use std::time::Duration;

use lazuli_model::Service;
use lazuli_server::clock::Stopwatch;
use tokio::task::JoinSet;

pub use check::{Act, CallOutcome, QueueEvent, Received};

use crate::caller::TrialCaller;
use crate::linear::{HistorySize, LogicalClock};
use crate::random::Random;
use crate::subject::{End, Subject};
use client::{Client, Timing};

/// Maximum time for which messages may stay hidden after the work has ended. Holds last a few seconds; the rest
/// is for slow machines.
const DRAIN_TIME_MAX: Duration = Duration::from_secs(60);
/// Time to wait before checking again for messages that are still hidden.
const DRAIN_EVERY: Duration = Duration::from_millis(100);

/// Counts of the events in the histories.
#[derive(Clone, Copy, Debug, Default)]
pub struct Seen {
    /// Messages that were put.
    pub put: usize,
    /// Number of receipts of messages: a message counts each time it is received.
    pub received: usize,
    /// Messages that were deleted.
    pub deleted: usize,
    /// Messages that were received after they had been moved.
    pub moved: usize,
    /// Messages that were put for a few seconds.
    pub expiring: usize,
    /// Number of times that the queue was cleared.
    pub cleared: usize,
    /// Operations with an unknown outcome.
    pub unknown: usize,
}

impl Seen {
    /// Adds the counts of another history.
    pub fn add(&mut self, other: Seen) {
        self.put += other.put;
        self.received += other.received;
        self.deleted += other.deleted;
        self.moved += other.moved;
        self.expiring += other.expiring;
        self.cleared += other.cleared;
        self.unknown += other.unknown;
    }

    /// Histories without events break no rule, but prove nothing.
    pub fn shows_something(&self, shape: HistorySize) -> Result<(), String> {
        match self {
            Seen { put: 0, .. } | Seen { received: 0, .. } | Seen { deleted: 0, .. } => {
                Err("no message was put, received and deleted".into())
            }
            Seen { moved: 0, .. } => Err("no message was moved and received".into()),
            Seen { expiring: 0, .. } => Err("no message was put that expires".into()),
            Seen { cleared: 0, .. } => Err("the queue was never cleared".into()),
            Seen { unknown: 0, .. } if shape.kill => Err("no kill ever interrupted an operation".into()),
            _ => Ok(()),
        }
    }
}

type Clients = JoinSet<Result<Vec<QueueEvent>, String>>;

/// Records and checks one history with this seed, on a separate queue. An error contains the seed.
pub async fn run(subject: &mut impl Subject, seed: u64, shape: HistorySize) -> Result<Seen, String> {
    let recorded = record(subject, seed, shape).await;
    let events = recorded.map_err(|error| format!("seed {seed}: {error}"))?;
    check::check(&events).map_err(|error| format!("seed {seed}: {error}\n{}", check::print(&events)))?;
    Ok(seen(&events))
}

async fn record(
    subject: &mut impl Subject,
    seed: u64,
    shape: HistorySize,
) -> Result<Vec<QueueEvent>, String> {
    let mut random = Random::from_seed(seed);
    let queues = [format!("history{seed:x}"), format!("history{seed:x}-moved")];
    for queue in &queues {
        wire::create(&mut caller(subject), queue).await?;
    }
    let (watch, clock) = (Stopwatch::start(), LogicalClock::default());
    let mut events = Vec::new();
    // After a kill the clients work on the restarted server for a second phase.
    for phase in 0..=usize::from(shape.kill) {
        let mut clients = Clients::new();
        for number in 0..shape.clients {
            let number = phase * shape.clients + number;
            let timing = Timing { watch, progress: clock.clone() };
            let client = Client::new(number, caller(subject), queues.clone(), random.fork(), timing);
            clients.spawn(client.run(shape.operations));
        }
        let is_killed = shape.kill && phase == 0;
        let mut seen = Vec::new();
        if is_killed {
            // The moment depends on progress, not on time: on a slow machine, nothing might have happened yet.
            let operations = shape.clients * shape.operations;
            let kill_at = (operations / 8 + random.below(operations / 2 + 1)) as u64;
            tokio::select! {
                () = clock.reach(kill_at) => {}
                ended = finish(&mut clients, &mut seen) => ended?,
            }
            subject.restart(End::Kill).await?;
        }
        let ready = watch.elapsed();
        finish(&mut clients, &mut seen).await?;
        let mut unknown = seen.iter_mut().filter(|event| event.outcome == CallOutcome::Unknown);
        if shape.kill && subject.may_apply_late() {
            unknown.for_each(|event| event.end = Duration::MAX);
        } else if is_killed {
            // Requests in progress in the killed process took effect before the next process was ready, or
            // never will.
            unknown.for_each(|event| event.end = ready);
        } else if unknown.next().is_some() {
            return Err("an operation got no response from a server that was not killed".into());
        }
        events.extend(seen);
    }
    let timing = Timing { watch, progress: clock };
    let last = Client::new(2 * shape.clients, caller(subject), queues, random.fork(), timing);
    drain(last, &mut events).await?;
    Ok(events)
}

/// Waits for the clients and stores their events, even if the wait is cancelled.
async fn finish(clients: &mut Clients, events: &mut Vec<QueueEvent>) -> Result<(), String> {
    while let Some(ended) = clients.join_next().await {
        events.extend(ended.map_err(|error| error.to_string())??);
    }
    Ok(())
}

/// Receives and deletes every message that must still exist, and then those that should have expired.
async fn drain(mut client: Client, events: &mut Vec<QueueEvent>) -> Result<(), String> {
    let mut left: BTreeSet<u64> = check::must_exist(events);
    let watch = Stopwatch::start();
    while !left.is_empty() {
        let found = client.receive_and_delete().await?;
        for message in &found {
            left.remove(message);
        }
        if found.is_empty() {
            if watch.elapsed() > DRAIN_TIME_MAX {
                return Err(format!("acknowledged messages are gone: {left:?}\n{}", check::print(events)));
            }
            tokio::time::sleep(DRAIN_EVERY).await;
        }
    }
    let all_expired = gone::all_expired(check::lives(events).into_values());
    while client.now() <= all_expired {
        tokio::time::sleep(DRAIN_EVERY).await;
    }
    while !client.receive_and_delete().await?.is_empty() {}
    events.extend(client.into_events());
    Ok(())
}

fn caller(subject: &impl Subject) -> TrialCaller {
    TrialCaller::new(Service::Queue, &subject.authority(Service::Queue))
}

fn seen(events: &[QueueEvent]) -> Seen {
    let mut seen = Seen::default();
    for event in events {
        match (&event.act, event.outcome) {
            (_, CallOutcome::Unknown) => seen.unknown += 1,
            (Act::Put { ttl, .. }, CallOutcome::Done) => {
                seen.put += 1;
                seen.expiring += usize::from(ttl.is_some());
            }
            (Act::Get { received, .. }, CallOutcome::Done) => {
                seen.received += received.len();
                seen.moved += received.iter().filter(|one| one.is_moved).count();
            }
            (Act::Clear, CallOutcome::Done) => seen.cleared += 1,
            (Act::Delete { .. }, CallOutcome::Done) => seen.deleted += 1,
            _ => {}
        }
    }
    seen
}
