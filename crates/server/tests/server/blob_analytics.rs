//! Storage Analytics of the Blob service: the log lines of reads without credentials, and the metrics tables. Content is
//! streamed, so nothing but its length is known when a request is recorded.

use std::net::Ipv4Addr;
use std::sync::Arc;

use lazuli_engine::memory::Memory;
use lazuli_engine::{Clock, Engine};
use lazuli_model::Service;
use lazuli_probe::blocking::Connection;
use lazuli_probe::{Request, Response};

use crate::analytics::{figures, logging, metrics, stop};
use crate::logs::{PROPERTIES, get, lines, send};
use crate::support::{self, HANG, Server};

const ACCOUNT: &str = "devstoreaccount1";
const HOURS: &str = "$MetricsHourPrimaryTransactionsBlob";
const MINUTES: &str = "$MetricsMinutePrimaryTransactionsBlob";
/// Many times what a connection reads or writes at once.
const LARGE: usize = 3 << 20;
/// A head is shorter.
const HEAD: u64 = 2000;

fn memory() -> Arc<dyn Engine> {
    Arc::new(Memory::new(Clock::system()))
}

/// A server of all services.
fn start(engine: &Arc<dyn Engine>) -> Server {
    Server::over(engine.clone(), |config| {
        for service in Service::ALL {
            config.listen = config.listen.on(service, (Ipv4Addr::LOCALHOST, 0).into());
        }
    })
}

fn switch(server: &Server, what: &str) {
    let body = format!("<StorageServiceProperties>{what}</StorageServiceProperties>");
    let response = send(server, Service::Blob, Request::new("PUT", PROPERTIES).body(body));
    assert_eq!(response.status, 202, "{}", response.text());
}

fn put(server: &Server, target: &str, bytes: usize) {
    let request = Request::new("PUT", target).with("x-ms-blob-type", "BlockBlob").body(vec![b'x'; bytes]);
    assert_eq!(send(server, Service::Blob, request).status, 201);
}

/// Creates a container with public blobs.
fn create(server: &Server) {
    let request = Request::new("PUT", "/files?restype=container").with("x-ms-blob-public-access", "blob");
    assert_eq!(send(server, Service::Blob, request).status, 201);
}

/// Sends a request without credentials.
fn ask_unsigned(server: &Server, target: &str, etag: Option<&str>) -> Response {
    let address = server.running().listen.get(Service::Blob).unwrap().to_string();
    let mut request = Request::new("GET", format!("/{ACCOUNT}{target}"))
        .with("Host", address.clone())
        .with("x-ms-version", "2021-12-02");
    if let Some(etag) = etag {
        request = request.with("If-None-Match", etag.to_owned());
    }
    Connection::open(&address, HANG).unwrap().exchange(&request).unwrap()
}

/// `TotalIngress` and `TotalEgress` of an operation, summed up over periods.
fn bytes_of(server: &Server, table: &str, row: &str) -> [u64; 2] {
    let response = server.connect().ask(&support::Request::get(&format!("/{table}()")));
    let found: serde_json::Value = serde_json::from_slice(&response.body).unwrap();
    let rows = found["value"].as_array().unwrap().iter().filter(|found| found["RowKey"] == row);
    rows.fold([0; 2], |[came, went], row| {
        let number = |name: &str| row[name].as_str().unwrap().parse::<u64>().unwrap();
        [came + number("TotalIngress"), went + number("TotalEgress")]
    })
}

/// LG-01: a 304 without credentials is logged like the read that it saves; other failures are not.
#[test]
fn public_reads_that_find_nothing_new_are_logged() {
    let engine = memory();
    let server = start(&engine);
    create(&server);
    put(&server, "/files/a", LARGE);
    switch(&server, &logging(true, false, false));
    let read = ask_unsigned(&server, "/files/a", None);
    let etag = read.header("etag").unwrap().to_owned();
    assert_eq!((read.status, read.body.len()), (200, LARGE));
    assert_eq!(ask_unsigned(&server, "/files/a", Some(&etag)).status, 304);
    assert_eq!(ask_unsigned(&server, "/files/b", None).status, 404);
    stop(server);
    let found = lines(&engine, Service::Blob);
    let names = ["operation-type", "request-status", "http-status-code", "response-packet-size"];
    let shown: Vec<String> = found.iter().map(|line| names.map(|name| line.get(name)).join(" ")).collect();
    assert_eq!(
        shown,
        [
            format!("GetBlob AnonymousSuccess 200 {LARGE}"),
            "GetBlob AnonymousConditionNotMet 304 0".to_owned()
        ]
    );
}

/// LG-01: the metrics tables of blobs, by hour with a row per operation and by minute without. Content counts where it was
/// sent: a HEAD sends none.
#[test]
fn requests_to_blobs_are_measured() {
    let engine = memory();
    for round in 1..=2 {
        let server = start(&engine);
        if round == 1 {
            create(&server);
            switch(&server, &(metrics("HourMetrics", true) + &metrics("MinuteMetrics", false)));
        }
        put(&server, "/files/a", LARGE);
        assert_eq!(get(&server, "/files/a").body.len(), LARGE);
        let part = Request::new("GET", "/files/a").with("x-ms-range", "bytes=0-999999");
        assert_eq!(send(&server, Service::Blob, part).body.len(), 1_000_000);
        assert_eq!(send(&server, Service::Blob, Request::new("HEAD", "/files/a")).status, 200);
        assert_eq!(get(&server, "/files/b").status, 404);
        stop(server);
    }
    let server = start(&engine);
    let hours = [
        "system;All=0/0/0",
        "user;All=10/8/2",
        "user;GetBlob=6/4/2",
        "user;GetBlobProperties=2/2/0",
        "user;PutBlob=2/2/0",
    ];
    assert_eq!(figures(&server, HOURS), hours);
    assert_eq!(figures(&server, "$MetricsTransactionsBlob"), hours, "its name before 2013-08-15");
    assert_eq!(figures(&server, MINUTES), hours[..2]);
    let large = LARGE as u64;
    for (row, requests, came, went) in [
        ("user;PutBlob", 2, 2 * large, 0),
        ("user;GetBlob", 6, 0, 2 * (large + 1_000_000)),
        ("user;GetBlobProperties", 2, 0, 0),
    ] {
        let [ingress, egress] = bytes_of(&server, HOURS, row);
        assert!((came + 1..came + requests * HEAD).contains(&ingress), "{row}: {ingress} bytes came");
        assert!((went + 1..went + requests * HEAD).contains(&egress), "{row}: {egress} bytes went");
    }
    for table in [HOURS, MINUTES] {
        let [ingress, egress] = bytes_of(&server, table, "user;All");
        assert!(ingress > 2 * large && egress > 2 * (large + 1_000_000), "{table}: {ingress} {egress}");
    }
    for name in ["$MetricsHourSecondaryTransactionsBlob", "$MetricsHourPrimaryTransactionsQueue"] {
        let response = server.connect().ask(&support::Request::get(&format!("/{name}()")));
        assert_eq!(response.status, 404, "{name}");
    }
}

/// LG-01: requests to the secondary endpoint are measured in tables of their own.
#[test]
fn requests_to_the_secondary_of_blobs_are_measured_apart() {
    let engine = memory();
    let server = start(&engine);
    create(&server);
    put(&server, "/files/a", LARGE);
    switch(&server, &(metrics("HourMetrics", true) + &metrics("MinuteMetrics", true)));
    assert_eq!(get(&server, "-secondary/files/a").body.len(), LARGE);
    assert_eq!(get(&server, "-secondary/?comp=list").status, 200);
    stop(server);
    let server = start(&engine);
    for table in ["$MetricsHourSecondaryTransactionsBlob", "$MetricsMinuteSecondaryTransactionsBlob"] {
        let expected =
            ["system;All=0/0/0", "user;All=2/2/0", "user;GetBlob=1/1/0", "user;ListContainers=1/1/0"];
        assert_eq!(figures(&server, table), expected, "{table}");
        let [_, egress] = bytes_of(&server, table, "user;GetBlob");
        assert!((LARGE as u64..LARGE as u64 + HEAD).contains(&egress), "{table}: {egress} bytes went");
    }
    let primary = server.connect().ask(&support::Request::get(&format!("/{HOURS}()")));
    assert_eq!(primary.status, 404, "{}", primary.text());
}
