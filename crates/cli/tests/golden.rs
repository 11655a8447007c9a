//! The golden wire transcripts against a server in this process, on every engine.

#![allow(clippy::unwrap_used, reason = "this is a test")]

use std::sync::Arc;

use lazuli_conformance::{Options, Target, run};
use lazuli_engine::memory::Memory;
use lazuli_engine::{Clock, Engine};
use lazuli_server::Config;
use lazuli_server::accounts::{DEVELOPMENT_ACCOUNT, DEVELOPMENT_KEY, GivenAccount};
use lazuli_store::Store;

async fn check(engine: Arc<dyn Engine>) {
    let config = Config::new(([127, 0, 0, 1], 0).into());
    let server = lazuli_server::start(config, engine, vec![GivenAccount::development()]).await.unwrap();
    let endpoint = format!("http://{}/{DEVELOPMENT_ACCOUNT}", server.table);
    let target = Target::new(&endpoint, DEVELOPMENT_ACCOUNT, DEVELOPMENT_KEY).unwrap();
    let report = tokio::task::spawn_blocking(move || run(&Options::new(target))).await.unwrap();
    server.stop().await.unwrap();
    assert!(report.counts().exchanges > 0, "there are transcripts to run");
    assert!(report.is_clean(), "{}", report.table());
}

#[tokio::test(flavor = "multi_thread")]
async fn on_the_memory_engine() {
    check(Arc::new(Memory::new(Clock::system()))).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn on_the_embedded_store() {
    let directory = tempfile::tempdir().unwrap();
    check(Arc::new(Store::open(directory.path(), lazuli_store::Options::default()).unwrap())).await;
}
