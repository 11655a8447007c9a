//! The web console's listener: its files, the services behind it, and who is rejected.

use std::net::{Ipv4Addr, TcpStream};

use lazuli_protocol::Head;
use lazuli_protocol::auth::{AccountKey, Scheme, authorize};
use lazuli_protocol::http::head::Field;
use lazuli_server::Service;
use lazuli_server::accounts::{DEVELOPMENT_ACCOUNT, DEVELOPMENT_KEY};
use lazuli_server::clock;
use lazuli_server::config::ConsoleSettings;

use crate::support::{Client, HANG, Request, Server, TestResponse};

fn server(is_read_only: bool) -> Server {
    Server::with_config(|config| {
        let address = (Ipv4Addr::LOCALHOST, 0).into();
        config.console = Some(ConsoleSettings { address, may_use_other_port: false, is_read_only });
        config.listen = config.listen.on(Service::Queue, address);
    })
}

fn ask(server: &Server, bytes: impl AsRef<[u8]>) -> TestResponse {
    let stream = TcpStream::connect(server.running().console.unwrap()).unwrap();
    stream.set_read_timeout(Some(HANG)).unwrap();
    let mut client = Client::on(stream);
    client.send(bytes);
    client.response()
}

fn get(server: &Server, target: &str, fields: &str) -> TestResponse {
    ask(server, format!("GET {target} HTTP/1.1\r\nHost: localhost\r\n{fields}\r\n"))
}

/// A request of the Table service through the console.
fn call(server: &Server, request: &Request, target: &str) -> TestResponse {
    let signed = format!("/{DEVELOPMENT_ACCOUNT}{target}");
    let request = request.clone().with("x-lazuli-console", "1");
    let mut bytes = request.head_for(&format!("/api/table{signed}"), &signed).into_bytes();
    bytes.extend_from_slice(request.body());
    ask(server, bytes)
}

/// The signature of a request to the Blob or Queue service with no other headers than these.
fn storage_fields(method: &str, target: &str) -> String {
    let date = clock::now().http().as_str().to_owned();
    let fields = [("x-ms-date", date.as_str()), ("x-ms-version", "2021-12-02")];
    let given = fields.map(|(name, value)| Field { name, value });
    let head = Head { method, target, fields: &given };
    let key = AccountKey::from_base64(DEVELOPMENT_KEY).unwrap();
    let signed = authorize(Service::Queue, Scheme::SharedKey, DEVELOPMENT_ACCOUNT, &key, &head).unwrap();
    let fields = fields.map(|(name, value)| format!("{name}: {value}\r\n")).concat();
    format!("{fields}x-lazuli-console: 1\r\nAuthorization: {signed}\r\n")
}

#[test]
fn the_page_and_its_files_are_served_with_a_strict_policy() {
    let server = server(false);
    let page = get(&server, "/", "");
    assert_eq!((page.status, page.field("Cache-Control")), (200, Some("no-cache")));
    let policy = page.field("Content-Security-Policy").unwrap();
    for part in [
        "default-src 'none'",
        "script-src 'self'",
        "require-trusted-types-for 'script'",
        "frame-ancestors 'none'",
    ] {
        assert!(policy.contains(part), "{part}");
    }
    assert!(!policy.contains("unsafe"), "{policy}");
    let script = page.text().split("src=\"").nth(1).unwrap().split('"').next().unwrap();
    let script = get(&server, &format!("/{script}"), "");
    assert_eq!(script.field("Content-Type"), Some("text/javascript; charset=utf-8"));
    assert!(script.field("Cache-Control").unwrap().contains("immutable"));
    assert_eq!(get(&server, "/nothing", "").status, 404);
    assert_eq!(ask(&server, "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n").status, 405);
}

#[test]
fn the_services_accept_only_signed_requests() {
    let server = server(false);
    let created = call(&server, &Request::post("/Tables", "{\"TableName\":\"People\"}"), "/Tables");
    assert_eq!(created.status, 201, "{created:?}");
    let listed = call(&server, &Request::get("/Tables"), "/Tables");
    assert!(listed.text().contains("People"));
    assert!(listed.field("Content-Security-Policy").unwrap().contains("sandbox"));
    assert_eq!(call(&server, &Request::get("/Tables").unsigned(), "/Tables").status, 403);
    let unknown = get(&server, "/api/file/devstoreaccount1/x", "x-lazuli-console: 1\r\n");
    assert_eq!(unknown.status, 404);
}

/// Other origins and DNS rebinding get nothing.
#[test]
fn other_pages_get_nothing() {
    let server = server(false);
    let settings = |fields: &str| get(&server, "/api/settings", fields);
    assert_eq!(settings("x-lazuli-console: 1\r\n").status, 200);
    assert_eq!(settings("x-lazuli-console: 1\r\nSec-Fetch-Site: same-origin\r\n").status, 200);
    for fields in [
        "",
        "x-lazuli-console: 1\r\nOrigin: http://evil.example\r\n",
        "x-lazuli-console: 1\r\nSec-Fetch-Site: cross-site\r\n",
        "x-lazuli-console: 1\r\nSec-Fetch-Site: same-site\r\nOrigin: http://localhost:1\r\n",
    ] {
        assert_eq!(settings(fields).status, 403, "{fields}");
    }
    let rebound = Request::get("/Tables").set("Host", "evil.example");
    assert_eq!(call(&server, &rebound, "/Tables").status, 421);
    let page = ask(&server, "GET / HTTP/1.1\r\nHost: evil.example\r\n\r\n");
    assert_eq!((page.status, page.body.len() < 200), (421, true));
    let preflight = "OPTIONS /api/table/devstoreaccount1/Tables HTTP/1.1\r\nHost: localhost\r\nOrigin: http://evil.example\r\n\
                     Access-Control-Request-Method: GET\r\n\r\n";
    let preflight = ask(&server, preflight);
    assert_eq!((preflight.status, preflight.field("Access-Control-Allow-Origin")), (403, None));
}

/// Read-only mode is enforced by the server, also for reads that change something.
#[test]
fn a_read_only_console_changes_nothing() {
    let server = server(true);
    server.create_table("People");
    let settings = get(&server, "/api/settings", "x-lazuli-console: 1\r\n");
    assert!(settings.text().contains("\"readOnly\":true"));
    assert_eq!(call(&server, &Request::get("/People()"), "/People()").status, 200);
    let rejected = call(&server, &Request::post("/Tables", "{\"TableName\":\"Other\"}"), "/Tables");
    assert_eq!((rejected.status, rejected.code()), (403, "ConsoleReadOnly"));
    let path = format!("/{DEVELOPMENT_ACCOUNT}/jobs/messages");
    let dequeue = get(&server, &format!("/api/queue{path}"), &storage_fields("GET", &path));
    assert_eq!((dequeue.status, dequeue.code()), (403, "ConsoleReadOnly"));
    let peek = format!("{path}?peekonly=true");
    let peeked = get(&server, &format!("/api/queue{peek}"), &storage_fields("GET", &peek));
    assert_eq!((peeked.status, peeked.code()), (404, "QueueNotFound"));
}

/// No endpoint of the console is privileged: the numbers are for holders of a key, and names are those of their account.
#[test]
fn health_is_for_holders_of_a_key() {
    let server = server(false);
    server.create_table("People");
    let path = format!("/{DEVELOPMENT_ACCOUNT}");
    let target = format!("/api/health{path}");
    let health = get(&server, &target, &storage_fields("GET", &path));
    assert_eq!(health.status, 200, "{health:?}");
    assert!(health.text().contains("lazuli_requests_total"));
    assert_ne!(get(&server, &target, "x-lazuli-console: 1\r\n").status, 200);
    let forged = storage_fields("GET", &path)
        .replace("SharedKey devstoreaccount1:", "SharedKey devstoreaccount1:AAAA");
    assert_eq!(get(&server, &target, &forged).status, 403);
}

/// The rates of a queue that the console shows: by the rules of the health page, and nothing else with them.
#[test]
fn counters_of_queues_are_for_holders_of_a_key() {
    let server = server(false);
    let queue = format!("/{DEVELOPMENT_ACCOUNT}/jobs");
    let fields = storage_fields("PUT", &queue);
    let create =
        format!("PUT /api/queue{queue} HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n{fields}\r\n");
    assert_eq!(ask(&server, create).status, 201);
    let messages = format!("{queue}/messages");
    let read = get(&server, &format!("/api/queue{messages}"), &storage_fields("GET", &messages));
    assert_eq!(read.status, 200, "{read:?}");
    let path = format!("/{DEVELOPMENT_ACCOUNT}?only=queues");
    let target = format!("/api/health{path}");
    let counters = get(&server, &target, &storage_fields("GET", &path));
    assert_eq!(counters.status, 200, "{counters:?}");
    for family in ["put", "dequeued", "deleted"] {
        let line = format!(
            "lazuli_queue_messages_{family}_total{{account=\\\"{DEVELOPMENT_ACCOUNT}\\\",queue=\\\"jobs\\\"}} 0"
        );
        assert!(counters.text().contains(&line), "{line} in {}", counters.text());
    }
    assert!(!counters.text().contains("lazuli_requests_total") && !counters.text().contains("other"));
    assert_ne!(get(&server, &target, "x-lazuli-console: 1\r\n").status, 200);
}
