//! Histories of concurrent clients of a few blobs.

use lazuli_trial::blob::{Seen, run};
use lazuli_trial::linear::HistorySize;
use lazuli_trial::subject::Durable;

use crate::runtime;

const HISTORIES: u64 = 8;

/// BL-02, BL-08, LS-02, LS-05: conditional writes and leases have an order that explains what every client saw.
#[test]
fn what_clients_saw_of_blobs_has_an_order() {
    runtime().block_on(async {
        let mut subject = Durable::start().await.expect("the server starts");
        let shape = HistorySize { clients: 5, operations: 30, kill: false };
        let mut total = Seen::default();
        for seed in 0..HISTORIES {
            match run(&mut subject, seed, shape).await {
                Ok(seen) => total.add(seen),
                Err(message) => panic!("{message}"),
            }
        }
        total.shows_something(shape).expect("something happens");
    });
}
