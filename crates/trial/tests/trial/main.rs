//! The short forms of all trials, on every engine that needs no installation.

mod blobs;
mod histories;
mod invariants;
mod mixed;
mod queues;
mod sequences;

use tokio::runtime::{Builder, Runtime};

fn runtime() -> Runtime {
    Builder::new_multi_thread().worker_threads(2).enable_all().build().expect("a runtime can be built")
}
