//! Histories of concurrent clients.

use lazuli_trial::linear::HistorySize;
use lazuli_trial::subject::{Durable, InMemory, Subject};
use lazuli_trial::table::history::{Seen, prepare, run};

use crate::runtime;

const HISTORIES: u64 = 12;

async fn check(mut subject: impl Subject) {
    prepare(&subject, "histories").await.expect("the table can be made");
    let shape = HistorySize { clients: 6, operations: 25, kill: false };
    let mut total = Seen::default();
    for seed in 0..HISTORIES {
        match run(&mut subject, "histories", seed, shape).await {
            Ok(seen) => total.add(seen),
            Err(message) => panic!("{message}"),
        }
    }
    total.shows_something(shape).expect("something happens");
}

/// CS-01 to CS-03, CC-04, TX-09, TX-11.
#[test]
fn histories_in_memory_have_an_order() {
    runtime().block_on(async { check(InMemory::start().await.expect("the server starts")).await });
}

/// CS-01 to CS-03, CC-04, TX-09, TX-11.
#[test]
fn histories_in_the_store_have_an_order() {
    runtime().block_on(async { check(Durable::start().await.expect("the server starts")).await });
}
