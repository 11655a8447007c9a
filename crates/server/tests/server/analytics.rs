//! Storage Analytics: logs and metrics that service properties switch on.

use std::sync::Arc;

use lazuli_engine::memory::Memory;
use lazuli_engine::{Clock, Engine};
use lazuli_model::Service;
use lazuli_server::analytics::line::LogLine;

use crate::logs;
use crate::support::{Request, Server};

const ACCOUNT: &str = "devstoreaccount1";

fn start(engine: &Arc<dyn Engine>) -> Server {
    Server::over(engine.clone(), |_| {})
}

fn memory() -> Arc<dyn Engine> {
    Arc::new(Memory::new(Clock::system()))
}

fn switch(server: &Server, what: &str) {
    let body = format!("<StorageServiceProperties>{what}</StorageServiceProperties>");
    let response = server.connect().ask(&Request::put("/?restype=service&comp=properties", &body));
    assert_eq!(response.status, 202, "{}", response.text());
}

pub fn logging(read: bool, write: bool, delete: bool) -> String {
    format!(
        "<Logging><Version>1.0</Version><Delete>{delete}</Delete><Read>{read}</Read><Write>{write}</Write>\
         <RetentionPolicy><Enabled>true</Enabled><Days>7</Days></RetentionPolicy></Logging>"
    )
}

pub fn stop(mut server: Server) {
    let stop = server.begin_stop();
    server.wait(stop);
}

/// Every line about tables, oldest first.
fn lines(engine: &Arc<dyn Engine>) -> Vec<LogLine> {
    logs::lines(engine, Service::Table)
}

fn shown(line: &LogLine) -> String {
    let names = ["operation-type", "request-status", "http-status-code", "authentication-type"];
    names.map(|name| line.get(name)).join(" ")
}

/// LG-01, ER-03: one line per request, effective with the request after the one that switches it on; what is not
/// switched on is not logged, and neither are unauthenticated requests.
#[test]
fn requests_are_logged_as_the_properties_say() {
    let engine = memory();
    let server = start(&engine);
    server.create_table("Data");
    switch(&server, &logging(false, true, true));
    let mut client = server.connect();
    let agent = "odd \"agent\"; yes";
    let insert =
        Request::insert("Data", "1").with("User-Agent", agent).with("x-ms-client-request-id", "mine");
    let insert = insert.with("Referer", "https://host/page?sp=r&sig=c2VjcmV0&x=y");
    let inserted = client.ask(&insert);
    assert_eq!(inserted.status, 204);
    assert_eq!(client.ask(&Request::insert("Data", "1")).status, 409);
    assert_eq!(client.ask(&Request::insert("Data", "2").unsigned()).status, 403);
    assert_eq!(client.ask(&Request::point("Data", "1")).status, 200);
    let delete = Request::new("DELETE", "/Data(PartitionKey='p',RowKey='1')").with("If-Match", "*");
    assert_eq!(client.ask(&delete).status, 204);
    let query = "/Data?sv=2019-02-02&tn=data&sp=a&sig=c2VjcmV0";
    let signed = Request::post(query, "{\"PartitionKey\":\"p\",\"RowKey\":\"3\"}").unsigned();
    assert_eq!(client.ask(&signed).status, 403);
    stop(server);
    let found = lines(&engine);
    let statuses: Vec<String> = found.iter().map(shown).collect();
    assert_eq!(
        statuses,
        [
            "InsertEntity Success 204 authenticated",
            "InsertEntity EntityAlreadyExists 409 authenticated",
            "DeleteEntity Success 204 authenticated",
            "InsertEntity SASAuthorizationError 403 sas",
        ]
    );
    let first = &found[0];
    for (name, expected) in [
        ("version-number", "1.0"),
        ("requester-account-name", ACCOUNT),
        ("owner-account-name", ACCOUNT),
        ("service-type", "table"),
        ("requested-object-key", "/devstoreaccount1/Data"),
        ("request-url", "http://127.0.0.1/devstoreaccount1/Data"),
        ("operation-count", "0"),
        ("request-version-header", "2019-02-02"),
        ("request-packet-size", "33"),
        ("request-content-length", "33"),
        ("user-agent-header", agent),
        ("referrer-header", "https://host/page?sp=r&sig=XXXXX&x=y"),
        ("client-request-id", "mine"),
    ] {
        assert_eq!(first.get(name), expected, "{name}");
    }
    assert_eq!(Some(first.get("request-id-header")), inserted.field("x-ms-request-id"));
    assert_eq!(first.get("request-header-size"), (insert.bytes().len() - 33).to_string());
    assert!(first.get("etag-identifier").starts_with("W/\"datetime'"), "{first:?}");
    assert_eq!(found[2].get("conditions-used"), "If-Match=*");
    assert!(found[3].get("request-url").ends_with("sp=a&sig=XXXXX"), "{:?}", found[3]);
    assert!(!found.iter().any(|line| line.print().contains("c2VjcmV0")));
}

#[test]
fn what_is_switched_off_again_is_no_longer_logged() {
    let engine = memory();
    let server = start(&engine);
    server.create_table("Data");
    assert_eq!(server.connect().ask(&Request::get("/Tables")).status, 200);
    switch(&server, &logging(true, true, true));
    assert_eq!(server.connect().ask(&Request::get("/Tables")).status, 200);
    switch(&server, &logging(false, false, false));
    assert_eq!(server.connect().ask(&Request::get("/Tables")).status, 200);
    stop(server);
    let found: Vec<String> = lines(&engine).iter().map(shown).collect();
    // The setting at its arrival applies to the request that switches it off.
    let expected =
        ["QueryTables Success 200 authenticated", "SetTableServiceProperties Success 202 authenticated"];
    assert_eq!(found, expected);
}

pub fn metrics(name: &str, include_apis: bool) -> String {
    format!(
        "<{name}><Version>1.0</Version><Enabled>true</Enabled><IncludeAPIs>{include_apis}</IncludeAPIs>\
         <RetentionPolicy><Enabled>true</Enabled><Days>7</Days></RetentionPolicy></{name}>"
    )
}

/// The metrics of a table, as `RowKey=TotalRequests/Success/ClientOtherError`, summed up over periods.
pub fn figures(server: &Server, table: &str) -> Vec<String> {
    let response = server.connect().ask(&Request::get(&format!("/{table}()")));
    assert_eq!(response.status, 200, "{}", response.text());
    let value: serde_json::Value = serde_json::from_slice(&response.body).unwrap();
    let mut sums = std::collections::BTreeMap::<String, [u64; 3]>::new();
    for row in value["value"].as_array().unwrap() {
        let sum = sums.entry(row["RowKey"].as_str().unwrap().to_owned()).or_default();
        for (sum, name) in sum.iter_mut().zip(["TotalRequests", "Success", "ClientOtherError"]) {
            *sum += row[name].as_str().unwrap().parse::<u64>().unwrap();
        }
    }
    sums.into_iter().map(|(row, [total, done, failed])| format!("{row}={total}/{done}/{failed}")).collect()
}

/// Metrics survive a restart and add up; the tables are not listed, and not written by anyone else.
#[test]
fn requests_are_measured_as_the_properties_say() {
    let engine = memory();
    let hours = "$MetricsHourPrimaryTransactionsTable";
    for round in 1..=2 {
        let server = start(&engine);
        if round == 1 {
            server.create_table("Data");
            switch(&server, &(metrics("HourMetrics", true) + &metrics("MinuteMetrics", false)));
        }
        let mut client = server.connect();
        let first = client.ask(&Request::insert("Data", "1")).status;
        assert_eq!(first, if round == 1 { 204 } else { 409 });
        assert_eq!(client.ask(&Request::point("Data", "1")).status, 200);
        stop(server);
    }
    let server = start(&engine);
    let expected =
        ["system;All=0/0/0", "user;All=4/3/1", "user;InsertEntity=2/1/1", "user;QueryEntity=2/2/0"];
    assert_eq!(figures(&server, hours), expected);
    let minutes = figures(&server, "$MetricsMinutePrimaryTransactionsTable");
    assert_eq!(minutes, ["system;All=0/0/0", "user;All=4/3/1"]);
    let mut client = server.connect();
    let listed = client.ask(&Request::get("/Tables"));
    assert_eq!(listed.text(), "{\"value\":[{\"TableName\":\"Data\"}]}");
    assert_eq!(client.ask(&Request::get("/$MetricsHourSecondaryTransactionsTable()")).status, 404);
    let insert = Request::post(&format!("/{hours}"), "{\"PartitionKey\":\"p\",\"RowKey\":\"r\"}");
    let response = client.ask(&insert);
    assert_eq!((response.status, response.code()), (403, "InsufficientAccountPermissions"));
    let create = Request::post("/Tables", &format!("{{\"TableName\":\"{hours}\"}}"));
    assert_eq!(client.ask(&create).code(), "InvalidResourceName");
}

/// Front ends that share an engine and write the metrics of the same period at the same time lose none of them.
#[test]
fn front_ends_add_up() {
    const FRONT_ENDS: usize = 8;
    const ROUNDS: usize = 5;
    let engine = memory();
    let first = start(&engine);
    switch(&first, &metrics("HourMetrics", false));
    stop(first);
    for _ in 0..ROUNDS {
        let mut servers: Vec<Server> = (0..FRONT_ENDS).map(|_| start(&engine)).collect();
        for server in &servers {
            assert_eq!(server.connect().ask(&Request::get("/Tables")).status, 200);
        }
        let stops: Vec<_> = servers.iter_mut().map(Server::begin_stop).collect();
        servers.iter().zip(stops).for_each(|(server, stop)| server.wait(stop));
    }
    let found = figures(&start(&engine), "$MetricsHourPrimaryTransactionsTable");
    let total = FRONT_ENDS * ROUNDS;
    assert!(found.contains(&format!("user;All={total}/{total}/0")), "{found:?}");
}
