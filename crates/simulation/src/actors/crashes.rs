//! Crashes and restarts servers, and moves the shared engine to another machine.

use std::sync::Arc;

use crate::front::Front;
use crate::time::pass;
use crate::world::World;

/// Maximum time between two crashes, in milliseconds.
const CALM_MAX: u64 = 60_000;
/// Maximum time that a server stays down.
const DOWN_MAX: u64 = 5_000;
/// Interval for checking whether the store must be reopened.
const LOOK_EVERY: u64 = 500;

/// Crashes servers until the time of faults is over.
pub async fn crash_and_restart(world: Arc<World>) {
    let mut next = world.time.milliseconds() + world.rng.below(CALM_MAX);
    while !world.is_calm() {
        pass(LOOK_EVERY).await;
        let is_due = world.time.milliseconds() >= next;
        if world.core.is_shared && is_due && world.rng.chance(200) {
            world.core.fail_over();
            world.trace.note(format_args!("the engine moves"));
        }
        if is_due || world.core.is_poisoned() {
            let number = world.any_front();
            restart(&world, number, DOWN_MAX).await;
            next = world.time.milliseconds() + 500 + world.rng.below(CALM_MAX);
        }
    }
}

/// Crashes a server and starts it again.
pub async fn restart(world: &World, number: usize, down_max: u64) {
    let front = world.fronts()[number].take();
    if let Some(front) = front {
        front.crash();
        world.trace.note(format_args!("server {number} crashes"));
    }
    pass(world.rng.below(down_max + 1)).await;
    start(world, number).await;
}

/// Starts a server, with as many attempts as necessary.
pub async fn start(world: &World, number: usize) {
    loop {
        match Front::start(world).await {
            Ok(front) => {
                world.fronts()[number] = Some(Arc::new(front));
                return world.trace.note(format_args!("server {number} starts"));
            }
            Err(why) => world.trace.note(format_args!("server {number} does not start: {why}")),
        }
        pass(100).await;
    }
}
