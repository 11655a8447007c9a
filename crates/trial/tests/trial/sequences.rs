//! Random sequences on the model and on the server.

use lazuli_trial::subject::{Durable, InMemory, Subject};
use lazuli_trial::table::sequence::{search, situations};
use tokio::runtime::Runtime;

use crate::runtime;

const SEQUENCES: u32 = 60;
const STEPS: usize = 120;
const SEED: u64 = 1;

/// Every response agrees, and every situation occurs.
fn check(runtime: &Runtime, mut subject: impl Subject) {
    let met = search(runtime, &mut subject, SEQUENCES, STEPS, SEED).unwrap_or_else(|found| panic!("{found}"));
    assert!(met.missing().is_empty(), "of {} never met: {:?}", situations().len(), met.missing());
}

#[test]
fn the_server_in_memory_agrees_with_the_model() {
    let runtime = runtime();
    let subject = runtime.block_on(InMemory::start()).expect("the server starts");
    check(&runtime, subject);
}

/// CS-06: restarts change nothing.
#[test]
fn the_durable_server_agrees_with_the_model() {
    let runtime = runtime();
    let subject = runtime.block_on(Durable::start()).expect("the server starts");
    check(&runtime, subject);
}
