//! Patterns that combine tables with queues and blobs: those of the table design guide, the worker of the whitepaper, and
//! the demonstrations of the concurrency article. Small, runnable, and checked by assertions.
//!
//! Each worker is stopped after each of its steps; the next one must complete the work. There is no Rust client for queues
//! and blobs yet, so `queue.rs` and `blob.rs` send the requests that the patterns need.
//!
//! Run them with `cargo run -p lazuli-client --example storage [connection string]`. Without one they start Lazuli in this
//! process, with a clock that they advance instead of waiting; elsewhere the waits take about twenty minutes.

#![allow(clippy::print_stdout, dead_code, reason = "an example prints, and defines more than it uses")]

use lazuli_client::{Error, Result};

mod archive;
mod blob;
mod channels;
mod concurrency;
mod index_blob;
mod index_partitions;
mod index_queue;
mod large_entity;
mod leases;
mod logs;
mod poison;
mod queue;
mod read_model;
mod series;
mod services;
#[path = "../shared/mod.rs"]
mod shared;
mod steps;
mod table_lock;
mod workers;

pub use services::Storage;

fn main() -> Result<()> {
    let given = std::env::args().nth(1).or_else(|| std::env::var("LAZULI_CONNECTION").ok());
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    let runtime = runtime.map_err(|error| Error::input(error.to_string()))?;
    runtime.block_on(async {
        let storage = match given {
            Some(text) => Storage::at(&text)?,
            None => Storage::here().await?,
        };
        run(&storage).await
    })
}

/// Runs all patterns.
pub async fn run(storage: &Storage) -> Result<()> {
    archive::run(storage).await?;
    index_partitions::run(storage).await?;
    index_queue::run(storage).await?;
    channels::run(storage).await?;
    poison::run(storage).await?;
    workers::run(storage).await?;
    read_model::run(storage).await?;
    large_entity::run(storage).await?;
    series::run(storage).await?;
    index_blob::run(storage).await?;
    logs::run(storage).await?;
    table_lock::run(storage).await?;
    leases::run(storage).await?;
    concurrency::run(storage).await
}
