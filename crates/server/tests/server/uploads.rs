//! Uploads on an engine that hangs: the client gets a response in bounded time after its last byte.

use std::net::Ipv4Addr;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use bytes::Bytes;
use lazuli_model::{ErrorCode, Failure, Service};
use lazuli_probe::{Request, Signer};
use lazuli_protocol::Head;
use lazuli_protocol::http::head::Field;
use lazuli_server::accounts::ConfiguredAccount;
use lazuli_server::http::{Body, Peer, Reading, ReadyBody};
use lazuli_server::{Config, Directory, Endpoint, Limits, State, clock};
use tokio::time::{Duration, Instant};

use crate::stuck::Stuck;

const CONTAINER: &str = "/devstoreaccount1/things";

fn endpoint(engine: Arc<Stuck>) -> Endpoint {
    endpoint_of(Service::Blob, engine, Limits::default())
}

/// A service without a socket.
pub fn endpoint_of(service: Service, engine: Arc<Stuck>, limits: Limits) -> Endpoint {
    let directory = Directory::new(vec![ConfiguredAccount::development()]);
    let config = Config { limits, ..Config::new((Ipv4Addr::LOCALHOST, 0).into()) };
    Endpoint::new(Arc::new(State::over(engine, directory, config).unwrap()), service)
}

pub async fn send(endpoint: &Endpoint, request: Request, body: &mut dyn Body) -> (u16, Option<ErrorCode>) {
    let mut request = request.with("x-ms-version", "2021-08-06");
    if !request.headers.iter().any(|(name, _)| name == "Host") {
        request = request.with("Host", "127.0.0.1");
    }
    Signer::development(endpoint.service()).sign(&mut request, clock::now());
    let fields: Vec<Field<'_>> = request.headers.iter().map(|(name, value)| Field { name, value }).collect();
    let head = Head { method: &request.method, target: &request.target, fields: &fields };
    let peer = Peer { address: (Ipv4Addr::LOCALHOST, 1).into(), is_tls: false };
    let response = endpoint.respond(&head, peer, body).await.response;
    (response.status, response.error)
}

async fn with_container() -> (Arc<Stuck>, Endpoint) {
    let engine = Stuck::new();
    let endpoint = endpoint(engine.clone());
    let create = Request::new("PUT", format!("{CONTAINER}?restype=container"));
    assert_eq!(send(&endpoint, create, &mut ReadyBody(Bytes::new())).await, (201, None));
    (engine, endpoint)
}

fn put(bytes: usize) -> Request {
    let put = Request::new("PUT", format!("{CONTAINER}/a")).with("x-ms-blob-type", "BlockBlob");
    put.with("Content-Length", bytes.to_string())
}

/// A body that arrives slowly, but within the deadline for progress.
struct Slow(usize);

impl Body for Slow {
    fn length(&self) -> Option<u64> {
        Some(self.0 as u64)
    }

    fn collect(&mut self, _: usize) -> Reading<'_, Vec<u8>> {
        unreachable!("uploads are streamed")
    }

    fn next(&mut self) -> Reading<'_, Option<Bytes>> {
        Reading::waiting(async {
            tokio::time::advance(Duration::from_secs(20)).await;
            self.0 = self.0.saturating_sub(1);
            Ok(Some(Bytes::from_static(b"x")).filter(|_| self.0 > 0))
        })
    }

    fn hold(&mut self, _: usize) -> Result<(), Failure> {
        Ok(())
    }
}

#[tokio::test(start_paused = true)]
async fn an_upload_that_is_not_committed_in_time_gets_a_response() {
    let (engine, endpoint) = with_container().await;
    engine.before.store(true, Ordering::SeqCst);
    for bytes in [10, 100_000] {
        let start = Instant::now();
        let body = Bytes::from(vec![7; bytes]);
        let got = send(&endpoint, put(bytes), &mut ReadyBody(body)).await;
        assert_eq!(got, (500, Some(ErrorCode::OperationTimedOut)), "{bytes} bytes");
        assert_eq!(start.elapsed().as_secs(), 30, "simulated time");
    }
    engine.before.store(false, Ordering::SeqCst);
    assert_eq!(send(&endpoint, put(1), &mut ReadyBody(Bytes::from_static(b"x"))).await, (201, None));
}

/// Time spent waiting for the client is not counted: a body that makes progress may take any time.
#[tokio::test(start_paused = true)]
async fn a_slow_client_does_not_use_up_the_time_of_the_server() {
    let (_, endpoint) = with_container().await;
    assert_eq!(send(&endpoint, put(9), &mut Slow(10)).await, (201, None));
}
