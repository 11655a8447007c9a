//! Rules for messages that leave their queue without being deleted: because the queue was cleared, or because
//! they expired or were moved to another queue.

use std::time::Duration;

use super::check::{Act, CallOutcome, Life, QueueEvent, SLACK};

/// Checks that nothing reappears, and that each message is in only one queue.
pub(super) fn stays_gone(life: &Life<'_>, events: &[QueueEvent]) -> Result<(), String> {
    stays_cleared(life, events)?;
    stays_expired(life)?;
    moves_once(life, events)
}

fn stays_cleared(life: &Life<'_>, events: &[QueueEvent]) -> Result<(), String> {
    let Some(put) = life.put else { return Ok(()) };
    let before = |clear: &&QueueEvent| clear.outcome == CallOutcome::Done && put.end < clear.start;
    for clear in clears(events).filter(before) {
        let was_moved_before = moves(events).any(|moving| moving.start < clear.end);
        let is_back = life.gets.iter().any(|(get, one, _)| {
            let may_be_moved = one.is_moved && was_moved_before;
            get.start > clear.end && !may_be_moved
        });
        if is_back {
            return Err("was received after its queue was cleared".into());
        }
    }
    Ok(())
}

fn stays_expired(life: &Life<'_>) -> Result<(), String> {
    match last_moment(life) {
        Some(end) if life.gets.iter().any(|(get, ..)| get.start > end) => {
            Err("was received after it had expired".into())
        }
        _ => Ok(()),
    }
}

/// The time when the message has certainly expired.
fn last_moment(life: &Life<'_>) -> Option<Duration> {
    Some(life.put?.end.saturating_add(life.ttl?).saturating_add(SLACK))
}

/// The time when all expiring messages have certainly expired. Zero if there are none.
pub(super) fn all_expired<'a>(lives: impl Iterator<Item = Life<'a>>) -> Duration {
    let acknowledged = |life: &Life<'a>| life.put.is_some_and(|put| put.outcome == CallOutcome::Done);
    lives.filter(acknowledged).filter_map(|life| last_moment(&life)).max().unwrap_or_default()
}

fn moves_once(life: &Life<'_>, events: &[QueueEvent]) -> Result<(), String> {
    for (get, ..) in life.gets.iter().filter(|(_, one, _)| one.is_moved) {
        if !moves(events).any(|moving| moving.start < get.end) {
            return Err("was received from the other queue, but nothing has moved it".into());
        }
        if life.gets.iter().any(|(later, one, _)| !one.is_moved && later.start > get.end) {
            return Err("was received from its first queue after it had been moved".into());
        }
    }
    Ok(())
}

/// May the message have left its queue by the end of this event? `may_be_between` says whether another event
/// matters.
pub(super) fn may_be_gone(
    life: &Life<'_>,
    events: &[QueueEvent],
    event: &QueueEvent,
    may_be_between: impl Fn(&&QueueEvent) -> bool,
) -> bool {
    // An update must not hide a message for longer than its lifetime.
    let hidden = match event.act {
        Act::Update { seconds, .. } => Duration::from_secs(seconds),
        _ => Duration::ZERO,
    };
    let may_expire = life.put.zip(life.ttl).is_some_and(|(put, ttl)| {
        event.end.saturating_add(hidden).saturating_add(SLACK) >= put.start.saturating_add(ttl)
    });
    may_expire || clears(events).chain(moves(events)).any(|other| may_be_between(&other))
}

/// Is it certain that the message was not cleared?
pub(super) fn outlives_clears(life: &Life<'_>, events: &[QueueEvent]) -> bool {
    let put = life.put.map(|put| put.start).unwrap_or_default();
    clears(events)
        .filter(|clear| clear.end >= put)
        .all(|clear| life.gets.iter().any(|(get, ..)| get.start > clear.end))
}

fn clears(events: &[QueueEvent]) -> impl Iterator<Item = &QueueEvent> {
    applied(events).filter(|event| event.act == Act::Clear)
}

fn moves(events: &[QueueEvent]) -> impl Iterator<Item = &QueueEvent> {
    applied(events).filter(|event| event.act == Act::Move)
}

/// Events that changed something, or may have changed it.
fn applied(events: &[QueueEvent]) -> impl Iterator<Item = &QueueEvent> {
    events.iter().filter(|event| event.outcome != CallOutcome::Rejected)
}
