//! Request logs as blobs in `$logs`.

use std::net::Ipv4Addr;
use std::sync::Arc;

use lazuli_engine::memory::Memory;
use lazuli_engine::{Clock, Engine};
use lazuli_model::Service;
use lazuli_probe::blocking::Connection;
use lazuli_probe::{Request, Response, Signer};
use lazuli_server::analytics::line::LogLine;
use lazuli_server::clock;

use crate::analytics::{logging, stop};
use crate::support::{HANG, Server};

pub const PROPERTIES: &str = "/?restype=service&comp=properties";
const LIST: &str = "/$logs?restype=container&comp=list";

fn memory() -> Arc<dyn Engine> {
    Arc::new(Memory::new(Clock::system()))
}

/// A server of all services.
fn start(engine: &Arc<dyn Engine>, quota: u64) -> Server {
    Server::over(engine.clone(), |config| {
        for service in Service::ALL {
            config.listen = config.listen.on(service, (Ipv4Addr::LOCALHOST, 0).into());
        }
        config.analytics_bytes_max = quota;
    })
}

/// Sends a signed request to the development account.
pub fn send(server: &Server, service: Service, request: Request) -> Response {
    let address = server.running().listen.get(service).unwrap().to_string();
    let target = format!("/devstoreaccount1{}", request.target);
    let mut request = Request { target, ..request };
    request = request.with("Host", address.clone()).with("x-ms-version", "2021-12-02");
    Signer::development(service).sign(&mut request, clock::now());
    Connection::open(&address, HANG).unwrap().exchange(&request).unwrap()
}

pub fn get(server: &Server, target: &str) -> Response {
    send(server, Service::Blob, Request::new("GET", target))
}

fn enable(server: &Server, service: Service) {
    let body = format!("<StorageServiceProperties>{}</StorageServiceProperties>", logging(true, true, true));
    let response = send(server, service, Request::new("PUT", PROPERTIES).body(body));
    assert_eq!(response.status, 202, "{}", response.text());
}

/// The strings of all elements with this name.
fn texts(document: &str, name: &str) -> Vec<String> {
    let (start, end) = (format!("<{name}>"), format!("</{name}>"));
    let parts = document.split(&start).skip(1);
    parts.filter_map(|part| part.split_once(&end)).map(|(text, _)| text.to_owned()).collect()
}

pub fn names(server: &Server, prefix: &str) -> Vec<String> {
    let page = get(server, &format!("{LIST}&prefix={prefix}"));
    assert_eq!(page.status, 200, "{}", page.text());
    texts(&page.text(), "Name")
}

/// Every line about a service that a server, which is stopped, has written to an engine; oldest first.
pub fn lines(engine: &Arc<dyn Engine>, service: Service) -> Vec<LogLine> {
    let server = Server::over(engine.clone(), |config| {
        config.listen = config.listen.on(Service::Blob, (Ipv4Addr::LOCALHOST, 0).into());
        config.analytics = false;
    });
    let text: String = names(&server, &format!("{}/", service.label()))
        .iter()
        .map(|name| get(&server, &format!("/$logs/{name}")).text())
        .collect();
    stop(server);
    text.lines().map(|line| LogLine::parse(line).unwrap_or_else(|| panic!("{line}"))).collect()
}

/// LG-01 to LG-04: every service is logged to block blobs in `$logs`, which are found by prefix and say in their metadata
/// what they hold.
#[test]
fn all_services_are_logged_to_blobs() {
    let engine = memory();
    let server = start(&engine, u64::MAX);
    assert_eq!(get(&server, LIST).status, 404, "nothing is logged yet");
    let requests = [
        (Service::Blob, Request::new("PUT", "/files?restype=container"), 201, "CreateContainer"),
        (Service::Queue, Request::new("PUT", "/jobs"), 201, "CreateQueue"),
        (
            Service::Table,
            Request::new("POST", "/Tables").json("{\"TableName\":\"Data\"}"),
            201,
            "CreateTable",
        ),
    ];
    for (service, request, status, _) in requests.clone() {
        enable(&server, service);
        assert_eq!(get(&server, LIST).status, 200, "the container exists as soon as logging is on");
        assert_eq!(send(&server, service, request).status, status);
    }
    stop(server);
    for (service, _, _, kind) in requests {
        let found: Vec<String> = lines(&engine, service)
            .iter()
            .filter(|line| line.get("operation-type") == kind)
            .map(|line| [line.get("service-type"), line.get("request-status")].join(" "))
            .collect();
        assert_eq!(found, [format!("{} Success", service.label())]);
    }
    let server = start(&engine, u64::MAX);
    let name = names(&server, "table/").remove(0);
    let shape: String = name.chars().map(|c| if c.is_ascii_digit() { '0' } else { c }).collect();
    assert_eq!(shape, "table/0000/00/00/0000/000000.log");
    assert!(name.ends_with("00/000000.log"), "{name}: minutes are zero and the counter starts at zero");
    let hour = &name[..name.len() - "/000000.log".len()];
    assert_eq!(names(&server, hour), std::slice::from_ref(&name));
    let head = send(&server, Service::Blob, Request::new("HEAD", format!("/$logs/{name}")));
    let header = |name: &str| head.header(name).unwrap_or_default().to_owned();
    assert_eq!(
        (header("x-ms-blob-type").as_str(), header("x-ms-meta-LogVersion").as_str()),
        ("BlockBlob", "1.0")
    );
    assert_eq!(header("x-ms-meta-LogType"), "write");
    let (first, last) = (header("x-ms-meta-StartTime"), header("x-ms-meta-EndTime"));
    assert!(first <= last && first.len() == "2014-07-31T18:00:00Z".len(), "{first} {last}");
    assert_eq!(header("Content-Length"), get(&server, &format!("/$logs/{name}")).body.len().to_string());
}

/// LG-05: lines are written every second, also while the server runs.
#[test]
fn lines_are_written_while_the_server_runs() {
    const POLLS_MAX: usize = 100_000;
    let server = start(&memory(), u64::MAX);
    enable(&server, Service::Table);
    assert_eq!(send(&server, Service::Table, Request::new("GET", "/Tables")).status, 200);
    // Requests to blobs are not logged here.
    let name = (0..POLLS_MAX).find_map(|_| names(&server, "table/").pop()).expect("no log appears");
    let text = get(&server, &format!("/$logs/{name}")).text();
    assert!(text.contains("QueryTables"), "{text}");
    stop(server);
}

/// Clients list, read and delete logs. They change nothing else in `$logs`.
#[test]
fn only_the_server_writes_logs() {
    let engine = memory();
    let server = start(&engine, u64::MAX);
    enable(&server, Service::Table);
    let tables = || send(&server, Service::Table, Request::new("GET", "/Tables"));
    assert_eq!(tables().status, 200);
    stop(server);
    let server = start(&engine, u64::MAX);
    for (query, is_there) in [("", false), ("&include=system", true)] {
        let page = get(&server, &format!("/?comp=list{query}")).text();
        assert_eq!(texts(&page, "Name").contains(&"$logs".to_owned()), is_there, "{page}");
    }
    let name = names(&server, "table/").remove(0);
    let blob = format!("/$logs/{name}");
    let put = Request::new("PUT", "/$logs/mine").with("x-ms-blob-type", "BlockBlob").body("text");
    for request in [
        put,
        Request::new("PUT", format!("{blob}?comp=metadata")),
        Request::new("PUT", format!("{blob}?comp=appendblock")).body("more"),
        Request::new("PUT", format!("{blob}?comp=snapshot")),
        Request::new("PUT", format!("{blob}?comp=lease"))
            .with("x-ms-lease-action", "acquire")
            .with("x-ms-lease-duration", "-1"),
        Request::new("PUT", "/$logs?restype=container"),
        Request::new("DELETE", "/$logs?restype=container"),
        Request::new("PUT", "/$logs?restype=container&comp=metadata"),
        Request::new("PUT", "/$logs?restype=container&comp=acl").with("x-ms-blob-public-access", "blob"),
    ] {
        let shown = format!("{} {}", request.method, request.target);
        let response = send(&server, Service::Blob, request);
        let code = response.header("x-ms-error-code").unwrap_or_default().to_owned();
        assert_eq!((response.status, code.as_str()), (403, "InsufficientAccountPermissions"), "{shown}");
    }
    assert_eq!(get(&server, &format!("{blob}?comp=blocklist")).status, 200);
    assert_eq!(get(&server, "/$logs?restype=container").status, 200);
    assert_eq!(send(&server, Service::Blob, Request::new("DELETE", blob.clone())).status, 202);
    assert_eq!(get(&server, &blob).status, 404);
}

/// Finding 4: logs stop at their quota, and the lines that are lost are counted.
#[test]
fn finding_4_logs_stop_at_their_quota() {
    const QUOTA: u64 = 2000;
    let engine = memory();
    let server = start(&engine, QUOTA);
    enable(&server, Service::Table);
    for _ in 0..20 {
        assert_eq!(send(&server, Service::Table, Request::new("GET", "/Tables")).status, 200);
    }
    let state = server.running().state().clone();
    stop(server);
    let (taken, dropped) = state.analytics().counts();
    assert_eq!(taken, 20);
    let written = lines(&engine, Service::Table);
    assert_eq!(written.len() as u64 + dropped, taken);
    let bytes: u64 = written.iter().map(|line| line.print().len() as u64 + 1).sum();
    assert!(bytes <= QUOTA && dropped > 0, "{bytes} bytes, {dropped} dropped");
}

/// Front ends that share an engine add to one log, and a restart does too.
#[test]
fn front_ends_share_a_log() {
    const FRONT_ENDS: usize = 4;
    let engine = memory();
    let first = start(&engine, u64::MAX);
    enable(&first, Service::Table);
    stop(first);
    let mut asked = 0;
    let mut servers: Vec<Server> = (0..FRONT_ENDS).map(|_| start(&engine, u64::MAX)).collect();
    for server in &servers {
        for _ in 0..5 {
            assert_eq!(send(server, Service::Table, Request::new("GET", "/Tables")).status, 200);
            asked += 1;
        }
    }
    let stops: Vec<_> = servers.iter_mut().map(Server::begin_stop).collect();
    servers.iter().zip(stops).for_each(|(server, stop)| server.wait(stop));
    assert_eq!(lines(&engine, Service::Table).len(), asked);
    let server = start(&engine, u64::MAX);
    // The hour may have ended meanwhile.
    let names = names(&server, "table/");
    assert!(names.iter().all(|name| name.ends_with("/000000.log")), "{names:?}");
}
