//! Bank and ring.

use std::time::Duration;

use lazuli_trial::subject::Durable;
use lazuli_trial::table::history::prepare;
use lazuli_trial::table::invariant::{Bank, Effort, Invariant, Ring, run};

use crate::runtime;

/// TX-11, TX-27: no reader sees a part of a transaction, no writer overwrites a change that it has not seen.
fn check(invariant: impl Invariant) {
    runtime().block_on(async {
        let mut subject = Durable::start().await.expect("the server starts");
        prepare(&subject, "invariants").await.expect("the table can be made");
        let effort = Effort { writers: 4, time: Duration::from_secs(2), kills: 1 };
        let done = run(&mut subject, invariant, "invariants", 1, effort).await;
        let done = done.unwrap_or_else(|message| panic!("{message}"));
        assert!(done.applied > 0 && done.reads > 0, "{done:?}");
    });
}

#[test]
fn the_sum_of_the_bank_never_moves() {
    check(Bank);
}

#[test]
fn the_ring_is_always_one() {
    check(Ring);
}
