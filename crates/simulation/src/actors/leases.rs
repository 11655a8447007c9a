//! Clients that compete for the lease of a blob, and write it with and without their lease.

use std::sync::Arc;

use lazuli_model::Service;

use super::{STEADY, request};
use crate::ledger::Hold;
use crate::network::RequestOutcome;
use crate::time::pass;
use crate::world::World;

const VERSION: &str = "2021-08-06";
/// Minimum and maximum duration of a lease in seconds.
const LEASE_SECONDS: std::ops::Range<u64> = 15..60;

/// Acquires, uses and releases the lease, `steps` times in total.
pub async fn use_lease(world: Arc<World>, steps: u32) {
    let container = || request("PUT", format!("/{STEADY}/locks?restype=container"), VERSION);
    world.set_up(Service::Blob, container).await;
    let blob =
        || request("PUT", target(""), VERSION).with("x-ms-blob-type", "BlockBlob").with("If-None-Match", "*");
    world.set_up(Service::Blob, blob).await;
    for _ in 0..steps {
        world.rest().await;
        if world.rng.chance(400) {
            write_without_lease(&world).await;
        } else if let Some((lease, number)) = acquire(&world).await {
            use_and_release(&world, &lease, number).await;
        }
    }
}

fn target(query: &str) -> String {
    format!("/{STEADY}/locks/lock{query}")
}

/// Tries to acquire the lease; its id and its number if that succeeds.
async fn acquire(world: &World) -> Option<(String, usize)> {
    let seconds = LEASE_SECONDS.start + world.rng.below(LEASE_SECONDS.end - LEASE_SECONDS.start);
    let id = u128::from_be_bytes(world.rng.bytes());
    let (a, b, c) = (id >> 96, (id >> 80) & 0xFFFF, (id >> 64) & 0xFFFF);
    let lease = format!("{a:08x}-{b:04x}-{c:04x}-8000-{:012x}", id & 0xFFFF_FFFF_FFFF);
    let access = world.steady().await;
    let acquire = request("PUT", target("?comp=lease"), VERSION)
        .with("x-ms-lease-action", "acquire")
        .with("x-ms-lease-duration", seconds.to_string())
        .with("x-ms-proposed-lease-id", lease.clone());
    let from = world.time.milliseconds();
    let outcome = world.send_as(&access, Service::Blob, acquire).await;
    if outcome.status() != 201 {
        return None;
    }
    let hold = Hold { from, got: world.time.milliseconds(), time: world.certain_time(seconds) };
    let (number, checked) = world.ledger().leases.acquired(hold);
    world.expect(checked);
    Some((lease, number))
}

async fn use_and_release(world: &World, lease: &str, number: usize) {
    pass(world.rng.below(20_000)).await;
    let outcome = write(world, Some(lease)).await;
    let now = world.time.milliseconds();
    if matches!(outcome.status(), 409 | 412) && world.ledger().leases.holds(number, now) {
        world.trace.fail(format!("the holder of the lease cannot write: {}", outcome.status()));
    }
    // Some leases simply expire.
    if world.rng.chance(600) {
        let access = world.steady().await;
        world.ledger().leases.releasing(number, world.time.milliseconds());
        let release = request("PUT", target("?comp=lease"), VERSION)
            .with("x-ms-lease-action", "release")
            .with("x-ms-lease-id", lease.to_owned());
        world.send_as(&access, Service::Blob, release).await;
    }
}

async fn write_without_lease(world: &World) {
    let from = world.time.milliseconds();
    let outcome = write(world, None).await;
    let now = world.time.milliseconds();
    if outcome.status() == 201 && world.ledger().leases.is_held(from, now) {
        world.trace.fail("a blob was changed without its lease".into());
    }
}

async fn write(world: &World, lease: Option<&str>) -> RequestOutcome {
    let access = world.steady().await;
    let mut put = request("PUT", target(""), VERSION).with("x-ms-blob-type", "BlockBlob");
    if let Some(lease) = lease {
        put = put.with("x-ms-lease-id", lease.to_owned());
    }
    world.send_as(&access, Service::Blob, put.body("locked")).await
}
