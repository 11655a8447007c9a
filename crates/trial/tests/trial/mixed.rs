//! Histories of accounts, keys, policies, tables and scans.

use lazuli_trial::linear::HistorySize;
use lazuli_trial::mixed::{MixedSeen, run};
use lazuli_trial::subject::{Durable, InMemory, Subject};

use crate::runtime;

const HISTORIES: u64 = 12;
/// Chance decides what happens in a history: more of them follow until everything has happened.
const HISTORIES_MAX: u64 = 200;

async fn check(mut subject: impl Subject) {
    let shape = HistorySize { clients: 6, operations: 40, kill: false };
    let mut total = MixedSeen::default();
    for seed in 0..HISTORIES_MAX {
        if seed >= HISTORIES && total.shows_something(shape).is_ok() {
            break;
        }
        match run(&mut subject, seed, shape).await {
            Ok(seen) => total.add(seen),
            Err(message) => panic!("{message}"),
        }
    }
    total.shows_something(shape).expect("something happens");
}

/// Former bugs: keys that were replaced and stayed valid, tables of a removed account that appeared in a new account with its name.
#[test]
fn mixed_histories_in_memory_have_an_order() {
    runtime().block_on(async { check(InMemory::start().await.expect("the server starts")).await });
}

/// The same on the durable store.
#[test]
fn mixed_histories_in_the_store_have_an_order() {
    runtime().block_on(async { check(Durable::start().await.expect("the server starts")).await });
}
