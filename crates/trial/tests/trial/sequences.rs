//! Random sequences on the model and on the server.

use lazuli_trial::sequence::search;
use lazuli_trial::subject::{Durable, InMemory};

use crate::runtime;

const SEQUENCES: u32 = 60;
const STEPS: usize = 60;
const SEED: u64 = 1;

#[test]
fn the_server_in_memory_agrees_with_the_model() {
    let runtime = runtime();
    let mut subject = runtime.block_on(InMemory::start()).expect("the server starts");
    search(&runtime, &mut subject, SEQUENCES, STEPS, SEED).unwrap_or_else(|found| panic!("{found}"));
}

/// CS-06: restarts change nothing.
#[test]
fn the_durable_server_agrees_with_the_model() {
    let runtime = runtime();
    let mut subject = runtime.block_on(Durable::start()).expect("the server starts");
    search(&runtime, &mut subject, SEQUENCES, STEPS, SEED).unwrap_or_else(|found| panic!("{found}"));
}
