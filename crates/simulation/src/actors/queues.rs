//! Producers and consumers of a queue.

use std::sync::Arc;

use lazuli_model::Service;

use super::{STEADY, request};
use crate::ledger::Hold;
use crate::network::{Fate, RequestOutcome};
use crate::time::pass;
use crate::world::World;

const VERSION: &str = "2021-08-06";
/// Maximum time for which a consumer holds messages, in seconds.
const HOLD_SECONDS_MAX: u64 = 30;

/// Puts, gets and deletes messages, `steps` times in total.
pub async fn use_queue(world: Arc<World>, steps: u32) {
    world.set_up(Service::Queue, || request("PUT", format!("/{STEADY}/work"), VERSION)).await;
    for _ in 0..steps {
        world.rest().await;
        if world.rng.chance(450) { put(&world).await } else { consume(&world).await }
    }
}

async fn put(world: &World) {
    let text = world.ledger().messages.putting();
    let body = format!("<QueueMessage><MessageText>{text}</MessageText></QueueMessage>");
    let access = world.steady().await;
    let put = request("POST", format!("/{STEADY}/work/messages"), VERSION).body(body);
    let outcome = world.send_as(&access, Service::Queue, put).await;
    world.ledger().messages.put(&text, outcome.fate());
}

/// A message that a consumer holds.
struct Held {
    id: String,
    receipt: String,
    text: String,
    hold: Hold,
}

async fn consume(world: &World) {
    let count = 1 + world.rng.below(3);
    let Some(held) = get(world, count, 1 + world.rng.below(HOLD_SECONDS_MAX)).await else { return };
    for message in held {
        match world.rng.below(10) {
            // It becomes visible again when its timeout ends.
            0..3 => {}
            3 => {
                pass(world.rng.below(1 + 2 * message.hold.time)).await;
                delete(world, &message).await;
            }
            _ => delete(world, &message).await,
        }
    }
}

/// Gets messages and checks that no other consumer holds them. `None` if there is no response.
async fn get(world: &World, count: u64, seconds: u64) -> Option<Vec<Held>> {
    let access = world.steady().await;
    let target = format!("/{STEADY}/work/messages?numofmessages={count}&visibilitytimeout={seconds}");
    let from = world.time.milliseconds();
    let outcome = world.send_as(&access, Service::Queue, request("GET", target, VERSION)).await;
    let hold = Hold { from, got: world.time.milliseconds(), time: world.certain_time(seconds) };
    if outcome.status() == 404 {
        world.trace.fail("the queue has disappeared".into());
    }
    if outcome.status() != 200 {
        return None;
    }
    let held: Vec<Held> = messages(&outcome, hold);
    for message in &held {
        let checked = world.ledger().messages.received(&message.text, hold);
        world.expect(checked);
    }
    Some(held)
}

fn messages(outcome: &RequestOutcome, hold: Hold) -> Vec<Held> {
    let text = outcome.text();
    let all = text.split("<QueueMessage>").skip(1);
    all.filter_map(|part| {
        let field = |name: &str| {
            let rest = part.split(&format!("<{name}>")).nth(1)?;
            Some(rest.split('<').next()?.to_owned())
        };
        Some(Held {
            id: field("MessageId")?,
            receipt: field("PopReceipt")?,
            text: field("MessageText")?,
            hold,
        })
    })
    .collect()
}

async fn delete(world: &World, message: &Held) {
    world.ledger().messages.deleting(&message.text);
    let access = world.steady().await;
    let receipt = message.receipt.replace('+', "%2B").replace('/', "%2F").replace('=', "%3D");
    let target = format!("/{STEADY}/work/messages/{}?popreceipt={receipt}", message.id);
    let outcome = world.send_as(&access, Service::Queue, request("DELETE", target, VERSION)).await;
    let is_denied = outcome.status() == 403;
    let fate = if is_denied { Fate::Unknown } else { outcome.fate() };
    let now = world.time.milliseconds();
    // After a 503, the holder may try again.
    if outcome.status() == 503 || matches!(outcome, RequestOutcome::NotSent) {
        return;
    }
    let checked = world.ledger().messages.deleted(&message.text, message.hold, fate, now);
    world.expect(checked);
}

/// Takes all messages at the end: every message that was put and not deleted must be there.
pub async fn drain(world: &World) {
    pass(2 * HOLD_SECONDS_MAX * 1000).await;
    let mut found = Vec::new();
    while let Some(held) = get(world, 32, 3600).await {
        if held.is_empty() {
            break;
        }
        found.extend(held.into_iter().map(|message| message.text));
    }
    let missing = world.ledger().messages.remaining().into_iter().find(|text| !found.contains(text));
    if let Some(text) = missing {
        world.trace.fail(format!("message {text} was acknowledged, but is lost"));
    }
}
