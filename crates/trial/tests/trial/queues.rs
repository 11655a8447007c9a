//! Histories of concurrent clients of a queue.

use lazuli_trial::linear::HistorySize;
use lazuli_trial::queue::{Seen, run};
use lazuli_trial::subject::{Durable, InMemory, Subject};

use crate::runtime;

const HISTORIES: u64 = 2;

async fn check(mut subject: impl Subject) {
    let shape = HistorySize { clients: 6, operations: 40, kill: false };
    let mut total = Seen::default();
    for seed in 0..HISTORIES {
        match run(&mut subject, seed, shape).await {
            Ok(seen) => total.add(seen),
            Err(message) => panic!("{message}"),
        }
    }
    total.shows_something(shape).expect("something happens");
}

/// QU-01: nothing acknowledged is lost, and no message has two holders.
#[test]
fn messages_in_memory_are_neither_lost_nor_held_twice() {
    runtime().block_on(async { check(InMemory::start().await.expect("the server starts")).await });
}

/// QU-01.
#[test]
fn messages_in_the_store_are_neither_lost_nor_held_twice() {
    runtime().block_on(async { check(Durable::start().await.expect("the server starts")).await });
}
