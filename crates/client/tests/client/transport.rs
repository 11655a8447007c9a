//! Sockets: pools, limits, hooks and credentials.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use lazuli_client::{
    Account, Applied, BoxFuture, Credential, Dynamic, Environment, ErrorKind, HttpOptions, Result,
    RetryOptions, System, TableService, TokenProvider, Transport,
};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

use crate::support::{account_at, person};

fn run<F: Future<Output = ()>>(test: F) {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    runtime.unwrap().block_on(test);
}

/// A service that sends every request the same bytes, and counts connections and requests.
struct Canned {
    address: std::net::SocketAddr,
    connections: Arc<AtomicUsize>,
    requests: Arc<Mutex<Vec<String>>>,
    /// Maximum number of requests that waited for a response at the same time.
    crowd: Arc<AtomicUsize>,
}

impl Canned {
    async fn start(response: &'static str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let connections = Arc::new(AtomicUsize::new(0));
        let requests: Arc<Mutex<Vec<String>>> = Arc::default();
        let crowd = Arc::new(AtomicUsize::new(0));
        let present = Arc::new(AtomicUsize::new(0));
        let (counter, log, most) = (connections.clone(), requests.clone(), crowd.clone());
        tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                counter.fetch_add(1, Ordering::SeqCst);
                let (log, most, present) = (log.clone(), most.clone(), present.clone());
                tokio::spawn(async move {
                    let mut input = Vec::new();
                    while let Ok(1..) = stream.read_buf(&mut input).await {
                        // Requests of these tests have no body.
                        if input.ends_with(b"\r\n\r\n") {
                            log.lock().unwrap().push(String::from_utf8_lossy(&input).into_owned());
                            input.clear();
                            most.fetch_max(present.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                            tokio::task::yield_now().await;
                            present.fetch_sub(1, Ordering::SeqCst);
                            if response.is_empty() || stream.write_all(response.as_bytes()).await.is_err() {
                                return;
                            }
                        }
                    }
                });
            }
        });
        Self { address, connections, requests, crowd }
    }
}

const NO_TABLES: &str =
    "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 12\r\n\r\n{\"value\":[]}";

/// HT-04: connections are reused, and the number of concurrent requests is limited.
#[test]
fn connections_are_pooled_and_bounded() {
    run(async {
        let canned = Canned::start(NO_TABLES).await;
        let options = HttpOptions { connections_max: 3, ..HttpOptions::default() };
        let service = TableService::builder(account_at(canned.address)).http(options).build().unwrap();
        for _ in 0..10 {
            service.table_names().await.unwrap();
        }
        let crowd: Vec<_> = (0..50)
            .map(|_| {
                let service = service.clone();
                tokio::spawn(async move { service.table_names().await.unwrap() })
            })
            .collect();
        for one in crowd {
            one.await.unwrap();
        }
        assert!((1..=3).contains(&canned.crowd.load(Ordering::SeqCst)));
        // A connection returns to the pool a moment after its response, so a few more may be opened than needed.
        assert!(canned.connections.load(Ordering::SeqCst) < 60);
        assert_eq!(canned.requests.lock().unwrap().len(), 60);
    });
}

/// HT-02: a body is sent immediately, to a server that never sends 100 Continue and is not asked to.
#[test]
fn nothing_waits_for_continue() {
    const DONE: &str = "HTTP/1.1 204 No Content\r\nETag: W/\"datetime'2024-01-01T00%3A00%3A00Z'\"\r\nContent-Length: 0\r\n\r\n";
    run(async {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let service = TableService::new(account_at(listener.local_addr().unwrap())).unwrap();
        let seen = tokio::spawn(async move {
            let (mut stream, _) = listener.accept().await.unwrap();
            let mut input = Vec::new();
            while !input.ends_with(b"}") {
                assert_ne!(stream.read_buf(&mut input).await.unwrap(), 0, "the body is missing");
            }
            stream.write_all(DONE.as_bytes()).await.unwrap();
            String::from_utf8(input).unwrap().to_lowercase()
        });
        service.table("People").unwrap().upsert(&person("p", "r", 1)).await.unwrap();
        let request = seen.await.unwrap();
        assert!(request.contains("\r\ncontent-length:") && !request.contains("\r\nexpect:"), "{request}");
    });
}

/// CL-13: a hook sees every request, and its headers are sent.
#[test]
fn hooks_add_headers() {
    run(async {
        let canned = Canned::start(NO_TABLES).await;
        let service = TableService::builder(account_at(canned.address))
            .on_request(|request| {
                request.headers_mut().insert("x-trace", "abc".parse().unwrap());
            })
            .build()
            .unwrap();
        service.table_names().await.unwrap();
        let request = canned.requests.lock().unwrap()[0].to_lowercase();
        for part in ["x-trace: abc", "x-ms-version: 2019-02-02", "x-ms-client-request-id: ", "x-ms-date: "] {
            assert!(request.contains(part), "{part} in {request}");
        }
        // AU-08, LA-31: signed with Shared Key Lite by default.
        assert!(request.contains("authorization: sharedkeylite devstoreaccount1:"), "{request}");
    });
}

/// An unlimited number of connections does not panic.
#[test]
fn unlimited_connections() {
    for connections_max in [0, usize::MAX] {
        let options = HttpOptions { connections_max, ..HttpOptions::default() };
        assert!(lazuli_client::Http::without_roots(&options).is_ok());
    }
}

/// Nothing listens: nothing was sent, so nothing was applied.
#[test]
fn no_connection() {
    run(async {
        let address = {
            let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
            listener.local_addr().unwrap()
        };
        let service = TableService::builder(account_at(address)).retry(RetryOptions::none()).build().unwrap();
        let error = service.table("People").unwrap().upsert(&person("p", "r", 1)).await.unwrap_err();
        assert_eq!((error.kind(), error.applied()), (ErrorKind::Transport, Applied::No), "{error}");
        assert!(error.is_transient());
    });
}

/// A connection that closes without a response: the request may have been applied.
#[test]
fn closed_without_a_response() {
    run(async {
        let canned = Canned::start("").await;
        let service =
            TableService::builder(account_at(canned.address)).retry(RetryOptions::none()).build().unwrap();
        let table = service.table("People").unwrap();
        let error = table.delete_entity("p", "r").await.unwrap_err();
        assert_eq!((error.kind(), error.applied()), (ErrorKind::Transport, Applied::Unknown), "{error}");
    });
}

/// An invalid response: the request was applied, but the response cannot be parsed.
#[test]
fn invalid_responses() {
    run(async {
        let canned =
            Canned::start("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 5\r\n\r\nhello")
                .await;
        let service = TableService::new(account_at(canned.address)).unwrap();
        let table = service.table("People").unwrap();
        assert_eq!(service.table_names().await.unwrap_err().kind(), ErrorKind::InvalidResponse);
        assert_eq!(table.get::<Dynamic>("p", "r").await.unwrap_err().kind(), ErrorKind::InvalidResponse);
        assert_eq!(table.policies().await.unwrap_err().kind(), ErrorKind::InvalidResponse);
        assert_eq!(service.properties().await.unwrap_err().kind(), ErrorKind::InvalidResponse);
    });
}

/// An error page of a proxy is an error with its status.
#[test]
fn pages_of_proxies() {
    run(async {
        let canned = Canned::start("HTTP/1.1 407 Proxy\r\nContent-Length: 13\r\n\r\n<html></html>").await;
        let service = TableService::new(account_at(canned.address)).unwrap();
        let error = service.table_names().await.unwrap_err();
        assert_eq!((error.kind(), error.status(), error.code()), (ErrorKind::Service, Some(407), None));
        assert_eq!(error.code_text(), "");
    });
}

/// TLS with a certificate that is trusted explicitly; an untrusted one is rejected before anything is
/// sent.
#[test]
fn tls() {
    run(async {
        let directory = tempfile::tempdir().unwrap();
        let localhost = std::net::Ipv4Addr::LOCALHOST;
        let files = lazuli_server::tls::self_signed::ensure(directory.path(), localhost.into()).unwrap();
        let pem = std::fs::read(&files.certificate).unwrap();
        let mut config = lazuli_server::Config::new((localhost, 0).into());
        config.tls = Some(files);
        let engine = Arc::new(lazuli_engine::memory::Memory::new(lazuli_engine::Clock::system()));
        let given = vec![lazuli_server::accounts::ConfiguredAccount::development()];
        let server = lazuli_server::start(config, engine, given).await.unwrap();
        let endpoint =
            format!("https://{}/devstoreaccount1", server.listen.get(lazuli_server::Service::Table).unwrap());
        let account = Account::development_at(&endpoint).unwrap();
        let options = HttpOptions { extra_roots_pem: Some(pem), ..HttpOptions::default() };
        let service = TableService::builder(account.clone()).http(options).build().unwrap();
        let table = service.create_table("People").await.unwrap();
        table.insert(&person("p", "r", 1)).await.unwrap();
        table.get::<Dynamic>("p", "r").await.unwrap();
        let stranger = lazuli_client::Http::without_roots(&HttpOptions::default()).unwrap();
        let service =
            TableService::builder(account).transport(stranger).retry(RetryOptions::none()).build().unwrap();
        let error = service.table("People").unwrap().upsert(&person("p", "r", 2)).await.unwrap_err();
        assert_eq!((error.kind(), error.applied()), (ErrorKind::Transport, Applied::No), "{error}");
        server.stop().await.unwrap();
    });
}

struct Tokens(AtomicUsize);

impl TokenProvider for Tokens {
    fn token(&self) -> BoxFuture<'_, Result<String>> {
        let n = self.0.fetch_add(1, Ordering::SeqCst);
        Box::pin(async move { Ok(format!("token-{n}")) })
    }
}

/// Bearer tokens are requested each time, and are sent over https or on this machine only.
#[test]
fn bearer_tokens() {
    run(async {
        let canned = Canned::start(NO_TABLES).await;
        let account =
            account_at(canned.address).with_credential(Credential::bearer(Tokens(AtomicUsize::new(0))));
        let service = TableService::new(account.clone()).unwrap();
        service.table_names().await.unwrap();
        service.table_names().await.unwrap();
        let requests = canned.requests.lock().unwrap().clone();
        assert!(requests[0].contains("Bearer token-0") && requests[1].contains("Bearer token-1"));
        let far = Account::new("a", "http://example.com/a".parse().unwrap(), account.credential().clone());
        let error = TableService::new(far).unwrap().table_names().await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Input);
    });
}

/// Programs can supply their own transport, clock and randomness as trait objects.
#[test]
fn everything_can_be_replaced() {
    fn objects(_: &dyn Transport, _: &dyn Environment) {}
    let embedded = lazuli_embedded::Embedded::memory().unwrap();
    objects(&embedded, &System::default());
}

/// HT-07: the client's futures can be sent to other tasks.
#[test]
fn futures_are_send() {
    fn sent<T: Send>(_: T) {}
    let service = lazuli_embedded::memory();
    let table = service.table("People").unwrap();
    sent(table.get::<Dynamic>("p", "r"));
    sent(table.insert(&person("p", "r", 1)));
    sent(table.modify("p", "r", |_: &mut Dynamic| Ok(())));
    sent(table.partition("p").unwrap().batch().execute());
    sent(service.table_names());
}

/// For programs that derive `Debug` around them, and for `unwrap_err`.
#[test]
fn handles_implement_debug() {
    let service = lazuli_embedded::memory();
    let partition = service.table("People").unwrap().partition("Delft").unwrap();
    let context = lazuli_client::Context::new(&service);
    let shown = format!("{partition:?} {:?} {context:?}", partition.batch());
    for part in ["TableService(", "People", "Delft", "len: 0", "pending: 0"] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
}
