//! The patterns of the table design guide that only need tables, the document versions of the whitepaper, and a token for
//! each user (SA-05): small, runnable, and checked by assertions. Those that need queues and blobs are in `../storage`.
//!
//! Each file says what it shows. A Lazuli server reports the rows it reads (`explain`).
//!
//! Run them with `cargo run -p lazuli-client --example patterns [connection string]`.

#![allow(clippy::print_stdout, dead_code, reason = "an example prints, and defines more than it uses")]

use lazuli_client::{Result, TableService};

mod append;
mod compound_key;
mod data_series;
mod delete;
mod denormalise;
mod document_versions;
mod guidelines;
mod heterogeneous;
mod index_entities;
mod inheritance;
mod log_tail;
mod one_filter;
mod own_partition;
mod reading;
mod relations;
mod secondary_index;
#[path = "../shared/mod.rs"]
mod shared;
mod wide;

fn main() -> Result<()> {
    shared::start(|service| async move { run(&service).await })
}

/// Runs all patterns.
pub async fn run(service: &TableService) -> Result<()> {
    guidelines::run(service).await?;
    relations::run(service).await?;
    inheritance::run(service).await?;
    secondary_index::run(service).await?;
    index_entities::run(service).await?;
    denormalise::run(service).await?;
    document_versions::run(service).await?;
    compound_key::run(service).await?;
    log_tail::run(service).await?;
    delete::run(service).await?;
    data_series::run(service).await?;
    wide::run(service).await?;
    append::run(service).await?;
    heterogeneous::run(service).await?;
    one_filter::run(service).await?;
    own_partition::run(service).await?;
    reading::run(service).await
}
