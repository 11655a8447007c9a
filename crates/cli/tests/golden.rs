//! The golden wire transcripts against a server in this process, on every engine.

#![allow(clippy::unwrap_used, reason = "this is a test")]

use std::sync::Arc;

use lazuli_conformance::{ExtraRoots, Options, Target, run};
use lazuli_engine::memory::Memory;
use lazuli_engine::{Clock, Engine};
use lazuli_server::Config;
use lazuli_server::accounts::{DEVELOPMENT_ACCOUNT, DEVELOPMENT_KEY, GivenAccount};
use lazuli_server::tls::{Files, self_signed};
use lazuli_store::Store;

async fn check(engine: Arc<dyn Engine>, tls: Option<Files>) {
    let mut config = Config::new(([127, 0, 0, 1], 0).into());
    config.tls.clone_from(&tls);
    let server = lazuli_server::start(config, engine, vec![GivenAccount::development()]).await.unwrap();
    let scheme = if tls.is_some() { "https" } else { "http" };
    let endpoint = format!("{scheme}://{}/{DEVELOPMENT_ACCOUNT}", server.table);
    let mut target = Target::new(&endpoint, DEVELOPMENT_ACCOUNT, DEVELOPMENT_KEY).unwrap();
    if let Some(files) = tls {
        target.extra_roots = ExtraRoots::from_pem(&std::fs::read(files.certificate).unwrap()).unwrap();
    }
    let report = tokio::task::spawn_blocking(move || run(&Options::new(target))).await.unwrap();
    server.stop().await.unwrap();
    assert!(report.counts().exchanges > 0, "there are transcripts to run");
    assert!(report.is_clean(), "{}", report.table());
}

#[tokio::test(flavor = "multi_thread")]
async fn on_the_memory_engine() {
    check(Arc::new(Memory::new(Clock::system())), None).await;
}

/// The scheme shows in the answers: the transcripts expect the one that they are sent by.
#[tokio::test(flavor = "multi_thread")]
async fn through_tls() {
    let directory = tempfile::tempdir().unwrap();
    let files = self_signed::ensure(directory.path(), [127, 0, 0, 1].into()).unwrap();
    check(Arc::new(Memory::new(Clock::system())), Some(files)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn on_the_embedded_store() {
    let directory = tempfile::tempdir().unwrap();
    check(Arc::new(Store::open(directory.path(), lazuli_store::Options::default()).unwrap()), None).await;
}
