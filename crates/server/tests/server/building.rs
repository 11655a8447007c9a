//! Responses that are being built share one amount of memory, whatever their service, and decoded batches another; see
//! `lazuli_server::memory`.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use bytes::Bytes;
use lazuli_model::{ErrorCode, Service};
use lazuli_probe::Request;
use lazuli_server::http::ReadyBody;
use lazuli_server::{Endpoint, Limits};

use crate::stuck::Stuck;
use crate::support::{self, Server};
use crate::uploads::{endpoint_of, send};

const ACCOUNT: &str = "/devstoreaccount1";
const MIB: usize = 1024 * 1024;
const BUSY: (u16, Option<ErrorCode>) = (503, Some(ErrorCode::ServerBusy));

async fn ask(endpoint: &Endpoint, method: &'static str, path: &str) -> (u16, Option<ErrorCode>) {
    send(endpoint, Request::new(method, format!("{ACCOUNT}{path}")), &mut ReadyBody(Bytes::new())).await
}

/// An endpoint with this much memory for responses that are being built.
fn with_memory(service: Service, mib: usize) -> (Arc<Stuck>, Arc<Endpoint>) {
    let engine = Stuck::new();
    let limits = Limits { bodies_bytes_max: mib * MIB, ..Limits::default() };
    (engine.clone(), Arc::new(endpoint_of(service, engine, limits)))
}

/// Listings and block lists had no bound by bytes.
#[tokio::test(start_paused = true)]
async fn listings_of_blobs_share_the_memory_for_responses_being_built() {
    let (engine, endpoint) = with_memory(Service::Blob, 16);
    assert_eq!(ask(&endpoint, "PUT", "/things?restype=container").await, (201, None));
    engine.before.store(true, Ordering::SeqCst);
    let waiting = endpoint.clone();
    let list = "/things?restype=container&comp=list";
    let first = tokio::spawn(async move { ask(&waiting, "GET", list).await });
    while engine.scans() == 0 {
        tokio::task::yield_now().await;
    }
    for path in [
        list,
        "?comp=list",
        "/things/blob?comp=blocklist",
        "/things?restype=container&comp=blobs&where=a%3D'b'",
    ] {
        assert_eq!(ask(&endpoint, "GET", path).await, BUSY, "{path}");
    }
    // Requests that need little memory are served.
    assert_eq!(ask(&endpoint, "HEAD", "/things/blob").await.0, 404);
    assert_eq!(first.await.unwrap().0, 500, "the engine hangs until the time is up");
    engine.before.store(false, Ordering::SeqCst);
    for path in [list, "?comp=list"] {
        assert_eq!(ask(&endpoint, "GET", path).await, (200, None), "{path}");
    }
    assert_eq!(ask(&endpoint, "GET", "/things/blob?comp=blocklist").await.0, 404);
}

/// Get Messages and Peek Messages had no bound by bytes either.
#[tokio::test(start_paused = true)]
async fn messages_share_the_memory_for_responses_being_built() {
    let (engine, endpoint) = with_memory(Service::Queue, 4);
    assert_eq!(ask(&endpoint, "PUT", "/jobs").await, (201, None));
    // The first use of a queue is a commit.
    assert_eq!(ask(&endpoint, "GET", "/jobs/messages?peekonly=true").await, (200, None));
    engine.before.store(true, Ordering::SeqCst);
    let waiting = endpoint.clone();
    let many = "/jobs/messages?numofmessages=32";
    let first = tokio::spawn(async move { ask(&waiting, "GET", many).await });
    while engine.scans() == 0 {
        tokio::task::yield_now().await;
    }
    for path in [many, "/jobs/messages?peekonly=true&numofmessages=32", "?comp=list"] {
        assert_eq!(ask(&endpoint, "GET", path).await, BUSY, "{path}");
    }
    assert_eq!(first.await.unwrap().0, 500, "the engine hangs until the time is up");
    engine.before.store(false, Ordering::SeqCst);
    assert_eq!(ask(&endpoint, "GET", "/jobs/messages?peekonly=true&numofmessages=32").await, (200, None));
}

/// The Blob service ignored it.
#[tokio::test]
async fn an_invalid_timeout_is_rejected_by_every_service() {
    for (service, path) in
        [(Service::Blob, "?comp=list"), (Service::Queue, "?comp=list"), (Service::Table, "/Tables")]
    {
        let endpoint = endpoint_of(service, Stuck::new(), Limits::default());
        let joint = if path.contains('?') { '&' } else { '?' };
        for (timeout, expected) in
            [("5", 200), ("0", 200), ("100", 200), ("abc", 400), ("-1", 400), ("", 400)]
        {
            let (status, error) = ask(&endpoint, "GET", &format!("{path}{joint}timeout={timeout}")).await;
            let code = (expected == 400).then_some(ErrorCode::InvalidQueryParameterValue);
            assert_eq!((status, error), (expected, code), "{service:?} {timeout}");
        }
    }
}

/// A batch of 100 entities with 252 properties, which are small on the wire.
fn wide_batch(partition: usize) -> support::Request {
    let properties: String = (0..252).map(|n| format!(",\"p{n}\":1")).collect();
    let part = |row: usize| {
        format!(
            "--c\r\nContent-Type: application/http\r\nContent-Transfer-Encoding: binary\r\n\r\nPOST http://127.0.0.1/devstoreaccount1/wide HTTP/1.1\r\nContent-Type: application/json\r\nPrefer: return-no-content\r\n\r\n{{\"PartitionKey\":\"{partition}\",\"RowKey\":\"{row}\"{properties}}}\r\n"
        )
    };
    let parts: String = (0..100).map(part).collect();
    let body = format!("--b\r\nContent-Type: multipart/mixed; boundary=c\r\n\r\n{parts}--c--\r\n--b--\r\n");
    support::Request::post("/$batch", &body).set("Content-Type", "multipart/mixed; boundary=b")
}

/// Finding 7 of the security review: 900 connections with such batches took 1,650 MiB against a bound of 940 MiB, since only
/// their bodies were counted.
#[test]
fn finding_7_decoded_batches_are_counted() {
    let engine = Stuck::new();
    let limits = Limits { bodies_bytes_max: 8 * MIB, ..Limits::default() };
    let server = Server::over(engine.clone(), |config| config.limits = limits);
    server.create_table("wide");
    assert_eq!(server.connect().ask(&wide_batch(0)).status, 202, "one has room");
    engine.before.store(true, Ordering::SeqCst);
    let bytes = wide_batch(0).body().len();
    // As many as there is room for if a decoded batch takes four times its body, besides the body.
    let fitting = limits.bodies_bytes_max / (5 * bytes);
    let mut clients: Vec<_> = (0..fitting).map(|_| server.connect()).collect();
    for (number, client) in clients.iter_mut().enumerate() {
        client.send_request(&wide_batch(number));
    }
    engine.wait_for_changes(fitting);
    assert!(fitting > 1 && (fitting + 1) * bytes < limits.bodies_bytes_max / 2, "the bodies alone have room");
    let response = server.connect().ask(&wide_batch(fitting));
    assert_eq!((response.status, response.code()), (503, "ServerBusy"));
    assert_eq!(server.connect().ask(&support::Request::point("wide", "r")).status, 404);
}
