//! The golden wire transcripts against a server in this process, on every engine.

#![allow(clippy::unwrap_used, reason = "this is a test")]

use std::sync::Arc;

use lazuli_conformance::{ExtraRoots, Options, Target, run};
use lazuli_engine::memory::Memory;
use lazuli_engine::{Clock, Engine};
use lazuli_server::accounts::{ConfiguredAccount, DEVELOPMENT_KEY};
use lazuli_server::tls::{Files, self_signed};
use lazuli_server::{Config, Service};
use lazuli_store::Store;

/// An account whose key is not public: web pages may not reach one with a public key, and some transcripts play web pages.
const ACCOUNT: &str = "golden";

async fn check(engine: Arc<dyn Engine>, tls: Option<Files>) {
    let any_port = ([127, 0, 0, 1], 0).into();
    let mut config = Config::new(any_port);
    config.listen = config.listen.on(Service::Queue, any_port).on(Service::Blob, any_port);
    config.tls.clone_from(&tls);
    let accounts = vec![ConfiguredAccount { name: ACCOUNT.into(), ..ConfiguredAccount::development() }];
    let server = lazuli_server::start(config, engine, accounts).await.unwrap();
    let scheme = if tls.is_some() { "https" } else { "http" };
    let mut differences = String::new();
    for service in [Service::Table, Service::Queue, Service::Blob] {
        let address = server.listen.get(service).unwrap();
        let endpoint = format!("{scheme}://{address}/{ACCOUNT}");
        let target = Target::new(&endpoint, ACCOUNT, DEVELOPMENT_KEY).unwrap();
        let mut target = target.with_service(service);
        if let Some(files) = &tls {
            target.extra_roots = ExtraRoots::from_pem(&std::fs::read(&files.certificate).unwrap()).unwrap();
        }
        let report = tokio::task::spawn_blocking(move || run(&Options::new(target))).await.unwrap();
        assert!(report.counts().exchanges > 0, "there are transcripts to run");
        if !report.is_clean() {
            differences.push_str(&report.table());
        }
    }
    server.stop().await.unwrap();
    assert!(differences.is_empty(), "{differences}");
}

#[tokio::test(flavor = "multi_thread")]
async fn on_the_memory_engine() {
    check(Arc::new(Memory::new(Clock::system())), None).await;
}

/// The scheme shows in the responses: the transcripts expect the one that they are sent by.
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
