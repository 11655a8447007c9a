//! Clients that create and read snapshots and copies of the blobs of other clients.

use std::sync::Arc;

use lazuli_model::Service;

use super::blobs::{container, name_of, number_of};
use super::{SETTLED_AFTER, STEADY, request};
use crate::network::{AUTHORITY, Fate, Got, RequestOutcome};
use crate::time::pass;
use crate::world::World;

const VERSION: &str = "2021-08-06";

/// Creates and reads snapshots and copies, `steps` times in total.
pub async fn use_derived(world: Arc<World>, client: usize, clients: usize, steps: u32) {
    world.set_up(Service::Blob, container).await;
    for _ in 0..steps {
        world.rest().await;
        let of = world.rng.below(clients as u64) as usize;
        match world.rng.below(10) {
            0..2 => make_snapshot(&world, of).await,
            2..5 => read_snapshot(&world, of).await,
            5..7 => make_copy(&world, client, of).await,
            _ => read_copy(&world, client).await,
        }
    }
}

async fn make_snapshot(world: &World, of: usize) {
    let name = name_of(of);
    let floor = world.ledger().registers.floor(&name);
    let access = world.steady().await;
    let make = request("PUT", format!("/{STEADY}/things/b{of}?comp=snapshot"), VERSION);
    let outcome = world.send_as(&access, Service::Blob, make).await;
    if outcome.status() == 404 {
        let checked = world.ledger().registers.check(&name, floor, None);
        world.expect(checked);
    }
    if let (201, Some(snapshot)) = (outcome.status(), outcome.header("x-ms-snapshot")) {
        let mut ledger = world.ledger();
        let last = ledger.registers.last(&name);
        ledger.derived.snapshot(&name, snapshot, floor, last);
    }
}

async fn read_snapshot(world: &World, of: usize) {
    let name = name_of(of);
    let snapshots = world.ledger().derived.snapshots(&name);
    let Some((snapshot, floor)) = world.rng.pick(&snapshots) else { return };
    let access = world.steady().await;
    let target = format!("/{STEADY}/things/b{of}?snapshot={}", snapshot.replace(':', "%3A"));
    let outcome = world.send_as(&access, Service::Blob, request("GET", target, VERSION)).await;
    match shown(&outcome) {
        Some(Ok(number)) => {
            let checked = world.ledger().derived.check_snapshot(&name, snapshot, number);
            world.expect(checked);
        }
        Some(Err(body)) => world.trace.fail(format!("snapshot {snapshot} of {name} is torn: {body}")),
        // Deleting a blob deletes its snapshots.
        None if outcome.status() == 404 && !world.ledger().registers.may_be_deleted_since(&name, *floor) => {
            world.trace.fail(format!("snapshot {snapshot} of {name} is lost"));
        }
        None => {}
    }
}

async fn make_copy(world: &World, client: usize, of: usize) {
    let (source, copy) = (name_of(of), copy_name(client, of));
    let floor = world.ledger().registers.floor(&source);
    let number = world.ledger().derived.copying(&copy, floor);
    let access = world.steady().await;
    let make = request("PUT", format!("/{STEADY}/things/{copy}"), VERSION)
        .with("x-ms-copy-source", format!("http://{AUTHORITY}/{STEADY}/things/b{of}"));
    let outcome = world.send_as(&access, Service::Blob, make).await;
    let is_done = outcome.header("x-ms-copy-status") == Some("success");
    let fate = match outcome.fate() {
        Fate::Applied if !is_done => Fate::Unknown,
        fate => fate,
    };
    let last = world.ledger().registers.last(&source);
    world.ledger().derived.copied(&copy, number, last, fate);
    if fate == Fate::Unknown {
        pass(SETTLED_AFTER).await;
    }
}

fn copy_name(client: usize, of: usize) -> String {
    format!("copy{client}of{of}")
}

async fn read_copy(world: &World, client: usize) {
    let copy = copy_name(client, world.rng.below(3) as usize);
    let floor = world.ledger().derived.copy_floor(&copy);
    let access = world.steady().await;
    let get = request("GET", format!("/{STEADY}/things/{copy}"), VERSION);
    let outcome = world.send_as(&access, Service::Blob, get).await;
    let checked = match shown(&outcome) {
        Some(Ok(number)) => world.ledger().derived.check_copy(&copy, floor, Some(number)),
        Some(Err(body)) => Err(format!("{copy} is torn: {body}")),
        None if outcome.status() == 404 => world.ledger().derived.check_copy(&copy, floor, None),
        None => Ok(()),
    };
    world.expect(checked);
}

/// The number of the write in a response, or its body if that is not the content of a write. `None` if the
/// response contains no blob.
fn shown(outcome: &RequestOutcome) -> Option<Result<u64, String>> {
    match outcome {
        RequestOutcome::Got(Got { status: 200, body, is_broken: false, .. }) => {
            Some(number_of(body).ok_or_else(|| String::from_utf8_lossy(body).into_owned()))
        }
        _ => None,
    }
}
