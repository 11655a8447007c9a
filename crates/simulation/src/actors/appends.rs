//! Clients that append to one blob, sometimes only at a certain position, and read all of it.

use std::sync::Arc;

use lazuli_model::Service;

use super::blobs::{WORD_BYTES, container, content_of};
use super::{SETTLED_AFTER, STEADY, request};
use crate::network::{Fate, Got, RequestOutcome};
use crate::time::pass;
use crate::world::World;

const VERSION: &str = "2021-08-06";
/// The name of the blob in traces and failures.
const NAME: &str = "the append blob";

/// Appends and reads, `steps` times in total.
pub async fn use_appends(world: Arc<World>, steps: u32) {
    world.set_up(Service::Blob, container).await;
    let create = || {
        request("PUT", target(""), VERSION).with("x-ms-blob-type", "AppendBlob").with("If-None-Match", "*")
    };
    world.set_up(Service::Blob, create).await;
    let mut length = 0;
    for _ in 0..steps {
        world.rest().await;
        if world.rng.chance(600) {
            append(&world, &mut length).await;
        } else if let Some(bytes) = read_appends(&world).await {
            length = bytes;
        }
    }
}

fn target(query: &str) -> String {
    format!("/{STEADY}/things/log{query}")
}

/// Appends a piece. `length` is the length last seen by the client.
async fn append(world: &World, length: &mut u64) {
    let number = world.ledger().appends.begin();
    let position = world.rng.chance(400).then_some(*length);
    let content = content_of(number);
    let bytes = content.len() as u64;
    let mut append = request("PUT", target("?comp=appendblock"), VERSION).body(content);
    if let Some(position) = position {
        append = append.with("x-ms-blob-condition-appendpos", position.to_string());
    }
    let access = world.steady().await;
    let outcome = world.send_as(&access, Service::Blob, append).await;
    let offset = outcome.header("x-ms-blob-append-offset").and_then(|text| text.parse().ok());
    if outcome.status() == 201 && position.is_some() && offset != position {
        world.trace.fail(format!("piece {number} was appended at {offset:?}, not at {position:?}"));
    }
    if outcome.status() == 404 {
        world.trace.fail(format!("{NAME} has disappeared"));
    }
    let fate = outcome.fate();
    let settled = world.ledger().appends.settle(number, fate, offset);
    world.expect(settled);
    if let (Fate::Applied, Some(offset)) = (fate, offset) {
        *length = offset + bytes;
    }
    if fate == Fate::Unknown {
        pass(SETTLED_AFTER).await;
        world.ledger().appends.give_up(number);
    }
}

/// Reads and checks the whole blob. Returns its length.
pub async fn read_appends(world: &World) -> Option<u64> {
    let floor = world.ledger().appends.floor();
    let access = world.steady().await;
    let failed = world.core.failed_calls();
    let outcome = world.send_as(&access, Service::Blob, request("GET", target(""), VERSION)).await;
    let checked = match &outcome {
        RequestOutcome::Got(Got { status: 200, body, is_broken: false, .. }) => match pieces_of(body) {
            Some(pieces) => {
                let count = outcome.header("x-ms-blob-committed-block-count");
                let checked = world.ledger().appends.check(&floor, &pieces);
                match count.and_then(|text| text.parse::<usize>().ok()) {
                    Some(count) if count == pieces.len() => checked,
                    _ => Err(format!("{NAME} has {} pieces, and counts {count:?}", pieces.len())),
                }
            }
            None => Err(format!("{NAME} is torn: {}", String::from_utf8_lossy(body))),
        },
        RequestOutcome::Got(Got { status: 200, is_broken: true, .. })
            if world.core.failed_calls() == failed =>
        {
            Err(format!("{NAME} ended early, although no call has failed"))
        }
        RequestOutcome::Got(Got { status: 404, error, .. }) => {
            Err(format!("{NAME} has disappeared: {error:?}"))
        }
        _ => return None,
    };
    let length = match &outcome {
        RequestOutcome::Got(Got { body, is_broken: false, .. }) => Some(body.len() as u64),
        _ => None,
    };
    world.expect(checked);
    length
}

/// The pieces in a content with their offsets; `None` if it contains a byte that was not appended there.
fn pieces_of(content: &[u8]) -> Option<Vec<(u64, u64)>> {
    let (mut found, mut at) = (Vec::new(), 0);
    while at < content.len() {
        let word = std::str::from_utf8(content.get(at..at + WORD_BYTES)?).ok()?;
        let number = word.parse().ok()?;
        let piece = content_of(number);
        if !content[at..].starts_with(piece.as_bytes()) {
            return None;
        }
        found.push((number, at as u64));
        at += piece.len();
    }
    Some(found)
}
