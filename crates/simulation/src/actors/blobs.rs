//! Clients of blobs: each writes one blob, in one request or as blocks, and reads the blobs of all clients.

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use lazuli_model::Service;
use lazuli_probe::Request;

use super::{SETTLED_AFTER, STEADY, request};
use crate::network::{Fate, Got, RequestOutcome};
use crate::time::pass;
use crate::world::World;

const VERSION: &str = "2021-08-06";
/// The content is the number of the write, repeated, so that a mixture of two writes is visible.
pub(super) const WORD_BYTES: usize = 8;

/// Writes one blob and reads all of them, `steps` times in total.
pub async fn use_blobs(world: Arc<World>, client: usize, clients: usize, steps: u32) {
    world.set_up(Service::Blob, container).await;
    for _ in 0..steps {
        world.rest().await;
        if world.rng.chance(500) {
            write_blob(&world, client).await;
        } else {
            let other = world.rng.below(clients as u64) as usize;
            read_blob(&world, other).await;
        }
    }
}

/// Creates the container of the blobs.
pub(super) fn container() -> Request {
    request("PUT", format!("/{STEADY}/things?restype=container"), VERSION)
}

pub(super) fn name_of(client: usize) -> String {
    format!("blob b{client}")
}

/// Number of repetitions of the number of a write.
fn words_of(number: u64) -> usize {
    1 + (number.wrapping_mul(0x9E37_79B9) % 200) as usize
}

pub(super) fn content_of(number: u64) -> String {
    format!("{number:08}").repeat(words_of(number))
}

async fn write_blob(world: &World, client: usize) {
    let name = name_of(client);
    let target = format!("/{STEADY}/things/b{client}");
    let is_deletion = world.rng.chance(150);
    let number = world.ledger().registers.begin(&name, !is_deletion);
    let outcome = if is_deletion {
        let access = world.steady().await;
        let delete = request("DELETE", target, VERSION).with("x-ms-delete-snapshots", "include");
        world.send_as(&access, Service::Blob, delete).await
    } else if world.rng.chance(500) {
        let access = world.steady().await;
        let put = request("PUT", target, VERSION).with("x-ms-blob-type", "BlockBlob");
        world.send_as(&access, Service::Blob, put.body(content_of(number))).await
    } else {
        put_blocks(world, &target, &content_of(number)).await
    };
    // A blob that does not exist counts as deleted.
    let fate = if is_deletion && outcome.status() == 404 { Fate::Applied } else { outcome.fate() };
    world.ledger().registers.settle(&name, number, fate);
    if fate == Fate::Unknown {
        pass(SETTLED_AFTER).await;
    }
}

/// Stages the content in up to three blocks, and commits them. Only the commit counts.
async fn put_blocks(world: &World, target: &str, content: &str) -> RequestOutcome {
    let words = content.len() / WORD_BYTES;
    let third = words.div_ceil(3) * WORD_BYTES;
    let mut list = String::from("<?xml version=\"1.0\"?><BlockList>");
    for (index, part) in content.as_bytes().chunks(third).enumerate() {
        let id = STANDARD.encode(format!("block{index}"));
        let access = world.steady().await;
        let target = format!("{target}?comp=block&blockid={}", id.replace('=', "%3D"));
        let block = request("PUT", target, VERSION).body(part);
        let outcome = world.send_as(&access, Service::Blob, block).await;
        if outcome.fate() != Fate::Applied {
            if outcome.fate() == Fate::Unknown {
                pass(SETTLED_AFTER).await;
            }
            // Nothing was committed, whether or not the block was stored.
            return RequestOutcome::NotSent;
        }
        list.push_str(&format!("<Uncommitted>{id}</Uncommitted>"));
    }
    list.push_str("</BlockList>");
    let access = world.steady().await;
    let commit = request("PUT", format!("{target}?comp=blocklist"), VERSION).body(list);
    let outcome = world.send_as(&access, Service::Blob, commit).await;
    if outcome.status() == 400 {
        world.trace.fail(format!("staged blocks are gone: {}", outcome.text()));
    }
    outcome
}

/// Reads a blob and checks its content.
pub async fn read_blob(world: &World, client: usize) -> Option<()> {
    let name = name_of(client);
    let floor = world.ledger().registers.floor(&name);
    let access = world.steady().await;
    let failed = world.core.failed_calls();
    let get = request("GET", format!("/{STEADY}/things/b{client}"), VERSION);
    let outcome = world.send_as(&access, Service::Blob, get).await;
    let checked = match &outcome {
        RequestOutcome::Got(Got { status: 200, body, is_broken: false, .. }) => match number_of(body) {
            Some(number) => world.ledger().registers.check(&name, floor, Some(number)),
            None => Err(format!("{name} is torn: {}", String::from_utf8_lossy(body))),
        },
        RequestOutcome::Got(Got { status: 200, is_broken: true, .. })
            if world.core.failed_calls() == failed =>
        {
            Err(format!("{name} ended early, although no call has failed"))
        }
        RequestOutcome::Got(Got { status: 404, error, .. })
            if *error != Some(lazuli_model::ErrorCode::BlobNotFound) =>
        {
            Err(format!("the container has disappeared: {error:?}"))
        }
        RequestOutcome::Got(Got { status: 404, .. }) => world.ledger().registers.check(&name, floor, None),
        _ => return None,
    };
    world.expect(checked);
    Some(())
}

/// The number of the write with this content, if it is complete.
pub(super) fn number_of(body: &[u8]) -> Option<u64> {
    let first = std::str::from_utf8(body.get(..WORD_BYTES)?).ok()?;
    let number: u64 = first.parse().ok()?;
    (body == content_of(number).as_bytes()).then_some(number)
}
