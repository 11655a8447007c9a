//! Histories of concurrent clients of a few blobs.

use lazuli_trial::blob::{Seen, run};
use lazuli_trial::linear::HistorySize;
use lazuli_trial::subject::{Durable, InMemory, Subject};

use crate::runtime;

const HISTORIES: u64 = 16;

async fn check(mut subject: impl Subject) {
    let shape = HistorySize { clients: 5, operations: 30, kill: false };
    let mut total = Seen::default();
    for seed in 0..HISTORIES {
        match run(&mut subject, seed, shape).await {
            Ok(seen) => total.add(seen),
            Err(message) => panic!("{message}"),
        }
    }
    total.shows_something(shape).expect("something happens");
}

/// BL-02, BL-08, LS-02, LS-05: conditional writes, leases, appends, page writes and tags have an order that explains all
/// responses.
#[test]
fn histories_of_blobs_in_memory_have_an_order() {
    runtime().block_on(async { check(InMemory::start().await.expect("the server starts")).await });
}

/// BL-02, BL-08, LS-02, LS-05: the same in the store.
#[test]
fn histories_of_blobs_in_the_store_have_an_order() {
    runtime().block_on(async { check(Durable::start().await.expect("the server starts")).await });
}
