//! The rules of a queue, checked on a recorded history.
//!
//! Times are measured by the clients, so an operation took effect at some time between its start and its end. A
//! rule is reported as broken only if no choice of these times satisfies it.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt::Write as _;
use std::time::Duration;

use super::gone;

/// Maximum difference between the requested and the actual duration of a hold: visibility times are full
/// seconds on the wire.
pub(super) const SLACK: Duration = Duration::from_secs(1);

/// A message as received by a client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Received {
    /// Its number.
    pub message: u64,
    /// The number of its last update.
    pub version: u64,
    /// The receipt.
    pub receipt: String,
    /// Number of times that it has been received from this queue.
    pub dequeue_count: u64,
    /// Is this the queue to which messages are moved?
    pub is_moved: bool,
}

/// An operation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Act {
    /// Puts a message.
    Put {
        /// Its number.
        message: u64,
        /// Its time to live in seconds, if it expires before the history ends.
        ttl: Option<u64>,
    },
    /// Deletes all messages that were not moved.
    Clear,
    /// Moves visible messages to the other queue.
    Move,
    /// Gets messages.
    Get {
        /// The time for which they are hidden.
        seconds: u64,
        /// The messages.
        received: Vec<Received>,
    },
    /// Updates a message.
    Update {
        /// Its number.
        message: u64,
        /// The receipt in the request.
        receipt: String,
        /// The new version.
        version: u64,
        /// The time for which it is hidden from now on.
        seconds: u64,
        /// The receipt in the response.
        given: Option<String>,
    },
    /// Deletes a message.
    Delete {
        /// Its number.
        message: u64,
        /// The receipt in the request.
        receipt: String,
    },
}

/// The outcome of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallOutcome {
    /// It was done.
    Done,
    /// It was rejected and changed nothing.
    Rejected,
    /// There was no response: it is unknown whether it was applied.
    Unknown,
}

/// An operation with its interval and outcome.
#[derive(Clone, Debug)]
pub struct QueueEvent {
    /// The client that sent it.
    pub client: usize,
    /// When it was sent.
    pub start: Duration,
    /// The time of the response. Without a response: the time after which the operation could no longer take
    /// effect.
    pub end: Duration,
    /// The request, and the response.
    pub act: Act,
    /// Its outcome.
    pub outcome: CallOutcome,
}

/// The events of one message.
#[derive(Default)]
pub(super) struct Life<'a> {
    pub(super) put: Option<&'a QueueEvent>,
    /// Its time to live, if it expires.
    pub(super) ttl: Option<Duration>,
    pub(super) gets: Vec<(&'a QueueEvent, &'a Received, u64)>,
    updates: Vec<(&'a QueueEvent, u64, u64)>,
    deletes: Vec<&'a QueueEvent>,
}

/// Messages that must exist: those that were acknowledged or received, and certainly not deleted or cleared.
/// Those that expire need not exist.
pub fn must_exist(events: &[QueueEvent]) -> BTreeSet<u64> {
    let lives = lives(events);
    let exists = |life: &Life<'_>| {
        let was_put = life.put.is_some_and(|put| put.outcome == CallOutcome::Done);
        (was_put || !life.gets.is_empty())
            && life.ttl.is_none()
            && life.deletes.iter().all(|delete| life.outlived(delete))
            && gone::outlives_clears(life, events)
    };
    lives.into_iter().filter(|(_, life)| exists(life)).map(|(message, _)| message).collect()
}

impl Life<'_> {
    /// Is it certain that this did not delete the message? Either it was rejected, or the message was received
    /// when it could no longer take effect.
    fn outlived(&self, delete: &QueueEvent) -> bool {
        match delete.outcome {
            CallOutcome::Done => false,
            CallOutcome::Rejected => true,
            CallOutcome::Unknown => self.gets.iter().any(|(get, ..)| get.start > delete.end),
        }
    }
}

/// Checks all rules. An error contains the message and the broken rule.
pub fn check(events: &[QueueEvent]) -> Result<(), String> {
    let receipts = receipts(events);
    for (message, life) in lives(events) {
        let checked = was_put(&life)
            .and_then(|()| stays_deleted(&life))
            .and_then(|()| gone::stays_gone(&life, events))
            .and_then(|()| one_holder(&life))
            .and_then(|()| counts_and_versions_grow(&life))
            .and_then(|()| old_receipts_are_rejected(&life, events, &receipts, message))
            .and_then(|()| rejections_have_a_reason(&life, events, &receipts, message));
        checked.map_err(|error| format!("message {message} {error}"))?;
    }
    first_in_first_out(events)
}

pub(super) fn lives(events: &[QueueEvent]) -> BTreeMap<u64, Life<'_>> {
    let mut lives: BTreeMap<u64, Life<'_>> = BTreeMap::new();
    for event in events {
        match &event.act {
            Act::Put { message, ttl } => {
                let life = lives.entry(*message).or_default();
                (life.put, life.ttl) = (Some(event), ttl.map(Duration::from_secs));
            }
            Act::Clear | Act::Move => {}
            Act::Get { seconds, received } => {
                for one in received {
                    lives.entry(one.message).or_default().gets.push((event, one, *seconds));
                }
            }
            Act::Update { message, version, seconds, .. } if event.outcome != CallOutcome::Rejected => {
                lives.entry(*message).or_default().updates.push((event, *version, *seconds));
            }
            Act::Update { .. } => {}
            Act::Delete { message, .. } => lives.entry(*message).or_default().deletes.push(event),
        }
    }
    lives
}

fn was_put(life: &Life<'_>) -> Result<(), String> {
    match (life.put, life.gets.first()) {
        (Some(put), Some((get, ..))) if get.end < put.start => Err("was received before it was put".into()),
        (None, Some(_)) => Err("was received but never put".into()),
        _ => Ok(()),
    }
}

fn stays_deleted(life: &Life<'_>) -> Result<(), String> {
    let deleted = life.deletes.iter().filter(|delete| delete.outcome == CallOutcome::Done);
    match deleted.map(|delete| delete.end).min() {
        Some(end) if life.gets.iter().any(|(get, ..)| get.start > end) => {
            Err("was received after it was deleted".into())
        }
        _ => Ok(()),
    }
}

fn one_holder(life: &Life<'_>) -> Result<(), String> {
    for (index, first) in life.gets.iter().enumerate() {
        for second in &life.gets[index + 1..] {
            if !may_follow(life, first, second) && !may_follow(life, second, first) {
                return Err(format!(
                    "had two holders: clients {} and {} received it",
                    first.0.client, second.0.client
                ));
            }
        }
    }
    Ok(())
}

/// Can the second get have happened after the hold of the first had ended?
fn may_follow(
    life: &Life<'_>,
    (first, _, seconds): &(&QueueEvent, &Received, u64),
    (second, ..): &(&QueueEvent, &Received, u64),
) -> bool {
    if std::ptr::eq(*first, *second) || second.end < first.start {
        return false;
    }
    let has_run_out = second.end + SLACK >= first.start + Duration::from_secs(*seconds);
    // An update with a shorter time ends the hold early.
    let was_released = life.updates.iter().any(|(update, _, shorter)| {
        let starts_between = update.start < second.end && update.end > first.start;
        starts_between && second.end + SLACK >= update.start + Duration::from_secs(*shorter)
    });
    has_run_out || was_released
}

fn counts_and_versions_grow(life: &Life<'_>) -> Result<(), String> {
    for (first, seen, _) in &life.gets {
        // The dequeue count restarts in the queue to which messages are moved.
        let later = life.gets.iter().find(|(second, again, _)| {
            let is_later = second.start > first.end && again.is_moved == seen.is_moved;
            is_later && again.dequeue_count <= seen.dequeue_count
        });
        if later.is_some() {
            return Err("was received again without a greater dequeue count".into());
        }
    }
    for (update, version, _) in life.updates.iter().filter(|(update, ..)| update.outcome == CallOutcome::Done)
    {
        if life.gets.iter().any(|(get, seen, _)| get.start > update.end && seen.version < *version) {
            return Err(format!("lost its update to version {version}"));
        }
    }
    Ok(())
}

/// The operation that issued each receipt.
fn receipts(events: &[QueueEvent]) -> HashMap<&str, &QueueEvent> {
    let mut given = HashMap::new();
    for event in events {
        match &event.act {
            Act::Get { received, .. } => {
                given.extend(received.iter().map(|one| (one.receipt.as_str(), event)))
            }
            Act::Update { given: Some(receipt), .. } => drop(given.insert(receipt.as_str(), event)),
            _ => {}
        }
    }
    given
}

/// The receipt with which an operation changes this message.
fn receipt_of(event: &QueueEvent, number: u64) -> Option<&str> {
    match &event.act {
        Act::Update { message, receipt, .. } | Act::Delete { message, receipt } if *message == number => {
            Some(receipt)
        }
        _ => None,
    }
}

fn old_receipts_are_rejected(
    life: &Life<'_>,
    events: &[QueueEvent],
    receipts: &HashMap<&str, &QueueEvent>,
    number: u64,
) -> Result<(), String> {
    for event in events.iter().filter(|event| event.outcome == CallOutcome::Done) {
        let giver = receipt_of(event, number).and_then(|receipt| receipts.get(receipt));
        let Some(giver) = giver else { continue };
        let is_between = |other: &QueueEvent| other.start > giver.end && other.end < event.start;
        if life.gets.iter().any(|(get, ..)| is_between(get)) {
            return Err("was changed with a receipt that a later get had replaced".into());
        }
        let mut updates = life.updates.iter().filter(|(update, ..)| update.outcome == CallOutcome::Done);
        if updates.any(|(update, ..)| is_between(update)) {
            return Err("was changed with a receipt that a later update had replaced".into());
        }
    }
    Ok(())
}

/// A receipt becomes invalid only by a get, an update, a delete, or the removal of the message from its queue.
fn rejections_have_a_reason(
    life: &Life<'_>,
    events: &[QueueEvent],
    receipts: &HashMap<&str, &QueueEvent>,
    number: u64,
) -> Result<(), String> {
    for event in events.iter().filter(|event| event.outcome == CallOutcome::Rejected) {
        let giver = receipt_of(event, number).and_then(|receipt| receipts.get(receipt));
        let Some(giver) = giver else { continue };
        let may_be_between = |other: &&QueueEvent| {
            let is_other = !std::ptr::eq(*other, *giver) && !std::ptr::eq(*other, event);
            is_other && other.outcome != CallOutcome::Rejected && {
                other.start <= event.end && other.end >= giver.start
            }
        };
        let gets = life.gets.iter().map(|(get, ..)| *get);
        let changes = life.updates.iter().map(|(update, ..)| *update).chain(life.deletes.iter().copied());
        // The messages received by a get without a response are unknown.
        let lost = events
            .iter()
            .filter(|other| matches!(other.act, Act::Get { .. }) && other.outcome == CallOutcome::Unknown);
        let is_replaced = gets.chain(changes).chain(lost).any(|other| may_be_between(&other));
        if !is_replaced && !gone::may_be_gone(life, events, event, may_be_between) {
            return Err("was not changed with its newest receipt, and nothing can have replaced it".into());
        }
    }
    Ok(())
}

/// Messages that were never hidden or moved are received in the order in which they were put.
fn first_in_first_out(events: &[QueueEvent]) -> Result<(), String> {
    let lives = lives(events);
    for event in events {
        let Act::Get { received, .. } = &event.act else { continue };
        let fresh = received.iter().filter(|one| one.dequeue_count == 1 && !one.is_moved);
        let puts: Vec<(u64, &QueueEvent)> =
            fresh.filter_map(|one| Some((one.message, lives.get(&one.message)?.put?))).collect();
        for (index, (first, put)) in puts.iter().enumerate() {
            if let Some((second, _)) = puts[index + 1..].iter().find(|(_, later)| later.end < put.start) {
                return Err(format!(
                    "message {first} was received before message {second}, which was put earlier"
                ));
            }
        }
    }
    Ok(())
}

/// A history in human-readable form.
pub fn print(events: &[QueueEvent]) -> String {
    let mut sorted: Vec<&QueueEvent> = events.iter().collect();
    sorted.sort_by_key(|event| event.start);
    let mut text = String::new();
    for QueueEvent { client, start, end, act, outcome } in sorted {
        let (start, end) = (start.as_micros(), end.as_micros());
        let _ = writeln!(text, "{start:>9}..{end:<9} client {client}: {act:?} -> {outcome:?}");
    }
    text
}

#[cfg(test)]
#[path = "check_tests.rs"]
mod tests;
