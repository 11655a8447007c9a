//! Storage Analytics of the Queue service: the log lines of every operation, and the metrics tables.

use std::net::Ipv4Addr;
use std::sync::Arc;

use lazuli_engine::memory::Memory;
use lazuli_engine::{Clock, Engine};
use lazuli_model::Service;
use lazuli_probe::blocking::Connection;
use lazuli_probe::{Request, Response};
use lazuli_protocol::auth::sas::{Presented, Token};
use lazuli_protocol::auth::{AccountKey, DEVELOPMENT_ACCOUNT as ACCOUNT, DEVELOPMENT_KEY};
use lazuli_server::analytics::line::LogLine;

use crate::analytics::{figures, logging, metrics, stop};
use crate::logs::{PROPERTIES, get, lines, names, send};
use crate::support::{self, HANG, Server};

const MESSAGE: &str = "<QueueMessage><MessageText>m</MessageText></QueueMessage>";
const HOURS: &str = "$MetricsHourPrimaryTransactionsQueue";
const MINUTES: &str = "$MetricsMinutePrimaryTransactionsQueue";

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
    let response = send(server, Service::Queue, Request::new("PUT", PROPERTIES).body(body));
    assert_eq!(response.status, 202, "{}", response.text());
}

fn ask(server: &Server, method: &'static str, target: &str) -> Response {
    let request = Request::new(method, target.to_owned());
    send(server, Service::Queue, if method == "POST" { request.body(MESSAGE) } else { request })
}

/// Sends a request as it is, with the signature in its query or with none.
fn ask_unsigned(server: &Server, method: &'static str, target: &str) -> u16 {
    let address = server.running().listen.get(Service::Queue).unwrap().to_string();
    let request = Request::new(method, format!("/{ACCOUNT}{target}"))
        .with("Host", address.clone())
        .with("x-ms-version", "2021-12-02");
    Connection::open(&address, HANG).unwrap().exchange(&request).unwrap().status
}

/// The query of a token that permits reads of the queue `jobs`.
fn token_for_reads() -> String {
    let (sv, sp, se) = ("2021-12-02".into(), "r".into(), "2099-01-01".into());
    let mut token = Token { sv, sp, se, ..Token::default() };
    let key = AccountKey::from_base64(DEVELOPMENT_KEY).unwrap();
    assert!(token.sign(Presented::resource(ACCOUNT, "jobs"), &key));
    token.to_query()
}

fn element(response: &Response, name: &str) -> String {
    let text = response.text();
    text.split_once(&format!("<{name}>")).unwrap().1.split_once('<').unwrap().0.to_owned()
}

/// Requests for every operation on a queue, and the type, the status and the resource that a log says of each.
fn use_queues(server: &Server) -> Vec<String> {
    let mut expected = Vec::new();
    let mut expect = |operation: &str, status: u16, code: &str, path: &str| {
        expected.push(format!("{operation} {code} {status} /{ACCOUNT}{path}"));
    };
    for (method, target, status, operation) in [
        ("PUT", "/jobs", 201, "CreateQueue"),
        ("GET", "/?comp=list", 200, "ListQueues"),
        ("PUT", "/jobs?comp=metadata", 204, "SetQueueMetadata"),
        ("GET", "/jobs?comp=metadata", 200, "GetQueueMetadata"),
        ("PUT", "/jobs?comp=acl", 204, "SetQueueAcl"),
        ("GET", "/jobs?comp=acl", 200, "GetQueueAcl"),
        ("GET", PROPERTIES, 200, "GetQueueServiceProperties"),
        ("POST", "/jobs/messages", 201, "PutMessage"),
        ("GET", "/jobs/messages?peekonly=true", 200, "PeekMessage"),
        ("GET", "/jobs/messages?peekonly=true&numofmessages=2", 200, "PeekMessages"),
        ("GET", "/jobs/messages?numofmessages=2&visibilitytimeout=1000", 200, "GetMessages"),
        ("GET", "/jobs/messages", 200, "GetMessage"),
        ("DELETE", "/jobs/messages", 204, "ClearMessages"),
    ] {
        let response = ask(server, method, target);
        assert_eq!(response.status, status, "{method} {target}: {}", response.text());
        expect(operation, status, "Success", target.split('?').next().unwrap());
    }
    let put = ask(server, "POST", "/jobs/messages");
    let (id, receipt) = (element(&put, "MessageId"), element(&put, "PopReceipt"));
    let query = |receipt: &str| receipt.replace('+', "%2B").replace('/', "%2F").replace('=', "%3D");
    let message = format!("/jobs/messages/{id}");
    let target = format!("{message}?visibilitytimeout=0&popreceipt={}", query(&receipt));
    let updated = ask(server, "PUT", &target);
    assert_eq!(updated.status, 204, "{}", updated.text());
    let delete =
        |receipt: &str| ask(server, "DELETE", &format!("{message}?popreceipt={}", query(receipt))).status;
    assert_eq!(delete(&receipt), 404, "the receipt has changed");
    assert_eq!(delete(updated.header("x-ms-popreceipt").unwrap()), 204);
    assert_eq!(ask(server, "DELETE", "/jobs").status, 204);
    expect("PutMessage", 201, "Success", "/jobs/messages");
    expect("UpdateMessage", 204, "Success", &message);
    expect("DeleteMessage", 404, "MessageNotFound", &message);
    expect("DeleteMessage", 204, "Success", &message);
    expect("DeleteQueue", 204, "Success", "/jobs");
    expected
}

fn shown(line: &LogLine) -> String {
    let names = ["operation-type", "request-status", "http-status-code", "requested-object-key"];
    names.map(|name| line.get(name)).join(" ")
}

/// LG-01 to LG-05: the log of queues has a line for every operation, in a blob that is found by the prefix `queue/`. Stopping the
/// server writes the buffered lines.
#[test]
fn every_operation_of_queues_is_logged() {
    let engine = memory();
    let server = start(&engine);
    switch(&server, &logging(true, true, true));
    let expected = use_queues(&server);
    stop(server);
    let found = lines(&engine, Service::Queue);
    assert_eq!(found.iter().map(shown).collect::<Vec<_>>(), expected);
    for line in &found {
        assert_eq!((line.get("service-type"), line.get("authentication-type")), ("queue", "authenticated"));
        assert_eq!((line.get("owner-account-name"), line.get("etag-identifier")), (ACCOUNT, ""));
    }
    let server = start(&engine);
    let [name] = &names(&server, "queue/")[..] else { panic!("one hour, one log") };
    assert!(name.ends_with("00/000000.log"), "{name}");
    let log = get(&server, &format!("/$logs/{name}"));
    let header = |name: &str| log.header(name).unwrap_or_default().to_owned();
    assert_eq!(header("x-ms-meta-LogType"), "read,write,delete");
    assert!(header("x-ms-meta-StartTime") <= header("x-ms-meta-EndTime"));
    assert!(names(&server, "table/").is_empty() && names(&server, "blob/").is_empty());
}

/// LG-01: requests with a token say so. Requests without any credentials that fail are not logged.
#[test]
fn requests_with_a_token_are_logged_as_such() {
    let engine = memory();
    let server = start(&engine);
    assert_eq!(ask(&server, "PUT", "/jobs").status, 201);
    switch(&server, &logging(true, false, true));
    let token = token_for_reads();
    assert_eq!(ask_unsigned(&server, "GET", &format!("/jobs/messages?peekonly=true&{token}")), 200);
    assert_eq!(ask_unsigned(&server, "DELETE", &format!("/jobs/messages?{token}")), 403);
    assert!((400..500).contains(&ask_unsigned(&server, "GET", "/jobs/messages?peekonly=true")));
    assert_eq!(ask(&server, "POST", "/jobs/messages").status, 201, "a write, and writes are not logged");
    stop(server);
    let found = lines(&engine, Service::Queue);
    let shown: Vec<String> = found
        .iter()
        .map(|line| {
            ["operation-type", "request-status", "authentication-type"].map(|name| line.get(name)).join(" ")
        })
        .collect();
    assert_eq!(shown, ["PeekMessage SASSuccess sas", "ClearMessages SASAuthorizationError sas"]);
    assert!(found.iter().all(|line| line.get("request-url").ends_with("sig=XXXXX")), "{found:?}");
}

/// LG-01: the metrics tables of queues, by hour with a row per operation and by minute without. They survive a restart and add up,
/// have a name from before 2013, and nobody else writes them.
#[test]
fn requests_to_queues_are_measured() {
    let engine = memory();
    for round in 1..=2 {
        let server = start(&engine);
        if round == 1 {
            switch(&server, &(metrics("HourMetrics", true) + &metrics("MinuteMetrics", false)));
            assert_eq!(ask(&server, "PUT", "/jobs").status, 201);
        }
        assert_eq!(ask(&server, "POST", "/jobs/messages").status, 201);
        assert_eq!(ask(&server, "GET", "/jobs/messages").status, 200);
        assert_eq!(ask(&server, "GET", "/jobs/messages?numofmessages=33").status, 400);
        assert_eq!(ask_unsigned(&server, "GET", &format!("/jobs/messages?{}", token_for_reads())), 403);
        stop(server);
    }
    let server = start(&engine);
    let hours = [
        "system;All=0/0/0",
        "user;All=9/5/2",
        "user;CreateQueue=1/1/0",
        "user;GetMessage=4/2/0",
        "user;GetMessages=2/0/2",
        "user;PutMessage=2/2/0",
    ];
    assert_eq!(figures(&server, HOURS), hours);
    assert_eq!(figures(&server, "$MetricsTransactionsQueue"), hours, "its name before 2013-08-15");
    assert_eq!(figures(&server, MINUTES), hours[..2]);
    let table = |request: &support::Request| server.connect().ask(request);
    for name in [
        "$MetricsHourPrimaryTransactionsTable",
        "$MetricsHourPrimaryTransactionsBlob",
        "$MetricsMinuteSecondaryTransactionsQueue",
    ] {
        assert_eq!(table(&support::Request::get(&format!("/{name}()"))).status, 404, "{name}");
    }
    assert_eq!(table(&support::Request::get("/Tables")).text(), "{\"value\":[]}");
    let insert = support::Request::post(&format!("/{HOURS}"), "{\"PartitionKey\":\"p\",\"RowKey\":\"r\"}");
    let response = table(&insert);
    assert_eq!((response.status, response.code()), (403, "InsufficientAccountPermissions"));
    let filter = "/$MetricsHourPrimaryTransactionsQueue()?$filter=RowKey%20eq%20'user;All'";
    let rows = table(&support::Request::get(filter));
    let rows: serde_json::Value = serde_json::from_slice(&rows.body).unwrap();
    for row in rows["value"].as_array().unwrap() {
        assert!(row["PartitionKey"].as_str().unwrap().ends_with("00"), "the start of an hour: {row}");
        assert!(row["SASAuthorizationError"].as_str().unwrap().parse::<u64>().unwrap() > 0, "{row}");
        assert!(row["TotalIngress"].as_str().unwrap().parse::<u64>().unwrap() > 0, "{row}");
        assert!(row["Availability"].as_f64().unwrap() > 99.0, "{row}");
    }
}

/// LG-01: requests to the secondary endpoint are measured in tables of their own.
#[test]
fn requests_to_the_secondary_are_measured_apart() {
    let engine = memory();
    let server = start(&engine);
    switch(&server, &(metrics("HourMetrics", true) + &metrics("MinuteMetrics", true)));
    assert_eq!(ask(&server, "GET", "-secondary/?restype=service&comp=stats").status, 200);
    assert_eq!(ask(&server, "GET", "-secondary/?comp=list").status, 200);
    stop(server);
    let server = start(&engine);
    for table in ["$MetricsHourSecondaryTransactionsQueue", "$MetricsMinuteSecondaryTransactionsQueue"] {
        let expected = [
            "system;All=0/0/0",
            "user;All=2/2/0",
            "user;GetQueueServiceStats=1/1/0",
            "user;ListQueues=1/1/0",
        ];
        assert_eq!(figures(&server, table), expected, "{table}");
    }
    let primary = server.connect().ask(&support::Request::get(&format!("/{HOURS}()")));
    assert_eq!(primary.status, 404, "{}", primary.text());
}
